"""The rules of spending."""

from __future__ import annotations

from fractions import Fraction

import pytest

from accord.errors import BudgetError
from accord.privacy.budget import Budget, check, left
from accord.privacy.calibration import calibrate
from accord.privacy.events import AllPairs, Cost, Promise, released


def promise(epsilon: str, delta: str = "1e-9") -> Promise:
    return Promise(Cost(Fraction(epsilon), Fraction(delta)))


LIMIT = Budget(Cost(Fraction(1), Fraction("1e-6")), 5)


def test_without_limits_everything_is_allowed() -> None:
    check("d", Budget(), [promise("50")] * 9, 9, promise("50"))


def test_the_budget_may_be_spent_to_the_last_bit() -> None:
    check("d", LIMIT, [promise("0.1")] * 3, 3, promise("0.7"))
    with pytest.raises(BudgetError):
        check("d", LIMIT, [promise("0.1")] * 3, 3, promise("0.7000001"))


def test_delta_is_a_budget_too() -> None:
    with pytest.raises(BudgetError):
        check("d", LIMIT, [], 0, promise("0.1", "1.1e-6"))


def test_a_refusal_says_what_was_asked_and_what_is_left() -> None:
    with pytest.raises(BudgetError) as caught:
        check("patients", LIMIT, [promise("0.5")], 1, promise("0.75"))
    said = str(caught.value)
    for part in (
        "'patients'",
        "ε = 0.75, δ = 1e-9",
        "ε = 0.5, δ = 9.99e-7",
        "4 of 5 runs",
        "nothing was charged",
    ):
        assert part in said
    assert caught.value.exit_code == 6


def test_runs_that_cost_nothing_count_as_runs() -> None:
    check("d", LIMIT, [promise("1")], 4, AllPairs())
    with pytest.raises(BudgetError, match="all 5 runs are used"):
        check("d", LIMIT, [promise("1")], 5, AllPairs())


def test_exact_composition_allows_what_the_sum_does_not() -> None:
    event = released(calibrate("geometric", "0.1", "1e-9"))
    limit = Budget(Cost(Fraction(1), Fraction("1e-5")))
    check("d", limit, [event] * 11, 11, event)
    with pytest.raises(BudgetError):
        check("d", limit, [event] * 40, 40, event)


def test_what_is_left_is_never_negative() -> None:
    assert left(LIMIT, [promise("3")]) == Cost(Fraction(0), Fraction("1e-6") - Fraction("1e-9"))
    assert left(Budget(None, 3), []) is None


@pytest.mark.parametrize("epsilon", [900, 1000])
def test_a_limit_beyond_all_floats_refuses_and_does_not_fail(epsilon: int) -> None:
    release = released(calibrate("geometric", "1", "2^-40"))
    with pytest.raises(BudgetError):
        check("d", Budget(Cost(Fraction(epsilon), Fraction(1, 2**60))), [release], 1, release)


def test_numbers_are_shown_as_people_write_them() -> None:
    assert repr(LIMIT) == "<Budget: ε = 1, δ = 0.000001; 5 runs>"
    assert repr(Budget()) == "<Budget: no limit on ε and δ; any number of runs>"
    assert repr(Cost(Fraction("1.6"), Fraction(1, 1 << 40))) == "<ε = 1.6, δ = 2^-40>"
