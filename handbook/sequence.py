"""Messages between two sides, from lines of text to a drawing.

    title The Laplace Protocol
    says  What a reader who cannot see the drawing is told.
    sides A B
    A: work at one side             both: work at both
    A -> B: a message               A <-> B: one in either direction
    loop round by round             … until a line `end`
    # a remark

Time goes down the page. A line that is none of these is refused with its number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from accord.report.markup import Markup, element
from handbook.drawing import LINE, WIDE, arrow, box, drawing, lines, wrap

Kind = Literal["left", "right", "both", "->", "<-", "<->", "loop", "end"]
_HEADS = re.compile(r"(title|says|sides)\s+(.+)")
_MESSAGE = re.compile(r"(.+?) (->|<-|<->) (.+?): (.+)")
_WORK = re.compile(r"([^:]+): (.+)")

_LEFT, _RIGHT = 70, WIDE - 70
_OUTER = 10
_GAP = 12


@dataclass(frozen=True)
class Step:
    """One thing that happens."""

    kind: Kind
    words: str = ""


@dataclass(frozen=True)
class Sequence:
    """All that happens between two sides, in its order."""

    title: str
    says: str
    sides: tuple[str, str]
    steps: list[Step] = field(default_factory=list)


def parse(text: str) -> Sequence:
    """*Requires* title, says and sides before the first step."""
    heads: dict[str, str] = {}
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if not steps and (head := _HEADS.fullmatch(line)):
            heads[head[1]] = head[2]
            continue
        sides = tuple(heads.get("sides", "").split())
        if len(sides) != 2 or not {"title", "says"} <= heads.keys():
            raise ValueError(f"line {number}: title, says and two sides stand before the first step.")
        steps.append(_step(line, (sides[0], sides[1]), number))
    if [step.kind for step in steps].count("loop") != [step.kind for step in steps].count("end"):
        raise ValueError("Every `loop` needs its `end`.")
    left, right = heads["sides"].split()
    return Sequence(heads["title"], heads["says"], (left, right), steps)


def _step(line: str, sides: tuple[str, str], number: int) -> Step:
    if line == "end":
        return Step("end")
    if line.startswith("loop "):
        return Step("loop", line.removeprefix("loop "))
    if (found := _MESSAGE.fullmatch(line)) and (found[1], found[3]) == sides:
        kind: Kind = "->" if found[2] == "->" else "<-" if found[2] == "<-" else "<->"
        return Step(kind, found[4])
    if (found := _WORK.fullmatch(line)) and found[1] in (*sides, "both"):
        place: Kind = "both" if found[1] == "both" else "left" if found[1] == sides[0] else "right"
        return Step(place, found[2])
    raise ValueError(f"line {number}: {line!r} is no step between {sides[0]} and {sides[1]}.")


def draw(sequence: Sequence) -> str:
    """The drawing, as SVG."""
    shapes: list[Markup] = []
    loops: list[float] = []
    y = 14.0
    for name, x in zip(sequence.sides, (_LEFT, _RIGHT), strict=True):
        shapes.append(lines([name], x, y, kind="strong"))
    y = top = y + LINE + 10
    for step in sequence.steps:
        if step.kind == "loop":
            words = wrap(step.words, WIDE - 2 * _OUTER - 20)
            shapes.append(lines(words, _OUTER + 10, y + 6, "start", "quiet"))
            loops.append(y)
            y += LINE * len(words) + 10 + _GAP
        elif step.kind == "end":
            began = loops.pop()
            shapes.append(_frame(began, y - began))
            y += _GAP
        else:
            shape, height = _drawn(step, y)
            shapes.append(shape)
            y += height + _GAP
    rails = [
        element("line", x1=x, x2=x, y1=top, y2=y, _class="rule", stroke_dasharray="2 4")
        for x in (_LEFT, _RIGHT)
    ]
    return drawing(sequence.title, sequence.says, y + 8, [*rails, *shapes])


def _frame(top: float, height: float) -> Markup:
    inner = WIDE - 2 * _OUTER
    return element(
        "rect", x=_OUTER, y=top, width=inner, height=height, rx=6, _class="rule", stroke_dasharray="6 4"
    )


def _drawn(step: Step, y: float) -> tuple[Markup, float]:
    match step.kind:
        case "left":
            return box(step.words, _OUTER + 10, y, WIDE / 2 - 30)
        case "right":
            return box(step.words, WIDE / 2 + 10, y, WIDE / 2 - 30)
        case "both":
            return box(step.words, _OUTER + 10, y, WIDE - 2 * _OUTER - 20)
    words = wrap(step.words, _RIGHT - _LEFT - 16)
    height = LINE * len(words) + 10
    ends = (_RIGHT, _LEFT) if step.kind == "<-" else (_LEFT, _RIGHT)
    line = arrow(ends[0], y + height, ends[1], y + height, both=step.kind == "<->")
    # Words stand on the background, not on the dashes of a rail.
    return Markup(lines(words, WIDE / 2, y) + line), height + 4
