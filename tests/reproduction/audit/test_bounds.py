"""Exact binomial bounds, and what they say of ε and δ."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.audit.bounds import at_least, at_most, delta_bound, epsilon_bound


@given(
    st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(1e-9, 0.4)
)
def test_the_bounds_are_those_of_clopper_and_pearson(counts: tuple[int, int], alpha: float) -> None:
    from scipy.stats import beta

    hits, trials = counts
    high = 1.0 if hits == trials else beta.isf(alpha, hits + 1, trials - hits)
    low = 0.0 if hits == 0 else beta.ppf(alpha, hits, trials - hits + 1)
    assert at_most(hits, trials, alpha) == pytest.approx(high, rel=1e-8)
    assert at_least(hits, trials, alpha) == pytest.approx(low, rel=1e-6, abs=1e-12)


def test_what_bounds_say_of_a_claim() -> None:
    assert epsilon_bound(0.5, 0.1, 0.0) == pytest.approx(math.log(5))
    assert epsilon_bound(0.5, 0.1, 0.2) == pytest.approx(math.log(3))
    assert epsilon_bound(0.1, 0.5, 0.0) == 0.0
    assert epsilon_bound(0.1, 0.05, 0.2) == 0.0
    assert delta_bound(0.5, 0.1, math.log(2)) == pytest.approx(0.3)
    assert delta_bound(0.1, 0.5, 1.0) == 0.0
