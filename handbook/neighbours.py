"""The paper's Figure 1, and a third graph beside its two: who is whose neighbour.

B's table has up to two of the records 1 to 6, A's has 1 and 2, and what comes out is the size of B's table
and the records in both [HMFS17, §3.1]. Tables stand in rows by their sizes where all are connected, and in
rings by their output where that divides them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import cos, pi, sin

from accord.report.markup import Markup, element, join
from handbook.drawing import WIDE, drawing, lines

Table = tuple[int, ...]
Edges = tuple[tuple[Table, Table], ...]
Places = dict[Table, tuple[float, float]]

TABLES: tuple[Table, ...] = tuple(table for size in range(3) for table in combinations(range(1, 7), size))


def _classes() -> list[tuple[Table, ...]]:
    """The tables by the output: the size, and the records that A has as well."""
    found = defaultdict(list)
    for table in TABLES:
        found[len(table), frozenset(table) & {1, 2}].append(table)
    return [tuple(tables) for tables in found.values()]


def _edges(tables: tuple[Table, ...], records: int) -> Edges:
    """The pairs of tables that differ in at most so many records."""
    return tuple(pair for pair in combinations(tables, 2) if len(set(pair[0]) ^ set(pair[1])) <= records)


CLASSES = _classes()
ADDED = _edges(TABLES, 1)
ALIKE = tuple(edge for tables in CLASSES for edge in combinations(tables, 2))
REPLACED = tuple(edge for tables in CLASSES for edge in _edges(tables, 2))
_RADIUS = 13
_RINGS = (
    *((38, 84, 0), (130, 84, 0), (246, 84, 0), (388, 84, 34)),
    *((38, 202, 0), (130, 202, 36), (246, 202, 36), (388, 202, 56)),
)
"""Where the tables of each output stand, those of up to one record before those of two: the middle of a ring
and its radius."""


def _rows() -> Places:
    sizes = [[table for table in TABLES if len(table) == size] for size in range(3)]
    return {
        table: (12 + (WIDE - 24) * (number + 0.5) / len(row), 66 + 74 * len(table))
        for row in sizes
        for number, table in enumerate(row)
    }


def _rings() -> Places:
    found = {}
    for tables, (x, y, radius) in zip(CLASSES, _RINGS, strict=True):
        # There and back, so that tables without a common record stand opposite each other.
        half = len(tables) // 2
        for number, table in enumerate((*tables[:half], *reversed(tables[half:]))):
            turn = pi * (2 * number - 1) / len(tables) - pi / 2
            found[table] = x + radius * cos(turn), y + radius * sin(turn)
    return found


@dataclass(frozen=True)
class Panel:
    """A graph, what it is called, who is a neighbour in it, and where its tables stand."""

    name: str
    words: str
    edges: Edges
    places: Callable[[], Places]
    high: float
    parts: int
    """How many connected parts the graph has."""


_PARTS = len(CLASSES)
PANELS = (
    Panel("(a) Differential privacy", "one record more or less", ADDED, _rows, 240, 1),
    Panel("(b) IND-S2PC", "any two tables with the same output", ALIKE, _rings, 276, _PARTS),
    Panel(
        "(c) Output-constrained",
        "the same output, no such table between",
        REPLACED,
        _rings,
        276,
        len(CLASSES),
    ),
)


def draw_neighbours() -> str:
    """The drawing, as SVG."""
    shapes, told, top = [], [], 10.0
    for panel in PANELS:
        shapes.append(element("g", *_draw(panel, top)))
        told.append(f"{panel.name}, {panel.words}: {len(panel.edges)} edges, {panel.parts} connected parts")
        top += panel.high
    says = f"All tables of up to two of the records 1 to 6; A's table has 1 and 2. {'; '.join(told)}."
    return drawing("Which tables are neighbours", says, top, shapes)


def _draw(panel: Panel, top: float) -> list[Markup]:
    places = {table: (round(x, 1), round(top + y, 1)) for table, (x, y) in panel.places().items()}
    ends = ((*places[one], *places[two]) for one, two in panel.edges)
    return [
        lines([panel.name], 20, top, "start", "strong"),
        lines([panel.words], 20, top + 19, "start", "quiet small"),
        *(element("line", x1=x1, y1=y1, x2=x2, y2=y2, _class="rule") for x1, y1, x2, y2 in ends),
        *(_vertex(table, *place) for table, place in places.items()),
    ]


def _vertex(table: Table, x: float, y: float) -> Markup:
    name = lines([" ".join(map(str, table)) or "∅"], x, y - 9.5, kind="small")
    return join([element("circle", cx=x, cy=y, r=_RADIUS, _class="box"), name])
