"""Figures of cost as tables grow, from committed results: that of the README, and that of routed linkage.

Both axes of a panel are logarithmic: what grows with the records has the slope 1, what grows with their
square the slope 2.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass

from accord.report.markup import Markup, element
from handbook.drawing import WIDE, drawing, lines

Points = Sequence[tuple[float, float]]
"""Records per side, and what they cost."""


@dataclass(frozen=True)
class Panel:
    """Axes: from left to right and from top to bottom of the drawing, and from the first mark to the last."""

    left: float
    top: float
    bottom: float
    sizes: tuple[float, ...]
    costs: tuple[tuple[float, str], ...]
    right: float = WIDE - 22

    def place(self, size: float, cost: float) -> tuple[float, float]:
        ends = (self.sizes[0], self.sizes[-1]), (self.costs[0][0], self.costs[-1][0])
        along, up = (
            (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
            for value, (low, high) in zip((size, cost), ends, strict=True)
        )
        return self.left + along * (self.right - self.left), self.bottom - up * (self.bottom - self.top)

    def draw(self) -> list[Markup]:
        found = []
        for cost, name in self.costs:
            y = self.place(self.sizes[0], cost)[1]
            ends = {"y1": f"{y:.1f}", "y2": f"{y:.1f}"}
            found.append(
                element("line", x1=self.left, x2=self.right, **ends, _class="rule", stroke_width=0.5)
            )
            found.append(lines([name], self.left - 6, y - 10, "end", "small"))
        for size in self.sizes:
            x = self.place(size, self.costs[0][0])[0]
            last = self.right - 3 * (len(f"{size:,.0f}") - 2)
            found.append(lines([f"{size:,.0f}"], min(x, last), self.bottom + 4, kind="small"))
        found.append(lines(["records per side"], WIDE / 2, self.bottom + 21, kind="quiet small"))
        return found

    def trace(self, points: Points, colour: str) -> Markup:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.place(*point) for point in points))
        return element("polyline", points=joined, style=f"stroke:{colour};stroke-width:2.2;fill:none")

    def mark(self, points: Points, colour: str) -> list[Markup]:
        places = [self.place(*point) for point in points]
        return [
            element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3.5, style=f"fill:{colour}") for x, y in places
        ]


@dataclass(frozen=True)
class Line:
    """One protocol in the results of the README's figure, and what it is called."""

    name: str
    method: str
    noise: str
    epsilon: str
    colour: str
    below: bool

    def is_of(self, row: dict[str, str]) -> bool:
        return (row["method"], row["noise"], row["epsilon"]) == (self.method, self.noise, self.epsilon)


_LINES = (
    Line("all pairs, ε = 0", "all-pairs-greedy", "none", "0", "var(--other)", False),
    Line("Laplace Protocol, ε = 0.1", "laplace", "geometric", "0.1", "var(--quiet)", False),
    Line("Laplace Protocol, ε = 1.6", "laplace", "geometric", "1.6", "var(--main)", True),
)
_PRODUCTS = Panel(
    *(60, 62, 300, (5e3, 1e4, 2e4, 4e4, 8e4)),
    ((1e6, "1 M"), (1e7, "10 M"), (1e8, "100 M"), (1e9, "1 bn"), (1e10, "10 bn")),
)


def draw_cost(results: str) -> str:
    """The README's figure, as SVG, from the text of `docs/results/size.csv`."""
    rows = [
        row for row in csv.DictReader(results.splitlines()) if row["data"] == "ab" and row["prune"] == "0"
    ]
    shapes = [
        lines(["Secure comparisons as tables grow"], WIDE / 2, 10, kind="strong"),
        lines(["products of two shops, every match found"], WIDE / 2, 30, kind="quiet small"),
        *_PRODUCTS.draw(),
    ]
    told = []
    for line in _LINES:
        points = sorted((float(row["n"]), float(row["cost"])) for row in rows if line.is_of(row))
        shapes += [_PRODUCTS.trace(points, line.colour), *_PRODUCTS.mark(points, line.colour)]
        x, y = _PRODUCTS.place(*points[2])
        down, anchor = (14, "middle") if line.below else (-30, "end")
        shapes.append(lines([line.name], x, y + down, anchor, "small on-line"))
        told.append(f"{line.name}: {points[0][1]:,.0f} to {points[-1][1]:,.0f}")
    says = f"Comparisons for 5,000 to 80,000 records per side. {'; '.join(told)}."
    return drawing("Secure comparisons as tables grow", says, _PRODUCTS.bottom + 46, shapes)


_PEOPLE = (1e4, 1e5, 1e6, 1e7)
_PANELS = {
    "comparisons": Panel(
        *(90, 84, 284, _PEOPLE),
        ((1e5, "100,000"), (1e8, "100 M"), (1e11, "100 bn"), (1e14, "100,000 bn")),
    ),
    "bytes": Panel(
        *(90, 366, 566, _PEOPLE),
        ((1e8, "100 MB"), (1e11, "100 GB"), (1e14, "100 TB"), (1e17, "100,000 TB")),
    ),
}
"""Of nine powers of ten each, so that slopes are the same in both."""
_PROTOCOLS = {
    "all-pairs": ("all pairs, ε = 0", "var(--other)", 3e5, False),
    "laplace": ("laplace, ε = 1.6", "var(--quiet)", 3e6, False),
    "routed": ("routed, ε = 0", "var(--main)", 3e5, True),
}
"""What each is called, its colour, and where its name stands: at so many records, above the line or below."""


def draw_growth(measured: str, planned: str) -> str:
    """The figure of routed linkage, as SVG, from the texts of `docs/results/routed.csv`, whose people are
    dots, and of `docs/results/routed-plan.csv`, whose rows are joined by lines."""
    runs = [row for row in csv.DictReader(measured.splitlines()) if row["kind"] == "people"]
    plans = [*csv.DictReader(planned.splitlines())]
    shapes = [
        lines(["Cost as tables of people grow"], WIDE / 2, 10, kind="strong"),
        lines(["dots were measured, lines are the plan's"], WIDE / 2, 30, kind="quiet small"),
    ]
    told = []
    for what, panel in _PANELS.items():
        shapes += [lines([what], panel.left, panel.top - 28, "start", "strong small"), *panel.draw()]
        for protocol, (name, colour, at, below) in _PROTOCOLS.items():
            line, dots = (_points(rows, protocol, what) for rows in (plans, runs))
            shapes += [panel.trace(line, colour), *panel.mark(dots, colour)]
            x, y = panel.place(at, dict(line)[at])
            down, anchor = (6, "start") if below else (-26, "end")
            shapes.append(lines([name], x, y + down, anchor, "small on-line"))
            told.append(f"{what}, {name}: {line[0][1]:,.0f} to {line[-1][1]:,.0f}")
    says = f"For 10,000 to 10,000,000 records per side, by the plan. {'; '.join(told)}."
    return drawing("Cost as tables of people grow", says, _PANELS["bytes"].bottom + 46, shapes)


def _points(rows: Sequence[dict[str, str]], protocol: str, what: str) -> list[tuple[float, float]]:
    return sorted((float(row["records"]), float(row[what])) for row in rows if row["protocol"] == protocol)
