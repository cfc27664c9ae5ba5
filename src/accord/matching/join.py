"""All matches of a rule in the clear, through an index on one table.

The index follows from what the rule implies: equal fields become groups, a bounded distance becomes cells of
that size, and only pairs in one group and neighbouring cells are tried. A disjunction has one index a branch.
Where a rule implies nothing, all pairs are tried, a batch at a time. The result is exact either way, and
memory is bounded by the batch and the matches. Every predicate is symmetric, so it does not matter which
party's table is indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from accord.matching.distances import expand
from accord.matching.evaluate import Indices, Tables, holds
from accord.matching.implied import reach, requires_same
from accord.matching.mixing import mix
from accord.matching.rule import Or, Rule, fields_of
from accord.matching.thresholds import Fields, root
from accord.records.columns import Bits, Column, Columns, Integers
from accord.records.schema import DateField, NumberField

Progress = Callable[[int, int], None]
"""Called with (pairs tried, pairs to try)."""

_BATCH = 1 << 17
_MOST_AXES = 3


def full_join(
    rule: Rule, tables: Tables, sizes: tuple[int, int], progress: Progress | None = None
) -> tuple[Indices, Indices]:
    """Every matching pair (row of A, row of B), sorted, each once."""
    return Index(rule, tables.fields, tables.b, sizes[1]).matches(tables.a, sizes[0], progress)


def has_index(rule: Rule, fields: Fields) -> bool:
    """Whether the rule implies enough to spare the trial of all pairs, in every branch."""
    for branch in rule.parts if isinstance(rule, Or) and rule.parts else (rule,):
        names = fields_of(branch)
        if not any(requires_same(branch, name) for name in names) and not _axes(branch, fields, list(names)):
            return False
    return True


class Index:
    """One table, ready to be searched for the matches of other rows."""

    def __init__(self, rule: Rule, fields: Fields, columns: Columns, size: int) -> None:
        parts = rule.parts if isinstance(rule, Or) and rule.parts else (rule,)
        self._branches = [_Branch(part, fields, columns, size) for part in parts]
        self._size = size

    def matches(
        self, other: Columns, count: int, progress: Progress | None = None
    ) -> tuple[Indices, Indices]:
        """Every matching pair (row of the other columns, row of this table), sorted, each once."""
        width = max(1, self._size)
        found = [np.zeros(0, np.int64)]
        for branch in self._branches:
            found += [left * width + right for left, right in branch.matches(other, count, progress)]
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

    def __init__(self, rule: Rule, fields: Fields, columns: Columns, size: int) -> None:
        names = fields_of(rule)
        self._rule, self._fields, self._columns = rule, fields, columns
        self._equal = [name for name in names if requires_same(rule, name)]
        self._axes = _axes(rule, fields, [name for name in names if name not in self._equal])
        rows = self._rows(columns, size)
        groups = self._groups(columns, rows, (0,) * (len(self._axes) - 1))
        self._values = np.unique(groups)
        self._width = 2 + int(self._cells(columns, rows).max(initial=0))
        keys = np.searchsorted(self._values, groups) * self._width + self._cells(columns, rows)
        order = np.argsort(keys, kind="stable")
        self._order, self._keys = rows[order], keys[order]

    def matches(
        self, other: Columns, count: int, progress: Progress | None
    ) -> Iterator[tuple[Indices, Indices]]:
        tables = Tables(self._fields, other, self._columns)
        for left, right in self._candidates(other, count, progress):
            kept = holds(self._rule, tables, left, right)
            yield left[kept], right[kept]

    def _candidates(
        self, other: Columns, count: int, progress: Progress | None
    ) -> Iterator[tuple[Indices, Indices]]:
        """The pairs that the index allows, in batches."""
        ranges = [self._ranges(other, count, offset) for offset in self._offsets()]
        total = sum(int((stops - starts).sum()) for _, starts, stops in ranges)
        done = 0
        for rows, starts, stops in ranges:
            for first, last in batches(stops - starts):
                begin, end = starts[first:last], stops[first:last]
                size = int((end - begin).sum())
                left, right = np.empty(size, np.int64), np.empty(size, np.int64)
                expand(rows[first:last], begin, end, self._order, left, right)
                yield left, right
                done += size
                if progress is not None:
                    progress(done, total)

    def _offsets(self) -> Iterator[tuple[int, ...]]:
        return product((-1, 0, 1), repeat=max(0, len(self._axes) - 1))

    def _ranges(
        self, other: Columns, count: int, offset: tuple[int, ...]
    ) -> tuple[Indices, Indices, Indices]:
        """For each row that has a neighbour there, the stretch of the order to try."""
        rows = self._rows(other, count)
        groups = self._groups(other, rows, offset)
        places = np.searchsorted(self._values, groups)
        known = places < len(self._values)
        known[known] = self._values[places[known]] == groups[known]
        rows, places = rows[known], places[known]
        # A row of the other table may lie beyond the last cell of this one; clip it to the empty border.
        cells = np.minimum(self._cells(other, rows), self._width)
        beside = 1 if self._axes else 0
        keys = places * self._width + cells
        starts = np.searchsorted(self._keys, np.maximum(keys - beside, places * self._width), "left")
        stops = np.searchsorted(
            self._keys, np.minimum(keys + beside, (places + 1) * self._width - 1), "right"
        )
        order = np.argsort(starts, kind="stable")
        return rows[order], starts[order].astype(np.int64), stops[order].astype(np.int64)

    def _rows(self, columns: Columns, size: int) -> Indices:
        present = np.ones(size, np.bool_)
        for name in (*self._equal, *self._axes):
            present &= columns[name].present
        return np.flatnonzero(present)

    def _cells(self, columns: Columns, rows: Indices) -> Indices:
        """The cell along the last axis; 0 where there is no axis."""
        if not self._axes:
            return np.zeros(len(rows), np.int64)
        name, cell = list(self._axes.items())[-1]
        return _values(columns[name])[rows] // cell + 1

    def _groups(self, columns: Columns, rows: Indices, offset: tuple[int, ...]) -> NDArray[np.uint64]:
        hashed = np.zeros(len(rows), np.uint64)
        for name in self._equal:
            column = columns[name]
            words = column.words if isinstance(column, Bits) else _values(column)[:, None].view(np.uint64)
            for word in words.T:
                hashed = mix(hashed, word[rows])
        for (name, cell), step in zip(list(self._axes.items())[:-1], offset, strict=False):
            hashed = mix(hashed, (_values(columns[name])[rows] // cell + step).view(np.uint64))
        return hashed


def _axes(rule: Rule, fields: Fields, names: list[str]) -> dict[str, int]:
    """For each field of bounded distance the size of its cells: no match is farther apart."""
    axes: dict[str, int] = {}
    for name in names:
        farthest = reach(rule, (name,), fields)
        if isinstance(fields[name], NumberField | DateField) and farthest is not None:
            axes[name] = max(1, root(farthest))
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
