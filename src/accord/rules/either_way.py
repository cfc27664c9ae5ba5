"""'Either way round': a rule, or the same rule with two fields of B's record exchanged.

    either_way(R, f, g)  =  R or R′        R′ = R, with B's g wherever R reads B's f, and the other way round

So R′ holds for a pair exactly when R holds for A's record and B's with the values of f and g swapped: what a
clerk does who types a surname into the field for the given name. It is written out when it is read, and no
interpreter of rules knows of it; the canonical text of an agreement holds both rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from accord.rules.rule import (
    And,
    Edit,
    Euclidean,
    Hamming,
    Mismatches,
    Missing,
    Not,
    Or,
    Rarity,
    Rule,
    Same,
    Similar,
    Within,
    fields_of,
    predicates,
    rebuild,
)
from accord.side import Side

MOST_PREDICATES = 1000
"""Of a rule that is written out: each `either_way` inside another doubles them."""


def either_way(rule: Rule, field: str, other: str) -> Rule:
    """The rule, or the rule with these two fields swapped on B's side."""
    if field == other:
        raise ValueError("either_way() exchanges two different fields")
    read = fields_of(rule)
    for name, beside in ((field, other), (other, field)):
        if name not in read:
            problem = f"the rule inside either_way() does not read '{name}'"
            mend = f"read both fields in it, or write the crossed predicate, such as same({beside}, {name})"
            raise ValueError(f"{problem}; {mend}")
    turned = _exchange(rule, {field: other, other: field})
    if _alike(turned) == _alike(rule):
        problem = f"exchanging {field} and {other} on B's side changes nothing"
        raise ValueError(f"{problem}; leave out either_way()")
    both = rule | turned
    if len(list(predicates(both))) > MOST_PREDICATES:
        raise ValueError(f"either_way() would make more than {MOST_PREDICATES:,} predicates; take fewer")
    return both


def _exchange(rule: Rule, turn: Mapping[str, str]) -> Rule:
    """The rule with other fields of B."""
    match rule:
        case Missing(field, side) if field in turn:
            at_b = Missing(turn[field], Side.B)
            return rule if side is Side.A else at_b if side is Side.B else Missing(field, Side.A) | at_b
        case Same() | Hamming() | Similar() | Edit() | Mismatches() | Within() | Rarity():
            return replace(rule, field_b=turn.get(rule.field_b, rule.field_b))
        case Euclidean(fields) if turn.keys() & set(fields):
            problem = f"'{rule}' takes its fields together, and these cannot be exchanged"
            raise ValueError(f"{problem}; use within() for each, or leave it outside either_way()")
        case _:
            return rebuild(rule, lambda part: _exchange(part, turn))


def _alike(rule: Rule) -> object:
    """Equal for rules that differ only in the order of their parts."""
    match rule:
        case And(parts) | Or(parts):
            return type(rule), frozenset(map(_alike, parts))
        case Not(part):
            return Not, _alike(part)
        case _:
            return rule
