"""What is compared: blocks of rows, cut into batches of bounded size. Public, and the same on both sides.

A block is a group of A's rows against a group of B's rows, all pairs. A *strip* is one row of A against a
stretch of B's rows; a batch is a list of strips. Work that belongs to a row of A is done once a strip, so
strips are as long as the block allows, up to `LONGEST` or what an engine says. Neighbouring strips over the
same stretch can form a *group*, which is never torn apart, so that they share what belongs to a row of B.

The order of pairs, in every engine: block after block; in a block A's rows in order, and for each of them
B's rows in order. The invariant: nothing here depends on anyone's values, nor on which rows are dummies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.ranges import ranges
from accord.secure.circuit import Input

LONGEST = 4096

Ints = NDArray[np.int64]
N = TypeVar("N", bound=np.generic)


@dataclass(frozen=True)
class Blocks:
    """Row numbers of each side, block after block, and how many of them belong to each block."""

    a_rows: Ints
    a_counts: Ints
    b_rows: Ints
    b_counts: Ints

    def __post_init__(self) -> None:
        if len(self.a_counts) != len(self.b_counts):
            raise ValueError("the sides have different numbers of blocks")
        if self.a_counts.sum() != len(self.a_rows) or self.b_counts.sum() != len(self.b_rows):
            raise ValueError("the counts of the blocks do not add up to their rows")

    @classmethod
    def whole(cls, a_rows: int, b_rows: int) -> Blocks:
        """One block: all rows of A against all rows of B."""
        return cls(np.arange(a_rows), np.array([a_rows]), np.arange(b_rows), np.array([b_rows]))

    @classmethod
    def of_sizes(cls, a_counts: Ints, b_counts: Ints) -> Blocks:
        """Blocks of these sizes whose rows follow each other: all that a price depends on."""
        return cls(np.arange(a_counts.sum()), a_counts, np.arange(b_counts.sum()), b_counts)

    @property
    def pairs(self) -> int:
        return int((self.a_counts * self.b_counts).sum())

    @property
    def alone(self) -> bool:
        """Whether no row of a block meets more than one other in it."""
        return bool((self.a_counts <= 1).all() and (self.b_counts <= 1).all())

    def cut(self, most: int) -> Iterator[Blocks]:
        """The same pairs in the same order, in pieces of at most so many; blocks without a pair vanish there.

        A block goes into the next piece if it does not fit into this one, and is torn apart only if it fits
        into none: by rows of A, and a row of A that meets more than `most` by rows of B.
        """
        if self.pairs <= most:
            yield self
            return
        taken: list[tuple[int, int, int, int]] = []
        pairs = 0
        for part in self._parts(most):
            size = part[1] * part[3]
            if pairs + size > most:
                yield self._piece(taken)
                taken, pairs = [], 0
            taken.append(part)
            pairs += size
        yield self._piece(taken)

    def _parts(self, most: int) -> Iterator[tuple[int, int, int, int]]:
        """Where the rows of A begin and how many they are, then those of B, of parts with at most so many."""
        a_first, b_first = 0, 0
        for a_count, b_count in zip(self.a_counts.tolist(), self.b_counts.tolist(), strict=True):
            rows = max(1, most // max(1, b_count))
            for a in range(0, a_count, rows):
                for b in range(0, b_count, most):
                    yield a_first + a, min(rows, a_count - a), b_first + b, min(most, b_count - b)
            a_first, b_first = a_first + a_count, b_first + b_count

    def _piece(self, parts: list[tuple[int, int, int, int]]) -> Blocks:
        a, a_counts, b, b_counts = np.array(parts, np.int64).T.copy()
        a_rows, b_rows = self.a_rows[ranges(a, a + a_counts)], self.b_rows[ranges(b, b + b_counts)]
        return Blocks(a_rows, a_counts, b_rows, b_counts)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """One side's rows: for each input an array (rows, length), and which rows are real. Private."""

    inputs: Mapping[str, Ints]
    real: NDArray[np.bool_]
    _known: dict[Input, Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Engines negate these marks; of numbers that would be something else, and dummies would match.
        if self.real.dtype != np.bool_ or self.real.ndim != 1:
            raise ValueError("which rows are real is one truth value a row")

    def read(self, of: Input) -> Ints:
        """The values of an input, after a check, made once, that they are what the circuit says of them."""
        if of not in self._known:
            self._known[of] = self._check(of)
        return self._known[of]

    def _check(self, of: Input) -> Ints:
        values = np.asarray(self.inputs[of.name], dtype=np.int64)
        if values.shape != (len(self.real), of.length):
            raise ValueError(f"input '{of.name}' has not {of.length} values for each of the rows")
        if values.size and (values.min() < 0 or values.max() > of.high):
            raise ValueError(f"input '{of.name}' has values outside 0..{of.high}")
        return values


def split_halves(words: NDArray[np.uint64]) -> Ints:
    """Words (n, width) as the values of an input, (n, 2·width)."""
    return np.ascontiguousarray(words).view("<u4").astype(np.int64)


def join_halves(values: Ints) -> NDArray[np.uint64]:
    """The inverse of `split_halves`."""
    return values.astype("<u4").view("<u8").astype(np.uint64, copy=False)


@dataclass(frozen=True)
class StripBatch:
    """Strips that are evaluated together; arrays have one element a strip, `b_rows` one a row of B.

    Pair `start[r] + i` of the batch is A's row `a_rows[r]` with B's row `b_rows[b_start[r] + i]`, and has
    place `place[r] + i` in the answer.
    """

    a_rows: Ints
    width: Ints
    start: Ints
    b_start: Ints
    b_rows: Ints
    place: Ints
    pairs: int
    members: Ints
    """Strips of each group, in order."""

    @cached_property
    def columns(self) -> int:
        """Pairs of a group with a row of B."""
        return int(self.width[np.cumsum(self.members) - self.members].sum())

    def put(self, bits: NDArray[np.bool_], answer: NDArray[np.bool_]) -> None:
        """Write the bits of the batch's pairs to their places in the answer."""
        offset = self.place - self.start
        if (offset == offset[0]).all():
            answer[offset[0] : offset[0] + self.pairs] = bits
        else:
            answer[np.repeat(offset, self.width) + np.arange(self.pairs)] = bits

    def of_a(self, values: NDArray[N]) -> NDArray[N]:
        """A number for each strip, as a number for each pair."""
        return values if len(values) == self.pairs else np.repeat(values, self.width)

    def of_b(self, values: NDArray[N]) -> NDArray[N]:
        """A number for each row of B, as a number for each pair."""
        if len(values) == self.pairs:
            # No stretch of B's rows meets two strips, so they lie in the order of the pairs.
            return values
        return values[np.repeat(self.b_start - self.start, self.width) + np.arange(self.pairs)]


@dataclass(frozen=True)
class _Strips:
    """All strips of some blocks, in the order in which they are worked on, and the first of each group."""

    a_rows: Ints
    width: Ints
    b_first: Ints
    place: Ints
    heads: Ints


def _cut_strips(blocks: Blocks, longest: int, group: Ints | int) -> _Strips:
    """Cut each block into stretches of B's rows; one strip for each row of A and stretch."""
    pieces = -(-blocks.b_counts // longest)
    block = np.repeat(np.arange(len(pieces)), pieces)
    piece = np.arange(len(block)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    width = np.minimum(longest, blocks.b_counts[block] - piece * longest)
    rows = blocks.a_counts[block]
    a_first = (np.cumsum(blocks.a_counts) - blocks.a_counts)[block]
    b_first = (np.cumsum(blocks.b_counts) - blocks.b_counts)[block] + piece * longest
    pair_first = (np.cumsum(blocks.a_counts * blocks.b_counts) - blocks.a_counts * blocks.b_counts)[block]
    row = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
    spread = np.repeat(np.arange(len(rows)), rows)
    place = pair_first[spread] + row * blocks.b_counts[block][spread] + (piece * longest)[spread]
    size = np.broadcast_to(np.asarray(group, dtype=np.int64), blocks.a_counts.shape)[block][spread]
    heads = np.flatnonzero(row % size == 0)
    return _Strips(blocks.a_rows[a_first[spread] + row], width[spread], b_first[spread], place, heads)


@dataclass(frozen=True)
class Limit:
    """How much goes into a batch: each strip counts as its pairs, at most `longest`, and `strip` more."""

    most: int
    strip: int = 0
    longest: int = LONGEST


def _cut_batches(strips: _Strips, limit: Limit) -> Iterator[tuple[int, int]]:
    """Consecutive ranges of groups within the limit, or of one group."""
    weights = strips.width + limit.strip
    ends = np.cumsum(np.add.reduceat(weights, strips.heads)) if len(weights) else weights
    first = 0
    while first < len(ends):
        done = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + limit.most, side="right")))
        yield first, last
        first = last


def batches(blocks: Blocks, limit: Limit, group: Ints | int = 1) -> Iterator[StripBatch]:
    """Cut the blocks into batches, with groups of so many strips in each; blocks without a pair vanish."""
    strips = _cut_strips(blocks, limit.longest, group)
    bounds = np.append(strips.heads, len(strips.width))
    for begin, end in _cut_batches(strips, limit):
        first, last = bounds[begin], bounds[end]
        width, b_first = strips.width[first:last], strips.b_first[first:last]
        fresh = np.diff(b_first, prepend=-1) != 0
        lengths = width[fresh]
        starts = np.cumsum(lengths) - lengths
        b_index = np.repeat(b_first[fresh] - starts, lengths) + np.arange(lengths.sum())
        yield StripBatch(
            a_rows=strips.a_rows[first:last],
            width=width,
            start=np.cumsum(width) - width,
            b_start=starts[np.cumsum(fresh) - 1],
            b_rows=blocks.b_rows[b_index],
            place=strips.place[first:last],
            pairs=int(width.sum()),
            members=np.diff(bounds[begin : end + 1]),
        )


@dataclass(frozen=True)
class Shapes:
    """The size of each batch: all that a price depends on.

    Its strips, groups, rows of B, pairs, and pairs of a group with a row of B (`columns`).
    """

    strips: Ints
    groups: Ints
    b_rows: Ints
    pairs: Ints
    columns: Ints


def shapes(blocks: Blocks, limit: Limit, group: Ints | int = 1) -> Shapes:
    """The sizes of all batches."""
    strips = _cut_strips(blocks, limit.longest, group)
    cuts = np.array(list(_cut_batches(strips, limit)), dtype=np.int64).reshape(-1, 2)
    begin, end = cuts.T
    first, last = np.append(strips.heads, len(strips.width))[cuts.T]
    done = np.concatenate([[0], np.cumsum(strips.width)])
    columns = np.concatenate([[0], np.cumsum(strips.width[strips.heads])])
    # A stretch of B's rows counts once a batch: where it starts, and where a batch starts within it.
    fresh = np.diff(strips.b_first, prepend=-1) != 0
    fresh[first] = True
    rows = np.concatenate([[0], np.cumsum(strips.width * fresh)])
    return Shapes(
        last - first,
        end - begin,
        rows[last] - rows[first],
        done[last] - done[first],
        columns[end] - columns[begin],
    )
