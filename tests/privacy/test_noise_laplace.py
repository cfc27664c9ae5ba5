"""The paper's noise: its corrected shift, its published one and how far that is off."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from accord.privacy.calibration import as_claimed, calibrate
from accord.privacy.noise import exact_delta
from accord.privacy.noise_laplace import Laplace, published_shift, shift_bounds

DELTAS = ("1e-5", "1e-7", "1e-9")

# k', ε, published ⌈η⁰⌉, exact/claimed δ of it, least shift that is true; at δ = 1e-5, 1e-7, 1e-9
TABLE = [
    (1, "0.1", (230, 322, 414), (1.009, 1.014, 1.019), (231, 323, 415)),
    (1, "0.4", (58, 81, 104), (0.842, 0.846, 0.850), (58, 81, 104)),
    (1, "1.6", (14, 20, 26), (0.943, 0.777, 0.639), (14, 20, 26)),
    (2, "0.1", (488, 672, 857), (1.004, 1.010, 0.990), (489, 673, 857)),
    (2, "0.4", (122, 168, 214), (0.974, 0.979, 0.984), (122, 168, 214)),
    (2, "1.6", (30, 42, 53), (0.778, 0.640, 0.786), (30, 41, 53)),
    (10, "0.4", (691, 921, 1151), (0.990, 0.996, 1.0006), (691, 921, 1152)),
    (10, "1.6", (173, 230, 288), (0.806, 0.843, 0.814), (171, 228, 286)),
]
SLOW = (10, "0.1", (2763, 3684, 4605), (1.0002, 1.0004, 1.0006), (2764, 3685, 4606))


@pytest.mark.parametrize(
    ("bins", "epsilon", "shifts", "ratios", "least"), [*TABLE, pytest.param(*SLOW, marks=pytest.mark.slow)]
)
def test_the_table_of_shifts(
    bins: int, epsilon: str, shifts: tuple[int, ...], ratios: tuple[float, ...], least: tuple[int, ...]
) -> None:
    for delta, shift, ratio, true in zip(DELTAS, shifts, ratios, least, strict=True):
        published = as_claimed("paper-2017", epsilon, delta, bins)
        assert published.noise.middle == shift
        assert published.delta_exact / float(published.delta) == pytest.approx(ratio, abs=6e-4)
        assert published.kept == (ratio <= 1)
        assert calibrate("paper", epsilon, delta, bins).noise.middle == true


@pytest.mark.parametrize(
    ("slope", "middle", "epsilon", "delta"),
    [("0.8", 14, "1.6", 9.4348e-6), ("0.2", 58, "0.4", 8.4150e-6), ("0.05", 230, "0.1", 1.0089e-5)],
)
def test_exact_delta_vectors(slope: str, middle: int, epsilon: str, delta: float) -> None:
    noise = Laplace(middle, Fraction(slope), 64)
    assert exact_delta(noise, 1, Fraction(epsilon)) == pytest.approx(delta, rel=1e-5)


def test_the_published_noise_breaks_its_promise_at_a_tenth() -> None:
    found = as_claimed("paper-2017", "0.1", "1e-5")
    assert found.delta_exact > 1.0089e-5
    assert not found.kept


def test_the_published_shift_at_the_papers_default() -> None:
    assert float(published_shift(Fraction("1.6"), Fraction("1e-5"), 1)) == pytest.approx(13.794, abs=5e-4)


@pytest.mark.parametrize(
    ("epsilon", "bins", "shift"), [("0.1", 1, 231), ("0.4", 1, 58), ("1.6", 1, 15), ("0.1", 10, 2764)]
)
def test_the_proven_shift_is_the_closed_form(epsilon: str, bins: int, shift: int) -> None:
    assert shift_bounds(Fraction(epsilon), Fraction("1e-5"), bins)[1] == shift


@pytest.mark.parametrize("epsilon", ["0.05", "0.3", "1", "3", "8"])
def test_the_least_shift_is_least_and_within_its_bounds(epsilon: str) -> None:
    e, d = Fraction(epsilon), Fraction("1e-6")
    found = calibrate("paper", e, d, 2).noise
    low, high = shift_bounds(e, d, 2)
    assert isinstance(found, Laplace)
    assert low < found.middle <= high
    assert exact_delta(Laplace(found.middle - 1, found.slope, found.reach), 2, e) > d


def test_the_atom_holds_the_whole_left_tail() -> None:
    s, m = 0.3, 5
    q = Laplace(m, Fraction("0.3"), 64).window.probabilities
    p = (math.exp(s) - 1) / (math.exp(s) + 1)
    assert float(q[0]) == pytest.approx(math.exp(-s * m) * math.exp(s) / (math.exp(s) + 1), rel=1e-12)
    for x in (1, 4, 5, 9):
        assert float(q[x]) == pytest.approx(p * math.exp(-s * abs(x - m)), rel=1e-12)


@pytest.mark.parametrize(
    ("records", "shifts"),
    [(5000, (1451, 363, 91)), (300_000, (3182, 796, 199)), (4_800_000, (4734, 1184, 296))],
)
def test_negligible_shifts(records: int, shifts: tuple[int, ...]) -> None:
    for epsilon, shift in zip(("0.1", "0.4", "1.6"), shifts, strict=True):
        found = calibrate("negligible", epsilon, "2^-40", 1, records)
        assert found.noise.middle == shift
        assert found.delta_exact < records ** -math.log(records) + 1e-70
