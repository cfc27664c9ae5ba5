"""Matches among the pairs that meet in a blocking, through an index of bins instead of one of the rule.

A row of the other side is tried against the rows in the bins that meet its own, and against no others. So it
takes as many trials as secure comparisons would, and no rule is too loose for it: a rule that implies nothing
would have all pairs tried otherwise (`join.py`). A pair that meets in several passes is found once; it meets
in each of them at most once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from accord.ranges import distinct, ranges
from accord.rules.blocking.base import Blocking
from accord.rules.evaluate import Indices, Tables, holds
from accord.rules.join import batches
from accord.rules.rule import Rule
from accord.side import Side


class Meetings:
    """The rows of one side, bin after bin, ready to be searched for those that meet rows of the other."""

    def __init__(self, side: Side, rows: Indices, counts: Indices, pairs: tuple[Indices, Indices]) -> None:
        """`rows` of this side, `counts` of them in each bin, −1 for none; `pairs` (of A, of B) of bins."""
        own, other = pairs if side is Side.A else pairs[::-1]
        order = np.argsort(other, kind="stable")
        self._own, self._other = own[order], other[order]
        self._side, self._rows = side, rows
        self._ends = np.cumsum(counts)
        self._first = self._ends - counts

    def matches(self, rule: Rule, tables: Tables, row: Indices, bins: Indices) -> tuple[Indices, Indices]:
        """Every matching pair (row of the other side, row of this one) that meets, sorted, each once: all at
        once."""
        width = 1 + int(self._rows.max(initial=0))
        found = [left * width + right for left, right in self.each(rule, tables, row, bins)]
        keys = distinct(np.concatenate([np.zeros(0, np.int64), *found]))
        return keys // width, keys % width

    def each(
        self, rule: Rule, tables: Tables, row: Indices, bins: Indices
    ) -> Iterator[tuple[Indices, Indices]]:
        """Every matching pair (row of the other side, row of this one) that meets, in batches and as often as
        it meets; the other's rows as (row, bin)."""
        own = tables.a if self._side is Side.A else tables.b
        if not all(len(column) for column in own.values()):
            # Only a table without any rows, which its size tells; one whose rows are in no bin is searched.
            return
        for theirs, mine in self.meet(row, bins):
            # A dummy is tried as row 0, and what comes of it is left out: the time tells how many slots there
            # are, not how many records.
            tried = mine.clip(0)
            a, b = (tried, theirs) if self._side is Side.A else (theirs, tried)
            kept = holds(rule, tables, a, b) & (mine >= 0)
            yield theirs[kept], mine[kept]

    def meet(self, row: Indices, bins: Indices) -> Iterator[tuple[Indices, Indices]]:
        """Every pair (row of the other side, row of this one) that meets, as often as it does, in batches."""
        starts = np.searchsorted(self._other, bins)
        stops = np.searchsorted(self._other, bins, "right")
        met, row = self._own[ranges(starts, stops)], np.repeat(row, stops - starts)
        for first, last in batches(self._ends[met] - self._first[met]):
            begin, end = self._first[met[first:last]], self._ends[met[first:last]]
            yield np.repeat(row[first:last], end - begin), self._rows[ranges(begin, end)]


def meeting_pairs(
    rule: Rule, tables: Tables, sizes: tuple[int, int], blocking: Blocking
) -> tuple[Indices, Indices]:
    """Every matching pair (row of A, row of B) that meets in the blocking, sorted, each once."""
    index = _index(blocking, tables, sizes)
    return index.matches(rule, tables, *blocking.place(Side.A, tables.a, sizes[0]))


def each_meeting(
    rule: Rule, tables: Tables, sizes: tuple[int, int], blocking: Blocking
) -> Iterator[tuple[Indices, Indices]]:
    """The same in batches, in no order, and as often as a pair meets."""
    return _index(blocking, tables, sizes).each(rule, tables, *blocking.place(Side.A, tables.a, sizes[0]))


def candidates(
    tables: Tables, sizes: tuple[int, int], blocking: Blocking
) -> Iterator[tuple[Indices, Indices]]:
    """Every pair (row of A, row of B) that meets in the blocking, each once, in batches.

    A pair is told of in the first pass in which it meets, so that nobody has to remember any.
    """
    for number, one in enumerate(blocking.passes):
        before, only = Blocking(blocking.passes[:number]), Blocking((one,))
        for left, right in _index(only, tables, sizes).meet(*one.place(Side.A, tables.a, sizes[0])):
            fresh = ~before.compares(tables, left, right)
            yield left[fresh], right[fresh]


def _index(blocking: Blocking, tables: Tables, sizes: tuple[int, int]) -> Meetings:
    """B's rows by their bins."""
    record, bins = blocking.place(Side.B, tables.b, sizes[1])
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins, minlength=blocking.bins)
    return Meetings(Side.B, record[order], counts, blocking.pairs())
