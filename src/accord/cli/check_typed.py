"""How one's own table is laid out, as `accord check` is told: it writes it down, and all other commands read
what is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.table.layout import Layout

ColumnPairs = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=COLUMN", help="Where the names differ; repeatable."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="The column that identifies each record.")]
MakeIds = Annotated[
    bool,
    typer.Option("--make-ids", help="Make random ids, kept next to your file; no id column is read."),
]
DateFormats = Annotated[
    list[str] | None,
    typer.Option(
        "--date", metavar="FIELD=FORMAT", help="The format of dates not written 2026-11-15; repeatable."
    ),
]
PersonColumn = Annotated[
    str | None,
    typer.Option("--person", help="The column that says whose record it is: nobody may have too many."),
]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of a CSV file: utf-8, latin-1, …")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of a CSV file: one character, or tab.")]


@dataclass(frozen=True)
class Typed:
    """What stands on the command line about a layout."""

    columns: tuple[str, ...] = ()
    id: str | None = None
    make_ids: bool = False
    dates: tuple[str, ...] = ()
    person: str | None = None
    encoding: str | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if self.id is not None and self.make_ids:
            raise UsageError(problem="Name the column of ids, --id, or have ids made, --make-ids, not both.")

    def __bool__(self) -> bool:
        return self != Typed()

    @property
    def named(self) -> frozenset[str]:
        """What is not to be found out, since its owner says it."""
        words = {"columns": self.columns, "id": self.id}
        words |= {"encoding": self.encoding, "delimiter": self.delimiter}
        return frozenset(word for word, value in words.items() if value)

    def onto(self, layout: Layout) -> Layout:
        """The layout, overridden by what was typed."""
        changed = replace(
            layout,
            id=self.id or layout.id,
            encoding=self.encoding or layout.encoding,
            delimiter=self.delimiter or layout.delimiter,
            person=self.person or layout.person,
            make_ids=self.make_ids or (layout.make_ids and self.id is None),
        )
        return changed.map_columns(self.columns).map_dates(self.dates)
