"""Where things stand in the text of an agreement: the line of every table and key."""

from __future__ import annotations

import re
from collections.abc import Mapping

Where = tuple[str | int, ...]
"""The keys, and places in lists, that lead to a part."""

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)\s*=""")


def find_lines(text: str) -> dict[Where, int]:
    """The line of every table and key."""
    lines: dict[Where, int] = {}
    table: Where = ()
    seen: dict[Where, int] = {}
    """The number of the last table of each list of tables."""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = ()
            for name in _split(header[2]):
                # Inside a list of tables a header goes on with the last of them.
                table = (*table, *((seen[table],) if table in seen else ()), name)
            if header[1] == "[[":
                seen[table] = seen.get(table, -1) + 1
                table = (*table, seen[table])
            for depth in range(1, len(table) + 1):
                lines.setdefault(table[:depth], number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_split(key[1])), number)
    return lines


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def line_of(lines: Mapping[Where, int], path: Where) -> int:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


def tell_place(lines: Mapping[Where, int], path: Where) -> str:
    dotted = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")
    line = line_of(lines, path)
    return f"line {line}, {dotted}" if line else dotted
