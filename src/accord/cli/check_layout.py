"""What `accord check` does for a file: find out how it is written, ask where that is open, write it down.

What is written keeps all that the layout file said before, also of other agreements: only what was typed is
changed, and what it did not say is added. One with comments of its owner's is not written over, nor one that
says something else, where nothing was typed."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from accord.cli.places import layout_beside, layout_of, shown
from accord.cli.terminal import Counter, say
from accord.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.agreement.document import Agreement
    from accord.cli.check_typed import Typed
    from accord.fields.date_formats import Dates
    from accord.preparing.own_table import TableCheck
    from accord.side import Side
    from accord.table.layout import Layout
    from accord.table.sources.opening import Place

_WORDS = {"%d": "day", "%m": "month", "%b": "month", "%B": "month", "%Y": "year", "%y": "year (two digits)"}


@dataclass(frozen=True)
class Known:
    """What is known of a table's layout before the table is looked at."""

    path: Path | None
    """Where it is written; None without a table."""
    wanted: bool
    """Whether its owner named that place, where nothing is yet."""
    stored: Layout | None
    """All that is written there; None if there is nothing, or it is to be replaced."""
    before: Layout
    """What of it is about the agreement."""
    typed: Typed
    layout: Layout
    """The same with what was typed."""
    named: frozenset[str]
    """What is taken as it is, and not found out."""

    def complete(self, found: Layout) -> Layout:
        """The layout that was found, with what is written of other agreements."""
        if self.stored is None:
            return found
        return replace(found, columns={**self.stored.columns, **found.columns})


def read_known(
    agreement: Agreement, data: Place | None, named: Path | None, typed: Typed, force: bool
) -> Known:
    """What the command line says of a layout, and the layout file, unless that is to be replaced."""
    from accord.table.layout import Layout, named_in, read_layout

    path = named or (layout_of(data) if data is not None else None)
    wanted = named is not None and data is not None and not os.path.exists(named)  # whatever its name is
    words, stored, before = typed.named, None, Layout()
    if path is not None and not wanted and not force and (named is not None or path.is_file()):
        stored = before = read_layout(path)
        words |= named_in(path)
        if named is None and data is not None:
            before = stored.about(agreement.names)
            say(f"Reading {shown(data)} as {path} says.", err=True)
    layout = typed.onto(before)
    layout.require_known(agreement.names)
    return Known(path, wanted, stored, before, typed, layout, words)


def ask_format(dates: Dates) -> str | None:
    """Which of several formats a column has; None if nobody is at a terminal."""
    if not sys.stdin.isatty():
        return None
    say(f"The dates of column '{dates.column}' can be read in several ways:", err=True)
    for number, how in enumerate(dates.fits, 1):
        say(f"  {number}  {how}   {in_words(how)}", err=True)
    try:
        answer = 0
        while not 1 <= answer <= len(dates.fits):
            answer = typer.prompt("Which is it? Its number", type=int, err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    return dates.fits[answer - 1]


def in_words(how: str) -> str:
    """A format as people say it: day, month, year."""
    from accord.table.field_source import OR

    if OR in how:
        return " or ".join(map(in_words, how.split(OR)))
    parts = sorted((how.index(sign), word) for sign, word in _WORDS.items() if sign in how)
    return ", ".join(word for _, word in parts)


def read_table(
    agreement: Agreement, data: Place, side: Side | None, layout: Layout, named: Iterable[str]
) -> TableCheck:
    """Find out how the table is written, asking where that is open, and read it; raises all its faults."""
    from accord.preparing.own_table import Reading, check_table

    with closing(Counter()) as watch:
        return check_table(agreement, data, side, Reading(layout, named, ask_format, watch))


def keep(found: TableCheck, known: Known, agreement: Path, force: bool) -> None:
    """Write the layout where its owner says, else beside the data; nothing where a linkage reads the file
    as it is, or as is written there already."""
    from accord.preparing.own_table import write_layout
    from accord.table.address import Address
    from accord.table.sinks.files import require_no_input
    from accord.table.sources.opening import input_files

    path, data = known.path, found.data
    assert path is not None
    assert isinstance(data, Path | Address)
    if not (known.wanted or found.layout != known.before or (force and path.exists())):
        return
    require_no_input(path, [agreement, *input_files(data)], "layout")
    may_replace = force or (bool(known.typed) and not _has_comments(path))
    write_layout(known.complete(found.layout), data, path, may_replace)
    # Beside the table it is found.
    how = "" if path == layout_of(data) else f": link with --layout {path}"
    say(f"Wrote {path}{how}.", err=True)


def tell_ids(found: TableCheck) -> None:
    """Say where the ids are that were made for rows of the file, and what they are good for."""
    from accord.table.sources.opening import ids_file

    if found.tally.new_ids and isinstance(found.data, Path):
        say(
            f"Wrote {ids_file(found.data)}: random ids for {counted(found.tally.new_ids, 'row')}. Pairs "
            "name your records by these; its columns row and id say which row each is. It stays with "
            "you: keep it next to your table, and rows keep their ids.",
            err=True,
        )


def _has_comments(path: Path) -> bool:
    """Whether a layout file has comments of its owner's, which would be lost."""
    from accord.preparing.own_table import OURS

    if not path.exists():
        return False
    lines = path.read_text(encoding="utf-8").splitlines()
    return any("#" in line for line in lines if not (line.startswith("# How ") and line.endswith(OURS)))


def list_columns(file: Place, named: Path | None, typed: Typed, as_json: bool) -> None:
    """Print the names of a file's columns, one a line, for its owner, who asks for them."""
    from accord.cli.terminal import plain
    from accord.table.layout import Layout, named_in, read_layout
    from accord.table.sniffing import sniff_text
    from accord.table.sources.opening import column_names

    path = named or layout_beside(file)
    layout = read_layout(path) if path is not None else Layout()
    words = typed.named | (named_in(path) if path is not None else frozenset())
    names = column_names(file, sniff_text(file, typed.onto(layout), words, ()))
    typer.echo(json.dumps(names) if as_json else "\n".join(plain(name) for name in names))
