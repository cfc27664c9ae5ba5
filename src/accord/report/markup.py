"""HTML that cannot be broken by what is in it: whatever is not markup already is escaped.

A page is built of `element`s, and the only way from text to markup is through one. So a column's name that
holds a tag is shown as it is spelt, wherever it stands. What could steer a terminal or hide a letter is
replaced by a mark, as on the command line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_VOID = frozenset({"meta", "br"})
_COMMAND = re.compile("`(accord [^`]+)`")


class Markup(str):
    """Text that is HTML already: made by `element` and `join` alone, or written as a constant."""

    __slots__ = ()


def element(name: str, /, *content: Markup | str | int, **attributes: str | int | float) -> Markup:
    """`<name …>content</name>`. An attribute's `_` is a hyphen: `aria_label`; one in front is dropped."""
    named = "".join(
        f' {key.lstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items()
    )
    if name in _VOID:
        return Markup(f"<{name}{named}>")
    return Markup(f"<{name}{named}>{join(content)}</{name}>")


def join(parts: Iterable[Markup | str | int]) -> Markup:
    """The parts one after another."""
    return Markup("".join(part if isinstance(part, Markup) else escape(str(part)) for part in parts))


def prose(text: Markup | str) -> Markup:
    """A sentence in which a quoted command, `accord …`, is set as code."""
    if isinstance(text, Markup):
        return text
    parts = _COMMAND.split(text)
    return join([element("code", part) if place % 2 else part for place, part in enumerate(parts)])


def escape(text: str) -> Markup:
    """Text as HTML shows it, also within an attribute's quotes."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return Markup(html.escape(shown, quote=True))
