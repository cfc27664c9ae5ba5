"""From guesses to what an owner confirms: columns by name or number, one id, and the fields that they are.

Some columns are parts of one field: year, month and day of a birth, the number of a house beside its street,
an age that is a year of birth without the day it is of. One column may be several fields: a postcode and a
city.
What belongs to no field is left out, with a note.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from accord.drafting.answers import name_fields
from accord.drafting.guessing import Guess
from accord.drafting.kinds import HOLDS, LOCAL, PARTS, ColumnKind, Confirmed, read_kind
from accord.errors import UsageError
from accord.wording import did_you_mean

_NO_DAY = "it needs the day that ages are of: say `accord init --as-of 2024-06-30`, or the day it is"
_BORN = "the date of birth says it already"
_NOT_ALL = "a date of birth has a year, a month and a day, and one of them has no column"
_HELD = "what it holds has columns of its own"
_ADDRESSED = "the address says it already"
_NO_STREET = "there is no street that it is the number of"
_NO_SURNAME = "there is no family name that it stands before"
_OF_BIRTH = (ColumnKind.BIRTH_YEAR, ColumnKind.BIRTH_MONTH, ColumnKind.BIRTH_DAY)


@dataclass(frozen=True)
class Column:
    """A column of one's own table, and what its owner says that it is."""

    name: str
    is_: Confirmed
    note: str = ""
    """Why it is left out, where Accord thinks so."""
    meant: ColumnKind | None = None
    """What it may be meant to be then."""
    guessed: bool = False
    """Whether it looks so, and its owner has not said it on the command line."""
    spare: bool = False
    """Whether a draft of this table would leave it out, unless its owner says otherwise."""

    def tell(self) -> str:
        """Why it is left out, and how its owner decides otherwise."""
        typed = shlex.quote(f"{self.name}={self.meant or 'TYPE'}")
        # What cannot name records does not do so because its owner says so.
        can_be = self.is_.kind is ColumnKind.SKIP and self.meant is not ColumnKind.ID
        anyway = f" `types=` {typed} uses it anyway." if can_be else ""
        return f"'{self.name}' is left out: {self.note}.{anyway}"


Columns = tuple[Column, ...]


@dataclass(frozen=True)
class Found:
    """A field, and the columns of one's own table that it is read from, in their order."""

    is_: Confirmed
    columns: tuple[Column, ...]

    @property
    def own(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.columns)


def take_guesses(guesses: Sequence[Guess]) -> Columns:
    return tuple(
        Column(guess.column, Confirmed(guess.kind, guess.name), guess.note, guess.meant, True)
        for guess in guesses
    )


def change(columns: Columns, pairs: Iterable[str]) -> Columns:
    """The columns with other types: `COLUMN=TYPE`, the column by its name or its number."""
    found = list(columns)
    for pair in pairs:
        name, equals, kind = pair.rpartition("=")
        if not (equals and name.strip() and kind.strip()):
            raise UsageError(problem=f"A type is given as COLUMN=TYPE, not as '{pair}'.")
        place = _place(columns, name)
        confirmed = read_kind(kind)
        if confirmed.kind is ColumnKind.ID:
            found = [_without_id(one) for one in found]
        found[place] = Column(found[place].name, confirmed)
    return tuple(found)


def without_id(columns: Columns) -> Columns:
    """The columns where ids are made: none is an id."""
    return tuple(_without_id(one) for one in columns)


def _without_id(one: Column) -> Column:
    if one.is_.kind is not ColumnKind.ID:
        return one
    return Column(
        one.name,
        Confirmed(ColumnKind.SKIP),
        "records are named otherwise",
        ColumnKind.IDENTIFIER,
        one.guessed,
    )


def _place(columns: Columns, name: str) -> int:
    names = [one.name for one in columns]
    for typed in (name, name.strip()):
        if typed in names:
            return names.index(typed)
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    hint = did_you_mean(name, names, f"The table has: {', '.join(names)}.")
    raise UsageError(problem=f"There is no column '{name}'. {hint}")


def find_id(columns: Columns) -> str | None:
    """The column that names the records."""
    return next((one.name for one in columns if one.is_.kind is ColumnKind.ID), None)


def explain(columns: Columns, as_of: date | None) -> Columns:
    """The columns, with a note at each part that belongs to no field."""
    _, notes = _put_together(columns, as_of)
    return tuple(replace(one, note=notes.get(one.name, one.note)) for one in columns)


def find_fields(columns: Columns, as_of: date | None = None) -> tuple[Found, ...]:
    """The fields that columns are, by themselves or together, each with its agreed name."""
    whole, _ = _put_together(columns, as_of)
    named = name_fields([kind for kind, _ in whole])
    return tuple(Found(one, parts) for one, (_, parts) in zip(named, whole, strict=True))


def _put_together(
    columns: Columns, as_of: date | None
) -> tuple[list[tuple[Confirmed, Columns]], dict[str, str]]:
    """What columns are, those that belong together once, in the place of the first; and why others are left
    out, by column."""
    first: dict[ColumnKind, Column] = {}
    for one in columns:
        first.setdefault(one.is_.kind, one)
    joined, notes = _find_birth(first, as_of)
    if ColumnKind.HOUSE in first and ColumnKind.STREET in first:
        joined[ColumnKind.STREET] = (ColumnKind.STREET, ColumnKind.HOUSE)
    elif ColumnKind.HOUSE in first:
        notes[ColumnKind.HOUSE] = _ADDRESSED if ColumnKind.ADDRESS in first else _NO_STREET
    if ColumnKind.PREFIX in first and ColumnKind.SURNAME in first:
        joined[ColumnKind.SURNAME] = (ColumnKind.PREFIX, ColumnKind.SURNAME)
    elif ColumnKind.PREFIX in first:
        notes[ColumnKind.PREFIX] = _NO_SURNAME
    held: dict[ColumnKind, list[ColumnKind]] = {}
    for several in (kind for kind in HOLDS if kind in first):
        taken = {*first, *(kind for kinds in held.values() for kind in kinds)}
        held[several] = [kind for kind in HOLDS[several] if kind not in taken]
        if not held[several]:
            notes[several] = _HELD
    of = {kind: whole for whole, kinds in joined.items() for kind in kinds}
    found: dict[object, tuple[Confirmed, Columns]] = {}
    for one in columns:
        kind = one.is_.kind
        if kind in held and first[kind] is one:
            found |= {part: (Confirmed(part), (one,)) for part in held[kind]}
        if kind in LOCAL or kind in notes or (kind in PARTS and kind not in of):
            continue
        # A second column of a type that stands once is a fault, which is told of fields.
        whole = of[kind] if kind in of and first[kind] is one else None
        name, parts = found.get(whole, (Confirmed(whole or kind, one.is_.name), ()))
        found[whole or one.name] = name, (*parts, one)
    if ColumnKind.SURNAME in found:
        # What stands before a family name is read before it, wherever its column is.
        name, parts = found[ColumnKind.SURNAME]
        ordered = sorted(parts, key=lambda one: one.is_.kind is not ColumnKind.PREFIX)
        found[ColumnKind.SURNAME] = name, tuple(ordered)
    return [*found.values()], {first[kind].name: note for kind, note in notes.items()}


def _find_birth(
    first: dict[ColumnKind, Column], as_of: date | None
) -> tuple[dict[ColumnKind, tuple[ColumnKind, ...]], dict[ColumnKind, str]]:
    """Which columns make up a birth or its year, and why others do not."""
    there = [kind for kind in _OF_BIRTH if kind in first]
    notes: dict[ColumnKind, str] = {}
    joined: dict[ColumnKind, tuple[ColumnKind, ...]] = {}
    if ColumnKind.BIRTH in first:
        notes = dict.fromkeys(there, _BORN)
    elif len(there) == len(_OF_BIRTH):
        joined[ColumnKind.BIRTH] = _OF_BIRTH
    else:
        notes = dict.fromkeys((kind for kind in there if kind is not ColumnKind.BIRTH_YEAR), _NOT_ALL)
    if ColumnKind.AGE in first:
        if ColumnKind.BIRTH in first or ColumnKind.BIRTH_YEAR in first:
            notes[ColumnKind.AGE] = _BORN
        elif as_of is None:
            notes[ColumnKind.AGE] = _NO_DAY
        else:
            joined[ColumnKind.BIRTH_YEAR] = (ColumnKind.AGE,)
    return joined, notes
