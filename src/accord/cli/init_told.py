"""What `accord init --from` is told on its command line, and what it sees of a table."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.drafting.answers import Answers
    from accord.drafting.confirming import Columns
    from accord.drafting.sampling import TableSample
    from accord.table.layout import Layout
    from accord.table.sources.opening import Place


@dataclass(frozen=True)
class Told:
    """The command line, as it was typed."""

    table: Place
    yes: bool = False
    types: tuple[str, ...] = ()
    records: tuple[int, int] | None = None
    parties: tuple[str, str] | None = None
    disclose: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    rarity: bool = False
    id: str | None = None
    id_row: bool = False
    dates: tuple[str, ...] = ()
    encoding: str | None = None
    delimiter: str | None = None
    query: Path | None = None
    """The file of the query, if the table has one from there."""

    @property
    def typed(self) -> list[str]:
        """The table, as it stood on the command line."""
        if self.query is None or isinstance(self.table, Path):
            return [str(self.table)]
        return [str(replace(self.table, query=None)), "--query", str(self.query)]

    @property
    def agreed(self) -> list[str]:
        """The options that say what is written into an agreement."""
        given = {
            "--records": self.records,
            "--parties": self.parties,
            "--disclose": self.disclose,
            "--values": self.values,
            "--range": self.ranges,
            "--within": self.within,
            "--missing": self.missing,
            "--missing-values": self.missing_values,
            "--rarity": self.rarity,
        }
        return [option for option, value in given.items() if value]

    @property
    def asks(self) -> bool:
        """Whether somebody is there to answer."""
        return sys.stdin.isatty() and not self.yes


@dataclass(frozen=True)
class Seen:
    """A table, how it is written, and what its columns are."""

    look: TableSample
    layout: Layout
    columns: Columns


def answers_of(seen: Seen, told: Told) -> Answers:
    """What a draft is made of; sizes that nobody has said yet are 1. Raises what cannot be drafted."""
    from accord.drafting.answers import Answers, in_order
    from accord.drafting.confirming import fields_by_column

    return Answers(
        fields=in_order([*fields_by_column(seen.columns).values()]),
        records=told.records or (1, 1),
        parties=told.parties or Answers.parties,
        disclose=told.disclose,
        values=_lists("--values", told.values),
        ranges={name: _range(pair) for name, pair in _split("--range", told.ranges).items()},
        within=_split("--within", told.within),
        missing=_split("--missing", told.missing),
        missing_values=_lists("--missing-values", told.missing_values),
        rarity=told.rarity,
        as_guessed=not told.asks and any(one.guessed for one in seen.columns),
    )


def _split(option: str, pairs: Iterable[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise UsageError(problem=f"{option} is FIELD=VALUE, not '{pair}'.")
        found[name] = value
    return found


def _lists(option: str, pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    split = _split(option, pairs).items()
    return {name: tuple(one.strip() for one in text.split(",") if one.strip()) for name, text in split}


def _range(text: str) -> tuple[str, str]:
    low, _, high = text.partition("..")
    return low.strip(), high.strip()
