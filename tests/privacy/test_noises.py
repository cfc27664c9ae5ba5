"""Noises: exact tables, samplers right at every boundary, closed forms, settings that keep their promise."""

from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import exp
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.entropy import NOISE, Entropy, Seeded
from accord.errors import UsageError
from accord.exact import Number, exact
from accord.privacy.calibration import NOISES, as_claimed, calibrate
from accord.privacy.noise import AUTO, Noise, draw, exact_delta
from accord.privacy.noise_answers import TwoSided, _Bits, _succeeds, within
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import SHARES, Geometric, expected
from accord.privacy.window import Steps, Window, reach, sample

# -- window --------------------------------------------------------------------------------------------------

WINDOWS = [
    Geometric(5, Fraction(1, 3), Fraction(1, 7), 3).window,
    Geometric(0, Fraction(1), Fraction(1, 2), 4).window,
    Gaussian(6, Fraction(7, 3), 9).window,
]
ALPHA = 1e-6
DRAWS = 100_000
SMALL = Geometric(3, Fraction(1), Fraction(1, 2), 64)
CLAIMS = {
    "geometric": ("geometric", "0.4", "1e-5", 1),
    "gaussian": ("gaussian", "0.4", "1e-5", 1),
    "gaussian, four bins": ("gaussian", "1.6", "1e-5", 4),
}
FEW: dict[str, Noise] = {
    "small": SMALL,
    "one slope": Geometric(0, Fraction(1), Fraction(1, 2), 64),
    "small gaussian": Gaussian(10, Fraction(25, 2), 64),
}


@pytest.fixture(params=[*FEW, *CLAIMS])
def noise(request: pytest.FixtureRequest) -> Noise:
    """Calibrated only where a test runs."""
    name = request.param
    return FEW[name] if name in FEW else as_claimed(*CLAIMS[name], 1000).noise


@pytest.mark.parametrize("window", WINDOWS, ids=["geometric", "one slope", "gaussian"])
@pytest.mark.parametrize("by", [1, 2, 3, 7])
def test_a_move_is_the_sum_of_its_steps(window: Window, by: int) -> None:
    def values(units: tuple[Fraction, ...], places: Steps) -> list[Fraction]:
        rows = [zip(place, units, strict=True) for place in places]
        return [sum((int(n) * unit for n, unit in row), Fraction(0)) for row in rows]

    single = values(window.units, window.steps)
    units, places = window.moves(by)
    assert values(units, places) == [sum(single[x : x + by]) for x in range(window.cap - by + 1)]
    assert units[0] >= 0


def test_several_steps_lie_on_as_short_a_line_as_can_be() -> None:
    for window in WINDOWS[::2]:
        numbers = np.unique(window.moves(4)[1][:, 0])
        assert np.array_equal(np.diff(numbers), np.ones(len(numbers) - 1))
    assert [reach(Fraction(1, 2**bits)) for bits in (1, 128)] == [64, 109]
    assert reach(Fraction(1, 2), Fraction(5, 2)) == 67


class OneNumber:
    """One number of 256 bits, most significant word first, the rest as little-endian bytes."""

    def __init__(self, number: int) -> None:
        self._parts = [
            (number >> 192).to_bytes(8, "little"),
            (number & (1 << 192) - 1).to_bytes(24, "little"),
        ]

    def bytes(self, count: int) -> bytes:
        part = self._parts.pop(0)
        assert len(part) == count
        return part

    def stream(self, name: str) -> Entropy:
        return self


def test_every_boundary_of_the_table_falls_on_its_right_side() -> None:
    for noise in (SMALL, Gaussian(6, Fraction(4), 64)):
        cumulative = list(accumulate(noise.window.table))
        assert cumulative[-1] == 2**256
        numbers = {n for c in cumulative for n in (c - 1, c, c + 1) if 0 <= n < 2**256}
        for number in numbers | {0, 2**256 - 1, (cumulative[2] >> 192) << 192}:
            assert sample(noise.window, 1, OneNumber(number))[0] == bisect_right(cumulative, number)


def test_the_table_is_the_ideal_distribution_within_its_stated_distance(noise: Noise) -> None:
    window = noise.window
    gaps = [
        abs(Fraction(t, 2**256) - Fraction(p))
        for t, p in zip(window.table, window.probabilities, strict=True)
    ]
    assert sum(gaps) / 2 <= window.distance < Fraction(1, 2**230)
    assert min(window.table) >= 0
    # Away from the middle every entry is rounded down, so no unlikely outcome is made likelier.
    others = [x for x in range(window.cap + 1) if x != window.middle]
    assert all(window.table[x] <= Fraction(window.probabilities[x]) * 2**256 for x in others)


def test_draws_follow_the_table(noise: Noise) -> None:
    """χ² against the table. Unlikely values count as one. False alarm 1e-6."""
    from scipy.stats import chisquare

    seen = np.bincount(draw(noise, DRAWS, Seeded(11))).astype(np.float64)
    expected = np.array([float(Fraction(weight, 2**256)) for weight in noise.window.table]) * DRAWS
    seen = np.pad(seen, (0, len(expected) - len(seen)))
    kept = expected >= 10
    observed, target = (np.append(some[kept], some[~kept].sum()) for some in (seen, expected))
    observed, target = (np.append(some[:-2], some[-2:].sum()) for some in (observed, target))
    assert chisquare(observed, target * observed.sum() / target.sum()).pvalue > ALPHA
    assert sample(noise.window, 9, Seeded(1).stream(NOISE)).tolist() == draw(noise, 9, Seeded(1)).tolist()


# -- noise geometric -----------------------------------------------------------------------------------------


def slopes(up: str, down: str, middle: int) -> Geometric:
    return Geometric(middle, Fraction(up), Fraction(down), 64)


def test_known_settings() -> None:
    first, second = slopes("1.28", "0.32", 8), slopes("0.6", "0.2", 17)
    assert float(first.window.probabilities[0]) == pytest.approx(8.846996e-6, rel=1e-6)
    assert float(first.window.mean) == pytest.approx(10.266548, abs=1e-6)
    assert exact_delta(first, 1, Fraction("1.6")) == pytest.approx(8.846996e-6, rel=1e-6)
    assert exact_delta(second, 2, Fraction("1.6")) == pytest.approx(1.1041238e-5, rel=1e-7)
    assert float(second.window.mean) == pytest.approx(20.300438, abs=1e-6)
    # The second is a little too weak for δ = 1e-5, and so not chosen.
    assert calibrate("geometric", "1.6", "1e-5", 2).noise != second


def test_a_loss_on_epsilon_costs_nothing_and_just_below_it_does() -> None:
    noise = slopes("1.28", "0.32", 8)
    at, below = (exact_delta(noise, 1, Fraction(e)) for e in ("1.6", "1.5999999999"))
    assert below > at * (1 + 1e-6)


# k', g, ε, δ, share of s_u, middle, E[dummies]
SETTINGS = [
    (1, 1, "0.1", "1e-5", ".742", 102, 127.3),
    (1, 1, "0.1", "1e-9", ".808", 205, 244.7),
    (1, 1, "0.1", "2^-40", ".842", 278, 329.4),
    (1, 1, "0.4", "1e-7", ".798", 42, 51.2),
    (1, 1, "0.4", "2^-40", ".848", 73, 86.5),
    (1, 1, "1.6", "1e-5", ".794", 8, 10.2),
    (1, 1, "1.6", "1e-9", ".806", 15, 17.4),
    (1, 1, "1.6", "2^-40", ".858", 19, 22.6),
    (2, 1, "0.1", "1e-9", ".808", 410, 489.4),
    (2, 1, "0.4", "1e-7", ".790", 85, 102.5),
    (2, 1, "1.6", "1e-5", ".758", 17, 20.5),
    (2, 1, "1.6", "1e-7", ".802", 23, 27.7),
    (1, 2, "1", "2^-40", None, None, 71.9),
    (1, 5, "1", "2^-40", None, None, 180.5),
    (3, 2, "1", "2^-40", None, None, 214.8),
    (5, 5, "1", "2^-40", None, None, 894.3),
]


@pytest.mark.parametrize(("bins", "people", "epsilon", "delta", "share", "middle", "mean"), SETTINGS)
def test_the_table_of_settings(
    bins: int, people: int, epsilon: str, delta: str, share: str | None, middle: int | None, mean: float
) -> None:
    found = calibrate("geometric", epsilon, delta, bins, records_per_person=people)
    assert isinstance(found.noise, Geometric)
    assert people * bins * (found.noise.up + found.noise.down) == Fraction(epsilon)
    if share is not None:
        assert (found.noise.middle, found.noise.up * bins) == (middle, Fraction(share) * Fraction(epsilon))
    assert found.expected_dummies == pytest.approx(mean, abs=0.051)
    assert found.kept


def test_how_far_a_noise_spreads() -> None:
    window = calibrate("geometric", "0.1", "1e-5").noise.window
    assert window.deviation == pytest.approx(41, rel=0.03)
    assert window.quantile(Fraction(999, 1000)) == pytest.approx(358, abs=1)


@given(
    st.integers(0, 12),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 3),
    st.integers(1, 6),
)
def test_delta_and_mean_are_the_closed_forms(
    middle: int, up: int, down: int, bins: int, records: int
) -> None:
    """For one record and for the records of a person."""
    noise = Geometric(middle, Fraction(up, 10), Fraction(down, 10), 64)
    q = [Fraction(p) for p in noise.window.probabilities]
    for people in (1, records):
        low, high = sum(q[:people]), sum(q[-people:])
        closed = 1 - ((1 - low) * (1 - high)) ** bins
        found = Fraction(exact_delta(noise, bins, people * bins * (noise.up + noise.down), people))
        assert closed <= found <= closed * (1 + Fraction(1, 10**9)) + Fraction(1, 2**150)
    mean = expected(*(np.array([float(x)]) for x in (noise.middle, noise.up, noise.down)))[0]
    assert float(noise.window.mean) == pytest.approx(mean, rel=1e-9)


# -- noise gaussian ------------------------------------------------------------------------------------------


# k', g, ε, δ, E[dummies]
GAUSSIAN = [
    (1, 1, "0.1", "1e-5", 177),
    (1, 1, "0.1", "1e-9", 415),
    (1, 1, "1.6", "1e-7", 24),
    (2, 1, "0.4", "1e-5", 77),
    (10, 1, "0.4", "1e-9", 370),
    (10, 1, "1.6", "1e-7", 78),
    (1, 2, "1", "2^-40", 135),
    (5, 5, "1", "2^-40", 764),
]


@pytest.mark.parametrize(("bins", "people", "epsilon", "delta", "mean"), GAUSSIAN)
def test_the_table_of_expected_dummies(bins: int, people: int, epsilon: str, delta: str, mean: int) -> None:
    found = calibrate("gaussian", epsilon, delta, bins, records_per_person=people)
    assert found.kept
    # A finer search over σ than the table's finds one dummy less in places, never more.
    assert mean - 1.1 < found.expected_dummies < mean + 0.6


def test_probabilities_are_gaussian() -> None:
    q = Gaussian(12, Fraction(9), 64).window.probabilities
    for x in (0, 5, 12, 20):
        assert float(q[x] / q[12]) == pytest.approx(math.exp(-((x - 12) ** 2) / 18), rel=1e-14)


def test_one_less_in_the_middle_would_break_the_promise() -> None:
    found = calibrate("gaussian", "1.6", "1e-5", 3)
    assert isinstance(found.noise, Gaussian)
    variances = [found.noise.variance * Fraction(share, 100) for share in range(70, 131, 5)]
    tighter = [Gaussian(found.noise.middle - 1, variance, found.noise.reach) for variance in variances]
    assert min(exact_delta(noise, 3, Fraction("1.6")) for noise in tighter) > 1e-5


def cheaper(epsilon: str, delta: str, bins: int) -> str:
    means = {n: calibrate(n, epsilon, delta, bins).expected_dummies for n in ("geometric", "gaussian")}
    return min(means, key=lambda name: means[name])


def test_at_the_default_delta_auto_is_geometric_up_to_three_bins_and_gaussian_from_four() -> None:
    """A larger δ favours the gaussian at three bins."""
    for epsilon, bins in (("1", 1), ("3", 3), ("0.4", 4), ("1", 10)):
        found = calibrate("auto", epsilon, "2^-40", bins)
        assert found.name == cheaper(epsilon, "2^-40", bins) == ("geometric" if bins <= 3 else "gaussian")
        assert found == calibrate(found.name, epsilon, "2^-40", bins)
    assert cheaper("0.4", "1e-5", 3) == "gaussian"
    assert cheaper("0.4", "1e-5", 2) == "geometric"


@pytest.mark.parametrize(("records", "bins"), [(2, 1), (3, 2), (5, 3)])
def test_the_exact_delta_for_people_is_below_the_bound_by_concentrated_privacy(
    records: int, bins: int
) -> None:
    """A second opinion: the untruncated discrete Gaussian is ρ-zCDP with ρ = Σ j²/(2σ²) [CKS20]. Far from
    both ends truncation is no more than the probability to lie near them."""
    noise = Gaussian(400, Fraction(900), 80)
    q = noise.window.probabilities
    rho, epsilon = bins * records**2 / 900, 1.0
    orders = [1 + i / 50 for i in range(1, 5000)]
    logs = [(a - 1) * (a * rho - epsilon) - math.log(a - 1) + a * math.log1p(-1 / a) for a in orders]
    ends = 2 * bins * float(sum(q[:records]) + sum(q[-records:]))
    found = exact_delta(noise, bins, Fraction(1), records)
    assert 1e-3 * math.exp(min(logs)) < found <= math.exp(min(logs)) + ends


# -- noise answers -------------------------------------------------------------------------------------------

FAR = 600


def probabilities(scale: float) -> np.ndarray:
    """Of −FAR..FAR."""
    found = np.exp(-np.abs(np.arange(-FAR, FAR + 1)) / scale)
    return found / found.sum()


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(12)])
def test_draws_have_the_claimed_shape(scale: Fraction) -> None:
    """Pearson's statistic over the middle values, against its mean + 6 deviations: a false alarm in 10⁷."""
    count = 6_000
    drawn = np.array(TwoSided(scale).draw(count, Seeded(f"draws {scale}")))
    expected = probabilities(float(scale)) * count
    usual = expected >= 5
    seen = np.bincount(np.clip(drawn + FAR, 0, 2 * FAR), minlength=2 * FAR + 1)
    observed, target = (np.append(some[usual], some[~usual].sum()) for some in (seen, expected))
    freedom = len(target) - 1
    statistic = ((observed - target) ** 2 / np.maximum(target, 1)).sum()
    assert statistic < freedom + 6 * np.sqrt(2 * freedom) + 12


def test_a_trial_succeeds_as_often_as_it_should() -> None:
    """5,000 trials each, five deviations: a false alarm in 10⁶."""
    source = _Bits(Seeded("trials"))
    for gamma in (Fraction(0), Fraction(1, 7), Fraction(2, 3), Fraction(1)):
        succeeded = sum(_succeeds(gamma, source) for _ in range(5_000))
        chance = exp(-gamma)
        assert abs(succeeded - 5_000 * chance) <= 5 * np.sqrt(5_000 * chance * (1 - chance))


def test_without_noise_there_is_none_and_a_ring_is_wide_enough_for_it() -> None:
    nothing = TwoSided(Fraction(0))
    assert nothing.draw(3, Seeded(1)) == [0, 0, 0]
    assert within(nothing, nothing) == 0
    assert nothing.beyond(1e-12) == 0
    assert 2 * exp(-TwoSided(Fraction(9)).beyond(2.0**-41) / 9) <= 2.0**-40


@pytest.mark.parametrize("scales", [(3.0, 3.0), (3.0, 7.0), (20.0, 20.001), (0.5, 2.0), (40.0, 0.0)])
def test_what_is_told_of_both_noises_is_what_they_come_to(scales: tuple[float, float]) -> None:
    a, b = (probabilities(scale) if scale else np.eye(2 * FAR + 1)[FAR] for scale in scales)
    both, far = np.convolve(a, b), np.abs(np.arange(-2 * FAR, 2 * FAR + 1))
    one, two = (TwoSided(Fraction(scale)) for scale in scales)
    told = within(one, two)
    assert both[far <= told].sum() >= 0.95 - 1e-4
    assert both[far < told].sum() < 0.95


# -- calibration ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "epsilon", "delta", "more"),
    [
        *(("geometric", epsilon, "1e-5", {}) for epsilon in (0, -1, "0", Fraction(0), 65, "no")),
        *(("geometric", 1, delta, {}) for delta in (0, 1, -0.1, 1.5, "2^-129", "no")),
        *((name, "0.000001", "1e-5", {}) for name in (AUTO, *NOISES)),
        ("laplace", 1, "1e-5", {}),
        ("geometric", 1, "1e-5", {"bins_per_record": 0}),
        *(("geometric", 1, "1e-5", {"records_per_person": people}) for people in (0, 21)),
    ],
)
def test_settings_that_no_noise_has_are_refused(
    noise: str, epsilon: Number, delta: Number, more: dict[str, Any]
) -> None:
    """Among them one that is too wide to sample."""
    with pytest.raises(UsageError):
        calibrate(noise, epsilon, delta, **more)


def test_every_way_to_write_a_number_gives_the_same_setting() -> None:
    written: list[tuple[Number, Number]] = [
        (0.4, 1e-5),
        ("0.4", "1e-5"),
        (Decimal("0.4"), Decimal("1e-5")),
        (Fraction(2, 5), "1/100000"),
    ]
    found = {calibrate("geometric", epsilon, delta).noise for epsilon, delta in written}
    assert len(found) == 1


def test_a_delta_above_one_in_n_is_warned_of() -> None:
    assert "1/300,000" in calibrate("geometric", 1, "1e-5", 1, 300_000).warnings[0]
    assert calibrate("geometric", 1, "1e-5", 1, 100_000).warnings == ()
    assert calibrate("geometric", 1, "1e-5").warnings == ()


@pytest.mark.parametrize("name", [AUTO, *NOISES])
@pytest.mark.parametrize(
    ("bins", "people", "epsilon", "delta"),
    [
        (1, 1, "0.3", "1e-6"),
        (3, 1, "2.5", "1e-6"),
        (1, 20, "8", "0.3"),
        (1, 20, "20", "2^-128"),
        (1, 1, "3", "2^-128"),
        (1, 1, "0.5", "0.3"),
    ],
)
def test_every_promise_is_kept(name: str, bins: int, people: int, epsilon: str, delta: str) -> None:
    found = calibrate(name, epsilon, delta, bins, 5000, records_per_person=people)
    assert found.kept
    assert 0 < found.delta_exact <= exact(delta)
    assert found.delta_exact == exact_delta(found.noise, bins, Fraction(epsilon), people)


def test_no_geometric_of_the_search_with_less_noise_keeps_the_promise() -> None:
    epsilon, delta = Fraction("1.6"), Fraction("1e-5")
    found = calibrate("geometric", epsilon, delta)
    for share in range(SHARES // 4, SHARES, 15):
        up = epsilon * share / SHARES
        for middle in range(found.noise.window.middle - 3, found.noise.window.middle + 2):
            other = Geometric(middle, up, epsilon - up, 64)
            if other.window.mean < found.noise.window.mean:
                assert exact_delta(other, 1, epsilon) > delta


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
