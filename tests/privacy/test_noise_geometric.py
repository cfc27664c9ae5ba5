"""Mechanism A: its closed forms, the vectors and the table of its settings."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.privacy.calibration import calibrate
from accord.privacy.noise import exact_delta
from accord.privacy.noise_geometric import Geometric, expected


def slopes(up: str, down: str, middle: int) -> Geometric:
    return Geometric(middle, Fraction(up), Fraction(down), 64)


def test_first_vector() -> None:
    noise = slopes("1.28", "0.32", 8)
    assert float(noise.window.probabilities[0]) == pytest.approx(8.846996e-6, rel=1e-6)
    assert float(noise.window.mean) == pytest.approx(10.266548, abs=1e-6)
    assert exact_delta(noise, 1, Fraction("1.6")) == pytest.approx(8.846996e-6, rel=1e-6)


def test_second_vector() -> None:
    noise = slopes("0.6", "0.2", 17)
    assert exact_delta(noise, 2, Fraction("1.6")) == pytest.approx(1.1041238e-5, rel=1e-7)
    assert float(noise.window.mean) == pytest.approx(20.300438, abs=1e-6)


@given(
    st.integers(0, 12),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 4),
)
def test_delta_and_mean_are_the_closed_forms(middle: int, up: int, down: int, bins: int) -> None:
    noise = Geometric(middle, Fraction(up, 10), Fraction(down, 10), 64)
    q = noise.window.probabilities
    closed = 1 - ((1 - Fraction(q[0])) * (1 - Fraction(q[-1]))) ** bins
    found = Fraction(exact_delta(noise, bins, bins * (noise.up + noise.down)))
    assert closed <= found <= closed * (1 + Fraction(1, 10**9)) + Fraction(1, 2**150)
    mean = expected(*(np.array([float(x)]) for x in (noise.middle, noise.up, noise.down)))[0]
    assert float(noise.window.mean) == pytest.approx(mean, rel=1e-9)


def test_a_loss_on_epsilon_costs_nothing_and_just_below_it_does() -> None:
    noise = slopes("1.28", "0.32", 8)
    at, below = (exact_delta(noise, 1, Fraction(e)) for e in ("1.6", "1.5999999999"))
    assert below > at * (1 + 1e-6)


# k', ε, δ, share of s_u, middle, E[dummies], exact δ, sd, 99.9 % quantile
TABLE = [
    (1, "0.1", "1e-5", ".742", 102, 127.3, 9.89e-6, 41, 358),
    (1, "0.1", "1e-7", ".774", 156, 187.3, 9.98e-8, 46, 450),
    (1, "0.1", "1e-9", ".808", 205, 244.7, 9.93e-10, 54, 554),
    (1, "0.1", "2^-40", ".842", 278, 329.4, 9.08e-13, 64, 704),
    (1, "0.4", "1e-5", ".766", 29, 36.4, 9.90e-6, 11, 100),
    (1, "0.4", "1e-7", ".798", 42, 51.2, 9.69e-8, 13, 125),
    (1, "0.4", "1e-9", ".802", 56, 65.5, 1.00e-9, 13, 140),
    (1, "0.4", "2^-40", ".848", 73, 86.5, 9.07e-13, 17, 184),
    (1, "1.6", "1e-5", ".794", 8, 10.2, 9.76e-6, 3.1, 28),
    (1, "1.6", "1e-7", ".830", 11, 13.8, 9.93e-8, 3.7, 36),
    (1, "1.6", "1e-9", ".806", 15, 17.4, 9.62e-10, 3.3, 36),
    (1, "1.6", "2^-40", ".858", 19, 22.6, 8.94e-13, 4.4, 49),
]


@pytest.mark.parametrize(
    ("bins", "epsilon", "delta", "share", "middle", "mean", "exact", "sd", "most"), TABLE
)
def test_the_table_of_settings(
    bins: int,
    epsilon: str,
    delta: str,
    share: str,
    middle: int,
    mean: float,
    exact: float,
    sd: float,
    most: int,
) -> None:
    found = calibrate("geometric", epsilon, delta, bins)
    assert isinstance(found.noise, Geometric)
    assert (found.noise.middle, found.noise.up * bins) == (middle, Fraction(share) * Fraction(epsilon))
    assert found.expected_dummies == pytest.approx(mean, abs=0.051)
    assert found.delta_exact == pytest.approx(exact, rel=6e-3)
    assert found.noise.window.deviation == pytest.approx(sd, rel=0.03)
    assert found.noise.window.quantile(Fraction(999, 1000)) == pytest.approx(most, abs=1)


TWO_BINS = [
    ("0.1", (".750", 201, 254), (".776", 311, 375), (".808", 410, 489)),
    ("0.4", (".766", 58, 72.8), (".790", 85, 102), (".822", 109, 131)),
    ("1.6", (".758", 17, 20.5), (".802", 23, 27.7), (".830", 29, 34.8)),
]


@pytest.mark.parametrize(("epsilon", "settings_by_delta"), [(row[0], row[1:]) for row in TWO_BINS])
def test_the_table_for_two_bins(epsilon: str, settings_by_delta: tuple[tuple[str, int, float], ...]) -> None:
    for delta, (share, middle, mean) in zip(("1e-5", "1e-7", "1e-9"), settings_by_delta, strict=True):
        found = calibrate("geometric", epsilon, delta, 2)
        assert isinstance(found.noise, Geometric)
        assert (found.noise.middle, found.noise.up * 2) == (middle, Fraction(share) * Fraction(epsilon))
        assert found.expected_dummies == pytest.approx(mean, abs=0.55 if mean > 100 else 0.051)


@pytest.mark.parametrize(("epsilon", "mean"), [("1.6", 66), ("0.4", 260), ("0.1", 1023)])
def test_two_to_the_minus_128_is_affordable(epsilon: str, mean: float) -> None:
    assert calibrate("geometric", epsilon, "2^-128").expected_dummies == pytest.approx(mean, abs=1)


@given(
    st.integers(0, 12),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 3),
    st.integers(1, 6),
)
def test_delta_for_a_person_is_the_closed_form(
    middle: int, up: int, down: int, bins: int, records: int
) -> None:
    noise = Geometric(middle, Fraction(up, 10), Fraction(down, 10), 64)
    q = [Fraction(p) for p in noise.window.probabilities]
    low, high = sum(q[:records]), sum(q[-records:])
    closed = 1 - ((1 - low) * (1 - high)) ** bins
    epsilon = records * bins * (noise.up + noise.down)
    found = Fraction(exact_delta(noise, bins, epsilon, records))
    assert closed <= found <= closed * (1 + Fraction(1, 10**9)) + Fraction(1, 2**150)


# k', g, E[dummies] at ε = 1, δ = 2^-40
PEOPLE = [(1, 2, 71.9), (1, 5, 180.5), (3, 2, 214.8), (3, 5, 537.3), (5, 2, 357.2), (5, 5, 894.3)]


@pytest.mark.parametrize(("bins", "records", "mean"), PEOPLE)
def test_dummies_for_people(bins: int, records: int, mean: float) -> None:
    found = calibrate("geometric", "1", "2^-40", bins, records_per_person=records)
    assert isinstance(found.noise, Geometric)
    assert found.kept
    assert records * bins * (found.noise.up + found.noise.down) == 1
    assert found.expected_dummies == pytest.approx(mean, abs=0.051)


@pytest.mark.parametrize(("epsilon", "delta"), [("64", "2^-40"), ("8", "0.3"), ("20", "2^-128")])
def test_unusual_promises_to_people_are_kept_too(epsilon: str, delta: str) -> None:
    assert calibrate("geometric", epsilon, delta, 1, records_per_person=20).kept
