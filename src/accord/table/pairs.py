"""Pairs of records, ordered by A's id and then by B's: the order of the output, which both sides come to.

There may be far more pairs than records. A pair is one whole number, the place of A's record among its ids ·
width + the place of B's; so all pairs are an ascending list, which lies in a file if it is long (spill.py),
and a stretch of it is turned into rows of both tables when somebody reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.side import Side
from accord.spill import PIECE, Ints, Scratch, sort_distinct
from accord.table.id_order import IdOrder, Rows

SomePairs = tuple[NDArray[np.integer], NDArray[np.integer]]
"""A row of A and a row of B for each."""


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Each pair once."""

    keys: Ints
    width: int
    a: Rows
    """A's row at each place."""
    b: Rows

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, start: int, stop: int) -> tuple[Rows, Rows]:
        """Some of the pairs, as rows of A and of B."""
        a, b = self.places(start, stop)
        return self.a[a], self.b[b]

    def places(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """The same as places in the orders of both sides' ids."""
        keys = np.asarray(self.keys[start:stop])
        a = keys // self.width
        return a, keys - a * self.width

    def pieces(self) -> Iterator[tuple[Rows, Rows]]:
        """All pairs, some at a time."""
        for start in range(0, len(self), PIECE):
            yield self.rows(start, start + PIECE)

    def of(self, side: Side) -> Rows:
        """One side's row of every pair, all at once."""
        return self.rows(0, len(self))[0 if side is Side.A else 1]


def order_pairs(a: IdOrder, b: IdOrder, found: Iterable[SomePairs], scratch: Scratch) -> Pairs:
    """These pairs in order, each once however often it was found."""
    width = max(1, len(b))
    keys = (a.places[some].astype(np.int64) * width + b.places[others] for some, others in found)
    return Pairs(sort_distinct(keys, scratch), width, a.rows, b.rows)
