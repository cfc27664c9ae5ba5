"""Which records of a draft may be compared: passes that suit the mix of types, as `accord plan` begins with.

How many bins they have in the end, or whether there are any, the policy of planning settles (how.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil, isqrt

from accord.drafting.answers import Answers
from accord.drafting.kinds import ColumnKind
from accord.exact import text

_MOST_PASSES = 3
"""Each takes its part of ε; a fourth finds little more."""
_BUCKETS = 100
_FEWEST_CELLS = 100


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


Passes = tuple[DraftPass, ...]


def draft_passes(answers: Answers) -> Passes:
    """Passes for this mix, before their bins are fitted; none where nothing serves as a key."""
    found = _of_people(answers) if answers.about_people else _of_things(answers)
    return tuple(islice(found, _MOST_PASSES))


def keys_of(passes: Passes) -> list[str]:
    return [name for one in passes for part in one.parts for name in part.fields]


def _of_people(answers: Answers) -> Iterator[DraftPass]:
    """By what seldom changes first; each catches what errors in the others lose."""
    has = {one.kind for one in answers.fields}
    sounds = [
        f"{kind}_sound" for kind in (ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME) if kind in has
    ]
    for name in answers.named(ColumnKind.IDENTIFIER)[:1]:
        yield _key("number", name)
    if ColumnKind.BIRTH in has:
        yield _key("birth", "birth")
    if sounds:
        yield _key("names", *sounds)
    for kind in (ColumnKind.PHONE, ColumnKind.EMAIL):
        if kind in has:
            yield _key(kind.value, kind.value)
    if ColumnKind.POSTCODE in has and sounds:
        yield _key("place", "postcode", sounds[0])


def _of_things(answers: Answers) -> Iterator[DraftPass]:
    """By the numbers that both sides know; and by all that must be the same, in one pass."""
    for name in answers.named(ColumnKind.IDENTIFIER):
        yield _key(name, name)
    same = [one.name for one in answers.fields if one.kind in _SAME or _is_exact(answers, one.name, one.kind)]
    parts: list[Key | Grid] = [Key(tuple(same))] if same else []
    if answers.named(ColumnKind.LATITUDE):
        parts.append(_grid(answers))
    if parts:
        yield DraftPass("same", tuple(parts))
    elif texts := answers.named(ColumnKind.TEXT):
        # A slip in its first letters is caught by the last.
        yield _key("start", f"{texts[0]}_start")
        yield _key("end", f"{texts[0]}_end")


_SAME = (ColumnKind.CATEGORY, ColumnKind.POSTCODE, ColumnKind.PHONE, ColumnKind.EMAIL, ColumnKind.SEX)


def _is_exact(answers: Answers, name: str, kind: ColumnKind) -> bool:
    return kind is ColumnKind.DATE and answers.within.get(name, "0") == "0"


def _key(name: str, *fields: str) -> DraftPass:
    return DraftPass(name, (Key(fields),))


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
