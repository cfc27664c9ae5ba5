"""Pictures as markup: drawn here, since a page may load nothing, and each beside the same numbers as text.

A reader that cannot see a picture is told its title and what it shows; the numbers stand in a table under it.
Lengths are linear unless the axis says otherwise, and begin at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from accord.report.markup import Markup, element, join
from accord.report.page import table

_WIDE, _LEFT, _RIGHT, _ROW = 640, 190, 90, 34


@dataclass(frozen=True)
class Bar:
    """A bar of one or two parts; the second is hatched."""

    name: str
    value: float
    more: float = 0
    shown: str = ""

    @property
    def total(self) -> float:
        return self.value + self.more


def bars(
    title: str, says: str, drawn: list[Bar], parts: tuple[str, str] = ("", ""), log: bool = False
) -> Markup:
    """Horizontal bars under each other; with `log` each power of ten takes the same length."""
    height = _ROW * len(drawn) + (_ROW if parts[1] else 0) + 6
    most = max((bar.total for bar in drawn), default=0) or 1
    room = _WIDE - _LEFT - _RIGHT

    def length(value: float) -> float:
        share = math.log10(1 + value) / math.log10(1 + most) if log else value / most
        return round(room * share, 1)

    shapes = [_HATCH]
    for row, bar in enumerate(drawn):
        top = _ROW * row + 6
        first, whole = length(bar.value), length(bar.total)
        shapes += [
            element("text", bar.name, x=_LEFT - 8, y=top + 16, text_anchor="end"),
            element("rect", x=_LEFT, y=top, width=max(first, 0.5), height=22, style="fill:var(--main)"),
        ]
        if bar.more:
            shapes.append(
                element(
                    "rect",
                    x=_LEFT + first,
                    y=top,
                    width=max(whole - first, 0.5),
                    height=22,
                    fill="url(#hatch)",
                    style="stroke:var(--other)",
                )
            )
        shapes.append(element("text", bar.shown or f"{bar.total:,.0f}", x=_LEFT + whole + 6, y=top + 16))
    if parts[1]:
        shapes += _legend(parts, _ROW * len(drawn) + 6)
    return _figure(title, says, height, shapes, _beside(title, drawn, parts))


def columns(title: str, says: str, drawn: list[Bar], parts: tuple[str, str], axis: str) -> Markup:
    """Many thin columns, side by side in their order: a picture of a distribution."""
    height, base, left = 240, 200, 56
    most = max((bar.total for bar in drawn), default=0) or 1
    step = (_WIDE - left - 10) / max(1, len(drawn))
    shapes = [_HATCH, *_scale(most, left, base)]
    for place, bar in enumerate(drawn):
        x = round(left + place * step, 2)
        low, high = (round(180 * value / most, 2) for value in (bar.value, bar.total))
        wide = max(0.6, round(step * 0.86, 2))
        shapes.append(element("rect", x=x, y=base - low, width=wide, height=low, style="fill:var(--main)"))
        if bar.more:
            shapes.append(
                element(
                    "rect", x=x, y=base - high, width=wide, height=round(high - low, 2), fill="url(#hatch)"
                )
            )
    shapes.append(element("text", axis, x=left, y=base + 18))
    shapes += _legend(parts, base + 24, left)
    return _figure(title, says, height + 20, shapes, Markup(""))


_HATCH = Markup(
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)">'
    '<line x1="0" y1="0" x2="0" y2="6" style="stroke:var(--other);stroke-width:3"></line></pattern></defs>'
)


def _scale(most: float, left: int, base: int) -> list[Markup]:
    found = []
    for share in (0, 0.5, 1):
        y = base - 180 * share
        found += [
            element("line", x1=left, x2=_WIDE - 10, y1=y, y2=y, style="stroke:var(--line);stroke-width:.5"),
            element("text", f"{most * share:,.0f}", x=left - 6, y=y + 5, text_anchor="end"),
        ]
    return found


def _legend(parts: tuple[str, str], top: float, left: int = _LEFT) -> list[Markup]:
    return [
        element("rect", x=left, y=top, width=16, height=14, style="fill:var(--main)"),
        element("text", parts[0], x=left + 22, y=top + 12),
        element("rect", x=left + 200, y=top, width=16, height=14, fill="url(#hatch)"),
        element("text", parts[1], x=left + 222, y=top + 12),
    ]


def _beside(title: str, drawn: list[Bar], parts: tuple[str, str]) -> Markup:
    if not parts[1]:
        return table(title, ["", "number"], [[bar.name, bar.shown or f"{bar.total:,.0f}"] for bar in drawn])
    rows = [[bar.name, f"{bar.value:,.0f}", f"{bar.more:,.0f}"] for bar in drawn]
    return table(title, ["", *parts], rows)


def _figure(title: str, says: str, height: float, shapes: list[Markup], numbers: Markup) -> Markup:
    drawing = element(
        "svg", element("title", title), element("desc", says), join(shapes),
        viewBox=f"0 0 {_WIDE} {height}", role="img", aria_label=f"{title}. {says}",
    )  # fmt: skip
    more = element("details", element("summary", "The same as numbers"), numbers) if numbers else Markup("")
    return element("figure", drawing, element("figcaption", says), more)
