"""What a match is, on a page: a rule's lines within each other, and a score's points as a table."""

from __future__ import annotations

from collections.abc import Sequence

from accord.report.markup import Markup, element, join
from accord.report.page import Section, paragraph, table
from accord.rules.breakdown import HEADINGS, RuleLine, break_down
from accord.rules.rule import Rule

TITLE = "What a match is"
_POINTS = (
    "Points that each comparison adds. It agrees if the values are the same, is close by the condition in "
    "brackets, and is missing if there is no value to compare."
)


def describe_rule(rule: Rule) -> Markup:
    """The rule."""
    first, *within = break_down(rule)
    ends = "" if first.words.endswith(":") else "."
    return join([paragraph(f"Two records match if {first.words}{ends}"), _points(first), _nest(within)])


def tell_rule(rule: Rule) -> Section:
    """The same under a heading."""
    return Section(TITLE, describe_rule(rule))


def _nest(lines: Sequence[RuleLine]) -> Markup:
    """Lines of one depth, each with those that are deeper behind it."""
    items, left = [], list(lines)
    while left:
        head = left.pop(0)
        deeper = next((at for at, line in enumerate(left) if line.depth <= head.depth), len(left))
        items.append(element("li", head.words, _points(head), _nest(left[:deeper])))
        left = left[deeper:]
    return element("ul", join(items)) if items else Markup("")


def _points(line: RuleLine) -> Markup:
    if not line.rows:
        return Markup("")
    return table(_POINTS, [*HEADINGS], [[*row.cells] for row in line.rows], numbers=False, keep=True)
