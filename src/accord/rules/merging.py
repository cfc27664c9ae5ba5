"""Shorter comparisons that give every pair of records the same weight.

A level counts if it holds and no level before it does. So of two neighbours that weigh the same the stricter
one can go, and so can the last levels if they weigh what `otherwise` does. Each level costs both sides bytes
for every pair. A level that asks whether a value is missing never holds together with a comparison of that
value, so it may stand between two neighbours.
"""

from __future__ import annotations

from accord.rules.implied import implies
from accord.rules.rule import And, Level, Levels, Missing, OneField, Or, Rule, predicates, read_by
from accord.rules.thresholds import Fields
from accord.side import Side


def merge_levels(of: Levels, fields: Fields) -> Levels:
    """The comparison without levels that decide nothing."""
    kept: list[Level] = []
    for level in reversed(of.levels):
        # All later levels that may hold where this one does not count.
        rivals = [one for one in kept if not _excludes(level.when, one.when)]
        if rivals:
            decides = rivals[0].weight != level.weight or not implies(level.when, rivals[0].when, fields)
        else:
            decides = level.weight != of.otherwise
        if decides:
            kept.insert(0, level)
    return Levels(tuple(kept), of.otherwise)


def _excludes(one: Rule, other: Rule) -> bool:
    """Whether no pair satisfies both, since one needs a value that the other says is missing."""
    return _lacks(one, other) or _lacks(other, one)


def _lacks(rule: Rule, other: Rule) -> bool:
    """Whether each way in which values are missing for a rule leaves the other without one of them."""
    match rule:
        case Or(parts):
            return bool(parts) and all(_lacks(part, other) for part in parts)
        case And(parts):
            return any(_lacks(part, other) for part in parts)
        case Missing(field, side):
            return all(_needs(other, field, one) for one in (Side if side is None else (side,)))
        case _:
            return False


def _needs(rule: Rule, field: str, side: Side) -> bool:
    """Whether a rule holds only where a side's record has a value of the field."""
    match rule:
        case Or(parts):
            return bool(parts) and all(_needs(part, field, side) for part in parts)
        case And(parts):
            return any(_needs(part, field, side) for part in parts)
        case Missing():
            return False
        case OneField():
            return field in read_by(side, next(predicates(rule)))
        case _:
            return False
