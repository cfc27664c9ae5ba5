"""Bars and columns as markup: drawn here, since a page may load nothing, and each beside its numbers as text.

Widths are shares of the page and heights are pixels, so that letters have the same size on a phone as on a
desk: nothing is scaled. A reader that cannot see a picture is told its title and what it shows; the numbers
stand beside the bars, or in a table below.

Lengths are read as amounts: so a bar begins at 0, is as long as its number says, and is never logarithmic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.report.markup import Markup, element, join
from accord.report.page import HATCHED, table

NOTHING = Markup("")
HEIGHT = 220
"""Of what is drawn between the axes; the style of the page has room around it for letters."""
_THICK = 20
_MAIN, _MORE = "fill:var(--main)", f"fill:{HATCHED};stroke:var(--other)"
Ints = NDArray[np.int64]

_MOST_COLUMNS = 120


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

    @property
    def label(self) -> str:
        return self.shown or f"{self.total:,.0f}"


def _plain(value: float) -> str:
    return f"{value:,.4g}"


def bars(title: str, says: str, drawn: list[Bar], parts: tuple[str, str] = ("", "")) -> Markup:
    """Bars under each other, each with its name and its number, which is its length."""
    most = max((bar.total for bar in drawn), default=0) or 1
    rows = []
    for bar in drawn:
        first, whole = 100 * bar.value / most, 100 * bar.total / most
        shapes = [_rect(0, 0, first, _THICK, _MAIN)] if bar.value else []
        if bar.more:
            shapes.append(_rect(first, 0, whole - first, _THICK, _MORE))
        rows.append(_named(bar, shapes))
    listed = element("dl", join(rows), _class="bars")
    if not parts[1]:
        return figure(listed, says)
    cells = [[bar.name, _plain(bar.value), _plain(bar.more)] for bar in drawn]
    return figure(join([listed, _legend(parts)]), says, table(title, ["bar", *parts], cells))


def _named(bar: Bar, shapes: list[Markup]) -> Markup:
    """A row: a name, what is drawn, and its number."""
    picture = element("svg", join(shapes), height=_THICK, aria_hidden="true")
    return element("div", element("dt", bar.name), element("dd", picture, element("span", bar.label)))


def columns(title: str, says: str, drawn: list[Bar], parts: tuple[str, str], axis: str) -> Markup:
    """Many thin columns, side by side in their order: a picture of a distribution."""
    most = max((bar.total for bar in drawn), default=0) or 1
    step = 100 / max(1, len(drawn))
    shapes = []
    for value in ticks(0, most):
        shapes += level(value, HEIGHT * (1 - value / most))
    for place, bar in enumerate(drawn):
        low, high = (HEIGHT * value / most for value in (bar.value, bar.total))
        x, wide = place * step, 0.86 * step
        if bar.value:
            shapes.append(_rect(x, HEIGHT - low, wide, low, _MAIN))
        if bar.more:
            shapes.append(_rect(x, HEIGHT - high, wide, high - low, f"fill:{HATCHED}"))
    shapes.append(element("text", axis, x=0, y=HEIGHT + 20))
    cells = [[bar.name, _plain(bar.value), _plain(bar.more)] for bar in drawn]
    numbers = table(title, [axis, *parts], cells)
    return figure(join([plot(title, says, shapes), _legend(parts)]), says, numbers)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, about four of them."""
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def short(value: float) -> str:
    """A number beside an axis."""
    for size, unit in ((1e9, " G"), (1e6, " M")):
        if value >= size:
            return f"{value / size:,.4g}{unit}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def level(value: float, y: float) -> list[Markup]:
    """A line across, and its number in front of it."""
    return [
        element("line", x1="0", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}", _class="level"),
        element("text", short(value), x=-8, y=f"{y + 4:.1f}", text_anchor="end"),
    ]


def plot(title: str, says: str, shapes: list[Markup]) -> Markup:
    """A drawing with room for letters around it."""
    told = element("title", title), element("desc", says)
    return element("svg", *told, join(shapes), _class="plot", role="img", aria_label=f"{title}. {says}")


def figure(drawing: Markup, says: str, numbers: Markup = NOTHING) -> Markup:
    """A drawing with what it says, and its numbers to unfold."""
    more = element("details", element("summary", "The same as numbers"), numbers) if numbers else NOTHING
    return element("figure", drawing, element("figcaption", says), more)


def key(marks: list[tuple[Markup, str]]) -> Markup:
    """What marks mean: in words of their own, since a name may be longer than a picture is wide."""
    lines = [
        element("li", element("svg", mark, viewBox="0 0 16 16", aria_hidden="true"), element("span", name))
        for mark, name in marks
    ]
    return element("ul", join(lines), _class="key")


def _legend(parts: tuple[str, str]) -> Markup:
    styles = (_MAIN, _MORE)
    swatches = [element("rect", width=16, height=16, style=style) for style in styles]
    return key(list(zip(swatches, parts, strict=True)))


def _rect(x: float, y: float, width: float, height: float, style: str) -> Markup:
    """Across in per cent of the room, down in pixels; never so thin that it is not seen."""
    return element(
        "rect",
        x=f"{x:.3f}%",
        y=f"{y:.1f}",
        width=f"{max(width, 0.15):.3f}%",
        height=f"{height:.1f}",
        style=style,
    )


def fill(title: str, says: str, real: Ints, dummies: Ints) -> Markup:
    """How bins are filled up with dummies, the largest first: for those who may know which slots are real."""
    order = np.argsort(-(real + dummies), kind="stable")
    groups = [group for group in np.array_split(order, min(_MOST_COLUMNS, len(order))) if len(group)]
    drawn, first = [], 1
    for group in groups:
        last = first + len(group) - 1
        name = f"{first:,}" if first == last else f"{first:,} to {last:,}"
        drawn.append(Bar(name, float(real[group].mean()), float(dummies[group].mean())))
        first = last + 1
    several = "" if len(groups) == len(order) else f", up to {len(groups[0])} in a column"
    return columns(title, says, drawn, ("records", "dummies"), f"bins by size{several}")
