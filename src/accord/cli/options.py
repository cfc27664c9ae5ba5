"""Options that several commands share: how one's own file is laid out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.places import layout_beside, shown
from accord.cli.terminal import say
from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.table.layout import Layout
    from accord.table.sources.opening import Place

LayoutFile = Annotated[
    Path | None,
    typer.Option("--columns", help="How your file is laid out, a TOML file: `accord check` writes one."),
]
ColumnPairs = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=COLUMN", help="Where the names differ; repeatable."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="The column that identifies each record.")]
IdRow = Annotated[
    bool, typer.Option("--id-row", help="Use row numbers 1, 2, … as ids; no id column is read.")
]
DateFormats = Annotated[
    list[str] | None,
    typer.Option(
        "--date", metavar="FIELD=FORMAT", help="The format of dates not written 2026-11-15; repeatable."
    ),
]
ListFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--list", metavar="NAME=FILE", help="A list of frequencies that is not built in; repeatable."
    ),
]
PersonColumn = Annotated[
    str | None,
    typer.Option("--person", help="The column that says whose record it is: nobody may have too many."),
]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of a CSV file: utf-8, latin-1, …")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of a CSV file: one character, or tab.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="The state folder, if not the usual one.", show_default=False)
]
Raw = Annotated[
    bool, typer.Option("--raw", help="No quote before CSV cells that spreadsheets take for formulas.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def example(*lines: str) -> str:
    """What the help of a command ends with: a command to copy, in lines that the help leaves as they are."""
    return "\b\nExample:\n  " + " \\\n    ".join(lines)


def read_own_layout(
    agreement: Agreement,
    file: Path | None,
    pairs: list[str] | None = None,
    id: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    person: str | None = None,
    dates: list[str] | None = None,
    id_row: bool = False,
    lists: list[str] | None = None,
    table: Place | None = None,
) -> Layout:
    """The layout file, if any, overridden by what stands on the command line. Without one, that beside the
    `table`, as far as it is about this agreement."""
    from accord.table.layout import Layout, read_layout

    if id is not None and id_row:
        raise UsageError(problem="Name records by a column, --id, or by their rows, --id-row, not by both.")

    if file is None and table is not None and (beside := layout_beside(table)) is not None:
        found = read_layout(beside).about(agreement.names, agreement.lists)
        say(f"Reading {shown(table)} as {beside} says.", err=True)
    else:
        found = read_layout(file) if file is not None else Layout()
    mapped = replace(
        found,
        id=id or found.id,
        encoding=encoding or found.encoding,
        delimiter=delimiter or found.delimiter,
        person=person or found.person,
        id_row=id_row or (found.id_row and id is None),
    )
    mapped = mapped.map_columns(pairs or []).map_dates(dates or []).map_lists(lists or [])
    mapped.require_known(agreement.names, agreement.lists)
    return mapped
