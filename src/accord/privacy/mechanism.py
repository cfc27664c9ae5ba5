"""Mechanisms: what is released of a table, with exact probabilities, and whether a promise about it is true.

A `Mechanism` says two things: *what is shown* of a table, as independent parts, each a finite set of outcomes
with their probabilities; and *what it claims*, as the events that accountants know. `worst_case` holds the
one against the other: of all neighbours of a problem, in both directions, it finds the largest

    δ(ε) = Σ_o max(0, P(o) − e^ε·Q(o))

by listing every outcome (`definition.py`). A part that is the same for both tables changes nothing of the sum
and is left out. Where an outcome can be arbitrarily large, a part may stop somewhere: what its probabilities
lack to 1 is counted as δ, and no such part is left out, since the tables may differ in what it lacks.

Mechanisms *together* show all their parts and claim all their events, each with noise of its own, and
`accounting` adds these up. What is *processed* shows a function of all parts and claims the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, Protocol

from accord.errors import UsageError
from accord.exact import Number
from accord.privacy.accounting import basic, exact
from accord.privacy.definition import excess
from accord.privacy.events import Event
from accord.privacy.losses import SLACK
from accord.privacy.number import above
from accord.privacy.number import exact as written
from accord.privacy.problem import Problem, Table

Part = Mapping[Any, Fraction]
"""The probability of each outcome, which is whatever can be hashed."""
Shown = frozenset[tuple[Any, Fraction]]
MOST_EPSILON = 10_000
"""e^ε is written out as a fraction."""


class Mechanism(Protocol):
    """What the partner sees of a table, besides or including f."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What it claims."""

    def parts(self, table: Table) -> Sequence[Part]:
        """What is shown of a table: independent parts, as many and in the same order for every table."""


@dataclass(frozen=True)
class Together:
    """Several mechanisms about one table, each with fresh noise."""

    members: tuple[Mechanism, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for member in self.members for event in member.events)

    def parts(self, table: Table) -> Sequence[Part]:
        return [part for member in self.members for part in member.parts(table)]


@dataclass(frozen=True)
class Processed:
    """A function of what a mechanism shows, in place of it."""

    mechanism: Mechanism
    function: Callable[[tuple[Any, ...]], Hashable]

    @property
    def events(self) -> tuple[Event, ...]:
        return self.mechanism.events

    def parts(self, table: Table) -> Sequence[Part]:
        found: dict[Hashable, Fraction] = defaultdict(Fraction)
        for outcome in product(*(part.items() for part in self.mechanism.parts(table))):
            shown = self.function(tuple(value for value, _ in outcome))
            found[shown] += prod(chance for _, chance in outcome)
        return [found]


@dataclass(frozen=True)
class WorstCase:
    """The neighbours that are told apart best, the first by what is more likely with it; and the δ between
    them, rounded up. None and 0 where no two tables are neighbours."""

    tables: tuple[Table, Table] | None
    delta: float


def worst_case(problem: Problem, mechanism: Mechanism, epsilon: Number) -> WorstCase:
    """The largest δ(ε) of all neighbours, with those who have it."""
    asked = _asked(epsilon)
    shown = {table: [frozenset(part.items()) for part in mechanism.parts(table)] for table in problem.tables}
    short = {part for parts in shown.values() for part in parts if _mass(part) < 1}
    # Neighbours by the hundred differ in the same parts; those that differ in none are not told apart.
    known: dict[Hashable, Fraction] = {(): Fraction(0)}
    worst, found = Fraction(-1), None
    for edge in problem.graph.edges:
        for one, two in (edge, edge[::-1]):
            changed = tuple(
                (here, there)
                for here, there in _side_by_side(shown[one], shown[two])
                if here != there or here in short
            )
            if changed not in known:
                known[changed] = excess([_pairs(dict(p), dict(q)) for p, q in changed], asked)
            if known[changed] > worst:
                worst, found = known[changed], (one, two)
    return WorstCase(found, above(max(worst, Fraction(0))))


def _asked(epsilon: Number) -> Fraction:
    asked = written(epsilon, "ε")
    if not 0 <= asked <= MOST_EPSILON:
        raise UsageError(problem=f"ε must be from 0 to {MOST_EPSILON}.")
    return asked


def _side_by_side(one: Sequence[Shown], two: Sequence[Shown]) -> Iterable[tuple[Shown, Shown]]:
    if len(one) != len(two):
        raise UsageError(problem="A mechanism must show as many parts of a table as of its neighbours.")
    return zip(one, two, strict=True)


def _mass(part: Shown) -> Fraction:
    chances = [chance for _, chance in part]
    if not all(isinstance(chance, Fraction | int) for chance in chances):
        raise UsageError(problem="Probabilities must be fractions: Fraction(3, 4) and not 0.75.")
    if min(chances, default=0) < 0 or sum(chances) > 1:
        raise UsageError(problem="The probabilities of a part are at least 0, and add up to 1 at most.")
    return sum(chances, Fraction(0))


def _pairs(here: Part, there: Part) -> list[tuple[Fraction, Fraction]]:
    return [(chance, there.get(outcome, Fraction(0))) for outcome, chance in here.items()]


def claimed_delta(mechanism: Mechanism, epsilon: Number) -> float:
    """The δ at this ε that the accountants prove for all that a mechanism claims: the lesser of the two."""
    asked, total = _asked(epsilon), basic(mechanism.events)
    summed = above(total.delta) if total.epsilon <= asked else 1.0
    return min(summed, exact(mechanism.events).delta(asked))


def is_kept(problem: Problem, mechanism: Mechanism) -> bool:
    """Whether the sums of ε and δ that a mechanism claims are true for all neighbours."""
    promised = basic(mechanism.events)
    return worst_case(problem, mechanism, promised.epsilon).delta <= above(promised.delta) + SLACK
