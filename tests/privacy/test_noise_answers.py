"""Noise on answers: exact, of the claimed shape, and as far from the truth as is told."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from accord.entropy import Seeded
from accord.privacy.noise_answers import TwoSided, _Bits, _succeeds, within

FAR = 600


def probabilities(scale: float) -> np.ndarray:
    """Of −FAR..FAR."""
    found = np.exp(-np.abs(np.arange(-FAR, FAR + 1)) / scale)
    return found / found.sum()


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(12)])
def test_draws_have_the_claimed_shape(scale: Fraction) -> None:
    """Pearson's statistic over the middle values, against its mean + 6 deviations: a false alarm in 10⁷."""
    count = 6_000
    drawn = np.array(TwoSided(scale).draw(count, Seeded(f"draws {scale}")))
    expected = probabilities(float(scale)) * count
    usual = np.flatnonzero(expected >= 5)
    seen = np.bincount(np.clip(drawn + FAR, 0, 2 * FAR), minlength=2 * FAR + 1)
    rest = count - expected[usual].sum(), count - seen[usual].sum()
    terms = [
        *((seen[usual] - expected[usual]) ** 2 / expected[usual]),
        (rest[0] - rest[1]) ** 2 / max(rest[0], 1),
    ]
    freedom = len(terms) - 1
    assert sum(terms) < freedom + 6 * np.sqrt(2 * freedom) + 12


def test_a_trial_succeeds_as_often_as_it_should() -> None:
    """5,000 trials each, five deviations: a false alarm in 10⁶."""
    source = _Bits(Seeded("trials"))
    for gamma in (Fraction(0), Fraction(1, 7), Fraction(2, 3), Fraction(1)):
        succeeded = sum(_succeeds(gamma, source) for _ in range(5_000))
        chance = exp(-gamma)
        assert abs(succeeded - 5_000 * chance) <= 5 * np.sqrt(5_000 * chance * (1 - chance))


def test_without_noise_there_is_none() -> None:
    nothing = TwoSided(Fraction(0))
    assert nothing.draw(3, Seeded(1)) == [0, 0, 0]
    assert within(nothing, nothing) == 0
    assert nothing.beyond(1e-12) == 0


@pytest.mark.parametrize("scales", [(3.0, 3.0), (3.0, 7.0), (20.0, 20.001), (0.5, 2.0), (40.0, 0.0)])
def test_what_is_told_of_both_noises_is_what_they_come_to(scales: tuple[float, float]) -> None:
    a, b = (probabilities(scale) if scale else np.eye(2 * FAR + 1)[FAR] for scale in scales)
    both, far = np.convolve(a, b), np.abs(np.arange(-2 * FAR, 2 * FAR + 1))
    one, two = (TwoSided(Fraction(scale)) for scale in scales)
    told = within(one, two)
    assert both[far <= told].sum() >= 0.95 - 1e-4
    assert both[far < told].sum() < 0.95


def test_a_ring_is_wide_enough_for_the_noise() -> None:
    noise = TwoSided(Fraction(9))
    far = noise.beyond(2.0**-41)
    assert 2 * exp(-far / 9) <= 2.0**-40
