"""A rule laid out for people: lines under each other, and a table of points where it adds up a score.

A score's comparison is told by four cases, which between them are what happens to a pair of records:

    agrees    all values that it compares are there and the same
    close     they are there and not all the same, and a level before the last one holds
    differs   they are there, and no predicate that compares them holds
    missing   it has no value to compare

In each case some predicates are known to hold and some not to, and the levels are settled by that: the first
that surely holds ends the list, one that may hold is told with what it still depends on. So the points of a
case are those that a pair can be given in it, in the order in which the rule asks. Where a comparison reads
several fields, the cases speak of all of them at once; a pair in between has the points of some level, too.

Here is the one place that says what a rule's parts mean in words. Terminals and pages lay the same rows out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from accord.exact import text
from accord.rules.rule import (
    And,
    Edit,
    Euclidean,
    Hamming,
    Level,
    Levels,
    Mismatches,
    Missing,
    Not,
    OneField,
    Or,
    Predicate,
    Rule,
    Same,
    Score,
    Similar,
    Within,
    fields_of,
    join,
    predicates,
)
from accord.wording import counted

HEADINGS = ("field", "agrees", "close", "differs", "missing")
_SHORT = 80
"""Letters of a rule that is read at one glance."""
_MEASURES = {"dice": "Dice", "jaccard": "Jaccard", "cosine": "cosine"}

Case = Literal["agrees", "close", "differs", "missing"]
Known = Callable[[Predicate], bool | None]
"""Whether a predicate holds in a case; None where that is open."""


@dataclass(frozen=True)
class Points:
    """What a comparison adds, and the condition that is left, if there is one."""

    weight: int
    when: str = ""

    def __str__(self) -> str:
        number = f"{self.weight:+}" if self.weight else "0"
        return f"{number} ({self.when})" if self.when else number


@dataclass(frozen=True)
class RuleRow:
    """A comparison of a score."""

    field: str
    agrees: tuple[Points, ...]
    close: tuple[Points, ...]
    differs: tuple[Points, ...]
    missing: tuple[Points, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """As text, under `HEADINGS`."""
        cases = (self.agrees, self.close, self.differs, self.missing)
        return (self.field, *(", ".join(map(str, case)) or "–" for case in cases))


@dataclass(frozen=True)
class RuleLine:
    """A part of a rule, as far within as it stands; of a score with its rows."""

    depth: int
    words: str
    rows: tuple[RuleRow, ...] = ()


def break_down(rule: Rule, depth: int = 0) -> tuple[RuleLine, ...]:
    """The rule in lines."""
    match rule:
        case And(parts) if parts:
            return _gather("all of these hold:", parts, depth)
        case Or(parts):
            return _gather("at least one of these holds:", parts, depth)
        case Not(And() | Or() | Score() as part):
            return _gather("this does not hold:", (part,), depth)
        case Not(part):
            return (RuleLine(depth, f"not: {_tell(part)}"),)
        case Score():
            return (RuleLine(depth, _tell_score(rule), score_rows(rule)),)
        case _:
            return (RuleLine(depth, _tell(rule)),)


def tell_shortly(rule: Rule) -> str:
    """The rule in one line: as it is written where that is short, else what it comes to."""
    written = str(rule)
    if len(written) <= _SHORT:
        return written
    parts = rule.parts if isinstance(rule, And) else (rule,)
    scores = [part for part in parts if isinstance(part, Score)]
    if len(scores) != 1:
        return f"a rule of {counted(len([*predicates(rule)]), 'condition')} on {_count_fields(rule)}"
    told = f"a score of {_count_fields(scores[0])} reaches {scores[0].least:,}"
    more = len(parts) - 1
    return (
        f"{told}, and {counted(more, 'more condition')} {'holds' if more == 1 else 'hold'}" if more else told
    )


def _count_fields(rule: Rule) -> str:
    return counted(len(fields_of(rule)), "field")


def is_short(rule: Rule) -> bool:
    """Whether it is read at one glance as it is written."""
    return len(str(rule)) <= _SHORT


def _gather(words: str, parts: tuple[Rule, ...], depth: int) -> tuple[RuleLine, ...]:
    return (RuleLine(depth, words), *(line for part in parts for line in break_down(part, depth + 1)))


def _tell_score(score: Score) -> str:
    possible = f"{score.lowest:,} to {score.highest:,}"
    return f"the points add up to at least {score.least:,} (possible are {possible}):"


def score_rows(score: Score) -> tuple[RuleRow, ...]:
    """A row for each comparison of a score, in their order."""
    return tuple(map(_row, score.comparisons))


# -- a comparison in its four cases -----------------------------------------------------------------------


def _row(each: Levels) -> RuleRow:
    compared = [p for level in each.levels for p in _one_field(level.when)]
    crossed = bool(compared) and all(p.crossed for p in compared)
    names = {p.names for p in compared}
    left_out = names if crossed or len(names) == 1 else set[str]()

    def points(case: Case) -> tuple[Points, ...]:
        found = _settle_levels(each, _known(case, crossed))
        if case == "close":
            ends = _settle_levels(each, _known("differs", crossed))
            best = {weight for _, weight in _settle_levels(each, _known("agrees", crossed))}
            found = [
                one
                for one in found
                if one not in ends and not (one[1] in best and _is_agreement(one[0], compared))
            ]
        return tuple(Points(w, "" if when is None else shorten(str(when), left_out)) for when, w in found)

    name = _name(each, crossed)
    return RuleRow(name, points("agrees"), points("close"), points("differs"), points("missing"))


def _one_field(rule: Rule) -> list[OneField]:
    """What compares two values."""
    return [p for p in predicates(rule) if isinstance(p, OneField)]


def _name(each: Levels, crossed: bool) -> str:
    """Of its fields, of which those of B stand across."""
    fields = fields_of(And(tuple(level.when for level in each.levels)))
    return f"{' ↔ '.join(fields)}, crosswise" if crossed else ", ".join(fields)


def _known(case: Case, crossed: bool) -> Known:
    """What holds in a case. One field against another may agree whatever else does, unless the comparison
    asks for nothing else."""

    def known(predicate: Predicate) -> bool | None:
        if isinstance(predicate, Missing):
            return None if case == "missing" and predicate.side is not None else case == "missing"
        if case == "missing":
            return False
        if case == "close":
            return None
        if isinstance(predicate, OneField) and predicate.crossed and not crossed:
            return None if case == "agrees" else False
        return case == "agrees"

    return known


def _settle_levels(each: Levels, known: Known) -> list[tuple[Rule | None, int]]:
    """The levels that may hold, with what they still depend on; None where a level surely holds."""
    found: list[tuple[Rule | None, int]] = []
    for level in (*each.levels, Level(And(()), each.otherwise)):
        settled = _settle(level.when, known)
        if settled is True:
            return [*found, (None, level.weight)]
        if settled is not False:
            found.append((settled, level.weight))
    return found


def _settle(rule: Rule, known: Known) -> bool | Rule:
    """Whether a rule holds, or what is left of it to ask."""
    match rule:
        case And(parts) | Or(parts):
            ends = isinstance(rule, Or)
            settled = [_settle(part, known) for part in parts]
            if any(one is ends for one in settled):
                return ends
            left = [one for one in settled if isinstance(one, Rule)]
            return join(type(rule), left) if left else not ends
        case Not(part):
            inner = _settle(part, known)
            return Not(inner) if isinstance(inner, Rule) else not inner
        case Score():
            return rule
        case _:
            found = known(rule)  # type: ignore[arg-type]  # what is no rule of rules is a predicate
            return rule if found is None else found


def _is_agreement(when: Rule | None, compared: list[OneField]) -> bool:
    """Whether a level asks for nothing but that the comparison's first field is the same: that is no
    closeness, if it gives what full agreement does."""
    parts = when.parts if isinstance(when, And) else (when,)
    equal = [part.names for part in parts if isinstance(part, Same)]
    plain = all(isinstance(part, Same) for part in parts)
    return plain and bool(compared) and compared[0].names in equal


def shorten(when: str, names: Iterable[str]) -> str:
    """A condition without the fields that stand in front of it anyway."""
    written = when.replace(">=", "≥").replace("<=", "≤")
    for name in map(re.escape, names):
        written = re.sub(rf"\bwithin\({name}, ([^()]+)\)", r"within \1", written)
        written = re.sub(rf"\b(\w+)\({name}\)", r"\1", written)
    # One condition both ways round is told once; beside an `or` the same words may belong to another part.
    return written if " or " in written else " and ".join(dict.fromkeys(written.split(" and ")))


# -- a predicate in words ---------------------------------------------------------------------------------


def _tell(rule: Rule) -> str:
    match rule:
        case Missing(field, side):
            where = "one of the two records" if side is None else f"the record of {side.value}"
            return f"{field} is missing in {where}"
        case Euclidean(fields, bound):
            return f"{' and '.join(fields)} are at most {text(bound)} apart"
        case Same():
            return f"{_both(rule)} is the same"
        case Hamming(bound=bits):
            return f"{_both(rule)} differs in at most {counted(bits, 'bit')} of its filter"
        case Edit(bound=edits):
            return f"{_both(rule)} differs by at most {counted(edits, 'letter')} put in, left out or replaced"
        case Mismatches(bound=places):
            return f"{_both(rule)} differs in at most {counted(places, 'place')}"
        case Similar(measure, bound=bound):
            return f"{_both(rule)} has a {_MEASURES[measure]} similarity of at least {text(bound)}"
        case Within(bound=bound, days=days):
            unit = f"{' day' if bound == 1 else ' days'}" if days else ""
            return f"{_both(rule)} differs by at most {text(bound)}{unit}"
        case _:
            return str(rule)


def _both(rule: OneField) -> str:
    return f"{rule.field} of A against {rule.field_b} of B" if rule.crossed else rule.field
