"""The worst neighbours of a mechanism, its promise, and what several come to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.exact import Number
from accord.privacy.definition import excess
from accord.privacy.events import NO_COST, AllPairs, Cost, Event, NoisyAnswer, NoisyCounts, Promise
from accord.privacy.instances import Answers, BinCounts, linkage
from accord.privacy.mechanism import (
    Mechanism,
    Part,
    Processed,
    Together,
    claimed_delta,
    is_kept,
    worst_case,
)
from accord.privacy.noise import exact_delta
from accord.privacy.noise_answers import TwoSided
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from accord.privacy.noise_laplace import Laplace
from accord.privacy.problem import Problem, Table, all_tables

ONE = Fraction(1)
GEOMETRIC = Geometric(3, ONE, Fraction(1, 2), 3)
EPSILON = Fraction(3, 2)
ROUNDING = Fraction(1, 10**99)
"""e^ε is rounded down by less."""
PROBLEM = linkage(lambda a, b: a == b, (1, 2), all_tables(range(1, 7), 2))
SMALL = linkage(lambda a, b: a == b, (1,), all_tables(range(1, 5), 2))


@dataclass(frozen=True)
class Own:
    """What somebody writes who has a mechanism: a function, and a claim."""

    shown: Callable[[Table], Sequence[Part]]
    cost: Cost = NO_COST

    @property
    def events(self) -> tuple[Event, ...]:
        return (Promise(self.cost),)

    def parts(self, table: Table) -> Sequence[Part]:
        return self.shown(table)


def counts(noise: Geometric | Gaussian | Laplace = GEOMETRIC, epsilon: Fraction = EPSILON) -> BinCounts:
    """Odd and even numbers."""
    event = NoisyCounts(noise, 1, Cost(epsilon, Fraction(exact_delta(noise, 1, epsilon))))
    return BinCounts(PROBLEM, event, (0, 1), lambda record: (record % 2,))


@st.composite
def mechanisms(draw: st.DrawFn) -> Own:
    """Any parts whatever, of each table others."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    drawn: dict[Table, list[Part]] = {}
    for table in SMALL.tables:
        weights = [draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)) for size in shape]
        drawn[table] = [
            {outcome: Fraction(weight + 1, sum(part) + len(part)) for outcome, weight in enumerate(part)}
            for part in weights
        ]
    return Own(drawn.__getitem__)


def joint(mechanism: Mechanism, table: Table) -> dict[Hashable, Fraction | int]:
    parts = [part.items() for part in mechanism.parts(table)]
    return {tuple(o for o, _ in some): prod(p for _, p in some) for some in product(*parts)}


def by_definition(mechanism: Mechanism, epsilon: Fraction) -> Fraction:
    """The largest sum over all that is shown, of all tables and their neighbours."""
    found = Fraction(0)
    for one in SMALL.tables:
        for two in SMALL.neighbours(one):
            here, there = joint(mechanism, one), joint(mechanism, two)
            pairs = [(Fraction(here[o]), Fraction(there.get(o, 0))) for o in here]
            found = max(found, excess([pairs], epsilon))
    return found


@given(mechanisms(), st.fractions(0, 2, max_denominator=8))
def test_the_worst_case_is_that_of_the_definition(mechanism: Own, epsilon: Fraction) -> None:
    found, true = worst_case(SMALL, mechanism, epsilon), by_definition(mechanism, epsilon)
    assert true - ROUNDING <= Fraction(found.delta) <= true * (1 + Fraction(1, 2**50))
    assert found.tables is not None
    here, there = (joint(mechanism, table) for table in found.tables)
    assert abs(excess([[(Fraction(here[o]), Fraction(there[o])) for o in here]], epsilon) - true) <= ROUNDING
    assert is_kept(SMALL, Own(mechanism.shown, Cost(epsilon, Fraction(found.delta))))
    less = Own(mechanism.shown, Cost(epsilon, true * Fraction(99, 100)))
    assert is_kept(SMALL, less) == (true < ROUNDING)


@given(mechanisms(), st.fractions(0, 2, max_denominator=8), st.randoms(use_true_random=False))
def test_processing_never_raises_delta(mechanism: Own, epsilon: Fraction, coins: Random) -> None:
    choose: dict[Hashable, int] = {}

    def function(outcome: tuple[Hashable, ...]) -> int:
        return choose.setdefault(outcome, coins.randint(0, 2))

    processed = Processed(mechanism, function)
    assert processed.events == mechanism.events
    assert sum(processed.parts(SMALL.tables[0])[0].values()) == 1
    assert worst_case(SMALL, processed, epsilon).delta <= worst_case(SMALL, mechanism, epsilon).delta
    whole = Processed(mechanism, lambda outcome: outcome)
    assert worst_case(SMALL, whole, epsilon).delta == worst_case(SMALL, mechanism, epsilon).delta


# -- what is told exactly -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """A function of the table, as it is."""

    function: Callable[[Table], Hashable]

    @property
    def events(self) -> tuple[Event, ...]:
        return (AllPairs(),)

    def parts(self, table: Table) -> Sequence[Part]:
        return [{self.function(table): ONE}]


def test_f_itself_costs_nothing_and_anything_else_is_told_with_certainty() -> None:
    assert is_kept(PROBLEM, Told(PROBLEM.output))
    assert worst_case(PROBLEM, Told(PROBLEM.output), 0).delta == 0
    assert worst_case(PROBLEM, Told(max), 64).delta == 1
    assert not is_kept(PROBLEM, Told(max))


def test_what_is_told_of_a_matching_record_is_a_breach_where_f_does_not_tell_it() -> None:
    sized = Problem(len, PROBLEM.tables)
    assert worst_case(sized, Told(PROBLEM.output), 64).delta == 1
    assert not is_kept(sized, counts())


def test_without_neighbours_nothing_can_be_told_apart() -> None:
    alone = Problem(lambda table: table, PROBLEM.tables)
    assert worst_case(alone, Told(max), 0).tables is None
    assert worst_case(alone, Told(max), 0).delta == 0


def test_what_probabilities_lack_counts_as_delta_even_where_all_that_is_said_is_the_same() -> None:
    lacking = [{0: Fraction(9, 10)}, {0: Fraction(1, 2)}]
    assert worst_case(PROBLEM, Own(lambda table: lacking), 1).delta == pytest.approx(0.55)
    assert worst_case(PROBLEM, Own(lambda table: [*lacking, {table: ONE}]), 1).delta == 1
    assert worst_case(PROBLEM, Own(lambda table: [{}]), 1).delta == 1


@pytest.mark.parametrize("part", [{0: ONE, 1: Fraction(1, 9)}, {0: 2 * ONE, 1: -ONE}])
def test_what_are_no_probabilities_is_refused(part: Part) -> None:
    """Too much of them under the neighbour would make a leak look small."""
    with pytest.raises(UsageError, match="at least 0, and add up to 1"):
        worst_case(PROBLEM, Own(lambda table: [part]), 1)


def test_every_table_has_as_many_parts() -> None:
    with pytest.raises(UsageError, match="as many parts"):
        worst_case(PROBLEM, Own(lambda table: [{0: ONE}] * len(set(table))), 1)


def test_floats_are_no_probabilities() -> None:
    halves: Any = {0: 0.5, 1: 0.5}
    with pytest.raises(UsageError, match="must be fractions"):
        worst_case(PROBLEM, Own(lambda table: [halves]), 1)


@pytest.mark.parametrize("epsilon", [-1, "-1/2", 10**9])
def test_an_epsilon_that_nobody_means_is_refused(epsilon: Number) -> None:
    for ask in (lambda: worst_case(PROBLEM, HONEST, epsilon), lambda: claimed_delta(HONEST, epsilon)):
        with pytest.raises(UsageError, match="ε must be from 0 to 10000"):
            ask()


# -- mechanisms that leak are convicted ---------------------------------------------------------------------

HONEST = counts()


def with_noise(count: int, noise: Geometric) -> Part:
    return {count + x: Fraction(weight, 2**256) for x, weight in enumerate(noise.window.table)}


def one_true_count(table: Table) -> Sequence[Part]:
    first, *rest = HONEST.parts(table)[1:]
    return [{min(first): ONE}, *rest]


def narrow(table: Table) -> Sequence[Part]:
    thin = Geometric(3, 2 * ONE, ONE, 6)
    return [with_noise(min(part), thin) for part in HONEST.parts(table)[1:]]


def only_full_bins(table: Table) -> Sequence[Part]:
    bare = [min(part) for part in HONEST.parts(table)[1:]]
    return [with_noise(count, GEOMETRIC) if count else {0: ONE} for count in bare]


def same_noise(table: Table) -> Sequence[Part]:
    """One draw for both bins: their difference is exact."""
    odd, even = (min(part) for part in HONEST.parts(table)[1:])
    drawn = with_noise(0, GEOMETRIC).items()
    return [{(odd + x, even + x): chance for x, chance in drawn}]


@pytest.mark.parametrize("shown", [one_true_count, narrow, only_full_bins, same_noise])
def test_a_leak_is_found(shown: Callable[[Table], Sequence[Part]]) -> None:
    (event,) = HONEST.events
    assert event.cost is not None
    assert is_kept(PROBLEM, HONEST)
    assert is_kept(PROBLEM, Own(lambda table: HONEST.parts(table)[1:], event.cost))
    leaky = Own(shown, event.cost)
    assert not is_kept(PROBLEM, leaky)
    found = worst_case(PROBLEM, leaky, EPSILON)
    assert found.tables is not None
    assert found.tables[1] in PROBLEM.neighbours(found.tables[0])


def test_of_a_leak_the_tables_are_named() -> None:
    leaky = Own(only_full_bins, HONEST.event.cost)
    found = worst_case(PROBLEM, leaky, 64)
    assert found.tables is not None
    # A bin that is empty with the one only.
    full = [{record % 2 for record in table} for table in found.tables]
    assert full[0] != full[1]
    # Whether the bin has dummies is certain, but for those that look like none.
    assert found.delta > 0.9


# -- several together ---------------------------------------------------------------------------------------

NARROW = Geometric(1, ONE, ONE, 2)
SHORT = Gaussian(2, Fraction(3), 1)
CLAMPED = Laplace(1, Fraction(1, 2), 1)


@pytest.mark.parametrize(
    ("one", "two"),
    [(NARROW, NARROW), (NARROW, SHORT), (SHORT, CLAMPED)],
    ids=lambda noise: type(noise).__name__,
)
def test_two_releases_cost_no_more_than_the_accountants_say(
    one: Geometric | Gaussian, two: Geometric | Gaussian | Laplace
) -> None:
    members = (counts(one, ONE), counts(two, ONE if one == two else Fraction(1, 2)))
    both = Together(members)
    assert both.events == (members[0].event, members[1].event)
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2)):
        true, claimed = worst_case(PROBLEM, both, epsilon).delta, claimed_delta(both, epsilon)
        assert max(worst_case(PROBLEM, member, epsilon).delta for member in members) <= true <= claimed
        if one == two:
            # On one lattice nothing is rounded: the accountant's pair is this pair of tables.
            assert claimed <= true * (1 + 1e-9)
    assert is_kept(PROBLEM, both)


def test_counts_and_an_answer_cost_no_more_than_the_accountants_say() -> None:
    answer = Answers(PROBLEM, NoisyAnswer(ONE), lambda table: [len({*table})], (TwoSided(ONE),))
    both = Together((counts(NARROW, Fraction(2)), answer))
    for epsilon in (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(3)):
        true = worst_case(PROBLEM, both, epsilon).delta
        assert true <= claimed_delta(both, epsilon)
    assert worst_case(PROBLEM, both, Fraction(5, 2)).delta > worst_case(PROBLEM, both, 3).delta
    assert is_kept(PROBLEM, both)


def test_of_both_accountants_the_better_one_is_asked() -> None:
    promised = Own(lambda table: [{0: ONE}], Cost(ONE, Fraction(1, 10)))
    twice = Together((promised, promised))
    assert claimed_delta(twice, 2) <= 0.2
    assert 0.2 < claimed_delta(twice, 1) < 0.5
    assert claimed_delta(Together(()), 0) == 0
