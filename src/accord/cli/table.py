"""Tables for people: nothing in them is ever cut, since a later command may need it.

A table takes the room that it needs. Where a terminal has less, cells of several words are broken between
them, unless they are names; where that does not do, each row is a block of its own, a line for each cell.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from accord.cli.terminal import say, width_of

_GAP = "  "
_NAMED = ("run", "partner", "data set", "snapshot", "fingerprint")
"""Columns whose cells a later command takes as they are."""


def print_table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table to stdout, as wide as the terminal allows."""
    say(lay_out(title, names, rows, width_of(sys.stdout)))


def lay_out(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """The table, in lines of this width at the most unless a single word is longer."""
    widths = _share([*zip(names, *rows, strict=True)], width)
    if widths is None:
        return f"{title}\n" + "\n\n".join(_block(names, row) for row in rows)
    ruled = [names, ["─" * most for most in widths], *rows]
    return "\n".join([title, *(line for row in ruled for line in _row(row, widths))])


def _share(columns: Sequence[Sequence[str]], width: int | None) -> list[int] | None:
    """How wide each column is; None if the words alone do not fit."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in columns]
    least = [max(cell_len(word) for cell in column for word in _words(cell, column[0])) for column in columns]
    room = width - len(_GAP) * len(columns[1:]) if width is not None else sum(widths)
    if sum(least) > room:
        return None
    while sum(widths) > room:
        at = max(range(len(widths)), key=lambda column: (widths[column] > least[column], widths[column]))
        widths[at] -= 1
    return widths


def _words(cell: str, name: str) -> list[str]:
    """Between what a cell may be broken."""
    return [cell] if name in _NAMED else [*cell.split(), ""]


def _row(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The lines of a row."""
    broken = [
        textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)
        for cell, width in zip(cells, widths, strict=True)
    ]
    height = max(1, *map(len, broken))
    lines = [[*lines, *[""] * (height - len(lines))] for lines in broken]
    return [_line(line, widths) for line in zip(*lines, strict=True)]


def _block(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row as lines of a name and a cell each; without those that say nothing."""
    label = max(map(len, names))
    pairs = zip(names, cells, strict=True)
    return "\n".join(f"  {name.ljust(label)}{_GAP}{cell}" for name, cell in pairs if cell)


def _line(parts: Sequence[str], widths: Sequence[int]) -> str:
    from rich.cells import cell_len

    padded = (part + " " * (width - cell_len(part)) for part, width in zip(parts, widths, strict=True))
    return _GAP.join(padded).rstrip()
