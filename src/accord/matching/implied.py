"""What a rule guarantees about every pair that it accepts: the ground of indexes and complete blocking.

Sound, not complete: a guarantee given here holds; one that is not seen costs speed, never a match.
"""

from __future__ import annotations

from itertools import product
from math import prod

from accord.matching.rule import And, Euclidean, Not, Or, Rule, Same, Within
from accord.matching.thresholds import Fields, squared_steps, within_steps


def requires_same(rule: Rule, field: str) -> bool:
    """Whether every match has the same value of the field on both sides."""
    match rule:
        case And(parts):
            return any(requires_same(part, field) for part in parts)
        case Or(parts):
            return bool(parts) and all(requires_same(part, field) for part in parts)
        case Same(name):
            return name == field
        case _:
            return False


def reach(rule: Rule, names: tuple[str, ...], fields: Fields) -> int | None:
    """The largest squared distance, in steps, that a match can have over these fields; None if unbounded."""
    match rule:
        case And(parts):
            bounds = [bound for part in parts if (bound := reach(part, names, fields)) is not None]
            if len(names) > 1:
                each = [reach(rule, (name,), fields) for name in names]
                bounds += [sum(b for b in each if b is not None)] if None not in each else []
            return min(bounds, default=None)
        case Or(parts):
            found = [reach(part, names, fields) for part in parts]
            known = [bound for bound in found if bound is not None]
            return max(known) if known and len(known) == len(found) else None
        case Euclidean(measured):
            return squared_steps(rule, fields) if set(names) <= set(measured) else None
        case Within(name):
            return within_steps(rule, fields) ** 2 if names == (name,) else None
        case Same(name):
            return 0 if names == (name,) else None
        case _:
            return None


def without(rule: Rule, equal: frozenset[str]) -> Rule:
    """The rule on pairs that are known to have the same, present value of the fields in `equal`.

    `And(())` stands for true and `Or(())` for false.
    """
    match rule:
        case And(parts):
            left = [p for part in parts if (p := without(part, equal)) != And(())]
            if Or(()) in left:
                return Or(())
            return left[0] if len(left) == 1 else And(tuple(left))
        case Or(parts):
            left = [p for part in parts if (p := without(part, equal)) != Or(())]
            if And(()) in left:
                return And(())
            return left[0] if len(left) == 1 else Or(tuple(left))
        case Not(part):
            inner = without(part, equal)
            return Or(()) if inner == And(()) else And(()) if inner == Or(()) else Not(inner)
        case Same(field) if field in equal:
            return And(())
        case _:
            return rule


_MOST_WAYS = 64


def ways(rule: Rule) -> tuple[Rule, ...]:
    """Rules of which one holds exactly where the rule does: disjunctions, also those inside conjunctions,
    taken apart. The rule itself where that would be too many."""
    match rule:
        case Or(parts) if parts:
            found = tuple(way for part in parts for way in ways(part))
        case And(parts) if any(isinstance(part, Or) for part in parts):
            each = [ways(part) for part in parts]
            if prod(map(len, each)) > _MOST_WAYS:
                return (rule,)
            found = tuple(_join(chosen) for chosen in product(*each))
        case _:
            return (rule,)
    return found if len(found) <= _MOST_WAYS else (rule,)


def _join(parts: tuple[Rule, ...]) -> Rule:
    flat = tuple(one for part in parts for one in (part.parts if isinstance(part, And) else (part,)))
    return flat[0] if len(flat) == 1 else And(flat)
