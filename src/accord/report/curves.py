"""Lines and points between two axes, as markup: `charts.py` says how pictures are drawn.

A line that goes across is drawn in a room of its own that is stretched to the page's width, since it has no
letters; marks and letters are not stretched. Lines differ in colour, in dashes and in marks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from accord.report.charts import HEIGHT, NOTHING, figure, key, level, plot, short, ticks
from accord.report.markup import Markup, element, join
from accord.report.page import table

_COLOURS = ("main", "other", "good", "quiet")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2")
_MOST_MARKED = 30
"""A curve of more points is a line without marks."""

Points = list[tuple[float, float]]


@dataclass(frozen=True)
class CurveLine:
    """Points of one kind, in their order; a lone point is a mark."""

    name: str
    points: Points


@dataclass(frozen=True)
class Axis:
    """What is along an edge: from 0, or from less, to `most` or to the largest value; or logarithmic."""

    name: str
    most: float | None = None
    log: bool = False

    def over(self, values: list[float]) -> _Scale:
        if not self.log:
            return _Scale(min(0, *values), self.most or max(0, *values) or 1, log=False)
        low, high = math.log10(min(values)), math.log10(max(values))
        # One value alone stands in the middle.
        return _Scale(low, high, True) if high > low else _Scale(low - 0.5, high + 0.5, True)


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    log: bool

    def place(self, value: float) -> float:
        """From 0 to 1."""
        return ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[float]:
        if not self.log:
            return ticks(self.low, self.high)
        first, last = math.floor(self.low), math.ceil(self.high)
        for digits in ((1,), (1, 3), (1, 2, 5)):
            every = [m * 10.0**power for power in range(first, last + 1) for m in digits]
            found = [value for value in every if -1e-9 <= self.place(value) <= 1 + 1e-9]
            if len(found) > 2:
                # Of many, some: letters must not stand on each other.
                return found[:: -(-len(found) // 6)]
        return [10**self.low, 10**self.high]


def lines(
    title: str,
    says: str,
    drawn: list[CurveLine],
    axes: tuple[Axis, Axis],
    joined: bool = True,
) -> Markup:
    """Lines, or with `joined=False` points."""
    known = [line for line in drawn if line.points]
    every = [point for line in known for point in line.points]
    if not every:
        return NOTHING
    scales = [axis.over([point[i] for point in every]) for i, axis in enumerate(axes)]
    shapes, marks = _frame(axes, scales), list[tuple[Markup, str]]()
    for number, line in enumerate(known):
        shapes += _trace(number, line.points, scales, joined)
        marks.append((_in_key(number, line, joined), line.name))
    rows = [[line.name, f"{x:,.4g}", f"{y:,.4g}"] for line in known for x, y in line.points]
    numbers = table(title, ["line", *(axis.name for axis in axes)], rows)
    return figure(join([plot(title, says, shapes), key(marks)]), says, numbers)


def _frame(axes: tuple[Axis, Axis], scales: list[_Scale]) -> list[Markup]:
    """Axes with their numbers and names."""
    shapes = [
        element("text", axes[0].name, x="100%", y=HEIGHT + 38, text_anchor="end"),
        element("text", axes[1].name, x=-56, y=-16),
        element("line", x1="0", x2="100%", y1=HEIGHT, y2=HEIGHT, _class="edge"),
        element("line", x1="0", x2="0", y1=0, y2=HEIGHT, _class="edge"),
    ]
    for value in scales[1].ticks:
        shapes += level(value, HEIGHT * (1 - scales[1].place(value)))
    for value in scales[0].ticks:
        place = scales[0].place(value)
        anchor = "end" if place > 0.94 else "middle"
        shapes.append(
            element("text", short(value), x=f"{100 * place:.2f}%", y=HEIGHT + 20, text_anchor=anchor)
        )
    return shapes


def _trace(number: int, points: Points, scales: list[_Scale], joined: bool) -> list[Markup]:
    shapes = []
    if joined and len(points) > 1:
        dashes, style = _DASHES[number % len(_DASHES)], _style(number)
        shapes.append(
            _stretched(
                element(
                    "polyline",
                    points=_corners(points, scales),
                    style=style,
                    stroke_dasharray=dashes,
                    vector_effect="non-scaling-stroke",
                )
            )
        )
    if not joined or len(points) <= _MOST_MARKED:
        for x, y in points:
            left, top = 100 * scales[0].place(x), HEIGHT * (1 - scales[1].place(y))
            # A room without a size of its own: its middle is the point, wherever that is.
            place = {"x": f"{left:.2f}%", "y": f"{top:.1f}"}
            mark = _mark(number, 0, 0)
            shapes.append(element("svg", mark, width=1, height=1, overflow="visible", **place))
    return shapes


def _corners(points: Points, scales: list[_Scale]) -> str:
    """Points in a room of 100 by the height."""
    places = ((100 * scales[0].place(x), HEIGHT * (1 - scales[1].place(y))) for x, y in points)
    return " ".join(f"{x:.3f},{y:.2f}" for x, y in places)


def _stretched(shape: Markup) -> Markup:
    room = {"viewBox": f"0 0 100 {HEIGHT}", "preserveAspectRatio": "none", "overflow": "visible"}
    return element("svg", shape, width="100%", height=HEIGHT, **room)


def _style(number: int) -> str:
    return f"stroke:var(--{_COLOURS[number % len(_COLOURS)]});fill:none;stroke-width:2"


def _in_key(number: int, line: CurveLine, joined: bool) -> Markup:
    if joined and len(line.points) > _MOST_MARKED:
        dashes = _DASHES[number % len(_DASHES)]
        return element("line", x1=0, x2=16, y1=8, y2=8, style=_style(number), stroke_dasharray=dashes)
    return _mark(number, 8, 8)


def _mark(number: int, x: int, y: int) -> Markup:
    """A shape for each line, so that they are told apart without colours."""
    kind, style = number % 3, _style(number)
    if kind == 0:
        return element("circle", cx=x, cy=y, r=4, style=style)
    if kind == 1:
        return element("rect", x=x - 4, y=y - 4, width=8, height=8, style=style)
    corners = f"{x},{y - 5} {x + 5},{y + 4} {x - 5},{y + 4}"
    return element("polygon", points=corners, style=style)
