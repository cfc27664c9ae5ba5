"""What `accord init --from` is told on its command line, and what it sees of a table."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.drafting.confirming import Columns
    from accord.drafting.sampling import Look
    from accord.records.layout import Layout
    from accord.records.sources import Place


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

    look: Look
    layout: Layout
    columns: Columns
