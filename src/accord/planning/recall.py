"""The share of the pairs that the rule accepts which an option finds.

What follows from the agreement is exact: a blocking that is complete for the rule brings all of them
together, and the protocol says what it finds of those. Otherwise it is *estimated*: synthetic records
(made_up.py) are taken once as they are and once with made-up errors, and of the pairs that the rule accepts
it is seen which the blocking brings together.

Made-up errors are what records may look like at the partner's. Texts get the slips of the generator of people
(datasets/people_typos.py) at its rates, some cells are empty, and some dates are another record's, all before
anything is cleaned, derived or encoded, so that what a field is made of errs with it. Numbers with a range of
their own jitter after they are encoded, by no more than the rule accepts, each by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.datasets.people_errors import Errors
from accord.datasets.people_typos import SLIPS
from accord.fields.columns import Column, Integers, Records
from accord.fields.schema import DateField, NumberField, TextField
from accord.protocols.base import Task
from accord.protocols.sharing import Sample
from accord.rules.evaluate import Tables, holds
from accord.rules.implied import reach
from accord.rules.rule import Within, predicates, scores_of
from accord.rules.thresholds import root, within_steps
from accord.side import Side

_EMPTY = 0.02
_LONGEST = 200
_MOVED = 0.3
"""Values that differ within the distance that a level of a score allows."""


def err(rng: np.random.Generator, agreement: Agreement, table: pa.Table, where: dict[str, str]) -> pa.Table:
    """The table with errors in the columns of the agreement, as far as `where` says where they are."""
    kinds: dict[str, set[str]] = {}
    empty: dict[str, bool] = {}
    for name, spec in agreement.fields.items():
        for column in (one for one in spec.columns(name) if one in where):
            kind = "text" if isinstance(spec, TextField) else "date" if isinstance(spec, DateField) else ""
            kinds.setdefault(where[column], set()).add(kind)
            empty[where[column]] = empty.get(where[column], True) and spec.missing == "differs"
    for column, of in kinds.items():
        cells = table[column].combine_chunks()
        if "date" in of:
            cells = _misdate(rng, cells)
        elif of == {"text"} and (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
            cells = _slip(rng, cells)
        if empty[column]:
            cells = pc.if_else(pa.array(rng.random(len(cells)) < _EMPTY), pa.scalar(None, cells.type), cells)
        table = table.set_column(table.column_names.index(column), column, cells)
    return table


def _slip(rng: np.random.Generator, cells: pa.Array) -> pa.Array:
    """Each slip at its rate; a person's texts share it out, here a cell has a third of it."""
    texts = [None if text is None else text[:_LONGEST].lower() for text in cells.to_pylist()]
    octets = np.array([(text or "").encode() for text in texts], dtype=bytes)
    made = octets.astype(f"S{octets.dtype.itemsize + 2}")
    rates = Errors().rates
    for name, slip in SLIPS.items():
        here = np.flatnonzero(rng.random(len(made)) < rates[name] / 3)
        if len(here):
            made[here] = slip(rng, made[here])
    slipped = [
        None if old is None else new.decode(errors="ignore") for old, new in zip(texts, made, strict=True)
    ]
    return pa.array(slipped, cells.type)


def _misdate(rng: np.random.Generator, cells: pa.Array) -> pa.Array:
    """Some have the date of another record."""
    rows = np.arange(len(cells))
    wrong = rng.random(len(cells)) < Errors().misdated + Errors().swapped_date
    rows[wrong] = rng.integers(0, len(cells), int(wrong.sum()))
    return cells.take(pa.array(rows))


def jitter(rng: np.random.Generator, agreement: Agreement, records: Records) -> Records:
    """The records with numbers and dates moved, by no more than the rule accepts."""
    columns: dict[str, Column] = dict(records.columns)
    for name, spec in agreement.fields.items():
        column, far = columns[name], reach(agreement.rule, (name,), agreement.fields)
        if not isinstance(column, Integers) or not isinstance(spec, DateField | NumberField):
            continue
        steps, share = (root(far), 1.0) if far else (nearest_distance(agreement, name), _MOVED)
        if steps:
            moves = rng.integers(-steps, steps, len(column), endpoint=True)
            moved = column.values + moves * (rng.random(len(column)) < share)
            columns[name] = Integers(np.clip(moved, 0, spec.high) * column.present, column.present)
    return replace(records, columns=columns)


def nearest_distance(agreement: Agreement, name: str) -> int:
    """The fewest steps that two values of a field may be apart and still speak for a match; 0 if none."""
    levels = (
        level
        for score in scores_of(agreement.rule)
        for each in score.comparisons
        for level in each.levels
        if level.weight > 0
    )
    near = (
        within_steps(one, agreement.fields)
        for level in levels
        for one in predicates(level.when)
        if isinstance(one, Within) and not one.crossed and one.field == name and one.bound > 0
    )
    return min(near, default=0)


def recall_of(task: Task, met: float | None) -> float | None:
    """Of the pairs that the rule accepts. `met`: the share that the blocking brings together."""
    found = task.protocol.expected_found(task)
    return None if found is None or met is None else met * found


def shares_met(
    task: Task, a: Records, b: Records, samples: Mapping[Side, Sample]
) -> NDArray[np.float64] | None:
    """Of the rows that the rule calls the same, row by row, the shares that first meet in each pass, in
    tables like the samples (`Protocol.meets`); None of none."""
    if len(a) != len(b):
        # Rows were left out of one of them: nobody knows any more which belong together.
        return None
    tables, rows = Tables(task.fields, a.columns, b.columns), np.arange(len(a))
    accepted = rows[holds(task.rule, tables, rows, rows)]
    if not len(accepted):
        return None
    return task.protocol.meets(task, tables, accepted, samples).mean(axis=0)
