"""What an agreement, or a layout, may come to, judged before a parser sees it.

A parser of TOML takes memory and time out of all proportion to its text: a key of many dotted parts makes a
table for each, and every further key walks through all of them. So the text is first read as what it is made
of, strings, comments and marks, once from left to right, and refused where it goes beyond what any agreement
needs.

The invariant: where this reading and the parser's differ, the parser has come upon a mistake and goes no
further; so nothing that was not measured here is ever built there.
"""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from typing import Any

MOST_BYTES = 4 << 20
MOST_DEPTH = 8
MOST_PARTS = 8
MOST_KEYS = 1 << 16
"""Parts of keys, tables and brackets: each takes a hundred times the memory of its text."""
MOST_VALUES = 1 << 19
"""Values in lists."""

_MARK = re.compile(
    r'''"""(?:[^"\\]++|\\[\s\S]|""?(?!"))*+"""(?:"{1,2})?+'''
    r"""|'''(?:[^']++|''?(?!'))*+'''(?:'{1,2})?+"""
    r'''|"(?:[^"\\\n]++|\\[^\n])*+"'''
    r"""|'[^'\n]*+'"""
    r"""|#[^\n]*+|[\n=.,{}\[\]"']"""
)
"""A string, a comment, or a mark; a quotation mark by itself begins a string that does not end."""


class TooMuchError(ValueError):
    """The text is beyond a limit; its words say which."""


def load_bounded(text: str) -> dict[str, Any]:
    """Parse the TOML of an agreement, once it is within the limits."""
    require_bounded(text)
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:
        # Python reads whole numbers of up to 4,300 digits.
        raise TooMuchError("a number with thousands of digits") from None


def require_bounded(text: str) -> None:
    """Raise `TooMuchError` if the text is too long, too deep, or made of too many parts."""
    if len(text) > MOST_BYTES or len(text.encode()) > MOST_BYTES:
        raise TooMuchError("it is larger than 4 MiB")
    measure = _Measure()
    # The parser does so first, and to it a carriage return anywhere else is a mistake.
    for found in _MARK.finditer(text.replace("\r\n", "\n")):
        mark = found[0]
        if mark in "\"'":
            return
        if mark[0] in "\"'#":
            measure.blank = measure.blank and mark[0] == "#"
            continue
        measure.take(mark)


class _Measure:
    """How deep the text is where it was read to.

    A table's header has as many levels as parts, and one more where it names a list; a key has one for each
    part; a bracket has one, which in an inline table is that of its key's first part.
    """

    def __init__(self) -> None:
        self.blank = True
        """Whether nothing but a comment has stood in this line."""
        self._header = 0
        """The brackets that opened the header of a table, while it is read."""
        self._dots = 0
        self._table = 0
        self._open: list[tuple[str, int]] = []
        """The brackets of a value that are open, each with the depth outside of it."""
        self._depth = 0
        self._keys = self._values = 0

    def take(self, mark: str) -> None:
        self._count(mark)
        if mark == ".":
            self._dots += 1
            if self._dots >= MOST_PARTS:
                raise TooMuchError(f"a key has more than {MOST_PARTS} parts")
            return
        if mark == "\n":
            self._end_line()
        elif mark == "[" and not self._open and (self.blank or self._header):
            self._header += 1
        elif mark == "]" and self._header:
            self._table = self._dots + 1 + (self._header > 1)
            self._require(self._table)
            self._header, self._depth = 0, self._table
        elif mark == "=":
            inside = bool(self._open)
            self._require((self._open[-1][1] if inside else self._table) + self._dots + 1)
        elif mark in "[{":
            self._open.append((mark, self._depth))
            self._require(self._depth + 1)
        elif mark in "]}" and self._open:
            self._depth = self._open.pop()[1]
        elif mark == "," and self._open:
            kind, outside = self._open[-1]
            self._depth = outside + (kind == "[")
        self._dots = 0
        self.blank = mark == "\n"

    def _count(self, mark: str) -> None:
        self._values += mark == ","
        self._keys += mark not in ",\n"
        if self._keys > MOST_KEYS or self._values > MOST_VALUES:
            raise TooMuchError(f"it has more than {MOST_KEYS:,} keys or {MOST_VALUES:,} values")

    def _end_line(self) -> None:
        if not self._open:
            self._header, self._depth = 0, self._table

    def _require(self, depth: int) -> None:
        self._depth = depth
        if depth > MOST_DEPTH:
            raise TooMuchError(f"it is nested deeper than {MOST_DEPTH} levels")
