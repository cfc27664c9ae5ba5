"""What is compared when: a pure function of public numbers and of the output so far.

Both sides hold the same noisy counts and learn the same matches, so both compute the same schedule without a
word. A unit is a pair of bins and a slab of A's slots against all of B's; a round takes units in order until
a batch is full. With Greedy Match & Clean no round has two units that share a slot, so that a matched
record is gone before its next comparison, and slabs are short, so that it is gone early [MATHS §7.3]. Slabs
double from one row in the first round up to the agreed number: where nearly everything matches, a few rows
disclose it all, and elsewhere it costs a handful of small rounds. A slab against few slots of B is longer.

Sort & Prune [HMFS17, §4.2.1]: pairs of bins by the smaller of their two noisy sizes, largest first, and those
below the percentile are left out; the paper leaves out those at it, too, which with equal sizes would be all.
Percentiles are pooled over both sides, unless their slots differ more than twofold in number or a record
falls into more bins on one side than on the other; then each side has its own. At 0 nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel
from accord.ranges import distinct

Ints = NDArray[np.int64]

BATCH = 1 << 20
"""Pairs at which a round is full. Fixed, since both sides must agree on it."""


@dataclass(frozen=True)
class Round:
    """Slots of A and of B, unit after unit, and how many belong to each unit."""

    a: Ints
    a_counts: Ints
    b: Ints
    b_counts: Ints

    @property
    def pairs(self) -> int:
        return int(np.dot(self.a_counts, self.b_counts))


def order_pairs(
    pairs: tuple[Ints, Ints], counts: tuple[Ints, Ints], sort: bool, prune: int, pooled: bool = True
) -> Ints:
    """The positions of the pairs of bins to compare, in the order in which to compare them."""
    sizes = counts[0][pairs[0]], counts[1][pairs[1]]
    kept = np.arange(len(pairs[0]))
    if prune:
        limits = _limits(counts, prune, pooled)
        kept = kept[(sizes[0] >= limits[0]) & (sizes[1] >= limits[1])]
    if sort:
        smaller = np.minimum(sizes[0], sizes[1])[kept]
        kept = kept[np.argsort(-smaller, kind="stable")]
    return kept


def _limits(counts: tuple[Ints, Ints], prune: int, pooled: bool) -> tuple[int, int]:
    """The percentile of the noisy sizes, by nearest rank: an integer, so that no float decides."""

    def percentile(sizes: Ints) -> int:
        ranked = np.sort(sizes)
        return int(ranked[-(-prune * len(ranked) // 100) - 1])

    totals = counts[0].sum(), counts[1].sum()
    if not pooled or max(totals) > 2 * min(totals):
        return percentile(counts[0]), percentile(counts[1])
    both = percentile(np.concatenate(counts))
    return both, both


class Schedule:
    """The rounds, one after the other; `remove` cleans slots that need no further comparison."""

    def __init__(
        self,
        pairs: tuple[Ints, Ints],
        counts: tuple[Ints, Ints],
        slab: int,
        exclusive: bool,
        batch: int = BATCH,
    ) -> None:
        self.pairs = pairs
        self._counts = counts
        self._ends = tuple(np.cumsum(c) for c in counts)
        self._first = tuple(ends - c for ends, c in zip(self._ends, counts, strict=True))
        self._alive = tuple(np.ones(int(c.sum()), np.uint8) for c in counts)
        self._left = tuple(c.copy() for c in counts)
        self._cursor = np.zeros(len(pairs[0]), np.int64)
        self._mark = tuple(np.full(len(c), -1, np.int64) for c in counts)
        self._begin = 0
        self._round = 0
        self._slab, self._batch, self._exclusive = slab, batch, exclusive

    @property
    def most_comparisons(self) -> int:
        """What the schedule comes to if nothing is ever removed."""
        return int(np.dot(self._counts[0][self.pairs[0]], self._counts[1][self.pairs[1]]))

    def remove(self, side: int, slots: Ints) -> None:
        """Take slots of A (0) or B (1) out of all later rounds."""
        fresh = distinct(slots[self._alive[side][slots] == 1])
        self._alive[side][fresh] = 0
        bins = np.searchsorted(self._ends[side], fresh, "right")
        np.subtract.at(self._left[side], bins, 1)

    def next(self) -> Round | None:
        """The next round, or None when all is compared."""
        chosen = np.empty((len(self.pairs[0]), 3), np.int64)
        count, self._begin = _choose(
            self.pairs[0], self.pairs[1], self._first[0], self._counts[0], self._alive[0],
            self._left[0], self._left[1], self._cursor, self._mark[0], self._mark[1], self._begin,
            self._round, self._slab, 1 << min(self._round, 20), self._batch, self._exclusive, chosen,
        )  # fmt: skip
        self._round += 1
        if count == 0:
            return None
        units = chosen[:count]
        a_bins, b_bins = self.pairs[0][units[:, 0]], self.pairs[1][units[:, 0]]
        a, a_counts = _gathered(
            self._alive[0], self._first[0][a_bins] + units[:, 1], self._first[0][a_bins] + units[:, 2]
        )
        starts = self._first[1][b_bins]
        b, b_counts = _gathered(self._alive[1], starts, starts + self._counts[1][b_bins])
        return Round(a, a_counts, b, b_counts)


def _gathered(alive: NDArray[np.uint8], starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The living slots of each stretch, one after the other, and how many each has."""
    slots = np.empty(int((stops - starts).sum()), np.int64)
    counts = np.empty(len(starts), np.int64)
    used = _gather(alive, np.ascontiguousarray(starts), np.ascontiguousarray(stops), slots, counts)
    return slots[:used].copy(), counts


@kernel("int64(uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _gather(alive: Any, starts: Any, stops: Any, slots: Any, counts: Any) -> Any:
    at = 0
    for unit in range(len(starts)):
        before = at
        for slot in range(starts[unit], stops[unit]):
            if alive[slot]:
                slots[at] = slot
                at += 1
        counts[unit] = at - before
    return at


@kernel(
    "UniTuple(int64, 2)(int64[::1], int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], int64[::1], int64, int64, int64, int64, int64, boolean, int64[:, ::1])"
)
def _choose(
    pair_a: Any, pair_b: Any, first: Any, counts: Any, alive: Any, left_a: Any, left_b: Any, cursor: Any,
    mark_a: Any, mark_b: Any, begin: Any, round_: Any, slab: Any, grown: Any, batch: Any, exclusive: Any,
    chosen: Any,
) -> Any:  # fmt: skip
    """Units of the next round as (pair of bins, from, to) within A's bin; and where to begin to look next.

    A pair of bins whose cursor has reached the end of A's bin is finished. Exclusive rounds use a bin once.
    """
    units = 0
    pairs = 0
    frontier = True
    for p in range(begin, len(pair_a)):
        i, j = pair_a[p], pair_b[p]
        if cursor[p] < counts[i] and (left_a[i] == 0 or left_b[j] == 0):
            cursor[p] = counts[i]
        while cursor[p] < counts[i] and not alive[first[i] + cursor[p]]:
            cursor[p] += 1
        if cursor[p] >= counts[i]:
            if frontier:
                begin = p + 1
            continue
        if exclusive and (mark_a[i] == round_ or mark_b[j] == round_):
            frontier = False
            continue
        most = max(1, (batch - pairs) // left_b[j])
        if exclusive:
            # Many rows against few: a round must be worth its messages.
            most = min(most, grown, max(slab, 16384 // left_b[j]))
        rows = 0
        at = cursor[p]
        while at < counts[i] and rows < most:
            rows += alive[first[i] + at]
            at += 1
        chosen[units, 0], chosen[units, 1], chosen[units, 2] = p, cursor[p], at
        cursor[p] = at
        mark_a[i], mark_b[j] = round_, round_
        units += 1
        pairs += rows * left_b[j]
        if at < counts[i]:
            frontier = False
        elif frontier:
            begin = p + 1
        if pairs >= batch:
            break
    return units, begin
