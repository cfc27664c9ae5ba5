"""Calibration: what is refused, what is warned of, and that the answer is the least that is true."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from accord.errors import UsageError
from accord.exact import Number
from accord.privacy.calibration import NOISES, calibrate
from accord.privacy.noise import AUTO, exact_delta
from accord.privacy.noise_geometric import SHARES, Geometric


@pytest.mark.parametrize("epsilon", [0, -1, "0", Fraction(0), 65, "no"])
def test_impossible_epsilons_are_refused(epsilon: Number) -> None:
    with pytest.raises(UsageError, match="ε"):
        calibrate("geometric", epsilon, "1e-5")


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, "2^-129", "no"])
def test_impossible_deltas_are_refused(delta: Number) -> None:
    with pytest.raises(UsageError, match="δ"):
        calibrate("geometric", 1, delta)


def test_every_way_to_write_a_number_gives_the_same_setting() -> None:
    written: list[tuple[Number, Number]] = [
        (0.4, 1e-5),
        ("0.4", "1e-5"),
        (Decimal("0.4"), Decimal("1e-5")),
        (Fraction(2, 5), "1/100000"),
    ]
    found = {calibrate("geometric", epsilon, delta).noise for epsilon, delta in written}
    assert len(found) == 1


def test_unknown_noise_bins_and_missing_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match="geometric, gaussian"):
        calibrate("laplace", 1, "1e-5")
    with pytest.raises(UsageError, match="at least one bin"):
        calibrate("geometric", 1, "1e-5", 0)


def test_a_setting_too_wide_to_sample_is_refused() -> None:
    for name in ("geometric", "gaussian"):
        with pytest.raises(UsageError, match="larger ε"):
            calibrate(name, "0.000001", "1e-5")


def test_a_delta_above_one_in_n_is_warned_of() -> None:
    assert "1/300,000" in calibrate("geometric", 1, "1e-5", 1, 300_000).warnings[0]
    assert calibrate("geometric", 1, "1e-5", 1, 100_000).warnings == ()
    assert calibrate("geometric", 1, "1e-5").warnings == ()


@pytest.mark.parametrize("name", [AUTO, *NOISES])
@pytest.mark.parametrize("bins", [1, 3])
@pytest.mark.parametrize("epsilon", ["0.3", "2.5"])
def test_every_promise_is_kept(name: str, bins: int, epsilon: str) -> None:
    found = calibrate(name, epsilon, "1e-6", bins, 5000)
    assert found.kept
    assert 0 < found.delta_exact <= 1e-6
    assert found.delta_exact == exact_delta(found.noise, bins, Fraction(epsilon))


def test_no_geometric_of_the_search_with_less_noise_keeps_the_promise() -> None:
    epsilon, delta = Fraction("1.6"), Fraction("1e-5")
    found = calibrate("geometric", epsilon, delta)
    for share in range(SHARES // 4, SHARES, 5):
        up = epsilon * share / SHARES
        for middle in range(found.noise.window.middle - 3, found.noise.window.middle + 2):
            other = Geometric(middle, up, epsilon - up, 64)
            if other.window.mean < found.noise.window.mean:
                assert exact_delta(other, 1, epsilon) > delta


def test_the_setting_that_is_a_little_too_weak_is_not_chosen() -> None:
    found = calibrate("geometric", "1.6", "1e-5", 2)
    assert found.noise != Geometric(17, Fraction("0.6"), Fraction("0.2"), 64)
    assert found.expected_dummies > 20.300438


def test_the_two_sides_may_have_different_budgets() -> None:
    a, b = calibrate("geometric", "1.6", "1e-5", 1), calibrate("gaussian", "0.4", "1e-9", 4)
    assert (a.epsilon, a.bins_per_record, b.epsilon, b.bins_per_record) == (
        Fraction(8, 5),
        1,
        Fraction(2, 5),
        4,
    )
    assert a.kept
    assert b.kept


def test_people_have_a_number_of_records() -> None:
    for records in (0, 21):
        with pytest.raises(UsageError, match="1 to 20 records"):
            calibrate("geometric", 1, "1e-5", records_per_person=records)


@pytest.mark.parametrize("name", ["geometric", "gaussian"])
def test_one_record_a_person_is_a_record(name: str) -> None:
    assert calibrate(name, 1, "1e-5", 2, None, 1) == calibrate(name, 1, "1e-5", 2)


@pytest.mark.parametrize("name", ["geometric", "gaussian"])
def test_people_cost_less_than_the_records_of_each_one_by_one(name: str) -> None:
    """Replacing g records one after the other is (g·ε, δ·(1 + e^ε + … + e^((g−1)ε))) [MATHS §1.4]."""
    records, epsilon, delta = 4, 1.0, 1e-9
    share = epsilon / records
    single = delta / sum(math.exp(i * share) for i in range(records))
    by_steps = calibrate(name, Fraction(1, records), Fraction(single), 2).expected_dummies
    at_once = calibrate(name, epsilon, delta, 2, records_per_person=records)
    assert at_once.kept
    assert at_once.expected_dummies < by_steps
