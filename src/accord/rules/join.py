"""Matches of a rule in the clear: all of them, through an index on one table, or those that meet in a
blocking.

The index follows from what the rule implies: equal fields become groups, a bounded distance becomes cells of
that size, and only pairs in one group and neighbouring cells are tried. A disjunction has one index a branch.
Where a rule implies nothing, all pairs are tried, a batch at a time. The result is exact either way, and
memory is bounded by the batch, and by the matches for whoever wants them all at once. Either party's table
can be indexed; the index knows whose it is, since a crossed predicate reads one field of A's records and
another of B's.

Among the pairs that meet in a blocking, a row of the other side is tried against the rows in the bins that
meet its own, and against no others. So it takes as many trials as secure comparisons would, and no rule is
too loose for it. A pair that meets in several passes is found once; it meets in each of them at most once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Bits, Column, Columns, Integers, rows_of
from accord.fields.schema import DateField, NumberField
from accord.ranges import contained, distinct, mix, ranges
from accord.rules.blocking.base import Blocking
from accord.rules.blocking.passes import Placed
from accord.rules.distances import expand
from accord.rules.evaluate import Indices, Mask, Tables, holds
from accord.rules.implied import reach, requires_same
from accord.rules.rule import Missing, Or, Rule, compared_fields, predicates
from accord.rules.thresholds import Fields, root
from accord.side import Side

T = TypeVar("T")
Pair = tuple[str, str]
"""A's field and B's, which are compared."""

_BATCH = 1 << 17
_ROWS = 1 << 17
"""Of the other table that are looked for at a time."""
_MOST_AXES = 3


def full_join(rule: Rule, tables: Tables, sizes: tuple[int, int]) -> tuple[Indices, Indices]:
    """Every matching pair (row of A, row of B), sorted, each once."""
    return Index(rule, tables.fields, Side.B, tables.b, sizes[1]).matches(tables.a, sizes[0])


def has_index(rule: Rule, fields: Fields) -> bool:
    """Whether the rule implies enough to spare the trial of all pairs, in every branch."""
    for branch in rule.parts if isinstance(rule, Or) and rule.parts else (rule,):
        pairs = _compared(branch)
        if not any(requires_same(branch, *pair) for pair in pairs) and not _axes(branch, fields, pairs):
            return False
    return True


class Index:
    """The table of one side, ready to be searched for the matches of the other side's rows."""

    def __init__(self, rule: Rule, fields: Fields, side: Side, columns: Columns, size: int) -> None:
        parts = rule.parts if isinstance(rule, Or) and rule.parts else (rule,)
        self._branches = [_Branch(part, fields, side, columns, size) for part in parts]
        self._size = size

    def each(self, other: Columns, count: int) -> Iterator[tuple[Indices, Indices]]:
        """Every matching pair (row of the other columns, row of this table), in batches and in no order; once
        for each branch that accepts it."""
        for first in range(0, count, _ROWS):
            rows = np.arange(first, min(first + _ROWS, count))
            some = {name: rows_of(column, rows) for name, column in other.items()} if count > _ROWS else other
            for branch in self._branches:
                for left, right in branch.matches(some, len(rows)):
                    yield left + first, right

    def matches(self, other: Columns, count: int) -> tuple[Indices, Indices]:
        """Every matching pair, sorted, each once: all at once."""
        width = max(1, self._size)
        found = [np.zeros(0, np.int64)]
        found += [left * width + right for left, right in self.each(other, count)]
        keys = np.concatenate(found)
        found.clear()
        keys.sort()
        if len(self._branches) > 1:
            keys = keys[np.diff(keys, prepend=-1) != 0]
        return keys // width, keys % width


class _Branch:
    """The rows in order of (group, cell of the last axis).

    A group is a hash of the equal fields and the cells of the other axes: two groups that collide are tried
    together, which costs time and never a match. Cells are numbered from 1, with an empty one on either
    side, so that the neighbours of a cell never belong to another group.
    """

    def __init__(self, rule: Rule, fields: Fields, side: Side, columns: Columns, size: int) -> None:
        pairs = _compared(rule)
        self._rule, self._fields, self._side, self._columns = rule, fields, side, columns
        self._equal = [pair for pair in pairs if requires_same(rule, *pair)]
        self._axes = _axes(rule, fields, [pair for pair in pairs if pair not in self._equal])
        mine = _Keys(self._equal, self._axes, side, columns)
        rows = mine.rows(size)
        groups = mine.groups(rows, (0,) * (len(self._axes) - 1))
        self._values = np.unique(groups)
        self._width = 2 + int(mine.cells(rows).max(initial=0))
        keys = np.searchsorted(self._values, groups) * self._width + mine.cells(rows)
        order = np.argsort(keys, kind="stable")
        self._order, self._keys = rows[order], keys[order]

    def matches(self, other: Columns, count: int) -> Iterator[tuple[Indices, Indices]]:
        tables = Tables(self._fields, *self._by_side(other, self._columns))
        for theirs, mine in self._candidates(other, count):
            kept = holds(self._rule, tables, *self._by_side(theirs, mine))
            yield theirs[kept], mine[kept]

    def _by_side(self, theirs: T, mine: T) -> tuple[T, T]:
        """A's, then B's."""
        return (mine, theirs) if self._side is Side.A else (theirs, mine)

    def _candidates(self, other: Columns, count: int) -> Iterator[tuple[Indices, Indices]]:
        """The pairs that the index allows, in batches."""
        for rows, starts, stops in (self._ranges(other, count, offset) for offset in self._offsets()):
            for first, last in batches(stops - starts):
                begin, end = starts[first:last], stops[first:last]
                size = int((end - begin).sum())
                left, right = np.empty(size, np.int64), np.empty(size, np.int64)
                expand(rows[first:last], begin, end, self._order, left, right)
                yield left, right

    def _offsets(self) -> Iterator[tuple[int, ...]]:
        return product((-1, 0, 1), repeat=max(0, len(self._axes) - 1))

    def _ranges(
        self, other: Columns, count: int, offset: tuple[int, ...]
    ) -> tuple[Indices, Indices, Indices]:
        """For each row that has a neighbour there, the stretch of the order to try."""
        theirs = _Keys(self._equal, self._axes, self._side.other, other)
        rows = theirs.rows(count)
        groups = theirs.groups(rows, offset)
        places = np.searchsorted(self._values, groups)
        known = places < len(self._values)
        known[known] = self._values[places[known]] == groups[known]
        rows, places = rows[known], places[known]
        # A row of the other table may lie beyond the last cell of this one; clip it to the empty border.
        cells = np.minimum(theirs.cells(rows), self._width)
        beside = 1 if self._axes else 0
        keys = places * self._width + cells
        starts = np.searchsorted(self._keys, np.maximum(keys - beside, places * self._width), "left")
        stops = np.searchsorted(
            self._keys, np.minimum(keys + beside, (places + 1) * self._width - 1), "right"
        )
        order = np.argsort(starts, kind="stable")
        return rows[order], starts[order].astype(np.int64), stops[order].astype(np.int64)


class _Keys:
    """By what the rows of one side are found: its fields of the equal pairs, and its places on the axes."""

    def __init__(self, equal: list[Pair], axes: dict[Pair, int], side: Side, columns: Columns) -> None:
        at = 0 if side is Side.A else 1
        self._equal = [columns[pair[at]] for pair in equal]
        self._axes = [(columns[pair[at]], cell) for pair, cell in axes.items()]

    def rows(self, size: int) -> Indices:
        """Those that have every value; the others match nothing."""
        present = np.ones(size, np.bool_)
        for column in (*self._equal, *(column for column, _ in self._axes)):
            present &= column.present
        return np.flatnonzero(present)

    def cells(self, rows: Indices) -> Indices:
        """The cell along the last axis; 0 where there is no axis."""
        if not self._axes:
            return np.zeros(len(rows), np.int64)
        column, cell = self._axes[-1]
        return _values(column)[rows] // cell + 1

    def groups(self, rows: Indices, offset: tuple[int, ...]) -> NDArray[np.uint64]:
        hashed = np.zeros(len(rows), np.uint64)
        for column in self._equal:
            words = column.words if isinstance(column, Bits) else _values(column)[:, None].view(np.uint64)
            for word in words.T:
                hashed = mix(hashed, word[rows])
        for (column, cell), step in zip(self._axes[:-1], offset, strict=False):
            hashed = mix(hashed, (_values(column)[rows] // cell + step).view(np.uint64))
        return hashed


def _compared(rule: Rule) -> list[Pair]:
    """The pairs (field of A, field of B) that a rule compares, each once."""
    found = [pair for p in predicates(rule) if not isinstance(p, Missing) for pair in compared_fields(p)]
    return list(dict.fromkeys(found))


def _axes(rule: Rule, fields: Fields, pairs: list[Pair]) -> dict[Pair, int]:
    """For each pair of fields of bounded distance the size of its cells: no match is farther apart."""
    axes: dict[Pair, int] = {}
    for of_a, of_b in pairs:
        farthest = reach(rule, (of_a,), fields, of_b)
        if isinstance(fields[of_a], NumberField | DateField) and farthest is not None:
            axes[of_a, of_b] = max(1, root(farthest))
    return dict(list(axes.items())[:_MOST_AXES])


def _values(column: Column) -> Indices:
    if not isinstance(column, Integers):
        raise TypeError("a distance needs a field of integers")
    return column.values


def batches(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows into runs of about a batch of pairs; a row is never cut."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _BATCH, "right")))
        yield first, last
        first = last


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
    placed = blocking.place_both((tables.a, tables.b), sizes)
    return _index(placed).matches(rule, tables, *placed.a)


def candidates(
    tables: Tables, sizes: tuple[int, int], blocking: Blocking
) -> Iterator[tuple[Indices, Indices]]:
    """Every pair (row of A, row of B) that meets in the blocking, each once, in batches."""
    return Compared.of(tables, sizes, blocking).pairs()


@dataclass(frozen=True)
class PassPairs:
    """The pairs of one pass."""

    placed: Placed

    def pairs(self) -> Iterator[tuple[Indices, Indices]]:
        """All of them (row of A, row of B), in batches."""
        return _index(self.placed).meet(*self.placed.a)

    def has(self, left: Indices, right: Indices) -> Mask:
        """Which of some pairs are among them."""
        (of_a, bins), (own, other) = self.placed.a, self._bin_pairs
        starts, stops = np.searchsorted(of_a, left), np.searchsorted(of_a, left, "right")
        pair, met = np.repeat(np.arange(len(left)), stops - starts), bins[ranges(starts, stops)]
        starts, stops = np.searchsorted(own, met), np.searchsorted(own, met, "right")
        pair, met = np.repeat(pair, stops - starts), other[ranges(starts, stops)]
        found = np.zeros(len(left), np.bool_)
        found[pair[contained(right[pair] * self.placed.bins + met, self._entries)]] = True
        return found

    @cached_property
    def _bin_pairs(self) -> tuple[Indices, Indices]:
        """Bins of A in order, and those of B that they meet."""
        order = np.argsort(self.placed.pairs[0], kind="stable")
        return self.placed.pairs[0][order], self.placed.pairs[1][order]

    @cached_property
    def _entries(self) -> Indices:
        """Each record of B in each of its bins, as one number."""
        record, bins = self.placed.b
        return np.sort(record * self.placed.bins + bins)


@dataclass(frozen=True)
class Compared:
    """Which pairs of records are compared, pass by pass."""

    passes: tuple[PassPairs, ...]

    @classmethod
    def of(cls, tables: Tables, sizes: tuple[int, int], blocking: Blocking) -> Compared:
        """All that meet in the blocking."""
        columns = tables.a, tables.b
        return cls(tuple(PassPairs(one.place_both(columns, sizes)) for one in blocking.passes))

    def among(self, rows: Indices) -> Compared:
        """Those of some rows of A, which come in order."""
        found = []
        for one in self.passes:
            record, bins = one.placed.a
            some = contained(record, rows)
            found.append(PassPairs(one.placed._replace(a=(record[some], bins[some]))))
        return Compared(tuple(found))

    @property
    def count(self) -> int:
        """How many there are, as often as they are compared."""
        return sum(one.placed.candidates for one in self.passes)

    def pairs(self) -> Iterator[tuple[Indices, Indices]]:
        """Every pair (row of A, row of B) once, in batches, from the first pass that has it: so none need be
        remembered."""
        for number, one in enumerate(self.passes):
            for left, right in one.pairs():
                fresh = np.ones(len(left), np.bool_)
                for before in self.passes[:number]:
                    open_ = np.flatnonzero(fresh)
                    fresh[open_] = ~before.has(left[open_], right[open_])
                yield left[fresh], right[fresh]

    def has(self, left: Indices, right: Indices) -> Mask:
        """Which of some pairs are among them."""
        return np.logical_or.reduce(
            [np.zeros(len(left), np.bool_), *(p.has(left, right) for p in self.passes)]
        )


def matches_among(rule: Rule, tables: Tables, compared: Compared) -> Iterator[tuple[Indices, Indices]]:
    """The pairs that the rule accepts, in batches and as often as they are compared."""
    for one in compared.passes:
        yield from _index(one.placed).each(rule, tables, *one.placed.a)


def _index(placed: Placed) -> Meetings:
    """B's rows by their bins."""
    record, bins = placed.b
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins, minlength=placed.bins)
    return Meetings(Side.B, record[order], counts, placed.pairs)
