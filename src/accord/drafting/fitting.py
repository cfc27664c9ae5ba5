"""Where agreed fields are found in one's own table: by type, by name, and where they must be made of others.

An agreed name is found, in this order: in the column that was confirmed to be it; in columns that it can be
made of (a whole name of its parts or a part of it, a year of birth of the date); in the only column that its
owner typed so; in a column that is called so, or nearly so; in the only column of its type, if no other
agreed name is left for that; by its place among as many columns of its type as are agreed, if their numbers
of different values are as agreed. Columns that a draft of the same table would leave out come last. Where
several would do, none is taken: a wrong column counts against true pairs. What is found nowhere is absent
only by its owner's word.

How cells are read goes with it (reading.py). All of it is for the owner's layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import product
from typing import Any

from accord.drafting.confirming import Column, Columns, Found, find_fields
from accord.drafting.guessing import Sample
from accord.drafting.headers import kinds_by_name, word_for, words_of
from accord.drafting.kinds import HOLDS, SEVERAL, ColumnKind
from accord.drafting.reading import Reading, order_of, propose, share_marks, two_digit_years
from accord.drafting.shapes import are_whole_names
from accord.drafting.vocabulary import THING, WORDS
from accord.fields.cardinality import contradicts
from accord.fields.schema import CategoryField, DateField, FieldSpec, NumberField
from accord.table import postal
from accord.table.field_source import Source
from accord.table.opened import nearest


@dataclass
class Fitted:
    """By agreed name where it is found, what is found nowhere, and what the owner should be told."""

    sources: dict[str, Source] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    readings: dict[str, Reading] = field(default_factory=dict)
    """By own column, how it is read."""
    alone: dict[str, str] = field(default_factory=dict)
    """By agreed name, the column that only its type and its place speak for."""
    why: dict[str, str] = field(default_factory=dict)
    """By agreed name that is found nowhere, what its owner should know; empty if there is nothing."""
    candidates: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By agreed name that is found nowhere, the columns that may be it: by their headers, else by type."""

    @property
    def are_few(self) -> bool:
        """Whether less than a third of all fields are found."""
        return 2 * len(self.sources) < len(self.lacking)

    def may_lack(self, fields: Mapping[str, FieldSpec], declared: Sequence[str] = ()) -> list[str]:
        """Those of the lacking that may be missing: the agreement lets every reader of them lack a value,
        and their owner declares them absent, or a third of all fields are found."""
        may = declared if self.are_few else self.lacking
        spared = [name for name in self.lacking if name in may] if self.sources else []
        return [name for name in spared if all(spec.missing == "differs" for spec in _of(name, fields))]


def _of(name: str, fields: Mapping[str, FieldSpec]) -> list[FieldSpec]:
    """The fields that read an agreed column."""
    return [spec for field, spec in fields.items() if name in spec.columns(field)]


def fit(
    columns: Columns,
    samples: Sequence[Sample],
    names: Sequence[str],
    fields: Mapping[str, FieldSpec],
    as_of: date | None = None,
    is_own: bool = False,
    absent: Sequence[str] = (),
) -> Fitted:
    """Where each of these agreed names is found, under agreed fields; `is_own` says that the agreement is
    drafted from this table, so that a number tells one of its columns. What is `absent` by its owner's word
    is not looked for."""
    found, fitted = find_fields(columns, as_of), Fitted()
    kinds = {one.name: one.is_.kind for one in columns}
    by_column = {sample.column: sample for sample in share_marks(kinds, samples)}
    left = list(found)

    def take(name: str, one: Found) -> None:
        left.remove(one)
        fitted.sources[name] = _source(name, one, by_column, fields, as_of, fitted)

    def lacking() -> list[str]:
        return [name for name in names if name not in fitted.sources and name not in absent]

    own = {one.is_.name: one for one in found if is_own or _is_named(one)}
    for name in lacking():
        if name in own:
            take(name, own[name])
    for name in lacking():
        if (source := _make_of_others(name, found, by_column)) is not None:
            fitted.sources[name] = source
    fitted.sources |= _split_surnames(lacking(), fitted.sources, by_column)
    for name, typed in [pair for kind in sorted(SEVERAL) for pair in _pair_typed(kind, lacking(), left)]:
        take(name, typed)
    for name in lacking():
        if (one := _find_called(name, _suiting(name, left, fields))) is not None:
            take(name, one)
    same = {column.name for column in columns}
    fitted.sources |= {name: Source(column=name) for name in lacking() if name in same}
    for kind, spare in product(sorted(SEVERAL), (False, True)):
        some = [one for one in left if spare or not one.columns[0].spare]
        for name, one in _pair_left(kind, lacking(), some, by_column, fields):
            fitted.alone |= {} if _says(one, kind) else {name: one.own[0]}
            take(name, one)
    fitted.lacking = [name for name in names if name not in fitted.sources]
    used = {one for source in fitted.sources.values() for one in source.names}
    free = [one for one in columns if one.name not in used and one.is_.kind is not ColumnKind.ID]
    fitted.candidates = {name: _candidates(name, free, fields) for name in lacking()}
    fitted.why = {name: _why(name, columns, fitted.candidates.get(name, ())) for name in fitted.lacking}
    return fitted


def _numbered(kind: ColumnKind, names: Iterable[str]) -> set[str]:
    """Those of the names that say no more than a type and a number."""
    return {name for name in names if re.fullmatch(rf"{kind}(?:_\d+)?", name)}


def is_numbered(found: Found) -> bool:
    """Whether a field is called by its type and a number, and not by a word."""
    return found.is_.kind in SEVERAL and bool(_numbered(found.is_.kind, [found.is_.name]))


def _is_named(found: Found) -> bool:
    """Whether its owner, the vocabulary or its type gave it its name, and not its place among others."""
    return not is_numbered(found) or found.columns[0].is_.name == found.is_.name


def needs_name(found: Found) -> bool:
    """Whether neither its owner nor its header says in public what a field is."""
    return is_numbered(found) and not _says(found, found.is_.kind)


def _says(found: Found, kind: ColumnKind) -> bool:
    """Whether the whole header of a column is a general word for its type, such as a price."""
    return WORDS.get(kind, {}).get("".join(words_of(found.own[0]))) == ""


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
    if found.columns[0].is_.kind in HOLDS:
        orders = postal.PLACES if found.columns[0].is_.kind is ColumnKind.PLACE else postal.ADDRESSES
        cells = samples.get(column, Sample(column)).telling
        said |= {"part": found.is_.kind.value, "order": postal.likeliest_order(cells, orders)}
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


def _split_surnames(
    lacking: Sequence[str], sources: Mapping[str, Source], samples: Mapping[str, Sample]
) -> dict[str, Source]:
    """The second family name, where most cells of the first have both: the first with its particles, and the
    rest."""
    one = sources.get(ColumnKind.SURNAME, Source(absent=True))
    column = one.column if one.part is None else None
    if ColumnKind.SURNAME_2 not in lacking or column is None or column not in samples:
        return {}
    if are_whole_names(samples[column].telling) < _TWO_NAMES:
        return {}
    said: dict[str, Any] = {"column": column, "order": "surname given", "missing": one.missing}
    return {
        ColumnKind.SURNAME: Source(part="surname", **said),
        ColumnKind.SURNAME_2: Source(part="given", **said),
    }


_TWO_NAMES = 0.5
_SUITING: dict[type, frozenset[ColumnKind]] = {
    NumberField: frozenset({ColumnKind.NUMBER, ColumnKind.PRICE, ColumnKind.YEAR}),
    DateField: frozenset({ColumnKind.DATE}),
}
_NUMERIC = frozenset(kind for kinds in _SUITING.values() for kind in kinds)


def _suiting(name: str, left: Sequence[Found], fields: Mapping[str, FieldSpec]) -> list[Found]:
    """Of the fields that are left, those whose types an agreed name can be read of: numbers are no texts."""
    kinds = {kind for spec in _of(name, fields) for kind in _SUITING.get(type(spec), SEVERAL - _NUMERIC)}
    return [one for one in left if one.is_.kind in kinds]


def _find_called(name: str, left: Sequence[Found]) -> Found | None:
    """The field whose column is called as agreed, or nearly so, or has the agreed name among its words."""
    if same := [one for one in left if name in one.own]:
        return same[0]
    near = nearest(name, [one.own[0] for one in left])
    if near is None:
        words = words_of(name)
        said = [one.own[0] for one in left if {*words} <= {*words_of(one.own[0])}]
        near = said[0] if len(said) == 1 and not _is_type(name) else None
    return next((one for one in left if near in one.own), None)


def _is_type(name: str) -> bool:
    """Whether a name says no more than a type and a number."""
    return any(_numbered(kind, [name]) for kind in SEVERAL)


def _pair_typed(kind: ColumnKind, lacking: Sequence[str], left: Sequence[Found]) -> list[tuple[str, Found]]:
    """The only column that its owner typed so without a name, for the agreed name that says no more than the
    type, or for the only name that it may be."""
    wanted = [name for name in lacking if _may_be_unnamed(kind, name)]
    typed = [one for one in left if one.is_.kind is kind and is_numbered(one) and not one.columns[0].guessed]
    if kind.value in wanted:
        wanted = [kind.value]
    return [(wanted[0], typed[0])] if len(wanted) == len(typed) == 1 else []


def _pair(kind: ColumnKind, lacking: Sequence[str], left: Sequence[Found]) -> list[tuple[str, Found]]:
    """What can only be meant: the column whose whole header says the type, for the agreed name that says no
    more; then the only one that is left, for the only name that is."""
    wanted = [name for name in lacking if _may_be_unnamed(kind, name)]
    kinds = _CALLED if kind in _CALLED else {kind}
    free = [one for one in left if one.is_.kind in kinds and (is_numbered(one) or one.is_.name == THING)]
    said = [one for one in free if _says(one, kind)]
    found: list[tuple[str, Found]] = []
    if kind.value in wanted and len(said) == 1:
        found = [(kind.value, said[0])]
        wanted, free = [name for name in wanted if name != kind], [one for one in free if one is not said[0]]
    if len(wanted) == len(free) == 1:
        found.append((wanted[0], free[0]))
    return found


def _pair_left(
    kind: ColumnKind,
    lacking: Sequence[str],
    left: Sequence[Found],
    samples: Mapping[str, Sample],
    fields: Mapping[str, FieldSpec],
) -> list[tuple[str, Found]]:
    """Columns for which nothing speaks but their type, and their place among others of it."""
    pairs = _pair(kind, lacking, left)
    names, taken = {name for name, _ in pairs}, [one for _, one in pairs]
    rest = [name for name in lacking if name not in names]
    return pairs + _pair_in_order(kind, rest, [one for one in left if one not in taken], samples, fields)


def _pair_in_order(
    kind: ColumnKind,
    lacking: Sequence[str],
    left: Sequence[Found],
    samples: Mapping[str, Sample],
    fields: Mapping[str, FieldSpec],
) -> list[tuple[str, Found]]:
    """Columns of tables with equal headers: as many of a type as agreed names that are numbers, in the same
    order, if none contradicts the agreed number of different values."""
    wanted = sorted(_numbered(kind, lacking), key=lambda name: (len(name), name))
    free = [one for one in left if one.is_.kind is kind and is_numbered(one)]
    if len(wanted) != len(free):
        return []
    pairs = [*zip(wanted, free, strict=True)]
    return pairs if all(_has_agreed_values(one, _of(name, fields), samples) for name, one in pairs) else []


def _has_agreed_values(found: Found, specs: Iterable[FieldSpec], samples: Mapping[str, Sample]) -> bool:
    """Whether an agreed class of different values is that of a column."""
    sample = samples[found.own[0]]
    agreed = [spec.cardinality for spec in specs if spec.cardinality is not None]
    return bool(agreed) and not any(contradicts(one, sample.distinct, sample.size) for one in agreed)


_CALLED = frozenset({ColumnKind.COMPANY, ColumnKind.TEXT})
"""A text may name a firm."""
_TELLING = frozenset({ColumnKind.CATEGORY, ColumnKind.YESNO})
"""Types whose agreed names say what they are of: another column of the type is another thing."""


def _may_be_unnamed(kind: ColumnKind, name: str) -> bool:
    """Whether an agreed name is of a type, and a column that the vocabulary does not know may be it."""
    known = kind not in _TELLING and name in WORDS[kind].values()
    return known or bool(_numbered(kind, [name]))


def type_of(name: str, fields: Mapping[str, FieldSpec]) -> str:
    """What an owner types for the column of an agreed name."""
    kind = _kind_of(name, fields)
    return name if name == kind else f"{kind}:{name}"


def _kind_of(name: str, fields: Mapping[str, FieldSpec]) -> ColumnKind:
    if name in list(ColumnKind):
        return ColumnKind(name)
    said = [kind for kind in sorted(SEVERAL) if _numbered(kind, [name]) or name in WORDS[kind].values()]
    of = {NumberField: ColumnKind.NUMBER, DateField: ColumnKind.DATE, CategoryField: ColumnKind.CATEGORY}
    return (said or [of.get(type(spec), ColumnKind.TEXT) for spec in _of(name, fields)])[0]


_LIKE_TEXT = frozenset({ColumnKind.TEXT, ColumnKind.CATEGORY, ColumnKind.IDENTIFIER})
_LIKE = {
    ColumnKind.SEX: frozenset({ColumnKind.CATEGORY, ColumnKind.YESNO}),
    ColumnKind.BIRTH: frozenset({ColumnKind.DATE}),
    ColumnKind.BIRTH_YEAR: frozenset({ColumnKind.DATE, *_NUMERIC}),
    ColumnKind.POSTCODE: _LIKE_TEXT | _NUMERIC,
    ColumnKind.PHONE: _LIKE_TEXT | _NUMERIC,
    ColumnKind.LATITUDE: _NUMERIC,
    ColumnKind.LONGITUDE: _NUMERIC,
}
_MOST_CANDIDATES = 5


def _candidates(name: str, free: Sequence[Column], fields: Mapping[str, FieldSpec]) -> tuple[str, ...]:
    """The columns without a field that an agreed name may be of: by their headers, else by their types."""
    kind = _kind_of(name, fields)
    said = [
        one.name
        for one in free
        if name in words_of(one.name)
        or (kind in kinds_by_name(one.name) and (kind not in SEVERAL or word_for(one.name, kind) == name))
    ]
    kinds = {of for spec in _of(name, fields) for of in _SUITING.get(type(spec), SEVERAL - _NUMERIC)}
    like = kinds if kind in SEVERAL else _LIKE.get(kind, _LIKE_TEXT)
    # What a public name says is something else is not what another says.
    may = [one for one in free if _is_type(name) or one.is_.name in ("", THING)]
    alike = [one.name for one in may if (one.meant or one.is_.kind) in like]
    return tuple((said or alike)[:_MOST_CANDIDATES])


def _why(name: str, columns: Columns, candidates: Sequence[str]) -> str:
    """Why an agreed name is found nowhere, where a column of the table comes near."""
    years = (ColumnKind.BIRTH_YEAR, ColumnKind.AGE)
    year = next((one.name for one in columns if one.is_.kind in years), None)
    if name == ColumnKind.BIRTH and year is not None:
        return (
            f"your '{year}' gives only a year of birth, and the agreement compares dates: let the side with "
            "years draft"
        )
    kind = next((kind for kind in SEVERAL if _numbered(kind, [name])), None)
    if candidates and kind is not None:
        some = " or ".join(f"'{one}'" for one in candidates)
        return f"it may be {some}, and only its owner can tell: `accord init --type COLUMN={kind}:{name}`"
    return ""
