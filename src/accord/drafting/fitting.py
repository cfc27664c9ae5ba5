"""Where agreed fields are found in one's own table: by type, by name, and where they must be made of others.

An agreed name is found, in this order: in the column that was confirmed to be it; in columns that it can be
made of (a whole name of its parts or a part of it, a year of birth of the date); in a column that is called
so, or nearly so; among several of one type by the order of columns. What is found nowhere is absent: every
record counts as having none, which its owner is told.

How cells are read goes with it (reading.py). All of it is for the owner's layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from accord.drafting.confirming import Columns, Found, find_fields
from accord.drafting.guessing import Sample
from accord.drafting.kinds import SEVERAL, ColumnKind
from accord.drafting.reading import Reading, order_of, propose, two_digit_years
from accord.drafting.vocabulary import WORDS
from accord.fields.schema import CategoryField, FieldSpec
from accord.table.field_source import Source
from accord.table.opened import nearest


@dataclass
class Fitted:
    """By agreed name where it is found, what is found nowhere, and what the owner should be told."""

    sources: dict[str, Source] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    readings: dict[str, Reading] = field(default_factory=dict)
    """By own column, how it is read."""
    by_order: dict[str, str] = field(default_factory=dict)
    """By agreed name, the column that only the order of columns speaks for."""

    def absent(self, fields: Mapping[str, FieldSpec]) -> list[str]:
        """Those of the lacking that may be missing: the agreement lets every reader of them lack a value,
        and a third of all fields are found."""
        if 2 * len(self.sources) < len(self.lacking):
            return []
        return [name for name in self.lacking if all(spec.missing == "differs" for spec in _of(name, fields))]


def _of(name: str, fields: Mapping[str, FieldSpec]) -> list[FieldSpec]:
    """The fields that read an agreed column."""
    return [spec for field, spec in fields.items() if name in spec.columns(field)]


def fit(
    columns: Columns,
    samples: Sequence[Sample],
    names: Sequence[str],
    fields: Mapping[str, FieldSpec],
    as_of: date | None = None,
) -> Fitted:
    """Where each of these agreed names is found, under agreed fields."""
    found, fitted = find_fields(columns, as_of), Fitted()
    by_column = {sample.column: sample for sample in samples}
    own = {one.is_.name: one for one in found}
    left = [one for one in found if one.is_.name not in names]
    for name in names:
        if name in own:
            fitted.sources[name] = _source(name, own[name], by_column, fields, as_of, fitted)
            if _is_numbered(own[name]) and len(_numbered(own[name].is_.kind, [*names, *own])) > 1:
                fitted.by_order[name] = own[name].own[0]
    for name in [name for name in names if name not in fitted.sources]:
        source = _make_of_others(name, found, by_column)
        if source is not None:
            fitted.sources[name] = source
    for name in [name for name in names if name not in fitted.sources]:
        one = _find_called(name, left) or _find_by_order(name, left)
        same = next((column for column in columns if column.name == name), None)
        if one is None and same is not None:
            fitted.sources[name] = Source(column=name)
        elif one is not None:
            left.remove(one)
            fitted.sources[name] = _source(name, one, by_column, fields, as_of, fitted)
            if nearest(name, [*one.own]) is None and name not in one.own:
                fitted.by_order[name] = one.own[0]
    fitted.lacking = [name for name in names if name not in fitted.sources]
    return fitted


def _numbered(kind: ColumnKind, names: Iterable[str]) -> set[str]:
    """Those of the names that say no more than a type and a number."""
    return {name for name in names if re.fullmatch(rf"{kind}(?:_\d+)?", name)}


def _is_numbered(found: Found) -> bool:
    return found.is_.kind in SEVERAL and bool(_numbered(found.is_.kind, [found.is_.name]))


def _source(
    name: str,
    found: Found,
    samples: Mapping[str, Sample],
    fields: Mapping[str, FieldSpec],
    as_of: date | None,
    fitted: Fitted,
) -> Source:
    """Where a field is, and how its columns are read."""
    listed = [spec for spec in _of(name, fields) if isinstance(spec, CategoryField)]
    agreed = listed[0].values if listed else ()
    readings = {
        one.name: propose(one.is_.kind, samples.get(one.name, Sample(one.name)), agreed)
        for one in found.columns
    }
    fitted.readings |= readings
    if len(found.columns) > 1:
        return _joined(found, readings.values(), samples)
    (column,) = found.own
    said = dict(readings[column].said)
    if found.columns[0].is_.kind is ColumnKind.AGE:
        said["as_of"] = as_of
    return Source(column=column, **said)


def _joined(found: Found, readings: Iterable[Reading], samples: Mapping[str, Sample]) -> Source:
    marks = dict.fromkeys(mark for one in readings for mark in one.said.get("missing", ()))
    said: dict[str, Any] = {"missing": tuple(marks)} if marks else {}
    if found.is_.kind is not ColumnKind.BIRTH:
        return Source(columns=found.own, **said)
    by_kind = {one.is_.kind: one.name for one in found.columns}
    year = by_kind[ColumnKind.BIRTH_YEAR]
    short = year in samples and two_digit_years(samples[year].telling)
    three = (year, by_kind[ColumnKind.BIRTH_MONTH], by_kind[ColumnKind.BIRTH_DAY])
    return Source(columns=three, format="%y-%m-%d" if short else "%Y-%m-%d", **said)


def _make_of_others(name: str, found: Sequence[Found], samples: Mapping[str, Sample]) -> Source | None:
    """What can be split, joined or taken of columns of other types."""
    by_kind = {one.is_.kind: one for one in found}

    def marks(*kinds: ColumnKind) -> dict[str, Any]:
        columns = [one for kind in kinds for one in by_kind[kind].columns if one.name in samples]
        read = (propose(one.is_.kind, samples[one.name]).said.get("missing", ()) for one in columns)
        missing = tuple(dict.fromkeys(mark for one in read for mark in one))
        return {"missing": missing} if missing else {}

    given, surname, whole = ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME
    if name in (given, surname) and whole in by_kind:
        (column,) = by_kind[whole].own
        order = order_of(samples.get(column, Sample(column)))
        return Source(column=column, part=name, order=order, **marks(whole))  # type: ignore[arg-type]
    if name == whole and given in by_kind and surname in by_kind:
        return Source(columns=(*by_kind[given].own, *by_kind[surname].own), **marks(given, surname))
    if name == ColumnKind.BIRTH_YEAR and ColumnKind.BIRTH in by_kind:
        birth = by_kind[ColumnKind.BIRTH]
        year = next((one.name for one in birth.columns if one.is_.kind is ColumnKind.BIRTH_YEAR), None)
        said = marks(ColumnKind.BIRTH) | ({"part": "year"} if year is None else {})
        return Source(column=year or birth.own[0], **said)
    return None


def _find_called(name: str, left: Sequence[Found]) -> Found | None:
    """The field whose column is called as agreed, or nearly so."""
    several = [one for one in left if one.is_.kind in SEVERAL]
    if same := [one for one in several if name in one.own]:
        return same[0]
    near = nearest(name, [one.own[0] for one in several])
    return next((one for one in several if near in one.own), None)


def _find_by_order(name: str, left: Sequence[Found]) -> Found | None:
    """The first that is left of the type that the agreed name tells, as it is numbered (`text_2`) or as the
    public vocabulary has it; then one of which the vocabulary has no other name."""
    if numbered := [kind for kind in SEVERAL if _numbered(kind, [name])]:
        return next((one for one in left if one.is_.kind in numbered), None)
    kinds = [kind for kind, words in WORDS.items() if kind in SEVERAL and name in words.values()]
    return next((one for one in left if _is_numbered(one) and one.is_.kind in kinds), None)
