"""Which records of a draft may be compared: passes that suit the mix of types, as `accord plan` begins with.

All sensible keys are tried on records of nobody (made_up.py): which of the true pairs that the rule accepts
agree in it, and how many strangers do. Keys that bring too many strangers together for tables of the expected
size are out; of the others that one is taken which finds most of what was not found yet, until nearly all is
found. How many bins they have in the end, or whether there are any, the policy of planning settles (how.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil, isqrt

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.drafting.answers import Answers
from accord.drafting.kinds import ColumnKind
from accord.drafting.made_up import make_up
from accord.exact import text
from accord.fields.columns import Bits, Column
from accord.fields.load import load_records
from accord.learning.mistakes import relax
from accord.rules.evaluate import Tables, holds

_MOST_PASSES = 3
"""Each takes its part of ε."""
_ENOUGH = 0.995
_LEAST_GAIN = 0.003
_CROWD = 160
"""As many records a bin as noise asks for anyway: a key with fewer a value saves nothing."""
_BUCKETS = 100
_FEWEST_CELLS = 100
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Key:
    """A part that hashes some fields together."""

    fields: tuple[str, ...]
    buckets: int = _BUCKETS

    @property
    def text(self) -> str:
        names = [f'"{name}"' for name in self.fields]
        field = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
        return f'{{ kind = "key", field = {field}, buckets = {self.buckets} }}'


@dataclass(frozen=True)
class Grid:
    """A part of cells on the map; B copies records into each cell within reach."""

    cell: Fraction
    reach: str
    fields: tuple[str, ...] = ("latitude", "longitude")

    @property
    def text(self) -> str:
        return (
            f'{{ kind = "grid", fields = ["latitude", "longitude"], cell = {text(self.cell)}, '
            f'style = "replicate", reach = {self.reach} }}'
        )


@dataclass(frozen=True)
class DraftPass:
    """Records that agree in all parts are compared."""

    name: str
    parts: tuple[Key | Grid, ...]

    @property
    def text(self) -> str:
        parts = ",\n    ".join(part.text for part in self.parts)
        inside = parts if len(self.parts) == 1 else f"\n    {parts},\n"
        return f'[[blocking.pass]]\nname = "{self.name}"\nparts = [{inside}]\n'


@dataclass(frozen=True)
class Passes:
    """The passes of a draft, what share of the true pairs that the rule accepts they bring together among
    records of nobody, and the pass that would find most of the others."""

    passes: tuple[DraftPass, ...]
    recall: float = 1.0
    more: DraftPass | None = None
    recall_with_more: float = 1.0

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.passes)

    @property
    def with_more(self) -> Passes:
        """All of them, and one more."""
        more = () if self.more is None else (self.more,)
        return Passes((*self.passes, *more), self.recall_with_more)

    @property
    def keys(self) -> list[str]:
        return [name for one in self.passes for part in one.parts for name in part.fields]


@dataclass(frozen=True)
class _Tried:
    """A pass, which true pairs agree in it, and which share of strangers."""

    what: DraftPass
    met: Flags
    strangers: float


def keys_to_try(answers: Answers) -> list[tuple[str, ...]]:
    """Fields of which bins may be made, alone and together."""
    alone, parts = [*_telling(answers)], [*_parts(answers)]
    together = [pair for pair in combinations(parts, 2) if not _same_source(*pair)]
    return [*((name,) for name in (*alone, *parts)), *together]


def _telling(answers: Answers) -> Iterator[str]:
    """What few records share."""
    for one in answers.fields:
        match one.kind:
            case ColumnKind.IDENTIFIER | ColumnKind.PHONE | ColumnKind.EMAIL:
                yield f"{one.name}_key"
            case ColumnKind.BIRTH:
                yield one.name
            case ColumnKind.TEXT if one.name == answers.title and not answers.about_people:
                yield f"{one.name}_code"


def _parts(answers: Answers) -> Iterator[str]:
    """What some share: alone for small tables, together for large ones."""
    for one in answers.fields:
        match one.kind:
            case ColumnKind.GIVEN | ColumnKind.SURNAME:
                yield f"{one.name}_sound"
            case ColumnKind.NAME:
                yield f"{one.name}_sound"
                yield f"{one.name}_start"
                yield f"{one.name}_end"
            case ColumnKind.BIRTH:
                yield "birth_year"
                yield "birth_day"
            case ColumnKind.POSTCODE:
                yield f"{one.name}_key"
            case ColumnKind.CITY:
                yield f"{one.name}_start"
            case ColumnKind.TEXT:
                yield f"{one.name}_start"
                yield f"{one.name}_end"
            case ColumnKind.BIRTH_YEAR | ColumnKind.YEAR | ColumnKind.CATEGORY | ColumnKind.DATE:
                yield one.name


def _same_source(one: str, other: str) -> bool:
    """Whether two keys are made of the same field, and so tell the same."""
    made = [name.rpartition("_")[0] if name.count("_") else name for name in (one, other)]
    return made[0] == made[1] and made[0] != "birth"


def choose_passes(answers: Answers, draft: Agreement) -> Passes:
    """The passes for this mix; none where nothing serves as a key. The draft has all fields that are keys."""
    tried = [*_try_all(answers, draft)]
    least = min((one.strangers for one in tried), default=0.0)
    most = max(_CROWD / isqrt(answers.records[0] * answers.records[1]), least)
    fit = [one for one in tried if one.strangers <= most]
    chosen: list[_Tried] = []
    met = [np.zeros(len(tried[0].met), np.bool_)] if tried else []
    while fit:
        best = max(fit, key=lambda one: ((met[-1] | one.met).sum(), -one.strangers))
        gained = (met[-1] | best.met).mean() - met[-1].mean()
        if chosen and gained < _LEAST_GAIN:
            break
        chosen.append(best)
        met.append(met[-1] | best.met)
        if len(chosen) > _MOST_PASSES:
            break
    shares = [float(one.mean()) for one in met]
    kept = next((n for n, share in enumerate(shares[:_MOST_PASSES]) if share >= _ENOUGH), _MOST_PASSES)
    passes = tuple(one.what for one in chosen[:kept])
    if len(chosen) <= kept:
        return Passes(passes, shares[len(chosen)] if shares else 1.0)
    return Passes(passes, shares[kept], chosen[kept].what, shares[kept + 1])


def _try_all(answers: Answers, draft: Agreement) -> Iterator[_Tried]:
    made = make_up(answers.fields, answers.map_)
    a, b = (load_records(table, relax(draft.fields), draft.salt) for table in (made.a, made.b))
    left, right = (
        np.asarray(pc.index_in(made.truth[name], value_set=records.ids)).astype(np.int64)
        for name, records in (("id_a", a), ("id_b", b))
    )
    accepted = holds(draft.rule, Tables(draft.fields, a.columns, b.columns), left, right)
    left, right = left[accepted], right[accepted]
    if not len(left):
        return
    if answers.named(ColumnKind.LATITUDE):
        yield _Tried(DraftPass("place", (_grid(answers),)), np.ones(len(left), np.bool_), 0.0)
    for keys in keys_to_try(answers):
        values = _codes([a.columns[key] for key in keys], [b.columns[key] for key in keys])
        met = (values[0][left] == values[1][right]) & (values[0][left] >= 0)
        counts = [np.bincount(one[one >= 0], minlength=max(1, len(a) + len(b))) for one in values]
        strangers = float((counts[0] * counts[1]).sum()) / (len(a) * len(b))
        yield _Tried(DraftPass(_name(keys), (Key(keys),)), met, strangers)


def _codes(of_a: Sequence[Column], of_b: Sequence[Column]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers that are the same where all values are; -1 where one is missing."""
    sides = [*zip(of_a, of_b, strict=True)]
    joined = [np.concatenate([_plain(x), _plain(y)]) for x, y in sides]
    there = np.logical_and.reduce([np.concatenate([x.present, y.present]) for x, y in sides])
    _, codes = np.unique(np.concatenate(joined, axis=1), axis=0, return_inverse=True)
    codes = np.where(there, codes, -1)
    return codes[: len(of_a[0].present)], codes[len(of_a[0].present) :]


def _plain(column: Column) -> NDArray[np.int64]:
    return column.words.view(np.int64) if isinstance(column, Bits) else column.values[:, None]


def _name(keys: tuple[str, ...]) -> str:
    return " and ".join(key.replace("_", " ") for key in keys)


def _grid(answers: Answers) -> Grid:
    """The smallest cells that are worth a trial: wider than a match may be apart, with some records each."""
    places = {one.kind: one for one in answers.fields}
    reach = answers.within_of(places[ColumnKind.LATITUDE])
    tall, wide = (
        Fraction(high) - Fraction(low)
        for low, high in (
            answers.range_of(places[kind]) for kind in (ColumnKind.LATITUDE, ColumnKind.LONGITUDE)
        )
    )
    cell = max(5 * Fraction(reach), Fraction(1, 10**5))
    most = max(_FEWEST_CELLS, isqrt(answers.records[0] * answers.records[1]) // 4)
    while ceil(tall / cell) * ceil(wide / cell) > most:
        cell *= 2
    return Grid(cell, reach)
