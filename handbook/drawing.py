"""What all drawings share: a frame that reads in light and in dark, words that wrap, a title, what it shows.

A drawing that is an image follows the reader's system; inside a page of the site it follows the page, whose
style sets the same colours (`static/site.css`). It is about as wide as a phone, so that its words stay
legible there; elsewhere it is not made larger than its words should be.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from accord.report.markup import Markup, element, join

WIDE = 480
LINE = 19
"""From one line of words to the next."""
_LETTER = 8.0
"""How wide a letter is, nearly always at most."""

_LIGHT = (
    "--ink:#1b1f24;--quiet:#4d5661;--line:#8a939e;--main:#0b5cad;--soft:#e6f0fa;--other:#a8480a;--paper:#fff"
)
_DARK = (
    "--ink:#e8eaed;--quiet:#b4bcc6;--line:#7b8590;--main:#7cb8f5;"
    "--soft:#1c2c3d;--other:#f0a868;--paper:#16191d"
)
_STYLE = (
    f".drawing{{{_LIGHT};max-width:100%;height:auto}}"
    f"@media (prefers-color-scheme:dark){{.drawing{{{_DARK}}}}}"
    ".drawing text{font:15px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}"
    ".drawing .quiet{fill:var(--quiet)}.drawing .strong{font-weight:600}"
    ".drawing .small{font-size:13px}"
    ".drawing .on-line{paint-order:stroke;stroke:var(--paper);stroke-width:5px}"
    ".drawing .mono{font-size:14px;white-space:pre;"
    "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".drawing .good{fill:var(--main)}.drawing .frame{fill:var(--paper);stroke:var(--line)}"
    ".drawing .box{fill:var(--soft);stroke:var(--main)}.drawing .rule{stroke:var(--line);fill:none}"
    ".drawing .arrow{stroke:var(--main);stroke-width:1.6;fill:none}.drawing .tip{fill:var(--main)}"
    ".drawing .record{fill:var(--main);stroke:var(--main)}"
    ".drawing .dummy{fill:none;stroke:var(--other);stroke-width:1.6;stroke-dasharray:3 2}"
)


def drawing(title: str, says: str, height: float, shapes: Iterable[Markup], wide: float = WIDE) -> str:
    """A whole SVG file."""
    border = element("rect", x=0.5, y=0.5, width=wide - 1, height=height - 1, rx=8, _class="frame")
    return (
        element(
            "svg",
            *(element("title", title, id="title"), element("desc", says, id="desc")),
            *(element("style", Markup(_STYLE)), border, *shapes),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {wide:g} {height:g}",
            width=f"{wide:g}",
            role="img",
            aria_labelledby="title",
            aria_describedby="desc",
            _class="drawing",
        )
        + "\n"
    )


def wrap(words: str, width: float) -> list[str]:
    """The lines that fit into so many units."""
    return textwrap.wrap(words, max(8, int(width / _LETTER)), break_long_words=False)


def lines(words: list[str], x: float, top: float, anchor: str = "middle", kind: str = "") -> Markup:
    """Words under each other, the first line with its head at `top`."""
    return join(
        element("text", line, x=f"{x:g}", y=f"{top + 14 + LINE * row:g}", text_anchor=anchor, _class=kind)
        for row, line in enumerate(words)
    )


def box(words: str, x: float, top: float, width: float, kind: str = "box") -> tuple[Markup, float]:
    """Words in a box from x to x + width; and its height."""
    broken = wrap(words, width - 16)
    height = LINE * len(broken) + 12
    frame = element(
        "rect", x=f"{x:g}", y=f"{top:g}", width=f"{width:g}", height=f"{height:g}", rx=6, _class=kind
    )
    return join([frame, lines(broken, x + width / 2, top + 6)]), height


def arrow(x1: float, y1: float, x2: float, y2: float, both: bool = False) -> Markup:
    """A straight arrow along an axis, with a tip at its end or at both."""
    tips = [_tip(x1, y1, x2, y2)] + ([_tip(x2, y2, x1, y1)] if both else [])
    return join([element("line", x1=x1, y1=y1, x2=x2, y2=y2, _class="arrow"), *tips])


def _tip(x1: float, y1: float, x2: float, y2: float) -> Markup:
    along, across = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
    back = (x2 - 9 * along, y2 - 9 * across)
    corners = [
        (x2, y2),
        (back[0] - 5 * across, back[1] - 5 * along),
        (back[0] + 5 * across, back[1] + 5 * along),
    ]
    return element("polygon", points=" ".join(f"{x:g},{y:g}" for x, y in corners), _class="tip")
