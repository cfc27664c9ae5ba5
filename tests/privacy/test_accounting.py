"""Accountants: sums, exact composition, and a second opinion from dp-accounting."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from accord.errors import UsageError
from accord.privacy import accounting
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
from accord.privacy.noise import Noise
from accord.privacy.noise_geometric import Geometric
from tests.privacy.definition import enumerated_delta

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


def test_basic_composition_sums() -> None:
    assert basic([HALF, AllPairs(), HALF]) == Cost(Fraction(1), Fraction(2, 10**6))
    assert basic([]) == NO_COST


def test_all_pairs_cost_nothing_in_every_accountant() -> None:
    assert exact([AllPairs()] * 5).delta(Fraction(0)) < 2.0**-200
    assert spent([AllPairs()], Fraction(0)) == 0
    assert exact([HALF, AllPairs()]).delta(Fraction(1, 4)) == exact([HALF]).delta(Fraction(1, 4))


def test_unknown_events_are_refused() -> None:
    class Gossip:
        cost = NO_COST

    gossip = cast(Event, Gossip())
    for accountant in (basic, exact):
        with pytest.raises(UsageError, match="'Gossip'"):
            accountant([HALF, gossip])


def test_a_single_promise_is_itself() -> None:
    assert exact([HALF]).delta(Fraction(1, 2)) == pytest.approx(1e-6, rel=1e-9)
    assert spent([HALF], Fraction(1, 10**6)) == 0.5
    assert spent([HALF], Fraction(1, 10**7)) == math.inf


def test_a_promise_of_epsilon_zero_has_only_its_delta() -> None:
    event = Promise(Cost(Fraction(0), Fraction(1, 1000)))
    assert exact([event] * 3).delta(Fraction(0)) == pytest.approx(1 - 0.999**3, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "ten", "thirty"), [("0.1", 0.70, 1.27), ("0.4", 3.16, 5.82), ("1.6", 15.2, 31.8)]
)
def test_runs_of_the_default_compose_below_their_sum(epsilon: str, ten: float, thirty: float) -> None:
    event = released(calibrate("geometric", epsilon, "1e-5"))
    for times, known in ((10, ten), (30, thirty)):
        found = exact([event] * times).epsilon(Fraction(11 * times, 10**6))
        assert 0.9 * known < found <= known
        assert found < times * float(Fraction(epsilon))


@pytest.mark.parametrize(("times", "epsilon"), [(1, "0.4"), (1, "1.5"), (10, "8"), (10, "14.4")])
def test_dp_accounting_agrees(times: int, epsilon: str) -> None:
    event = released(calibrate("geometric", "1.6", "1e-5"))
    ours = exact([event] * times).delta(Fraction(epsilon))
    high, low = (
        by_dp_accounting(event.noise, times, 1e-4, side).get_delta_for_epsilon(float(epsilon))
        for side in (True, False)
    )
    assert low * (1 - 1e-6) <= ours <= high * (1 + 1e-6)
    assert high - low < 0.05 * ours + 1e-9


def test_dp_accounting_agrees_on_the_other_noise() -> None:
    event = released(calibrate("gaussian", "1.6", "1e-5"))
    ours = exact([event] * 4).delta(Fraction(3))
    high, low = (
        by_dp_accounting(event.noise, 4, 1e-4, side).get_delta_for_epsilon(3.0) for side in (True, False)
    )
    assert low * (1 - 1e-6) <= ours <= high * (1 + 1e-6)


def test_where_the_grid_of_dp_accounting_does_not_allow_it() -> None:
    event = released(calibrate("geometric", "1.6", "2^-40"))
    assert exact([event]).delta(Fraction("1.6")) < 2.0**-40
    assert by_dp_accounting(event.noise, 1, 1e-4, True).get_delta_for_epsilon(1.6) > 1e-6


def test_several_runs_agree_with_the_definition() -> None:
    noise = Geometric(2, Fraction(1), Fraction(1, 2), 2)
    event = NoisyCounts(noise, 1, Cost(Fraction(3, 2), Fraction(1, 10)))
    q = [Fraction(weight, 2**256) for weight in noise.window.table]
    for epsilon in (Fraction(1), Fraction(5, 2)):
        true = enumerated_delta(q, 2, epsilon)
        assert true <= Fraction(exact([event, event]).delta(epsilon)) <= true * (1 + Fraction(1, 10**9))


def test_unlike_events_compose_on_a_grid_from_above() -> None:
    small = released(calibrate("geometric", "0.4", "1e-5"))
    other = released(calibrate("gaussian", "0.6", "1e-6", 2))
    found = exact([small, other, HALF] * 2)
    total = basic([small, other, HALF] * 2)
    assert found.delta(total.epsilon + Fraction(1, 100)) <= float(total.delta)
    separate = [exact([event] * 2).delta(Fraction(1)) for event in (small, other, HALF)]
    assert found.delta(Fraction(1)) > max(separate)
    assert found.epsilon(2 * total.delta) < float(total.epsilon)


def test_blocks_change_nothing_but_the_last_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    event = released(calibrate("geometric", "0.1", "1e-5"))
    whole = exact([event] * 20).epsilon(Fraction(1, 1000))
    monkeypatch.setattr(accounting, "CHUNK", 6)
    blocks = exact([event] * 20).epsilon(Fraction(1, 1000))
    assert whole <= blocks < whole + 0.003


def test_hundreds_of_runs_can_be_accounted() -> None:
    event = released(calibrate("geometric", "0.1", "2^-40"))
    found = spent([event] * 300, Fraction(1, 10**9))
    assert np.isfinite(found)
    assert found < 15


def test_losses_far_above_epsilon_do_not_make_it_slow_or_wrong() -> None:
    wide = released(calibrate("gaussian", "0.1", "1e-5", 2))
    found = exact([wide, wide, HALF])
    total = basic([wide, wide, HALF])
    assert len(found.losses.mass) < 40_000
    assert float(total.delta) / 3 < found.delta(total.epsilon + Fraction(1, 50)) <= 1.01 * float(total.delta)


def test_the_order_of_events_does_not_matter() -> None:
    small = released(calibrate("geometric", "0.4", "1e-5"))
    one: list[Event] = [small, HALF, small]
    two: list[Event] = [HALF, small, small]
    assert exact(one).delta(Fraction(1)) == pytest.approx(exact(two).delta(Fraction(1)), rel=1e-12)


@pytest.mark.parametrize("name", ["geometric", "gaussian"])
@pytest.mark.parametrize(("times", "epsilon"), [(1, "0.7"), (5, "3")])
def test_dp_accounting_agrees_on_people(name: str, times: int, epsilon: str) -> None:
    event = released(calibrate(name, "1", "1e-5", records_per_person=3))
    ours = exact([event] * times).delta(Fraction(epsilon))
    high, low = (
        by_dp_accounting(event.noise, times, 1e-4, side, by=3).get_delta_for_epsilon(float(epsilon))
        for side in (True, False)
    )
    assert low * (1 - 1e-6) <= ours <= high * (1 + 1e-6)
    assert spent([event] * 10, Fraction(1, 1000)) < 10


def test_at_less_delta_than_was_spent_no_epsilon_is_proved() -> None:
    release = released(calibrate("geometric", "1", "2^-40"))
    assert spent([release], Fraction(1, 10**15)) == math.inf
    assert spent([release], Fraction(0)) == math.inf
