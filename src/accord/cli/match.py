"""What a match is, on a terminal: one line where that is short, else lines under each other and a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from accord.cli.table import lay_out
from accord.cli.terminal import width_of

if TYPE_CHECKING:
    from accord.rules.rule import Rule

_STEP = "  "


def describe_match(rule: Rule, label: str) -> list[str]:
    """The rule behind a label, in lines that fit where they go."""
    from accord.rules.breakdown import is_short

    lines = [str(rule)] if is_short(rule) else _lines(rule, width_of(sys.stdout), len(label))
    return [f"{label}{lines[0]}", *(" " * len(label) + line for line in lines[1:])]


def _lines(rule: Rule, width: int | None, indent: int) -> list[str]:
    from accord.rules.breakdown import HEADINGS, break_down

    lines = []
    for line in break_down(rule):
        lines.append(_STEP * line.depth + line.words)
        if line.rows:
            before = _STEP * (line.depth + 1)
            room = None if width is None else width - indent - len(before)
            table = lay_out("", HEADINGS, [row.cells for row in line.rows], room)
            lines += [before + part for part in table.split("\n")[1:]]
    return lines
