"""Weights are whole bits, bounded, never rise from level to level, and see what comes together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.learning.patterns import Comparisons, PatternCounts, Weights
from accord.learning.weights import LARGEST, bits_of, fit
from accord.rules.words import compare, dice, missing, same


def comparison(number: int) -> Comparisons:
    name = f"f{number}"
    return (compare((dice(name) >= 1, 0), (dice(name) >= 0.8, 0), (missing(name), 0)),)


THREE = comparison(0) + comparison(1) + comparison(2)


def independent(m: list[float], u: list[float], comparisons: int, pairs: int = 10**9) -> PatternCounts:
    """Exact counts of pairs whose comparisons err independently, with these shares of each level."""
    patterns = np.indices([len(m)] * comparisons).reshape(comparisons, -1).T.astype(np.uint8)
    counts = [pairs * np.array(of)[patterns].prod(axis=1) for of in (m, u)]
    return PatternCounts(patterns, *(np.round(of).astype(np.int64) for of in counts))


def test_independent_comparisons_get_the_weights_of_fellegi_and_sunter() -> None:
    m, u = [0.8, 0.1, 0.05, 0.05], [0.0125, 0.025, 0.05, 0.9125]
    evidence = independent(m, u, 3)
    assert fit(THREE, evidence) == ((6, 2, 0, -4),) * 3


def test_two_that_always_agree_weigh_together_what_one_does() -> None:
    alone = PatternCounts(
        np.array([[0], [1]], np.uint8), np.array([900_000, 100_000]), np.array([10_000, 990_000])
    )
    one = (compare((same("a"), 0)),)
    both = PatternCounts(np.repeat(alone.patterns, 2, axis=1), alone.matches, alone.others)
    ((apart, _),) = fit(one, alone)
    first, second = fit((*one, compare((same("b"), 0))), both)
    assert abs(first[0] - first[1] + second[0] - second[1] - (apart - fit(one, alone)[0][1])) <= 2


def test_weights_never_rise_from_level_to_level() -> None:
    """Where the second level is of matches more often than the first, both weigh the same."""
    ((first, second, none, last),) = fit(
        comparison(0), independent([0.25, 0.6, 0.05, 0.1], [0.3, 0.01, 0.05, 0.64], 1)
    )
    assert first == second > none == 0 > last


def test_a_level_that_no_match_has_speaks_for_none() -> None:
    """Of four million others half a pair is nothing, and of a thousand matches it would be much."""
    patterns = np.array([[0], [3]], np.uint8)
    matches, others = np.array([900, 100]), np.array([4_000, 4_000_000])
    ((first, second, none, last),) = fit(comparison(0), PatternCounts(patterns, matches, others))
    assert first > 5 > 0 >= second >= last
    constant = PatternCounts(patterns[:1], matches[:1], others[:1])
    assert fit(comparison(0), constant) == ((0, 0, 0, 0),), "where all pairs are alike nothing is told"
    assert none == 0


counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10**6)), min_size=4, max_size=4)


@given(counts)
def test_whatever_was_counted_weights_are_bounded_and_fall(given: list[tuple[int, int]]) -> None:
    patterns = np.arange(4, dtype=np.uint8)[:, None]
    matches, others = (np.array(of, np.int64) for of in zip(*given, strict=True))
    weights: Weights = fit(comparison(0), PatternCounts(patterns, matches, others))
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
