"""A store, part by part: it is sent and received as a stream.

    Layout    points in the order of their parts; reads a store, of however many points
    Encoder   the layout of the points that a store holds; writes it

A layout keeps an order of its points and no row: a part's rows are hashed when the part is read or written,
so that they stay in the cache, and one part at a time is in memory. What the partner sees of a store is its
sizes, which follow from `Shape`, and its cells.

A store fails with a probability below 2⁻⁴⁰ (`sizes.py`), by a part that has too many points or whose rows are
dependent. Then the run ends. There is no other seed to try: a partner that knows some of the points could see
with which seeds they would fail, and learn from the seed that is used what the others are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy, words
from accord.errors import NoTableError
from accord.kernel import kernel
from accord.secure.okvs.rows import RowHash, by_part
from accord.secure.okvs.sizes import Shape
from accord.secure.okvs.tables import failed, read_table, write_table

Words = NDArray[np.uint64]
Places = NDArray[np.int32]


class Layout:
    """Points, (n, 2), in the order of the parts of a store of this shape and seed."""

    def __init__(self, shape: Shape, seed: bytes, points: Words) -> None:
        if points.ndim != 2 or points.shape[1] != 2 or points.dtype != np.uint64:
            raise ValueError("points are pairs of 64-bit words")
        self.shape = shape
        self._hash, self._points = RowHash(seed), points
        self._order, self._starts = by_part(self._hash.parts(points, shape.parts), shape.parts)

    def places(self, part: int) -> Places:
        """Which of the points are in this part, ascending: the order of its values."""
        return self._order[self._starts[part] : self._starts[part + 1]]

    def count(self, part: int) -> int:
        """The points of this part."""
        return int(self._starts[part + 1] - self._starts[part])

    def decode_part(self, part: int, table: Words) -> Words:
        """What a part's table, (cells, words), has for this part's points, in the order of `places`."""
        if table.ndim != 2 or len(table) != self.shape.cells:
            raise ValueError("a table of another shape")
        rows = self._hash.rows(self._of(part), self.shape.sparse, self.shape.dense)
        return read_table(rows, self.shape.sparse, np.ascontiguousarray(table, dtype=np.uint64))

    def _of(self, part: int) -> Words:
        # Many times faster than an index, which is made for single words.
        return self._points.take(self.places(part), axis=0)


class Encoder(Layout):
    """The layout of the points that a store is made of, at most as many as its shape is for.

    *Requires*: distinct points. A part with more points than the bound raises at once.
    """

    def __init__(self, shape: Shape, seed: bytes, points: Words) -> None:
        if len(points) > shape.points:
            raise ValueError("more points than the store is for")
        super().__init__(shape, seed, points)
        if np.diff(self._starts).max() > shape.bound:
            raise failed("a part has too many points")

    def draw(self, part: int, width: int, entropy: Entropy) -> Words:
        """The random words of a part's free cells, for values of this many words.

        Parts may be written in any order, or at once: whoever draws for them in order gets the same store.
        """
        free = self.shape.cells - self.count(part)
        return words(entropy, free * width).reshape(free, width)

    def encode_part(self, part: int, values: Words, free: Words) -> Words:
        """A part's table, (cells, words), for the values of its points in the order of `places`.

        *Requires*: `free` is what was drawn for this part, and serves nothing else. *Learns*: whoever sees
        the table, nothing of the points if the values are uniform; otherwise what its own points read.
        """
        free_shape = (self.shape.cells - self.count(part), values.shape[1])
        if len(values) != self.count(part) or free.shape != free_shape:
            raise ValueError("a part has a value for each point, and a free word for each word left over")
        rows = self._hash.rows(self._of(part), self.shape.sparse, self.shape.dense)
        try:
            return write_table(rows, self.shape.sparse, self.shape.dense, np.ascontiguousarray(values), free)
        except NoTableError:
            self._refuse_equal(part)
            raise

    def _refuse_equal(self, part: int) -> None:
        """Equal points have dependent rows, and are the only ones likely to have."""
        points = self._of(part)
        ordered = points[np.lexsort(points.T)]
        if (ordered[1:] == ordered[:-1]).all(axis=1).any():
            raise ValueError("a point is there twice")


@kernel("void(uint64[:,::1], int32[::1], uint64[:,::1])", joined=True)
def spread(source: Words, places: Places, target: Words) -> None:
    """target[places] = source, which numpy does many times slower."""
    for number in range(places.shape[0]):
        own, place = source[number], target[places[number]]
        for word in range(source.shape[1]):
            place[word] = own[word]
