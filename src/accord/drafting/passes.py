"""Which records of a draft may be compared: passes that suit the mix of types, as `accord plan` begins with.

All sensible keys are tried on synthetic records (made_up.py): which of the true pairs that the rule accepts
agree in it, and how many strangers do. Keys that bring too many strangers together for tables of the expected
size are out; of the others that one is taken which finds most of what was not found yet, until nearly all is
found. A pass is worth more if it finds pairs of which one field is wrong (planning/wrong_fields.py). How many
bins they have in the end, or whether there are any, the policy of planning settles (how.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
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
from accord.fields.relaxing import relax_ranges
from accord.planning.wrong_fields import SURVIVING, WRONG, wrong_fields
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
    reads: Set[str]
    """Columns that decide it."""


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
                yield f"{one.name}_key"
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
            case ColumnKind.COMPANY:
                yield f"{one.name}_key"
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
    trials = _Trials(answers, draft)
    tried = [*trials.each()]
    least = min((one.strangers for one in tried), default=0.0)
    most = max(_CROWD / isqrt(answers.records[0] * answers.records[1]), least)
    fit = [one for one in tried if one.strangers <= most]
    chosen: list[_Tried] = []
    while fit and len(chosen) <= _MOST_PASSES:
        best = max(fit, key=lambda one: (trials.worth([*chosen, one]), -one.strangers))
        if chosen and trials.worth([*chosen, best]) - trials.worth(chosen) < _LEAST_GAIN:
            break
        chosen.append(best)
    worths = [trials.worth(chosen[:count]) for count in range(len(chosen) + 1)]
    shares = [trials.met(chosen[:count]) for count in range(len(chosen) + 1)]
    enough = _ENOUGH + (worths[-1] - shares[-1]) - _LEAST_GAIN
    kept = next((n for n, worth in enumerate(worths[:_MOST_PASSES]) if worth >= enough), _MOST_PASSES)
    passes = tuple(one.what for one in chosen[:kept])
    if len(chosen) <= kept:
        return Passes(passes, shares[len(chosen)] if chosen else 1.0)
    return Passes(passes, shares[kept], chosen[kept].what, shares[kept + 1])


class _Trials:
    """Keys on synthetic pairs that the rule accepts, as they are and with one wrong column."""

    def __init__(self, answers: Answers, draft: Agreement) -> None:
        made = make_up(answers.fields, answers.map_, answers.classes, answers.often_empty)
        self._a, self._b = (
            load_records(table, relax_ranges(draft.fields), draft.salt) for table in (made.a, made.b)
        )
        left, right = (
            np.asarray(pc.index_in(made.truth[name], value_set=records.ids)).astype(np.int64)
            for name, records in (("id_a", self._a), ("id_b", self._b))
        )
        tables = Tables(draft.fields, self._a.columns, self._b.columns)
        accepted = holds(draft.rule, tables, left, right)
        self._left, self._right = left[accepted], right[accepted]
        self._wrong = wrong_fields(draft, tables, self._left, self._right)
        self._answers, self._fields = answers, draft.fields

    def each(self) -> Iterator[_Tried]:
        """Every key that there may be."""
        if not len(self._left):
            return
        if self._answers.named(ColumnKind.LATITUDE):
            grid = _grid(self._answers)
            yield _Tried(DraftPass("place", (grid,)), np.ones(len(self._left), np.bool_), 0.0, {*grid.fields})
        coarse = {name for name, declared in self._answers.cardinality.items() if declared == "few"}
        for keys in keys_to_try(self._answers):
            if len(keys) == 1 and coarse & {*self._fields[keys[0]].columns(keys[0])}:
                continue
            yield self._try(keys)

    def _try(self, keys: tuple[str, ...]) -> _Tried:
        values = _codes([self._a.columns[key] for key in keys], [self._b.columns[key] for key in keys])
        met = (values[0][self._left] == values[1][self._right]) & (values[0][self._left] >= 0)
        counts = [np.bincount(v[v >= 0], minlength=max(1, len(self._a) + len(self._b))) for v in values]
        strangers = float((counts[0] * counts[1]).sum()) / (len(self._a) * len(self._b))
        reads = {column for key in keys for column in self._fields[key].columns(key)}
        return _Tried(DraftPass(_name(keys), (Key(keys),)), met, strangers, reads)

    def met(self, chosen: Sequence[_Tried]) -> float:
        """The share of pairs that meet."""
        return float(_any(chosen, len(self._left)).mean()) if chosen else 0.0

    def worth(self, chosen: Sequence[_Tried]) -> float:
        """The share of pairs that meet, and a little of those with a wrong column."""
        survives = 0.0
        for one in self._wrong:
            others = [tried for tried in chosen if one.column not in tried.reads]
            met = _any(others, len(self._left))[one.accepted]
            survives += min(SURVIVING, float(met.mean()))
        return self.met(chosen) + WRONG * survives


def _any(chosen: Sequence[_Tried], pairs: int) -> Flags:
    return np.logical_or.reduce([np.zeros(pairs, np.bool_), *(one.met for one in chosen)])


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
