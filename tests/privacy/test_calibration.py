"""Calibration: what is refused, what is warned of, and that the answer is the least that is true."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from accord.errors import UsageError
from accord.exact import Number
from accord.privacy.calibration import as_claimed, calibrate
from accord.privacy.noise import NAMES, exact_delta
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
    with pytest.raises(UsageError, match="number of records"):
        calibrate("negligible", 1, "1e-5")


def test_the_published_noise_may_be_audited_but_not_used() -> None:
    assert as_claimed("paper-2017", 1.6, "1e-5").kept
    with pytest.raises(UsageError, match="audit and reproduction only"):
        calibrate("paper-2017", 1.6, "1e-5")


def test_a_promise_that_is_not_kept_is_refused() -> None:
    assert not as_claimed("negligible", 1, "2^-128", 1, 100).kept
    with pytest.raises(UsageError, match="has δ = "):
        calibrate("negligible", 1, "2^-128", 1, 100)


def test_a_setting_too_wide_to_sample_is_refused() -> None:
    for name in ("geometric", "gaussian", "paper"):
        with pytest.raises(UsageError, match="larger ε"):
            calibrate(name, "0.000001", "1e-5")


def test_a_delta_above_one_in_n_is_warned_of() -> None:
    assert "1/300,000" in calibrate("geometric", 1, "1e-5", 1, 300_000).warnings[0]
    assert calibrate("geometric", 1, "1e-5", 1, 100_000).warnings == ()
    assert calibrate("geometric", 1, "1e-5").warnings == ()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "paper-2017"])
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
        for middle in range(found.noise.middle - 3, found.noise.middle + 2):
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


@pytest.mark.parametrize(("epsilon", "share"), [("0.1", 0.45), ("0.4", 0.37), ("1.6", 0.27)])
def test_the_default_saves_what_is_claimed_over_the_paper(epsilon: str, share: float) -> None:
    ours = calibrate("geometric", epsilon, "1e-5").expected_dummies
    paper = as_claimed("paper-2017", epsilon, "1e-5").expected_dummies
    assert 1 - ours / paper == pytest.approx(share, abs=0.006)


def test_people_need_a_noise_that_protects_them() -> None:
    for name in set(NAMES) - {"auto", "geometric", "gaussian"}:
        with pytest.raises(UsageError, match="needs the noise 'auto', 'geometric' or 'gaussian'"):
            as_claimed(name, 1, "1e-5", 1, 100, 2)
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
