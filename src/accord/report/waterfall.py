"""How a pair came to its score: each comparison begins where the one before it ended, from 0 to the total.

All rows share one scale, which holds 0, every sum on the way and the threshold. Zero is a thin line through
all of them and the threshold a dashed one. What adds is filled and what takes away is hatched, so that both
are told without colours; a comparison that adds nothing is a mark where the sum stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accord.report.charts import figure
from accord.report.markup import Markup, element, join
from accord.report.page import HATCHED

_THICK = 18
_MORE, _LESS = "fill:var(--main)", f"fill:{HATCHED};stroke:var(--other)"
_TOTAL = "fill:var(--ink)"


@dataclass(frozen=True)
class Step:
    """What one comparison adds."""

    name: str
    weight: int
    why: str = ""


@dataclass(frozen=True)
class Fall:
    """A row as it is drawn: from one sum to the next."""

    step: Step
    before: int
    after: int


def falls(steps: Sequence[Step]) -> list[Fall]:
    """Each step between the sums before and after it."""
    found, total = list[Fall](), 0
    for step in steps:
        found.append(Fall(step, total, total + step.weight))
        total += step.weight
    return found


def waterfall(says: str, steps: Sequence[Step], threshold: int) -> Markup:
    """The drawing, with its total in the last row."""
    drawn = falls(steps)
    total = drawn[-1].after if drawn else 0
    ends = [0, threshold, *(fall.after for fall in drawn)]
    scale = _Scale(min(ends), max(ends))
    rows = [
        _row(
            scale,
            threshold,
            (fall.step.name, fall.step.why),
            (fall.before, fall.after),
            f"{fall.step.weight:+}" if fall.step.weight else "0",
        )
        for fall in drawn
    ]
    rows.append(_row(scale, threshold, ("score", ""), (0, total), f"{total:,}", _TOTAL))
    return figure(element("dl", join(rows), _class="falls"), says)


@dataclass(frozen=True)
class _Scale:
    low: int
    high: int

    def place(self, value: int) -> float:
        """In per cent of the room, with a little left at both ends, so that lines at the edge are seen."""
        return 1 + 98 * (value - self.low) / max(1, self.high - self.low)


def _row(
    scale: _Scale,
    threshold: int,
    name: tuple[str, str],
    ends: tuple[int, int],
    number: str,
    style: str = "",
) -> Markup:
    left, right = sorted(map(scale.place, ends))
    drawn = style or (_MORE if ends[1] >= ends[0] else _LESS)
    shapes = [
        _line(scale.place(0), "zero"),
        _bar(left, right, drawn) if right > left else _mark(left),
        _line(scale.place(threshold), "threshold"),
    ]
    picture = element("svg", join(shapes), height=_THICK + 6, aria_hidden="true")
    told = element("dt", name[0], *([element("small", name[1])] if name[1] else []))
    return element("div", told, element("dd", picture, element("span", number)))


def _bar(left: float, right: float, style: str) -> Markup:
    place = {"x": f"{left:.3f}%", "width": f"{right - left:.3f}%"}
    return element("rect", **place, y=3, height=_THICK, style=style)


def _mark(at: float) -> Markup:
    """Nothing was added: the place where the sum stands."""
    return element("circle", cx=f"{at:.3f}%", cy=3 + _THICK / 2, r=3, style="fill:var(--quiet)")


def _line(at: float, kind: str) -> Markup:
    return element("line", x1=f"{at:.3f}%", x2=f"{at:.3f}%", y1=0, y2="100%", _class=kind)
