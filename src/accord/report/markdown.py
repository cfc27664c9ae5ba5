"""Markdown that cannot be broken by what is in it, for documents that people go on writing.

Whatever is not Markdown already is escaped, but for a quoted command or word, `accord …`. What could hide a
letter or begin a line is replaced by a mark, as on pages; so a party's name can neither be a heading nor a
link. GitHub makes links also of bare addresses: their signs are escaped, and a mail's, where that does not
help, is parted from the name before it by an empty comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTED = re.compile("(`accord [^`]+`|`[a-z]+`)")
_SPECIAL = re.compile(r"([\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_]))")
_ADDRESS = re.compile(r"(?i)(?<=www)(\.)|(:)(?=//)|(?<=\S)(?=@)")
_BEGINS_A_BLOCK = re.compile(r"^([#+=-]|\d+(?=[.)]))")


class Markdown(str):
    """Text that is Markdown already."""

    __slots__ = ()


def plain(text: str) -> Markdown:
    """Text as Markdown shows it."""
    if isinstance(text, Markdown):
        return text
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    parts = _QUOTED.split(shown.strip())
    escaped = "".join(p if place % 2 else _escape(p) for place, p in enumerate(parts))
    return Markdown(_BEGINS_A_BLOCK.sub(_escape_start, escaped))


def _escape(text: str) -> str:
    # First what Markdown knows, so that what is added here stays.
    return _ADDRESS.sub(_part_address, _SPECIAL.sub(r"\\\1", text))


def _part_address(found: re.Match[str]) -> str:
    return f"\\{found[0]}" if found[0] else "<!-- -->"


def _escape_start(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def code(text: str) -> Markdown:
    """Text set as code, with as many backticks around it as it takes."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return Markdown(f"{fence}{space}{shown}{space}{fence}")


def join(parts: Iterable[str], between: str = " ") -> Markdown:
    """The parts one after another."""
    return Markdown(between.join(plain(part) for part in parts))


def heading(depth: int, text: str) -> Markdown:
    """A heading, with the empty lines that it needs."""
    return Markdown(f"\n{'#' * depth} {plain(text)}\n")


def paragraph(*parts: str) -> Markdown:
    """A paragraph of one line."""
    return Markdown(f"\n{join(parts)}\n")


def bullets(lines: Iterable[str]) -> Markdown:
    """A list, a line each."""
    return Markdown("\n" + "".join(f"- {plain(line)}\n" for line in lines))


def labelled(label: str, *parts: str) -> Markdown:
    """A line of a list that begins with what it is about."""
    return join([Markdown(f"**{plain(label)}:**"), *parts])
