"""Blocking by place or nearness: a uniform grid of cells over one to three fields of numbers or dates.

Two ways to catch pairs across a border:
- `neighbours`: both sides use one cell a record, and cells are compared with the cells around them: the
  paper's taxi grid [HMFS17, §5.1]. Complete when no match is farther apart than a cell in any direction.
- `replicate`: A uses one cell a record, B copies a record into every cell that the ball of radius `reach`
  around it touches, and only equal cells are compared, so every pair meets at most once. Complete when no
  match is farther apart than `reach`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import floor, prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from accord.exact import text
from accord.fields.columns import Columns, Integers
from accord.fields.schema import DateField, Exact, Name, NumberField, Spec
from accord.rules.evaluate import Indices, Mask, Tables
from accord.rules.implied import reach
from accord.rules.rule import Rule
from accord.rules.thresholds import Fields, root, step_of
from accord.side import Side

_MOST_COPIES = 1000


class GridSpec(Spec):
    """Cells of side `cell`, in the fields' unit, over the fields' agreed ranges."""

    kind: Literal["grid"]
    fields: tuple[Name, ...] = Field(min_length=1, max_length=3)
    """One field for each axis."""
    cell: Exact
    """The side of a cell, in the unit of the fields."""
    style: Literal["neighbours", "replicate"]
    """Whether neighbouring cells are compared, or B copies a record into each cell within its reach."""
    reach: Exact | None = None
    """With `replicate`: how far apart two records may be and still meet for certain."""

    @model_validator(mode="after")
    def _fits(self) -> GridSpec:
        if self.cell <= 0:
            raise ValueError("cell must be above 0")
        if (self.style == "replicate") != (self.reach is not None):
            raise ValueError('reach belongs to style = "replicate", which needs it')
        if self.reach is not None and self.reach < 0:
            raise ValueError("reach must not be below 0")
        if len(set(self.fields)) < len(self.fields):
            raise ValueError("a field is named twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return self.fields

    def faults(self, fields: Fields, listed: bool = True) -> Iterator[str]:
        """What is wrong with this part under the agreed fields, which hold its fields."""
        if not all(isinstance(fields[name], NumberField | DateField) for name in self.fields):
            yield "a grid needs fields of numbers, dates, latitudes or longitudes."
            return
        if not listed and self.style == "neighbours":
            yield 'only records of equal cells meet; take style = "replicate", with a reach.'
        highs = [f.high for name in self.fields if isinstance(f := fields[name], NumberField | DateField)]
        if sum(high**2 for high in highs) >= 2**60:
            yield "the range of the fields holds too many steps; take a larger step or a smaller range."
        steps = {step_of(fields[name]) for name in self.fields}
        if len(steps) > 1:
            yield "the fields of a grid need the same step."
        elif (self.cell / min(steps)).denominator != 1:
            yield f"cell must be a multiple of the fields' step {text(min(steps))}."
        elif self.reach is not None and (2 * self.reach / self.cell + 2) ** len(self.fields) > _MOST_COPIES:
            yield f"a record would fall into over {_MOST_COPIES} cells; take larger cells or a smaller reach."


class GridPart:
    """`GridSpec` at work, in steps."""

    equal: frozenset[str] = frozenset()

    def __init__(self, spec: GridSpec, fields: Fields) -> None:
        self.spec = spec
        self.fields = fields
        step = step_of(fields[spec.fields[0]])
        self.cell = int(spec.cell / step)
        self.square = 0 if spec.reach is None else floor((spec.reach / step) ** 2)
        highs = [f.high for name in spec.fields if isinstance(f := fields[name], NumberField | DateField)]
        self.shape = tuple(high // self.cell + 1 for high in highs)
        self.size = prod(self.shape)
        # An interval of 2r + 1 whole steps touches at most 1 + ⌈2r / cell⌉ cells.
        across = 1 - (-2 * root(self.square) // self.cell)
        self._across = tuple(min(across, cells) for cells in self.shape)

    def per_record(self, side: Side) -> int:
        return prod(self._across) if side is Side.B else 1

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        points, present = self._points(columns)
        record = np.flatnonzero(present)
        if side is Side.A or self.spec.style == "neighbours":
            return record, self._code(points[record] // self.cell)
        first = np.maximum(0, (points[record] - root(self.square)) // self.cell)
        records, codes = [], []
        for offset in product(*(range(n) for n in self._across)):
            cells = first + np.array(offset)
            touched = self._touches(points[record], cells) & np.all(cells < self.shape, axis=1)
            records.append(record[touched])
            codes.append(self._code(cells[touched]))
        order = np.argsort(np.concatenate(records), kind="stable")
        return np.concatenate(records)[order], np.concatenate(codes)[order]

    def keys(self, side: Side, columns: Columns) -> tuple[Indices, NDArray[np.uint64]]:
        record, code = self.place(side, columns)
        return record, code.astype(np.uint64)

    def pairs(self) -> tuple[Indices, Indices]:
        if self.spec.style == "replicate":
            return np.arange(self.size), np.arange(self.size)
        left, right = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for cells in self.shape:
            a = np.repeat(np.arange(cells), 3)
            b = a + np.tile([-1, 0, 1], cells)
            inside = (b >= 0) & (b < cells)
            left = np.add.outer(left * cells, a[inside]).ravel()
            right = np.add.outer(right * cells, b[inside]).ravel()
        return left, right

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        a, a_present = self._points(tables.a)
        b, b_present = self._points(tables.b)
        cells = a[left] // self.cell
        if self.spec.style == "replicate":
            met = self._touches(b[right], cells)
        else:
            met = np.all(np.abs(cells - b[right] // self.cell) <= 1, axis=1)
        return met & a_present[left] & b_present[right]

    def loses(self, rule: Rule) -> str | None:
        names = self.spec.fields
        if self.spec.style == "replicate":
            farthest = reach(rule, names, self.fields)
            if farthest is not None and farthest <= self.square:
                return None
            return f"the rule accepts pairs farther apart in {' and '.join(names)} than the grid's reach"
        apart = [reach(rule, (name,), self.fields) for name in names]
        if all(bound is not None and bound <= self.cell**2 for bound in apart):
            return None
        return f"the rule accepts pairs more than one cell apart in {' or '.join(names)}"

    def _points(self, columns: Columns) -> tuple[Indices, Mask]:
        found = [c for name in self.spec.fields if isinstance(c := columns[name], Integers)]
        present = np.logical_and.reduce([column.present for column in found])
        return np.stack([column.values for column in found], axis=1), present

    def _code(self, cells: Indices) -> Indices:
        code = np.zeros(len(cells), np.int64)
        for axis, count in enumerate(self.shape):
            code = code * count + cells[:, axis]
        return code

    def _touches(self, points: Indices, cells: Indices) -> Mask:
        """Whether the ball of radius `reach` around each point holds a point of the cell."""
        below = self.cell * cells - points
        apart = np.maximum(0, np.maximum(below, -below - (self.cell - 1)))
        return np.sum(apart**2, axis=1) <= self.square
