"""From guesses to what an owner confirms: columns by name or number, one id, and where fields are."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from accord.drafting.answers import name_fields
from accord.drafting.guessing import Guess
from accord.drafting.kinds import LOCAL, ColumnKind, Confirmed, read_kind
from accord.errors import UsageError
from accord.wording import did_you_mean


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

    def tell(self) -> str:
        """Why it is left out, and how its owner decides otherwise."""
        typed = shlex.quote(f"{self.name}={self.meant or 'TYPE'}")
        return f"'{self.name}' is left out: {self.note}. `accord init --type {typed}` uses it anyway."


Columns = tuple[Column, ...]


def take_guesses(guesses: Sequence[Guess]) -> Columns:
    return tuple(
        Column(guess.column, Confirmed(guess.kind), guess.note, guess.meant, True) for guess in guesses
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


def fields_by_column(columns: Columns) -> dict[str, Confirmed]:
    """By own column, the field that it is; without those that stay outside."""
    named = name_fields([one.is_ for one in columns])
    pairs = zip(columns, named, strict=True)
    return {column.name: one for column, one in pairs if one.kind not in LOCAL}


def map_names(columns: Columns, agreed: Sequence[str]) -> Mapping[str, str]:
    """By agreed name, where it is found: in the column that was confirmed so, or else in one of this name."""
    found = {one.name: column for column, one in fields_by_column(columns).items() if one.name in agreed}
    same = {one.name: one.name for one in columns if one.name in agreed}
    return {**same, **found}
