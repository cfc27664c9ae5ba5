"""Linkage and answers: their neighbours, and the promises of the noise that is in use, by listing all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.privacy.calibration import AnyNoise, as_claimed, calibrate
from accord.privacy.events import Cost, NoisyAnswer, NoisyCounts, released
from accord.privacy.instances import Answers, BinCounts, linkage
from accord.privacy.mechanism import claimed_delta, is_kept, worst_case
from accord.privacy.noise import exact_delta
from accord.privacy.noise_answers import TwoSided
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from accord.privacy.noise_laplace import Laplace
from accord.privacy.problem import Problem, Table, all_tables, difference
from accord.protocols.parts.answers import Question
from accord.protocols.parts.output import Amount, By, Categories, Output
from accord.side import Side

RECORDS = range(5)
Cells = Callable[[Table], list[int]]
SHORT: list[AnyNoise] = [
    Geometric(2, Fraction(1), Fraction(1, 2), 2),
    Geometric(1, Fraction(3, 5), Fraction(1, 3), 1),
    Gaussian(2, Fraction(4), 1),
    Laplace(2, Fraction(2, 5), 1),
    Laplace(2, Fraction(1), 2),
]


@dataclass(frozen=True)
class World:
    """A rule by the pairs that satisfy it, a partner's table, and the bins of each record."""

    pairs: frozenset[tuple[int, int]]
    partner: tuple[int, ...]
    size: int
    bins: tuple[frozenset[int], ...]

    @property
    def problem(self) -> Problem:
        return linkage(lambda a, b: (a, b) in self.pairs, self.partner, all_tables(RECORDS, self.size))

    @property
    def strangers(self) -> set[int]:
        """The records that match nothing."""
        return {b for b in RECORDS if not any((a, b) in self.pairs for a in self.partner)}

    def mechanism(self, event: NoisyCounts) -> BinCounts:
        return BinCounts(self.problem, event, (0, 1, 2, 3), self.bins.__getitem__)


@st.composite
def worlds(draw: st.DrawFn, bins_per_record: int = 1) -> World:
    pairs = draw(st.frozensets(st.tuples(st.integers(0, 2), st.sampled_from(RECORDS)), max_size=4))
    partner = draw(st.lists(st.integers(0, 2), max_size=2))
    placed = st.frozensets(st.integers(0, 3), max_size=bins_per_record)
    bins = draw(st.tuples(*[placed for _ in RECORDS]))
    return World(pairs, tuple(partner), draw(st.integers(1, 3)), bins)


@given(worlds())
def test_neighbours_are_those_that_replace_one_record_without_a_match_by_another(world: World) -> None:
    """[MATHS §1.3]"""
    problem = world.problem
    for table in problem.tables:
        replaced = {
            tuple(sorted((Counter(table) - Counter([r]) + Counter([s])).elements()))
            for r in world.strangers & {*table}
            for s in world.strangers - {r}
        }
        assert set(problem.neighbours(table)) == replaced
        assert all(len(difference(table, other)) == 2 for other in replaced)


@given(worlds())
def test_neighbours_are_two_steps_apart_under_differential_privacy(world: World) -> None:
    """What (ε/2) there promises here (ε) [HMFS17, §3.3]: the graph has no edge that is longer."""
    free = Problem(lambda table: None, all_tables(RECORDS, world.size - 1, world.size))
    for one, two in world.problem.graph.edges:
        assert free.graph.distances(one)[two] == 2


# -- noisy bins ---------------------------------------------------------------------------------------------


def claim(noise: AnyNoise, bins_per_record: int, epsilon: Fraction) -> NoisyCounts:
    delta = Fraction(exact_delta(noise, bins_per_record, epsilon))
    return NoisyCounts(noise, bins_per_record, Cost(epsilon, min(Fraction(1), delta)))


def reaches(world: World, bins_per_record: int) -> bool:
    """Whether some neighbours differ in as many bins as two may, up and down."""
    placed = [world.bins[b] for b in world.strangers]
    return bool(world.problem.graph.edges) and any(
        len(a - b) == len(b - a) == bins_per_record for a in placed for b in placed
    )


@pytest.mark.parametrize("noise", SHORT, ids=repr)
@given(world=worlds(), epsilon=st.fractions(0, 2, max_denominator=4))
def test_noisy_bins_keep_their_promise_and_it_is_tight(
    noise: AnyNoise, world: World, epsilon: Fraction
) -> None:
    mechanism = world.mechanism(claim(noise, 1, epsilon))
    promised, found = float(mechanism.event.cost.delta), worst_case(world.problem, mechanism, epsilon).delta
    assert found <= promised
    assert is_kept(world.problem, mechanism)
    if reaches(world, 1):
        assert promised <= found * (1 + 1e-10) + 2.0**-200
        assert claimed_delta(mechanism, epsilon) <= promised


@pytest.mark.parametrize("noise", [SHORT[1], SHORT[2], SHORT[3]], ids=repr)
@given(world=worlds(bins_per_record=2))
def test_records_in_two_bins_are_protected_as_well(noise: AnyNoise, world: World) -> None:
    mechanism = world.mechanism(claim(noise, 2, Fraction(1)))
    promised, found = float(mechanism.event.cost.delta), worst_case(world.problem, mechanism, 1).delta
    assert found <= promised
    if reaches(world, 2):
        assert promised <= found * (1 + 1e-10)


def test_two_bins_a_record_are_more_than_a_claim_for_one() -> None:
    bins = (frozenset({0, 1}), frozenset({2, 3}), *[frozenset[int]()] * 3)
    world = World(frozenset(), (), 1, bins)
    assert reaches(world, 2)
    for noise in SHORT:
        assert not is_kept(world.problem, world.mechanism(claim(noise, 1, Fraction(1))))
        assert is_kept(world.problem, world.mechanism(claim(noise, 2, Fraction(1))))


@pytest.mark.parametrize("places", ["01", (0, 7), 1])
def test_bins_that_are_not_listed_are_refused(places: Any) -> None:
    problem = linkage(lambda a, b: a == b, (0,), all_tables(RECORDS, 1))
    counts = BinCounts(problem, claim(SHORT[0], 1, Fraction(1)), ("0", "1", 0, 1), lambda record: places)
    with pytest.raises(UsageError, match="bins that are listed"):
        is_kept(problem, counts)


@pytest.mark.parametrize("name", ["geometric", "gaussian", "paper"])
def test_what_calibration_chooses_keeps_its_promise(name: str) -> None:
    setting = calibrate(name, 4, "1e-3")
    world = World(frozenset({(0, 4)}), (0,), 1, tuple(frozenset({n % 2}) for n in RECORDS))
    mechanism = world.mechanism(released(setting))
    assert is_kept(world.problem, mechanism)
    found = worst_case(world.problem, mechanism, 4).delta
    assert found <= setting.delta_exact <= found * (1 + 1e-10)


def test_the_noise_as_it_was_published_does_not_keep_its_promise() -> None:
    """[MATHS §3.2]"""
    world = World(frozenset(), (), 1, tuple(frozenset({n % 2}) for n in RECORDS))
    published = as_claimed("paper-2017", "0.4", "0.03")
    found = NoisyCounts(published.noise, 1, Cost(published.epsilon, published.delta))
    assert not is_kept(world.problem, world.mechanism(found))


# -- answers ------------------------------------------------------------------------------------------------

PARTNER = (0, 1)
MATCHES = {2: (0, 1), 3: (0, 1), 4: (1,)}
"""The partner's records that a record matches; the others match none."""
CATEGORY = {0: 0, 1: 1, 2: 0, 3: 1, 4: 0}
AMOUNT = {0: 0, 1: 2, 2: 1, 3: 3, 4: 2}
HIDDEN = Problem(len, all_tables(RECORDS, 2))


def matches(record: int) -> int:
    return len(MATCHES.get(record, ()))


def count(table: Table) -> list[int]:
    return [sum(map(matches, table))]


def by_category(table: Table) -> list[int]:
    return [sum(matches(b) for b in table if CATEGORY[b] == kind) for kind in (0, 1)]


def summed(table: Table) -> list[int]:
    return [sum(matches(b) * AMOUNT[b] for b in table), *count(table)]


EPSILON = Fraction(7, 5)
OUTPUTS: dict[Cells, Output] = {
    count: Output(answer="count", epsilon=EPSILON),
    by_category: Output(
        answer="table", epsilon=EPSILON, by=By(B=Categories(column="kind", values=("first",)))
    ),
    summed: Output(answer="sum", epsilon=EPSILON, of=Amount(side="B", column="amount", low=0, high=3)),
}


def question(output: Output, most: int) -> Question:
    """With the noise of production; `most` pairs of a record."""
    return Question(output, Side.A, dict.fromkeys(Side, most), dict.fromkeys(Side, 2), displaces=False)


@pytest.mark.parametrize("cells", OUTPUTS, ids=lambda cells: cells.__name__)
def test_answers_reach_their_epsilon_and_do_not_pass_it(cells: Cells) -> None:
    """Of every record, matching or not. One without a match becomes one with two, and 3 is added for each; in
    the table two pairs go from one cell to the other."""
    asked = question(OUTPUTS[cells], 2)
    answers = Answers(HIDDEN, NoisyAnswer(EPSILON), cells, tuple(asked.noise(Side.B)))
    assert is_kept(HIDDEN, answers)
    # Its probabilities are irrational, so what is exactly 0 is rounded up.
    assert 0 < worst_case(HIDDEN, answers, EPSILON).delta < 1e-95
    assert worst_case(HIDDEN, answers, EPSILON * Fraction(999, 1000)).delta > 1e-6


@pytest.mark.parametrize("cells", OUTPUTS, ids=lambda cells: cells.__name__)
def test_answers_with_noise_for_fewer_pairs_are_convicted(cells: Cells) -> None:
    asked = question(OUTPUTS[cells], 1)
    answers = Answers(HIDDEN, NoisyAnswer(EPSILON), cells, tuple(asked.noise(Side.B)))
    assert not is_kept(HIDDEN, answers)


@given(
    values=st.lists(st.integers(-1, 3), min_size=5, max_size=5),
    scale=st.fractions(Fraction(1, 4), 4, max_denominator=5),
)
def test_the_epsilon_of_any_sum_is_its_largest_change_over_the_scale(
    values: list[int], scale: Fraction
) -> None:
    def cells(table: Table) -> list[int]:
        return [sum(values[b] for b in table)]

    change = max(values) - min(values)
    answers = Answers(HIDDEN, NoisyAnswer(change / scale), cells, (TwoSided(scale),))
    assert is_kept(HIDDEN, answers)
    if change:
        assert worst_case(HIDDEN, answers, change / scale * Fraction(99, 100)).delta > 1e-30


def test_cutting_an_answer_to_its_range_changes_nothing() -> None:
    """Against outcomes that go far beyond it, whose end counts as δ."""
    noise, epsilon = TwoSided(Fraction(3, 2)), Fraction(1, 2)
    answers = Answers(HIDDEN, NoisyAnswer(Fraction(4, 3)), count, (noise,))

    @dataclass(frozen=True)
    class Long:
        events = answers.events

        def parts(self, table: Table) -> list[dict[int, Fraction]]:
            (value,) = count(table)
            chances = noise.chances(-20, 20)
            return [{value + x: chances[x] for x in range(-19, 20)}]

    cut, long = worst_case(HIDDEN, answers, epsilon).delta, worst_case(HIDDEN, Long(), epsilon).delta
    assert cut <= long <= cut + 4e-6


def test_an_answer_protects_matching_records_and_a_linkage_does_not() -> None:
    problem = linkage(lambda a, b: a in MATCHES.get(b, ()), PARTNER, HIDDEN.tables)
    assert problem.neighbours((3, 4)) == ()
    assert HIDDEN.neighbours((3, 4)) != ()
    assert set(problem.graph.edges) < set(HIDDEN.graph.edges)
