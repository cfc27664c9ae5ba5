"""The picture of the idea on the home page: two tables, bins with dummies, and the pairs that match."""

from __future__ import annotations

from accord.report.markup import Markup, element, join
from handbook.drawing import WIDE, arrow, box, drawing, lines

_SAYS = (
    "A and B each hold a table of people. Each sorts its records into the same three agreed bins and adds "
    "dummies, drawn as dashed circles, so that the size of a bin tells little about any record. Records of "
    "equal bins are compared without being shown. Both sides get the pairs that match, and nothing else."
)
_TABLES = (
    ("A's table", ("A1  Rosa Griffin", "A2  Paul Weiss", "A3  Ada Moor")),
    ("B's table", ("B1  Ivo Lind", "B2  Rose Griffin", "B3  Mia Stone")),
)
# Records and dummies in each bin; the first bin of both has the pair that matches.
_BINS = (((1, 2), (1, 1), (1, 3)), ((1, 1), (2, 2), (0, 2)))
_HALF = WIDE / 2
_CARD = _HALF - 36


def draw_idea() -> str:
    """The drawing, as SVG."""
    shapes: list[Markup] = []
    for number, (name, rows) in enumerate(_TABLES):
        left = 20 + number * (_HALF - 4)
        middle = left + _CARD / 2
        shapes += [
            lines([name], middle, 12, kind="strong"),
            element("rect", x=left, y=36, width=_CARD, height=78, rx=6, _class="rule"),
            *(lines([row], left + 14, 41 + 23 * place, "start") for place, row in enumerate(rows)),
            arrow(middle, 118, middle, 166),
            lines(["bins, dummies, shuffle"], middle, 172, kind="quiet small"),
            *(_bin(left, 198 + 40 * place, *held) for place, held in enumerate(_BINS[number])),
        ]
    middle = WIDE / 2
    for place in range(3):
        y = 198 + 40 * place + 16
        shapes.append(arrow(20 + _CARD, y, 20 + _HALF - 4, y, both=True))
    compared, high = box("compared, slot by slot, without being shown", 20, 330, WIDE - 40)
    pairs, more = box("both get the pairs that match: A1 and B2", 20, 330 + high + 34, WIDE - 40)
    bottom = 330 + high + 34 + more
    shapes += [compared, arrow(middle, 330 + high + 3, middle, 330 + high + 31), pairs, *_key(bottom + 14)]
    return drawing("How Accord links two tables", _SAYS, bottom + 46, shapes)


def _bin(left: float, top: float, records: int, dummies: int) -> Markup:
    frame = element("rect", x=left, y=top, width=_CARD, height=32, rx=6, _class="rule")
    kinds = ["record"] * records + ["dummy"] * dummies
    # Shuffled: where a dummy stands says nothing.
    order = sorted(range(len(kinds)), key=lambda place: (place * 5 + len(kinds)) % 7)
    dots = [
        element("circle", cx=left + 26 + 34 * place, cy=top + 16, r=8, _class=kinds[which])
        for place, which in enumerate(order)
    ]
    return join([frame, *dots])


def _key(top: float) -> list[Markup]:
    return [
        element("circle", cx=40, cy=top + 9, r=8, _class="record"),
        lines(["a record"], 56, top, "start", "small"),
        element("circle", cx=170, cy=top + 9, r=8, _class="dummy"),
        lines(["a dummy: the partner cannot tell it apart"], 186, top, "start", "small"),
    ]
