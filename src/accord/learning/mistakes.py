"""A copy of one's own records with made-up errors: what the same people may look like in another table.

Errors are those of `accord.datasets`, for columns of any name: slips of the hand, the ear and the scanner in
texts, days as months and dates that are off by one, values that changed, names in each other's columns, cells
that are empty. Each column errs by itself. What a field would refuse never comes about: a code becomes
another row's, and a date stays between the first and the last of its column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.datasets.people_errors import misdate
from accord.datasets.people_typos import SLIPS
from accord.fields.cleaning import swap
from accord.fields.making import read_days
from accord.fields.schema import DateField, FieldSpec, NumberField, TextField, dated_columns
from accord.rules.rule import OneField, Rule, predicates
from accord.table.layout import Layout

Flags = NDArray[np.bool_]
_ROOM = 2
"""Octets by which slips may make a text longer."""
_DAYS = date(1900, 1, 1), date(2099, 12, 31)
_MOST = 10_000
"""Synthetic days are among these, and synthetic numbers from 0 up to this."""


@dataclass(frozen=True)
class Rates:
    """Of how many pairs a cell has each error."""

    slip: float = 0.10
    changed: float = 0.08
    missing: float = 0.03
    swapped_date: float = 0.05
    misdated: float = 0.03
    exchanged: float = 0.03

    def scaled(self, factor: float) -> Rates:
        """All of them so many times as often, none more often than always."""
        return Rates(**{one.name: min(1.0, factor * getattr(self, one.name)) for one in fields(self)})


def relax(specs: Mapping[str, FieldSpec]) -> dict[str, FieldSpec]:
    """The fields for a copy: they encode as before, and no error that was made up is a fault."""
    changed = {}
    for name, spec in specs.items():
        skip = {"other": "skip"} if getattr(spec, "other", "") == "error" else {}
        changed[name] = spec.model_copy(update={"missing": "differs"} | skip)
    return changed


def relax_ranges(specs: Mapping[str, FieldSpec], bound: Collection[str] = ()) -> dict[str, FieldSpec]:
    """The fields for synthetic records, whose days and numbers may lie outside the agreed ranges. What
    the `bound` fields are made of stays within: bins are counted by them."""
    changed, within = relax(specs), {column for name in bound for column in specs[name].columns(name)}
    for name, spec in changed.items():
        if within & {*spec.columns(name)}:
            continue
        if isinstance(spec, DateField):
            first, last = min(spec.min, _DAYS[0]), max(spec.max, _DAYS[1])
            changed[name] = spec.model_copy(update={"min": first, "max": last})
        elif isinstance(spec, NumberField) and spec.type == "number" and not spec.is_log:
            most = max(spec.max, spec.step * int(_MOST / spec.step))
            changed[name] = spec.model_copy(update={"min": min(spec.min, Fraction(0)), "max": most})
    return changed


def with_errors(
    table: pa.Table,
    rule: Rule,
    specs: Mapping[str, FieldSpec],
    layout: Layout,
    rates: Rates,
    rng: np.random.Generator,
) -> pa.Table:
    """The table, whose columns have the names that the layout says, with errors in what the rule reads."""
    dated = dated_columns(specs)
    for first, second in _exchangeable(rule, specs):
        table = _exchange(table, layout.place([first]), layout.place([second]), rates, rng)
    for column in dict.fromkeys(c for name, spec in specs.items() for c in spec.columns(name)):
        source = layout.source(column)
        readers = [spec for name, spec in specs.items() if column in spec.columns(name)]
        own = layout.place([column])
        cells = table[own].combine_chunks()
        if column in dated:
            cells = _err_in_dates(read_days(cells, source.format, {}, dated[column]).days, rates, rng)
        elif any(isinstance(spec, TextField) for spec in readers):
            cells = _slip(cells, rates.slip, rng)
        cells = _change(cells, rates.changed, rng)
        if all(spec.missing == "differs" for spec in readers):
            cells = pc.if_else(
                pa.array(_some(rng, rates.missing, len(cells))), pa.scalar(None, cells.type), cells
            )
        table = table.set_column(table.column_names.index(own), own, cells)
    return table


def _some(rng: np.random.Generator, rate: float, count: int) -> Flags:
    return rng.random(count) < rate


def _slip(cells: pa.Array, rate: float, rng: np.random.Generator) -> pa.Array:
    """Texts, some with one slip, all in lower case, as which they are compared."""
    texts = pc.utf8_lower(pc.fill_null(cells.cast(pa.string()), ""))
    octets = np.array([text.encode() for text in texts.to_pylist()], np.bytes_)
    octets = octets.astype(f"S{octets.dtype.itemsize + _ROOM}")
    due = np.flatnonzero(_some(rng, rate, len(octets)) & (octets != b""))
    kinds = rng.integers(0, len(SLIPS), len(due))
    for number, slip in enumerate(SLIPS.values()):
        rows = due[kinds == number]
        if len(rows):
            octets[rows] = slip(rng, octets[rows])
    made = pa.array([text.decode() for text in octets.tolist()], pa.string())
    return pc.if_else(pc.is_valid(cells), made, pa.scalar(None, pa.string()))


def _err_in_dates(days: pa.Array, rates: Rates, rng: np.random.Generator) -> pa.Array:
    """Days since 1970 as dates, some of them wrong."""
    there = np.asarray(pc.is_valid(days))
    numbers = np.asarray(pc.fill_null(days, 0)).astype(np.int64)
    if not there.any():
        return days.cast(pa.date32())
    swapped = np.asarray(pc.coalesce(swap(days), days, pa.scalar(0, pa.int32()))).astype(np.int64)
    made = np.where(_some(rng, rates.swapped_date, len(numbers)), swapped, numbers)
    wrong = np.flatnonzero(_some(rng, rates.misdated, len(numbers)) & there)
    made[wrong] = misdate(rng, made[wrong].astype("datetime64[D]")).astype(np.int64)
    outside = (made < numbers[there].min()) | (made > numbers[there].max())
    made = np.where(outside, numbers, made).astype(np.int32)
    return pa.array(made, pa.int32(), mask=~there).cast(pa.date32())


def _change(cells: pa.Array, rate: float, rng: np.random.Generator) -> pa.Array:
    """Some cells as in another row: somebody moved, married, or has a new number. An empty one stays."""
    others = cells.take(pa.array(rng.permutation(len(cells))))
    due = pc.and_(pa.array(_some(rng, rate, len(cells))), pc.and_(pc.is_valid(cells), pc.is_valid(others)))
    return pc.if_else(due, others, cells)


def _exchangeable(rule: Rule, specs: Mapping[str, FieldSpec]) -> Sequence[tuple[str, str]]:
    """Pairs of columns that the rule compares with each other, each once."""
    found: dict[tuple[str, str], None] = {}
    for one in predicates(rule):
        if isinstance(one, OneField) and one.crossed:
            first, second = (specs[name].columns(name) for name in sorted((one.field, one.field_b)))
            if len(first) == len(second) == 1 and first != second:
                found[first[0], second[0]] = None
    return list(found)


def _exchange(table: pa.Table, first: str, second: str, rates: Rates, rng: np.random.Generator) -> pa.Table:
    due = pa.array(_some(rng, rates.exchanged, table.num_rows))
    one, other = table[first], table[second]
    if one.type != other.type:
        return table
    table = table.set_column(table.column_names.index(first), first, pc.if_else(due, other, one))
    return table.set_column(table.column_names.index(second), second, pc.if_else(due, one, other))
