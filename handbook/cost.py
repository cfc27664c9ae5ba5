"""The figure of the README: secure comparisons as tables grow, from committed results."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass

from accord.report.markup import Markup, element
from handbook.drawing import WIDE, drawing, lines

_LEFT, _RIGHT, _TOP, _BOTTOM = 60, WIDE - 22, 62, 300
_SIZES, _COSTS = (5e3, 8e4), (1e6, 1e10)


@dataclass(frozen=True)
class Line:
    """One protocol in the results, and what it is called."""

    name: str
    method: str
    noise: str
    epsilon: str
    kind: str
    below: bool


_LINES = (
    Line("all pairs, ε = 0", "all-pairs-greedy", "none", "0", "var(--other)", False),
    Line("Laplace Protocol, ε = 0.1", "laplace", "geometric", "0.1", "var(--quiet)", False),
    Line("Laplace Protocol, ε = 1.6", "laplace", "geometric", "1.6", "var(--main)", True),
)


def draw_cost(results: str) -> str:
    """The figure, as SVG, from the text of `docs/results/size.csv`."""
    rows = [
        row for row in csv.DictReader(results.splitlines()) if row["data"] == "ab" and row["prune"] == "0"
    ]
    shapes = [
        lines(["Secure comparisons as tables grow"], WIDE / 2, 10, kind="strong"),
        lines(["products of two shops, every match found"], WIDE / 2, 30, kind="quiet small"),
        *_axes(),
    ]
    told = []
    for line in _LINES:
        points = sorted((float(row["n"]), float(row["cost"])) for row in rows if _is(row, line))
        shapes += _trace(line, points)
        told.append(f"{line.name}: {points[0][1]:,.0f} to {points[-1][1]:,.0f}")
    says = f"Comparisons for 5,000 to 80,000 records per side. {'; '.join(told)}."
    return drawing("Secure comparisons as tables grow", says, _BOTTOM + 46, shapes)


def _is(row: dict[str, str], line: Line) -> bool:
    return (row["method"], row["noise"], row["epsilon"]) == (line.method, line.noise, line.epsilon)


def _place(size: float, cost: float) -> tuple[float, float]:
    """Both axes are logarithmic."""
    along, up = (
        (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
        for value, (low, high) in ((size, _SIZES), (cost, _COSTS))
    )
    return _LEFT + along * (_RIGHT - _LEFT), _BOTTOM - up * (_BOTTOM - _TOP)


def _axes() -> list[Markup]:
    found = []
    for power, name in ((6, "1 M"), (7, "10 M"), (8, "100 M"), (9, "1 bn"), (10, "10 bn")):
        y = _place(_SIZES[0], 10**power)[1]
        found.append(
            element(
                "line", x1=_LEFT, x2=_RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", _class="rule", stroke_width=0.5
            )
        )
        found.append(lines([name], _LEFT - 6, y - 10, "end", "small"))
    for size in (5_000, 10_000, 20_000, 40_000, 80_000):
        x = _place(size, _COSTS[0])[0]
        found.append(lines([f"{size:,}"], min(x, _RIGHT - 12), _BOTTOM + 4, kind="small"))
    found.append(lines(["records per side"], WIDE / 2, _BOTTOM + 21, kind="quiet small"))
    return found


def _trace(line: Line, points: list[tuple[float, float]]) -> list[Markup]:
    places = [_place(*point) for point in points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    style = f"stroke:{line.kind};stroke-width:2.2;fill:none"
    marks = [
        element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, style=f"fill:{line.kind}") for x, y in places
    ]
    x, y = places[2]
    name = lines(
        [line.name], x, y + (14 if line.below else -30), "middle" if line.below else "end", "small on-line"
    )
    return [element("polyline", points=joined, style=style), *marks, name]
