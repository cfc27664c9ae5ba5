"""Weights are whole bits, bounded, never rise from level to level, and see what comes together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.learning.patterns import Comparisons, PatternCounts, Weights
from accord.learning.weights import FEWEST, LARGEST, Drafted, Ratios, bits_of, fit, rare_levels, whole
from accord.rules.words import compare, dice, missing, same


def weigh(comparisons: Comparisons, evidence: PatternCounts) -> Weights:
    prior = Ratios(comparisons)
    return whole(comparisons, fit(comparisons, evidence, prior.start(evidence)), prior.points(evidence))


def comparison(number: int) -> Comparisons:
    name = f"f{number}"
    return (compare((dice(name) >= 1, 0), (dice(name) >= 0.8, 0), (missing(name), 0)),)


THREE = comparison(0) + comparison(1) + comparison(2)


def independent(m: list[float], u: list[float], comparisons: int, pairs: int = 10**9) -> PatternCounts:
    """Exact counts of pairs whose comparisons err independently, with these shares of each level."""
    patterns = np.indices([len(m)] * comparisons).reshape(comparisons, -1).T.astype(np.uint8)
    counts = [pairs * np.array(of)[patterns].prod(axis=1) for of in (m, u)]
    return PatternCounts(patterns, *(np.round(of).astype(float) for of in counts))


def test_independent_comparisons_get_the_weights_of_fellegi_and_sunter() -> None:
    m, u = [0.8, 0.1, 0.05, 0.05], [0.0125, 0.025, 0.05, 0.9125]
    evidence = independent(m, u, 3)
    assert weigh(THREE, evidence) == ((6, 2, 0, -4),) * 3


def test_two_that_always_agree_weigh_together_what_one_does() -> None:
    alone = PatternCounts(
        np.array([[0], [1]], np.uint8), np.array([900_000.0, 100_000]), np.array([10_000.0, 990_000])
    )
    one = (compare((same("a"), 0)),)
    both = PatternCounts(np.repeat(alone.patterns, 2, axis=1), alone.matches, alone.others)
    ((apart, _),) = weigh(one, alone)
    first, second = weigh((*one, compare((same("b"), 0))), both)
    assert abs(first[0] - first[1] + second[0] - second[1] - (apart - weigh(one, alone)[0][1])) <= 2


def test_weights_never_rise_from_level_to_level() -> None:
    """Where the second level is of matches more often than the first, both weigh the same."""
    ((first, second, none, last),) = weigh(
        comparison(0), independent([0.25, 0.6, 0.05, 0.1], [0.3, 0.01, 0.05, 0.64], 1)
    )
    assert first == second > none == 0 > last


def test_a_level_that_no_match_has_speaks_for_none() -> None:
    """Of four million others half a pair is nothing, and of a thousand matches it would be much."""
    patterns = np.array([[0], [3]], np.uint8)
    matches, others = np.array([900.0, 100]), np.array([4_000.0, 4_000_000])
    ((first, second, none, last),) = weigh(comparison(0), PatternCounts(patterns, matches, others))
    assert first > 5 > 0 >= second >= last
    constant = PatternCounts(patterns[:1], matches[:1], others[:1])
    assert weigh(comparison(0), constant) == ((0, 0, 0, 0),), "where all pairs are alike nothing is told"
    assert none == 0


counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10**6)), min_size=4, max_size=4)


@given(counts)
def test_whatever_was_counted_weights_are_bounded_and_fall(given: list[tuple[int, int]]) -> None:
    patterns = np.arange(4, dtype=np.uint8)[:, None]
    matches, others = (np.array(of, float) for of in zip(*given, strict=True))
    weights: Weights = weigh(comparison(0), PatternCounts(patterns, matches, others))
    first, second, none, last = weights[0]
    assert none == 0
    assert first >= second >= last
    assert -LARGEST <= last <= 0 <= first <= LARGEST


@pytest.mark.parametrize(
    ("m", "u", "bits"),
    [(0.8, 0.1, 3), (0.1, 0.8, -3), (0.5, 0.5, 0), (1, 0, LARGEST), (0, 1, -LARGEST), (0, 0, 0)],
)
def test_bits_of_a_level(m: float, u: float, bits: int) -> None:
    assert bits_of(m, u) == bits
    assert bits_of(1, 1e-9) == LARGEST


DRAFT = (
    compare((same("a"), 3), (dice("a") >= 0.8, 1), (missing("a"), 0), otherwise=-2),
    compare((same("b"), 2), otherwise=-1),
)


def drafted(evidence: PatternCounts) -> Weights:
    prior = Drafted(DRAFT, rare_levels(DRAFT, evidence))
    return whole(DRAFT, fit(DRAFT, evidence, prior.start(evidence)), prior.points(evidence))


def of_draft(m: list[float], u: list[float], matches: int, others: int) -> PatternCounts:
    """Pairs whose `a` has these shares of its levels, and whose `b` agrees for nine in ten matches."""
    patterns = np.array([(a, b) for a in range(4) for b in range(2)], np.uint8)
    shares = [np.outer(of, b).ravel() for of, b in ((m, (0.9, 0.1)), (u, (0.2, 0.8)))]
    counts = [np.round(total * share) for total, share in zip((matches, others), shares, strict=True)]
    return PatternCounts(patterns, counts[0], counts[1])


@pytest.mark.parametrize("matches", [25, 100, 1_000])
def test_a_level_that_few_matches_have_weighs_what_it_does_in_the_draft(matches: int) -> None:
    """Times the same whole number for all, which follows from all pairs."""
    evidence = of_draft([0.8, 0.14, 0.04, 0.02], [0.02, 0.03, 0.15, 0.8], matches, 20_000)
    kept = rare_levels(DRAFT, evidence)
    found = [weight for each in drafted(evidence) for weight in each]
    written = [weight for each in DRAFT for weight in each.weights]
    times = {one / of for one, of, rare in zip(found, written, kept, strict=True) if rare and of}
    assert len(times) <= 1
    assert all(one.is_integer() and one >= 1 for one in times)
    held = np.array([evidence.matches[evidence.patterns[:, 0] == level].sum() for level in range(4)])
    assert kept[:4].tolist() == [held[0] < FEWEST, held[1] < FEWEST, True, held[3] < FEWEST]
    assert found[2] == 0
    assert found[0] >= found[1] >= found[3], "and weights fall, with those that are kept"


def test_pairs_decide_where_there_are_many_and_the_draft_where_all_agree() -> None:
    many = of_draft([0.5, 0.2, 0.1, 0.2], [0.5, 0.2, 0.1, 0.2], 100_000, 10**6)
    (first, second, none, last), (agrees, differs) = drafted(many)
    assert (first, second, none, last) == (0, 0, 0, 0), "whatever the draft says of a"
    assert agrees > 0 > differs
    few = of_draft([1, 0, 0, 0], [1, 0, 0, 0], 19, 0)
    times = drafted(few)[1][0] // 2
    assert drafted(few) == ((3 * times, times, 0, -2 * times), (2 * times, -times))
