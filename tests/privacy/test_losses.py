"""Losses on a lattice against the definition of δ, by listing every outcome, and accountants over them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, product
from math import exp
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.privacy import accounting, number
from accord.privacy.accounting import basic, exact, promised, spent
from accord.privacy.calibration import calibrate
from accord.privacy.events import (
    NO_COST,
    AllPairs,
    Cost,
    Event,
    ExactAnswer,
    NoisyCounts,
    Promise,
    Routing,
    released,
)
from accord.privacy.losses import Losses, compose, nothing, on_grid, repeat
from accord.privacy.noise import Noise, exact_delta, losses
from accord.privacy.noise_gaussian import Gaussian
from accord.privacy.noise_geometric import Geometric
from tests.privacy.definition import excess, moved_delta

# -- losses --------------------------------------------------------------------------------------------------

EPSILONS = [Fraction(n, 8) for n in range(0, 25, 3)]
SMALL: list[Noise] = [
    Geometric(3, Fraction(1), Fraction(1, 2), 3),
    Geometric(0, Fraction(1), Fraction(1, 2), 3),
    Geometric(2, Fraction(1, 5), Fraction(3, 5), 3),
    Gaussian(3, Fraction(4), 3),
    Gaussian(1, Fraction(7, 3), 2),
]


def fractions(noise: Noise) -> list[Fraction]:
    return [Fraction(weight, 2**256) for weight in noise.window.table]


def assert_just_above(found: float, true: Fraction) -> None:
    assert true <= Fraction(found) <= true * (1 + Fraction(1, 10**10)) + Fraction(1, 2**200)


@pytest.mark.parametrize("noise", [pytest.param(SMALL[0], marks=pytest.mark.slow), SMALL[4]], ids=repr)
def test_two_bins_agree_with_the_definition(noise: Noise) -> None:
    """For one record and for two of a person. Two runs with one bin are the same."""
    event = NoisyCounts(noise, 1, Cost(Fraction(3, 2), Fraction(1, 10)))
    for epsilon, records in product(EPSILONS[2::3], (1, 2)):
        true = moved_delta(fractions(noise), [records] * 2 + [-records] * 2, epsilon)
        assert_just_above(exact_delta(noise, 2, epsilon, records), true)
        if records == 1:
            assert_just_above(exact([event, event]).delta(epsilon), true)


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=5),
    st.lists(st.integers(0, 50), min_size=2, max_size=5),
    st.integers(-3, 3),
    st.integers(-3, 3),
)
def test_composition_is_a_sum_over_pairs(one: list[int], two: list[int], low: int, lower: int) -> None:
    unit = (Fraction(1, 3),)
    first = Losses(unit, (low,), np.array(one) / 256, 0.25)
    second = Losses(unit, (lower,), np.array(two) / 256, 0.125)
    both = compose(first, second)
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(1)):
        direct = 0.25 + 0.125 * 0.75
        for (i, p), (j, r) in product(enumerate(one), enumerate(two)):
            loss = float((low + i + lower + j) * unit[0] - epsilon)
            direct += p * r / 65536 * max(0.0, 1 - exp(-loss))
        assert both.delta(epsilon) == pytest.approx(min(1.0, direct), rel=1e-12)


def test_two_axes_convolve_without_running_over() -> None:
    units = (Fraction(1), Fraction(1, 7))
    one = Losses(units, (0, -1), np.array([[0.1, 0.2], [0.3, 0.4]]), 0.0)
    both = compose(one, one)
    assert both.low == (0, -2)
    assert both.mass == pytest.approx(
        np.array([[0.01, 0.04, 0.04], [0.06, 0.20, 0.16], [0.09, 0.24, 0.16]]), rel=1e-12
    )


def test_repetition_is_composition() -> None:
    one = losses(SMALL[0], 1)
    many = compose(compose(one, one), compose(one, compose(one, one)))
    for epsilon in EPSILONS:
        assert repeat(one, 5).delta(epsilon) == pytest.approx(many.delta(epsilon), rel=1e-11)
    for none in (nothing(), repeat(one, 0)):
        assert none.delta(Fraction(0)) < 2.0**-200


def test_lattices_do_not_mix() -> None:
    with pytest.raises(ValueError):
        compose(losses(SMALL[0], 1), losses(SMALL[2], 1))


@pytest.mark.parametrize("noise", SMALL, ids=repr)
def test_a_grid_only_raises_delta_and_not_by_much(noise: Noise) -> None:
    fine, spacing = losses(noise, 2), Fraction(1, 10_007)
    grid = on_grid(fine, spacing, 10**6)
    for epsilon in EPSILONS:
        assert fine.delta(epsilon) <= grid.delta(epsilon) * (1 + 1e-12)
        assert grid.delta(epsilon + spacing) <= fine.delta(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("limit", [1, 3, 40])
def test_clipping_only_raises_delta_and_nothing_inside(limit: int) -> None:
    fine = Losses((Fraction(1, 2),), (-5,), np.array([0.1, 0.2, 0.05, 0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]), 0.01)
    cut = fine.clip(limit)
    assert cut.low[0] >= -limit
    assert cut.low[0] + len(cut.mass) - 1 <= limit
    assert cut.mass.sum() + cut.infinite == pytest.approx(fine.mass.sum() + 0.01, rel=1e-12)
    beyond = fine.mass[max(0, limit + 6) :].sum()
    for epsilon in (Fraction(0), Fraction(1), Fraction(3)):
        assert fine.delta(epsilon) <= cut.delta(epsilon) * (1 + 1e-12)
        assert cut.delta(epsilon) <= fine.delta(epsilon) + beyond + 1e-12


def test_trimming_folds_tails_upward() -> None:
    mass = np.full(3000, 1e-60)
    mass[1000:2000] = 1e-3
    whole = Losses((Fraction(1, 100),), (-1500,), mass, 0.0)
    cut = whole.trim()
    folded = cut.low[0] + 1500
    assert 900 < folded <= 1000
    assert 1000 <= len(cut.mass) < 1200
    assert cut.mass[0] >= mass[: folded + 1].sum()
    assert cut.infinite >= mass[folded + len(cut.mass) :].sum() > 0
    assert cut.delta(Fraction(1)) == pytest.approx(whole.delta(Fraction(1)), rel=1e-12)


def partitions(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way in which bins gain up to `total` records in all and up to `most` each."""
    yield ()
    for part in range(min(total, most), 0, -1):
        yield from ((part, *rest) for rest in partitions(total - part, part))


@st.composite
def log_concave(draw: st.DrawFn) -> list[Fraction]:
    """Probabilities on 0, 1, …, whose ratios fall."""
    tenths = draw(st.lists(st.integers(1, 60), min_size=1, max_size=4))
    ratios = [Fraction(n, 10) for n in sorted(tenths, reverse=True)]
    weights = list(accumulate(ratios, lambda a, b: a * b, initial=Fraction(1)))
    return [weight / sum(weights) for weight in weights]


@given(log_concave(), st.sampled_from([(2, 1), (3, 1), (2, 2)]), st.integers(-8, 16), st.data())
def test_records_that_share_their_bins_are_the_worst_at_every_epsilon(
    q: list[Fraction], person: tuple[int, int], eighths: int, data: st.DataObject
) -> None:
    """The theorem of [MATHS §3.9], for any log-concave noise and any bins that the records lie in."""
    records, bins = person
    ways = [way for way in partitions(records * bins, records) if len(way) <= 3]
    up, down = (data.draw(st.sampled_from(ways)) for _ in range(2))
    epsilon = Fraction(eighths, 8)
    worst = moved_delta(q, [records] * bins + [-records] * bins, epsilon)
    assert moved_delta(q, [*up, *(-j for j in down)], epsilon) <= worst


@pytest.mark.parametrize("noise", SMALL, ids=repr)
def test_several_records_agree_with_the_definition(noise: Noise) -> None:
    for records in (1, 2, 3, 5):
        for epsilon in EPSILONS:
            true = moved_delta(fractions(noise), [records, -records], epsilon)
            assert_just_above(exact_delta(noise, 1, epsilon, records), true)


def test_more_records_of_a_person_cost_more_and_more_than_the_window_hide_nothing() -> None:
    found = [exact_delta(SMALL[0], 2, Fraction(1), records) for records in (1, 2, 3, 4)]
    assert found == sorted(found)
    assert found[0] < found[1]
    assert exact_delta(SMALL[1], 1, Fraction(3), SMALL[1].window.cap) < 1
    assert exact_delta(SMALL[1], 1, Fraction(3), SMALL[1].window.cap + 1) == 1


# -- accounting ----------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    from dp_accounting.pld import privacy_loss_distribution as theirs
HALF = Promise(Cost(Fraction(1, 2), Fraction(1, 10**6)))


def by_dp_accounting(
    noise: Noise, times: int, grid: float, pessimistic: bool, by: int = 1
) -> theirs.PrivacyLossDistribution:
    """One up bin and one down bin as joint outcomes, composed."""
    from dp_accounting.pld import privacy_loss_distribution as theirs

    q = [float(p) for p in noise.window.probabilities]
    size = len(q)
    bins = [
        theirs.from_two_probability_mass_functions(
            {x: math.log(q[x + step]) for x in range(size) if 0 <= x + step < size},
            {x: math.log(p) for x, p in enumerate(q)},
            pessimistic_estimate=pessimistic,
            value_discretization_interval=grid,
            symmetric=True,
            log_mass_truncation_bound=-math.inf,
        )
        for step in (-by, by)
    ]
    return bins[0].compose(bins[1]).self_compose(times)


def test_what_is_promised_together() -> None:
    """An exact answer leaves the numbers as they are, and the sum with a condition; alone it has no sum."""
    exactly, routed = ExactAnswer(), Routing("leave-out")
    assert promised([]) == NO_COST
    assert promised([exactly]) is None
    mixed = promised([exactly, HALF])
    assert mixed is not None
    assert (mixed.epsilon, mixed.delta) == (HALF.cost.epsilon, HALF.cost.delta)
    assert mixed.unless
    together = promised([routed, HALF, routed])
    assert together == Cost(HALF.cost.epsilon, HALF.cost.delta, routed.cost.unless)
    assert spent([routed, exactly], Fraction(0)) == 0


def test_sums_and_what_costs_nothing_in_every_accountant() -> None:
    assert basic([HALF, AllPairs(), HALF]) == Cost(Fraction(1), Fraction(2, 10**6))
    assert basic([]) == NO_COST
    assert exact([AllPairs()] * 5).delta(Fraction(0)) < 2.0**-200
    assert spent([AllPairs()], Fraction(0)) == 0
    assert exact([HALF, AllPairs()]).delta(Fraction(1, 4)) == exact([HALF]).delta(Fraction(1, 4))


def test_unknown_events_are_refused() -> None:
    class Gossip:
        cost = NO_COST

    gossip = cast(Event, Gossip())
    for accountant in (basic, exact):
        with pytest.raises(UsageError):
            accountant([HALF, gossip])


def test_promises_compose_as_randomised_response() -> None:
    """By the definition. At less δ than was spent no ε is proved."""
    assert spent([HALF], Fraction(1, 10**6)) == 0.5
    assert spent([HALF], Fraction(1, 10**7)) == math.inf
    assert spent([HALF], Fraction(0)) == math.inf
    for epsilon, delta in ((Fraction(1, 2), Fraction(1, 10**6)), (Fraction(0), Fraction(1, 1000))):
        kept, factor = 1 - delta, Fraction(number.exp(epsilon))
        high, low = kept * factor / (1 + factor), kept / (1 + factor)
        outcomes = [(delta, Fraction(0)), (high, low), (low, high), (Fraction(0), delta)]
        for times in (1, 3):
            found = exact([Promise(Cost(epsilon, delta))] * times)
            for at in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(5, 4)):
                assert found.delta(at) == pytest.approx(float(excess([outcomes] * times, at)), rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "ten", "thirty"), [("0.1", 0.70, 1.27), ("0.4", 3.16, 5.82), ("1.6", 15.2, 31.8)]
)
def test_runs_of_the_default_compose_below_their_sum(epsilon: str, ten: float, thirty: float) -> None:
    event = released(calibrate("geometric", epsilon, "1e-5"))
    for times, known in ((10, ten), (30, thirty)):
        found = exact([event] * times).epsilon(Fraction(11 * times, 10**6))
        assert 0.9 * known < found <= known
        assert found < times * float(Fraction(epsilon))


@pytest.mark.parametrize(
    ("name", "claim", "people", "times", "epsilon"),
    [
        ("geometric", "1.6", 1, 10, "14.4"),
        ("gaussian", "1.6", 1, 4, "3"),
        ("geometric", "1", 3, 5, "3"),
        ("gaussian", "1", 3, 1, "0.7"),
    ],
)
def test_dp_accounting_agrees(name: str, claim: str, people: int, times: int, epsilon: str) -> None:
    event = released(calibrate(name, claim, "1e-5", records_per_person=people))
    ours = exact([event] * times).delta(Fraction(epsilon))
    high, low = (
        by_dp_accounting(event.noise, times, 1e-4, side, by=people).get_delta_for_epsilon(float(epsilon))
        for side in (True, False)
    )
    assert low * (1 - 1e-6) <= ours <= high * (1 + 1e-6)
    assert high - low < 0.05 * ours + 1e-9


def test_unlike_events_compose_on_a_grid_from_above() -> None:
    """In whatever order."""
    small = released(calibrate("geometric", "0.4", "1e-5"))
    other = released(calibrate("gaussian", "0.6", "1e-6", 2))
    found = exact([small, other, HALF] * 2)
    total = basic([small, other, HALF] * 2)
    assert found.delta(total.epsilon + Fraction(1, 100)) <= float(total.delta)
    separate = [exact([event] * 2).delta(Fraction(1)) for event in (small, other, HALF)]
    assert found.delta(Fraction(1)) > max(separate)
    assert found.epsilon(2 * total.delta) < float(total.epsilon)
    turned = exact([HALF, HALF, other, small, other, small])
    assert turned.delta(Fraction(1)) == pytest.approx(found.delta(Fraction(1)), rel=1e-12)


def test_blocks_change_nothing_but_the_last_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of runs can be accounted."""
    event = released(calibrate("geometric", "0.1", "1e-5"))
    whole = exact([event] * 20).epsilon(Fraction(1, 1000))
    assert spent([event] * 300, Fraction(4, 1000)) < 15
    monkeypatch.setattr(accounting, "CHUNK", 6)
    blocks = exact([event] * 20).epsilon(Fraction(1, 1000))
    assert whole <= blocks < whole + 0.003


def test_losses_far_above_epsilon_do_not_make_it_slow_or_wrong() -> None:
    wide = released(calibrate("gaussian", "0.1", "1e-5", 2))
    found = exact([wide, wide, HALF])
    total = basic([wide, wide, HALF])
    assert len(found.losses.mass) < 40_000
    assert float(total.delta) / 3 < found.delta(total.epsilon + Fraction(1, 50)) <= 1.01 * float(total.delta)
