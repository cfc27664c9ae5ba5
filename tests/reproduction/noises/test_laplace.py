"""The paper's noise: its corrected shift, its published one and how far that is off."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.file import parse_agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter, starter_text
from accord.errors import UsageError
from accord.privacy.accounting import basic, exact
from accord.privacy.calibration import as_claimed, calibrate
from accord.privacy.events import decode, encode, released
from accord.privacy.noise import exact_delta, losses
from accord.side import Side
from reproduction.noises.laplace import Laplace, published_shift, shift_bounds
from tests.agreement.faulty import faults
from tests.privacy import test_losses, test_window
from tests.privacy.definition import moved_delta

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
        assert published.noise.window.middle == shift
        assert published.delta_exact / float(published.delta) == pytest.approx(ratio, abs=6e-4)
        assert published.kept == (ratio <= 1)
        assert calibrate("paper", epsilon, delta, bins).noise.window.middle == true


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
        assert found.noise.window.middle == shift
        assert found.delta_exact < records ** -math.log(records) + 1e-70


SMALL = [
    Laplace(3, Fraction(1, 2), 2),
    Laplace(3, Fraction(2, 5), 2),
    Laplace(2, Fraction(6, 5), 4),
    Laplace(0, Fraction(1, 2), 2),
]


@pytest.mark.parametrize("noise", SMALL, ids=repr)
def test_losses_agree_with_the_definition(noise: Laplace) -> None:
    test_losses.test_one_bin_agrees_with_the_definition(noise)
    test_losses.test_a_grid_only_raises_delta_and_not_by_much(noise)


def test_losses_of_several_bins_agree_with_the_definition() -> None:
    for noise in SMALL[2:]:
        test_losses.test_two_bins_agree_with_the_definition(noise)
    test_losses.test_three_bins_agree_with_a_count_of_losses(SMALL[1])


@pytest.mark.parametrize("name", ["paper", "paper-2017", "negligible"])
def test_tables_are_exact_and_draws_follow_them(name: str) -> None:
    for noise in (Laplace(3, Fraction(1, 2), 64), as_claimed(name, "1.6", "1e-5", 4, 1000).noise):
        test_window.test_the_table_is_the_ideal_distribution_within_its_stated_distance(noise)
        test_window.test_draws_follow_the_table(noise)
    test_window.test_every_boundary_of_the_table_falls_on_its_right_side(Laplace(4, Fraction(1, 3), 64))


def test_a_window_that_is_not_log_concave_has_no_line() -> None:
    with pytest.raises(ValueError, match="no line"):
        Laplace(3, Fraction(1, 3), 4).window.moves(2)


def test_a_noise_that_is_not_log_concave_has_worse_tables_and_is_refused() -> None:
    """Two records that enter two bins tell more than two that enter one: the theorem needs its condition."""
    q = test_losses.fractions(SMALL[1])
    assert moved_delta(q, [1, 1, -2], Fraction(1)) > moved_delta(q, [2, -2], Fraction(1))
    with pytest.raises(UsageError, match="needs the noise 'auto', 'geometric' or"):
        losses(SMALL[1], 1, 2)


def test_the_published_noise_may_be_audited_but_not_used() -> None:
    assert as_claimed("paper-2017", 1.6, "1e-5").kept
    with pytest.raises(UsageError, match="audit and reproduction only"):
        calibrate("paper-2017", 1.6, "1e-5")
    with pytest.raises(UsageError, match="number of records"):
        calibrate("negligible", 1, "1e-5")


def test_a_promise_that_is_not_kept_is_refused() -> None:
    assert not as_claimed("negligible", 1, "2^-128", 1, 100).kept
    with pytest.raises(UsageError, match="has δ = "):
        calibrate("negligible", 1, "2^-128", 1, 100)
    with pytest.raises(UsageError, match="larger ε"):
        calibrate("paper", "0.000001", "1e-5")


@pytest.mark.parametrize(("epsilon", "share"), [("0.1", 0.45), ("0.4", 0.37), ("1.6", 0.27)])
def test_the_default_saves_what_is_claimed_over_the_paper(epsilon: str, share: float) -> None:
    ours = calibrate("geometric", epsilon, "1e-5").expected_dummies
    paper = as_claimed("paper-2017", epsilon, "1e-5").expected_dummies
    assert 1 - ours / paper == pytest.approx(share, abs=0.006)


@pytest.mark.parametrize("name", ["paper", "paper-2017", "negligible"])
def test_none_hides_people(name: str) -> None:
    with pytest.raises(UsageError, match="needs the noise 'auto', 'geometric' or 'gaussian'"):
        as_claimed(name, 1, "1e-5", 1, 100, 2)


def test_a_ledger_reads_its_event() -> None:
    event = released(calibrate("paper", "1.6", "1e-5"))
    assert decode(encode(event)) == event
    other = released(calibrate("geometric", "0.4", "1e-5"))
    total = basic([event, other])
    assert exact([event, other]).delta(total.epsilon + Fraction(1, 100)) <= float(total.delta)


def test_what_an_agreement_may_name() -> None:
    text = starter_text("products", "00000000")
    agreed = parse_agreement(text.replace('noise = "auto"', 'noise = "paper"', 1))
    assert agreed.model_dump(mode="json")["protocol"]["A"]["noise"] == "paper"
    (fault,) = faults(text.replace('noise = "auto"', 'noise = "paper-2017"', 1))
    assert "should be 'auto', 'geometric', 'gaussian', 'paper' or 'negligible'" in fault


def test_simulated_the_published_noise_says_what_it_has() -> None:
    made = generate_products(100, None, 1)
    low = adjust(starter("products"), epsilon="0.1", delta="1e-5")
    found = accord.simulate(made.a, made.b, low, noise="paper-2017")
    assert found.promises[Side.A].delta == pytest.approx(1.0089e-5, rel=1e-3)
