"""All matches of a rule between two tables in the clear, through a local index.

The index follows from what the rule implies: equal fields become groups, a bounded distance becomes cells of
that size, and only pairs in one group and neighbouring cells are tried. A disjunction is joined branch by
branch. Where a rule implies nothing, all pairs are tried, a batch at a time. The result is exact either way,
and memory is bounded by the batch and the matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.matching.distances import expand
from accord.matching.evaluate import Indices, Tables, holds
from accord.matching.implied import reach, requires_same
from accord.matching.rule import Or, Rule, fields_of
from accord.matching.thresholds import root
from accord.records.columns import Bits, Column, Integers
from accord.records.schema import DateField, NumberField

Progress = Callable[[int, int], None]
"""Called with (pairs tried, pairs to try)."""

_BATCH = 1 << 17
_MOST_AXES = 3
_WIDEST = 2**62


def full_join(
    rule: Rule, tables: Tables, sizes: tuple[int, int], progress: Progress | None = None
) -> tuple[Indices, Indices]:
    """Every matching pair (row of A, row of B), sorted, each once."""
    branches = rule.parts if isinstance(rule, Or) and rule.parts else (rule,)
    found = [pairs for branch in branches for pairs in _join_branch(branch, tables, sizes, progress)]
    width = max(1, sizes[1])
    keys = np.concatenate([np.zeros(0, np.int64), *(left * width + right for left, right in found)])
    keys.sort()
    if len(branches) > 1:
        keys = keys[np.diff(keys, prepend=-1) != 0]
    return keys // width, keys % width


def _join_branch(
    rule: Rule, tables: Tables, sizes: tuple[int, int], progress: Progress | None
) -> Iterator[tuple[Indices, Indices]]:
    for left, right in _candidates(_index(rule, tables, sizes), progress):
        kept = holds(rule, tables, left, right)
        yield left[kept], right[kept]


@dataclass(frozen=True)
class _Index:
    """B's rows in order of their key; for each row of A, ranges of that order that may hold matches."""

    order: Indices
    rows: Indices
    ranges: list[tuple[Indices, Indices]]


def _index(rule: Rule, tables: Tables, sizes: tuple[int, int]) -> _Index:
    names = fields_of(rule)
    equal = [name for name in names if requires_same(rule, name)]
    axes = _axes(rule, tables, [name for name in names if name not in equal])
    rows_a = _rows_with([tables.a[n] for n in (*equal, *axes)], sizes[0])
    rows_b = _rows_with([tables.b[n] for n in (*equal, *axes)], sizes[1])
    groups_a, groups_b, count = np.zeros(len(rows_a), np.int64), np.zeros(len(rows_b), np.int64), 1
    for name in equal:
        codes_a, codes_b, codes = _factorised(tables.a[name], tables.b[name], rows_a, rows_b)
        both = np.concatenate([groups_a * codes + codes_a, groups_b * codes + codes_b])
        values, groups = np.unique(both, return_inverse=True)
        groups_a, groups_b, count = groups[: len(rows_a)], groups[len(rows_a) :], len(values)
    return _with_cells(tables, axes, (rows_a, rows_b), (groups_a, groups_b), count)


def _axes(rule: Rule, tables: Tables, names: list[str]) -> dict[str, int]:
    """For each field of bounded distance the size of its cells: no match is farther apart."""
    axes: dict[str, int] = {}
    for name in names:
        spec = tables.fields[name]
        farthest = reach(rule, (name,), tables.fields)
        if isinstance(spec, NumberField | DateField) and farthest is not None and len(axes) < _MOST_AXES:
            axes[name] = max(1, root(farthest))
    return axes


def _rows_with(columns: list[Column], size: int) -> Indices:
    present = np.ones(size, np.bool_)
    for column in columns:
        present &= column.present
    return np.flatnonzero(present)


def _factorised(a: Column, b: Column, rows_a: Indices, rows_b: Indices) -> tuple[Indices, Indices, int]:
    """The two columns as codes that are equal exactly when the values are."""
    if isinstance(a, Integers) and isinstance(b, Integers):
        return (
            a.values[rows_a],
            b.values[rows_b],
            1 + int(max(a.values.max(initial=0), b.values.max(initial=0))),
        )
    if not (isinstance(a, Bits) and isinstance(b, Bits)):
        raise TypeError("the two sides' columns are of different kinds")
    both = np.concatenate([a.words[rows_a], b.words[rows_b]])
    whole = np.ascontiguousarray(both).view([("", np.uint64)] * both.shape[1]).ravel()
    values, codes = np.unique(whole, return_inverse=True)
    return codes[: len(rows_a)], codes[len(rows_a) :], max(1, len(values))


def _with_cells(
    tables: Tables,
    axes: dict[str, int],
    rows: tuple[Indices, Indices],
    groups: tuple[Indices, Indices],
    count: int,
) -> _Index:
    """Order B by (group, cell) and find, for A's rows, the runs of neighbouring cells in that order.

    Cells are numbered from 1 with one empty cell on either side, so that a neighbour never belongs to
    another row of cells; along the last axis the three neighbours lie side by side and make one run.
    """
    key_a, key_b = groups
    placed = []
    for name, cell in axes.items():
        cells_a, cells_b = _cells(tables.a[name], rows[0], cell), _cells(tables.b[name], rows[1], cell)
        width = 2 + int(max(cells_a.max(initial=0), cells_b.max(initial=0)))
        if count * width < _WIDEST:
            key_a, key_b, count = key_a * width + cells_a, key_b * width + cells_b, count * width
            placed.append(width)
    offsets = np.zeros(1, np.int64)
    for axis, width in enumerate(placed):
        steps = [0] if axis == len(placed) - 1 else [-1, 0, 1]
        offsets = np.add.outer(offsets * width, steps).ravel()
    reach_along = 1 if placed else 0
    order = np.argsort(key_b, kind="stable")
    sorted_b = key_b[order]
    sequence = np.argsort(key_a, kind="stable")
    sorted_a = key_a[sequence]
    ranges = []
    for offset in offsets:
        starts = np.searchsorted(sorted_b, sorted_a + offset - reach_along, "left")
        stops = np.searchsorted(sorted_b, sorted_a + offset + reach_along, "right")
        ranges.append((starts.astype(np.int64), stops.astype(np.int64)))
    return _Index(rows[1][order], rows[0][sequence], ranges)


def _cells(column: Column, rows: Indices, cell: int) -> Indices:
    if not isinstance(column, Integers):
        raise TypeError("a distance needs a field of integers")
    return column.values[rows] // cell + 1


def _candidates(index: _Index, progress: Progress | None) -> Iterator[tuple[Indices, Indices]]:
    """The pairs that the index allows, in batches."""
    total = sum(int((stops - starts).sum()) for starts, stops in index.ranges)
    done = 0
    for starts, stops in index.ranges:
        for first, last in _batches(stops - starts):
            rows, begin, end = index.rows[first:last], starts[first:last], stops[first:last]
            size = int((end - begin).sum())
            left, right = np.empty(size, np.int64), np.empty(size, np.int64)
            expand(rows, begin, end, index.order, left, right)
            yield left, right
            done += size
            if progress is not None:
                progress(done, total)


def _batches(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows into runs of about a batch of pairs; a row is never cut."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _BATCH, "right")))
        yield first, last
        first = last
