"""Randomised response: the formulas against brute force, the sampler against its distribution."""

from __future__ import annotations

from fractions import Fraction
from math import exp, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.entropy import Seeded
from reproduction.protocols.randomised_response import (
    Response,
    best_spread,
    both_in_block,
    compared,
    compared_public,
    report,
)

ALPHA = 1e-6


def offsets(k: int, x: int, epsilon: float, start: int = 0) -> list[float]:
    """The probability of each offset, by the definition."""
    high = exp(epsilon) / (k - x + x * exp(epsilon))
    block = {(i - start) % k for i in range(x)}
    return [high if i in block else high / exp(epsilon) for i in range(k)]


def brute(a: list[float], b: list[float], window: int) -> float:
    """Σ_i Σ_{j<k'} p^A_i·p^B_{(i+j) mod k}."""
    k = len(a)
    return sum(a[i] * b[(i + j) % k] for i in range(k) for j in range(window))


SMALL = [(k, w, x) for k in range(1, 10) for w in range(1, k + 1) for x in range(1, w + 1)]


@pytest.mark.parametrize(("a", "b"), [("1", "1"), ("0.1", "4")])
def test_the_corrected_formula_is_brute_force_round_the_end_too(a: str, b: str) -> None:
    wrapped = 0
    for k, w, x in SMALL:
        expected = brute(offsets(k, x, float(a)), offsets(k, x, float(b)), w)
        assert float(compared(k, w, x, Fraction(a), Fraction(b))) == pytest.approx(expected, abs=1e-12)
        wrapped += x + w >= k + 2
    assert wrapped > 30, "the cases that the paper's counts get wrong"


def test_the_paper_overlooks_the_way_round_the_end() -> None:
    """MATHS §5.2: k = 4, k' = 3, x = 3."""
    assert both_in_block(4, 3, 3) == 7
    assert sum(1 for i in range(3) for j in range(3) if (i + j) % 4 < 3) == 7
    assert 3 * 4 // 2 == 6, "what the paper counts"


def test_one_side_public_is_the_optimum() -> None:
    for k, w, x in SMALL:
        value = compared_public(k, w, x, Fraction(2))
        truth = [1.0] + [0.0] * (k - 1)
        assert value == pytest.approx(brute(truth, offsets(k, x, 2.0), w), abs=1e-12)
        mirrored = offsets(k, x, 2.0, start=x - 1)
        assert value == pytest.approx(brute(mirrored, truth, w), abs=1e-12), "B public, A reports"
        best = w * exp(2) / (k - w + w * exp(2))
        assert value <= best + 1e-12
        if x == w:
            assert value == pytest.approx(best)


@pytest.mark.parametrize(("x", "share"), [(1, 0.818), (2, 0.683)])
def test_the_papers_rule_is_wrong(x: int, share: float) -> None:
    """MATHS §5.3: k = 8, k' = 2, ε = 4: the paper takes x = k', which is worse."""
    assert float(compared(8, 2, x, Fraction(4), Fraction(4))) == pytest.approx(share, abs=5e-4)
    assert best_spread(8, 2, Fraction(4), Fraction(4)) == 1


def test_the_best_spread_is_where_the_corrected_derivative_says() -> None:
    """Without wrapping: x = k' if u ≤ 2k − 4k', else an integer beside k/(u + 4k' − 2k), clipped."""
    tried = 0
    for k in (8, 16, 64, 200):
        for w in range(1, k // 2 + 1, 3):
            for epsilon in ("0.1", "1", "2.5", "4", "6"):
                u = exp(float(epsilon)) - 1
                if u <= 2 * k - 4 * w:
                    wanted = {w}
                else:
                    x = min(max(k / (u + 4 * w - 2 * k), 1.0), float(w))
                    wanted = {floor(x), min(w, floor(x) + 1)}
                assert best_spread(k, w, Fraction(epsilon), Fraction(epsilon)) in wanted
                tried += 1
    assert tried > 200


@given(st.integers(2, 9), st.data(), st.fractions(Fraction(1, 10), 5, max_denominator=20))
def test_no_report_is_more_than_e_to_the_epsilon_more_likely(
    k: int, data: st.DataObject, epsilon: Fraction
) -> None:
    """Of the integers that are sampled, not of the formula they stand for."""
    response = Response(k, data.draw(st.integers(1, k - 1)), epsilon)
    block, rest = response.table
    assert block + rest == 1 << 256
    high, low = Fraction(block, response.spread), Fraction(rest, k - response.spread)
    from accord.privacy.number import exp as precisely

    assert low <= high <= Fraction(precisely(epsilon)) * low
    assert float(high / 2**256) == pytest.approx(float(response.high), rel=1e-12)


def test_losses_are_those_of_two_blocks_that_overlap_least() -> None:
    for k, x in ((5, 1), (5, 2), (5, 3), (4, 4), (8, 3)):
        epsilon = Fraction(3, 2)
        p, losses = offsets(k, x, 1.5), Response(k, x, epsilon).losses()
        for t in ("0", "0.5", "1.5", "2"):
            worst = max(
                sum(max(0.0, p[i] - exp(float(t)) * p[(i - h) % k]) for i in range(k)) for h in range(k)
            )
            uniform = max(
                sum(max(0.0, p[i] - exp(float(t)) / k) for i in range(k)),
                sum(max(0.0, 1 / k - exp(float(t)) * p[i]) for i in range(k)),
            )
            assert losses.delta(Fraction(t)) == pytest.approx(worst, abs=1e-12)
            assert uniform <= losses.delta(Fraction(t)) + 1e-12


@pytest.mark.parametrize(
    "response",
    [
        Response(7, 3, Fraction(1)),
        Response(7, 3, Fraction(1), start=2),
        Response(5, 5, Fraction(1)),
        Response(2, 1, Fraction(1, 4)),
        Response(1, 1, Fraction(1)),
    ],
    ids=str,
)
def test_the_sampler_has_its_distribution(response: Response) -> None:
    """χ² at a false-alarm rate of 1e-6 for each of the two."""
    from scipy import stats

    count = 60_000
    bins = np.full(count, min(1, response.bins - 1))
    bins[: count // 2] = -1
    found = report(response, bins, Seeded(5))
    assert found.min() >= 0
    assert found.max() < response.bins
    uniform = np.bincount(found[: count // 2], minlength=response.bins)
    reported = np.bincount((found[count // 2 :] - bins[-1]) % response.bins, minlength=response.bins)
    expected = np.array(offsets(response.bins, response.spread, float(response.epsilon), response.start))
    if response.bins > 1:
        assert stats.chisquare(uniform).pvalue > ALPHA
        assert stats.chisquare(reported, expected / expected.sum() * reported.sum()).pvalue > ALPHA
