"""What is compared when: a pure function of public numbers and of the output so far.

Both sides hold the same noisy counts and learn the same matches, so both compute the same schedule without a
word. A unit is a pair of bins and a slab of A's slots against all of B's; a round takes units in order until
it is full. With Greedy Match & Clean no two units of a round share a slot: a round uses a bin at most once
on each side. A record that matches is spared all comparisons after its round, not those in it: a record
of B still meets the slab's other rows, and copies of a record in several bins may stand in one round. So
slabs are short [MATHS §7.3]. They double from one row in the first round up to 64: where
nearly everything matches, a few rows disclose it all, and elsewhere it costs a handful of small rounds. A
slab against few slots of B is longer.

A round is full at `BATCH` pairs, and the larger it is the better it can be shared out. So the next round is
twice as large, up to `GROWN` batches, where that costs next to nothing: where the last one was full and its
matches spared at most one in `_SPARED` of the comparisons that were left. *Argument*: where a round of m
batches spares a share x of what comes after it, its i-th batch would have been spared i·x/m by those before
it, had these been rounds of their own; so it has at most x/2 more comparisons than they. One that is twice as
large spares 2x, if matches are as frequent in it, and has at most x more. After a round that spared more than
twice as much the next is half. Without greedy nothing is spared, and larger rounds cost nothing. A round is
also full at as many rows of a side as may be in memory; where bins are small that comes first. Rows of A are
cut there, and a bin of B never is: of B a round has at least one whole bin, and at most that number of rows
and one bin more.

Sort & Prune [HMFS17, §4.3]: pairs of bins by the smaller of their two noisy sizes, largest first, and those
below the percentile are left out; the paper leaves out those at it, too, which with equal sizes would be all.
Percentiles are pooled over both sides, unless their slots differ more than twofold in number or a record
falls into more bins on one side than on the other; then each side has its own. At 0 nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError
from accord.kernel import kernel
from accord.ranges import distinct

Ints = NDArray[np.int64]

BATCH = 1 << 20
"""Pairs at which the first round is full. Fixed, as all of these are, since both sides must agree on them."""
GROWN = 4
"""How many times as large a round can become: nothing is known, or kept, of a round before its end."""
_SPARED = 50
"""One of so many: the share that a round may have spared for the next one to be larger."""
_VALUES = 1 << 24
"""Input values of a side at which a round is full: they take 8 bytes each, and are there a few times."""
_NO_LIMIT = 1 << 62


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


class _Bins(NamedTuple):
    """One side's bins, a number each, and what is left of them; arrays that are written in place."""

    first: Annotated[Ints, "int64[::1]"]
    """The first slot of a bin; its slots follow each other."""
    counts: Annotated[Ints, "int64[::1]"]
    alive: Annotated[NDArray[np.uint8], "uint8[::1]"]
    """One number a slot: whether it is still compared."""
    left: Annotated[Ints, "int64[::1]"]
    """How many slots of a bin are alive."""
    used: Annotated[Ints, "int64[::1]"]
    """The last round that used a bin."""

    @classmethod
    def of(cls, counts: Ints) -> _Bins:
        """Bins of these sizes, of which nothing was compared."""
        alive = np.ones(int(counts.sum()), np.uint8)
        return cls(np.cumsum(counts) - counts, counts, alive, counts.copy(), np.full(len(counts), -1))


class _Limits(NamedTuple):
    """How much one round takes."""

    number: Annotated[int, "int64"]
    """Of the round."""
    slab: Annotated[int, "int64"]
    grown: Annotated[int, "int64"]
    """Rows that a slab has at the most, this early."""
    batch: Annotated[int, "int64"]
    a_rows: Annotated[int, "int64"]
    """At which a round is full."""
    b_rows: Annotated[int, "int64"]
    exclusive: Annotated[bool, "boolean"]
    """Whether no two units may share a slot."""


class Schedule:
    """The rounds, one after the other; `remove` cleans slots that need no further comparison."""

    def __init__(
        self,
        pairs: tuple[Ints, Ints],
        counts: tuple[Ints, Ints],
        slab: int,
        exclusive: bool,
        batch: int = BATCH,
        *,
        grown: int = 1,
        rows: tuple[int, int] = (_NO_LIMIT, _NO_LIMIT),
    ) -> None:
        """`grown`: how many times as large as `batch` a round can become; `rows`: of A and of B, at which it
        is full."""
        self.pairs = pairs
        self._bins = _Bins.of(counts[0]), _Bins.of(counts[1])
        self._cursor = np.zeros(len(pairs[0]), np.int64)
        self._begin = 0
        self._round = 0
        self._slab, self._batch, self._exclusive = slab, batch, exclusive
        self._grown, self._most_grown, self._rows = 1, grown, rows
        self._last = 0
        """Pairs of the last round."""
        self._left = 0
        """What was left when it was taken."""

    def whole(self, most: int, most_rows: tuple[int, int]) -> Schedule:
        """The same as one round; raises if it has more pairs or rows than that."""
        pairs = self.most_comparisons
        rows = [int(bins.counts[of].sum()) for bins, of in zip(self._bins, self.pairs, strict=True)]
        if pairs > most or rows[0] > most_rows[0] or rows[1] > most_rows[1]:
            raise UsageError(
                problem=f"The agreed engine compares all at once, at most {most:,} pairs of {most_rows[0]:,} "
                f"and {most_rows[1]:,} rows; these are {pairs:,} of {rows[0]:,} and {rows[1]:,}. Agree on a "
                "finer blocking or on another engine, or link the tables in parts, each a run of its own."
            )
        counts = self._bins[0].counts, self._bins[1].counts
        return Schedule(self.pairs, counts, self._slab, self._exclusive, _NO_LIMIT)

    @property
    def most_comparisons(self) -> int:
        """What the schedule comes to if nothing is ever removed."""
        a, b = self._bins
        return int(np.dot(a.counts[self.pairs[0]], b.counts[self.pairs[1]]))

    def remove(self, side: int, slots: Ints) -> None:
        """Take slots of A (0) or B (1) out of all later rounds."""
        bins = self._bins[side]
        fresh = distinct(slots[bins.alive[slots] == 1])
        bins.alive[fresh] = 0
        np.subtract.at(bins.left, np.searchsorted(bins.first + bins.counts, fresh, "right"), 1)

    def next(self) -> Round | None:
        """The next round, or None when all is compared."""
        self._grow()
        chosen = np.empty((len(self.pairs[0]) - self._begin, 3), np.int64)
        slab, batch = (self._slab, 1 << min(self._round, 20)), self._grown * self._batch
        limits = _Limits(self._round, *slab, batch, *self._rows, self._exclusive)
        a, b = self._bins
        count, self._begin = _choose(self.pairs, a, b, limits, self._cursor, self._begin, chosen)
        self._round += 1
        if count == 0:
            return None
        self._left = self._count_left()
        pair, start, stop = chosen[:count].T
        a_first, b_bins = a.first[self.pairs[0][pair]], self.pairs[1][pair]
        a_slots, a_counts = _gather_alive(a.alive, a_first + start, a_first + stop)
        b_slots, b_counts = _gather_alive(b.alive, b.first[b_bins], b.first[b_bins] + b.counts[b_bins])
        round_ = Round(a_slots, a_counts, b_slots, b_counts)
        self._last = round_.pairs
        return round_

    def _grow(self) -> None:
        """Make the next round larger or smaller, by what the last one has spared."""
        spared = self._left - self._count_left()
        # One that was not full says nothing about larger ones, and has no use for them.
        if self._last >= self._grown * self._batch and spared * _SPARED <= self._left:
            self._grown = min(2 * self._grown, self._most_grown)
        elif spared * _SPARED > 2 * self._left:
            self._grown = max(self._grown // 2, 1)

    def _count_left(self) -> int:
        """Pairs of living slots in pairs of bins that are not finished: in those that are begun also the ones
        that were compared, so that two of these numbers differ by what was removed alone."""
        if not self._exclusive or self._most_grown == 1:
            return 0
        return _count_left(self.pairs, *self._bins, self._cursor, self._begin)


def most_rows(values: tuple[int, int]) -> tuple[int, int]:
    """The rows of A and of B at which a round is full, where one of them has so many input values."""
    return max(1, _VALUES // max(1, values[0])), max(1, _VALUES // max(1, values[1]))


def fewest_rounds(comparisons: int) -> int:
    """Of so many comparisons if every round is as large as it can be."""
    rounds, batch = 0, BATCH
    while comparisons > 0 and batch < GROWN * BATCH:
        rounds, comparisons, batch = rounds + 1, comparisons - batch, 2 * batch
    return rounds + max(0, -(-comparisons // batch))


def _gather_alive(alive: NDArray[np.uint8], starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """The living slots of each stretch, one after the other, and how many each has."""
    slots = np.empty(int((stops - starts).sum()), np.int64)
    counts = np.empty(len(starts), np.int64)
    used = _gather(alive, np.ascontiguousarray(starts), np.ascontiguousarray(stops), slots, counts)
    return slots[:used].copy(), counts


@kernel("int64(uint8[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _gather(alive: NDArray[np.uint8], starts: Ints, stops: Ints, slots: Ints, counts: Ints) -> int:
    """Write the living slots and how many each stretch has; how many there are."""
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
    "UniTuple(int64, 2)(UniTuple(int64[::1], 2), _Bins, _Bins, _Limits, int64[::1], int64, int64[:, ::1])",
    _Bins,
    _Limits,
)
def _choose(
    pairs: tuple[Ints, Ints], a: _Bins, b: _Bins, limits: _Limits, cursor: Ints, begin: int, chosen: Ints
) -> tuple[int, int]:
    """Units of the next round as (pair of bins, from, to) within A's bin: how many; and where to begin next.

    `cursor` has, for each pair of bins, the place in A's bin up to which it is compared; at the bin's end the
    pair is finished. All pairs of bins before `begin` are.
    """
    units, compared, a_rows, b_rows = 0, 0, 0, 0
    # Finished pairs of bins are passed over for good only as long as all before them are finished, too: one
    # that an exclusive round leaves out must be found again.
    frontier = True
    for p in range(begin, len(pairs[0])):
        i, j = pairs[0][p], pairs[1][p]
        if cursor[p] < a.counts[i] and (a.left[i] == 0 or b.left[j] == 0):
            cursor[p] = a.counts[i]
        # So that a unit begins with a slot that is alive, and so has at least one pair: b.left[j] > 0 here.
        while cursor[p] < a.counts[i] and not a.alive[a.first[i] + cursor[p]]:
            cursor[p] += 1
        if cursor[p] >= a.counts[i]:
            if frontier:
                begin = p + 1
            continue
        # A slot is in one bin, so units that share no bin share no slot.
        if limits.exclusive and (a.used[i] == limits.number or b.used[j] == limits.number):
            frontier = False
            continue
        # At least one row, though it may be more than what is left of the round: else nothing would go on.
        most = max(1, min((limits.batch - compared) // b.left[j], limits.a_rows - a_rows))
        if limits.exclusive:
            # Many rows against few: a round must be worth its messages.
            most = min(most, limits.grown, max(limits.slab, 16384 // b.left[j]))
        rows, at = 0, cursor[p]
        while at < a.counts[i] and rows < most:
            rows += a.alive[a.first[i] + at]
            at += 1
        chosen[units, 0], chosen[units, 1], chosen[units, 2] = p, cursor[p], at
        cursor[p] = at
        a.used[i], b.used[j] = limits.number, limits.number
        units += 1
        compared += rows * b.left[j]
        a_rows += rows
        b_rows += b.left[j]
        if at < a.counts[i]:
            frontier = False
        elif frontier:
            begin = p + 1
        if compared >= limits.batch or a_rows >= limits.a_rows or b_rows >= limits.b_rows:
            break
    return units, begin


@kernel("int64(UniTuple(int64[::1], 2), _Bins, _Bins, int64[::1], int64)", _Bins)
def _count_left(pairs: tuple[Ints, Ints], a: _Bins, b: _Bins, cursor: Ints, begin: int) -> int:
    left = 0
    for p in range(begin, len(pairs[0])):
        i, j = pairs[0][p], pairs[1][p]
        if cursor[p] < a.counts[i]:
            left += a.left[i] * b.left[j]
    return left
