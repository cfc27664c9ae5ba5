"""Pictures as markup: drawn here, since a page may load nothing, and each beside the same numbers as text.

A reader that cannot see a picture is told its title and what it shows; the numbers stand in a table under it.
Lengths are linear unless the axis says otherwise, and begin at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from accord.report.markup import Markup, element, join
from accord.report.page import table

_NOTHING = Markup("")
_WIDE, _LEFT, _RIGHT, _ROW = 640, 2, 150, 48


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
        share = math.log1p(value) / math.log1p(most) if log else value / most
        return round(room * share, 1)

    shapes = [_HATCH]
    for row, bar in enumerate(drawn):
        # The name is above its bar: it may be long, and the page narrow.
        top = _ROW * row + 20
        first, whole = length(bar.value), length(bar.total)
        shapes += [
            element("text", bar.name, x=_LEFT, y=top - 5),
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
    return _figure(title, says, height + 20, shapes, _NOTHING)


@dataclass(frozen=True)
class Line:
    """Points of one kind, in their order; a lone point is a mark."""

    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """What is along an edge: from 0 to `most` or to the largest value; or logarithmic."""

    name: str
    most: float | None = None
    log: bool = False

    def over(self, values: list[float]) -> _Scale:
        if not self.log:
            return _Scale(0, self.most or max(values) or 1, log=False)
        low, high = math.log(min(values)), math.log(max(values))
        # One value alone stands in the middle.
        return _Scale(low, high, log=True) if high > low else _Scale(low - 1, high + 1, log=True)


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    log: bool

    def place(self, value: float) -> float:
        """From 0 to 1."""
        return ((math.log(value) if self.log else value) - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[tuple[str, float]]:
        found = (self.low + share * (self.high - self.low) for share in (0, 0.5, 1))
        values = [math.exp(value) if self.log else value for value in found]
        return [(_short(value), self.place(value)) for value in values]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def lines(title: str, says: str, drawn: list[Line], axes: tuple[Axis, Axis], joined: bool = True) -> Markup:
    """Lines, or with `joined=False` points."""
    left, right, top, bottom = 70, _WIDE - 24, 12, 220
    every = [point for line in drawn for point in line.points]
    if not every:
        return _NOTHING
    across, up = (axis.over([point[i] for point in every]) for i, axis in enumerate(axes))
    shapes = [
        element("line", x1=left, x2=right, y1=bottom, y2=bottom, style=_RULE),
        element("line", x1=left, x2=left, y1=top, y2=bottom, style=_RULE),
        element("text", axes[0].name, x=right, y=bottom + 34, text_anchor="end"),
        element("text", axes[1].name, x=left + 10, y=top + 4),
    ]
    for value, place in across.ticks:
        x = round(left + place * (right - left), 1)
        shapes.append(element("text", value, x=x, y=bottom + 18, text_anchor="middle"))
    for value, place in up.ticks:
        y = round(bottom - place * (bottom - top) + 5, 1)
        shapes.append(element("text", value, x=left - 6, y=y, text_anchor="end"))
    for number, line in enumerate(drawn):
        places = [
            (left + across.place(x) * (right - left), bottom - up.place(y) * (bottom - top))
            for x, y in line.points
        ]
        shapes += _trace(number, places, joined)
    names, rows = [axis.name for axis in axes], []
    for line in drawn:
        rows += [[line.name, f"{x:,.4g}", f"{y:,.4g}"] for x, y in line.points]
    # In words of their own, since a name may be longer than a picture is wide.
    key = [element("li", _key(number), " ", line.name) for number, line in enumerate(drawn)]
    legend = element("ul", join(key), _class="key")
    return _figure(title, says, bottom + 40, shapes, table(title, ["", *names], rows), legend)


def _style(number: int) -> str:
    return f"stroke:var(--{_COLOURS[number % len(_COLOURS)]});fill:none;stroke-width:2"


def _trace(number: int, places: list[tuple[float, float]], joined: bool) -> list[Markup]:
    marks = [_mark(number, x, y) for x, y in places]
    if not joined or len(places) < 2:
        return marks
    points, dashes = " ".join(f"{x:.1f},{y:.1f}" for x, y in places), _DASHES[number % len(_DASHES)]
    return [element("polyline", points=points, style=_style(number), stroke_dasharray=dashes), *marks]


def _key(number: int) -> Markup:
    return element("svg", _mark(number, 8, 8), viewBox="0 0 16 16", _class="mark", aria_hidden="true")


_RULE = "stroke:var(--line);stroke-width:1"
_COLOURS = ("main", "other", "good", "quiet")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2")


def _mark(number: int, x: float, y: float) -> Markup:
    """A shape for each line, so that they are told apart without colours."""
    kind, style = number % 3, _style(number)
    if kind == 0:
        return element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, style=style)
    if kind == 1:
        return element("rect", x=f"{x - 4:.1f}", y=f"{y - 4:.1f}", width=8, height=8, style=style)
    corners = f"{x:.1f},{y - 5:.1f} {x + 5:.1f},{y + 4:.1f} {x - 5:.1f},{y + 4:.1f}"
    return element("polygon", points=corners, style=style)


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


def _figure(
    title: str, says: str, height: float, shapes: list[Markup], numbers: Markup, legend: Markup = _NOTHING
) -> Markup:
    drawing = element(
        "svg", element("title", title), element("desc", says), join(shapes),
        viewBox=f"0 0 {_WIDE} {height}", role="img", aria_label=f"{title}. {says}",
    )  # fmt: skip
    more = element("details", element("summary", "The same as numbers"), numbers) if numbers else _NOTHING
    return element("figure", drawing, legend, element("figcaption", says), more)
