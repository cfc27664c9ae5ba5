"""Options that several commands share: how one's own file is laid out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.records.layout import Layout

LayoutFile = Annotated[
    Path | None,
    typer.Option("--columns", help="A TOML file with id, person, encoding, delimiter and \\[columns]."),
]
ColumnPairs = Annotated[
    list[str] | None, typer.Option("--column", help="FIELD=COLUMN where the names differ; repeatable.")
]
IdColumn = Annotated[str | None, typer.Option("--id", help="The column that names each record.")]
PersonColumn = Annotated[
    str | None,
    typer.Option("--person", help="The column that says whose record it is: nobody may have too many."),
]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of a csv: utf-8, latin-1, …")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Of a csv: one character, or tab.")]
StateOption = Annotated[
    Path | None, typer.Option("--state", help="The state folder, if not the usual one.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def read_own_layout(
    agreement: Agreement,
    file: Path | None,
    pairs: list[str] | None = None,
    id: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    person: str | None = None,
) -> Layout:
    """The layout file, if any, overridden by what stands on the command line."""
    from accord.records.layout import Layout, read_layout

    found = read_layout(file) if file is not None else Layout()
    mapped = replace(
        found,
        id=id or found.id,
        encoding=encoding or found.encoding,
        delimiter=delimiter or found.delimiter,
        person=person or found.person,
    ).map_columns(pairs or [])
    mapped.require_known(dict.fromkeys([*agreement.fields, *agreement.disclose.A, *agreement.disclose.B]))
    return mapped
