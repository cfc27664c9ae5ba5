"""psi: private set intersection on the fields of the rule; records match when all of them are equal.

What it does, and what each side learns of it, stands in intersection.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from accord.protocols.base import Blockings, Fault, Options, Task
from accord.protocols.intersection import Intersecting, Listing
from accord.rules.rule import And, Missing, Not, Or, Rule, Same, Score, compared_fields, predicates
from accord.rules.thresholds import Fields
from accord.side import Side


class Psi(Intersecting):
    """Private set intersection: records match when all fields of the rule are equal; ε = 0."""

    name: Literal["psi"]

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "psi"}

    def listing(self, task: Task, side: Side) -> Listing:
        """All values that the rule compares."""
        found = [
            pair for p in predicates(task.rule) if not isinstance(p, Missing) for pair in compared_fields(p)
        ]
        return Listing(tuple(pair[side is Side.B] for pair in dict.fromkeys(found)))

    def share_found(self, task: Task) -> float | None:
        return 1.0 if _all_same(task.rule) else None

    def advice(self, task: Task) -> list[str]:
        if _all_same(task.rule):
            return []
        return [
            "psi finds only pairs that are equal in every field of the rule, not all that the rule accepts."
        ]

    def faults(
        self, rule: Rule, fields: Fields | None, blocking: Blockings, simulated: bool
    ) -> Iterator[Fault]:
        if simulated:
            if _negates(rule):
                problem = "psi finds records whose fields are equal"
                yield (
                    ("rule",),
                    f"{problem}, which a rule with 'not', 'missing' or a score may deny.",
                )
            return
        for part in rule.parts if isinstance(rule, And) else (rule,):
            if not isinstance(part, Same):
                problem = f"psi finds equal values and not '{part}'"
                yield ("rule",), f"{problem}; join same(...)s by and, or take 'routed'."


def _all_same(rule: Rule) -> bool:
    return all(isinstance(predicate, Same) for predicate in predicates(rule))


def _negates(rule: Rule) -> bool:
    return isinstance(rule, Not | Missing | Score) or (
        isinstance(rule, And | Or) and any(map(_negates, rule.parts))
    )
