"""Options that several commands share, and where one's own table is laid out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.places import layout_beside, shown
from accord.cli.terminal import say

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.table.layout import Layout
    from accord.table.sources.opening import Place

LayoutFile = Annotated[
    Path | None,
    typer.Option(
        "--layout",
        metavar="FILE",
        help="How your table is laid out; default: the file next to it, which `accord check` writes.",
        show_default=False,
    ),
]
StateFolder = Annotated[
    Path | None,
    typer.Option(
        "--state",
        metavar="FOLDER",
        help="The state folder, if not `accord` in $XDG_STATE_HOME (usually ~/.local/state).",
        show_default=False,
    ),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="No quote before CSV cells that spreadsheets take for formulas.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def example(*lines: str) -> str:
    """What the help of a command ends with: a command to copy, in lines that the help leaves as they are."""
    return "\b\nExample:\n  " + " \\\n    ".join(lines)


def named_state(context: typer.Context) -> Path | None:
    """The state folder that was named before the command, if any."""
    found = context.find_root().params.get("state")
    # Older typers leave the text that was typed.
    return None if found is None else Path(found)


def read_own_layout(agreement: Agreement, file: Path | None, table: Place | None) -> Layout:
    """What the layout file says; without one, that beside the `table`, as far as the agreement goes."""
    from accord.table.layout import Layout, read_layout

    found = Layout()
    if file is not None:
        found = read_layout(file)
        found.require_known(agreement.names)
    elif (beside := layout_beside(table)) is not None:
        assert table is not None
        found = read_layout(beside).about(agreement.names)
        say(f"Reading {shown(table)} as {beside} says.", err=True)
    if found.make_ids and isinstance(table, Path):
        from accord.table.sources.opening import ids_file

        say(f"The ids of its rows are in {ids_file(table)}, which stays with you.", err=True)
    return found
