"""Releases as data: numbers that never understate, canonical events, names, and the rules of spending."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import BudgetError, UsageError
from accord.exact import Number
from accord.naming import fold_name
from accord.privacy.budget import Budget, check, left
from accord.privacy.calibration import calibrate
from accord.privacy.events import (
    NO_COST,
    AllPairs,
    Cost,
    Event,
    ExactAnswer,
    Intersection,
    NoisyAnswer,
    Promise,
    Routing,
    covered_records,
    decode,
    encode,
    is_free,
    released,
)
from accord.privacy.number import above, all_above, exact, exp, log, round_off, show
from accord.privacy.release import release_key, snapshot_place

# -- number --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written", ["", "much", "1/0", "0^-1", float("nan"), float("inf"), True, Decimal("NaN")]
)
def test_what_is_no_number_is_refused(written: Number) -> None:
    with pytest.raises(UsageError):
        exact(written, "δ")


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        ("0.1", "0.1", "0.1"),
        ("2^-40", "2^-40", "2^-40"),
        ("1/3", "0.333334", "0.333333"),
        ("3/274877906944", "1.0914e-11", "1.09139e-11"),
        ("17179853559/17179869184000000", "1e-06", "9.99999e-07"),
    ],
)
def test_what_is_shown_errs_on_the_side_it_should(value: str, up: str, down: str) -> None:
    number = exact(value, "x")
    assert (show(number), show(number, up=False)) == (up, down)
    assert Fraction(round_off(number, up=False)) <= number <= Fraction(round_off(number))
    total = sum((Fraction(10**30 + i, 10**29 + 3 * i + 1) for i in range(400)), Fraction(0))
    assert float(show(total)) == pytest.approx(4000), "a sum of many long fractions"


@given(st.lists(st.decimals(min_value=0, max_value=1, places=60), min_size=1, max_size=5))
def test_floats_above_are_not_below_and_not_far(values: list[Decimal]) -> None:
    for value, near in zip(values, all_above(values, len(values)), strict=True):
        assert Fraction(value) <= Fraction(float(near))
        close = Fraction(above(Fraction(value)))
        assert Fraction(value) <= close <= Fraction(value) * (1 + Fraction(1, 2**51)) + Fraction(1, 2**1000)


@given(st.fractions(min_value=-50, max_value=50, max_denominator=10**6))
def test_exp_and_log_agree_with_another_library(value: Fraction) -> None:
    import mpmath

    with mpmath.workdps(130):
        theirs = mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)
        assert abs(mpmath.mpf(str(exp(value))) / theirs - 1) < mpmath.mpf(10) ** -115
    assert abs(log(Fraction(exp(value))) - Decimal(value.numerator) / value.denominator) < Decimal("1e-25")


# -- events --------------------------------------------------------------------------------------------------


def test_an_event_costs_its_promise_or_what_is_true_if_that_is_more() -> None:
    kept = calibrate("geometric", "0.1", "1e-5")
    assert released(kept).cost == Cost(Fraction(1, 10), Fraction(1, 10**5))
    broken = replace(kept, delta=Fraction(1, 10**9))
    assert released(broken).cost.delta == Fraction(kept.delta_exact) > broken.delta
    people = released(calibrate("geometric", "0.1", "1e-5", 1, records_per_person=5))
    assert (people.cost, people.records_per_person) == (released(kept).cost, 5)
    assert [covered_records(event) for event in (people, AllPairs(), Promise(NO_COST))] == [5, None, None]
    for free in (AllPairs(), Intersection()):
        assert free.cost == Cost(Fraction(0), Fraction(0))
    assert ExactAnswer().cost is None


def test_the_condition_is_part_of_the_cost() -> None:
    """Full keys that are left out are in the sensitivity of an answer; a refusal is seen in any case."""
    left, refused = Routing("leave-out").cost, Routing("refuse").cost
    assert left.unless
    assert refused.unless
    assert Routing("").cost == NO_COST
    assert NoisyAnswer(Fraction(1)).cost == Cost(Fraction(1), Fraction(0))
    assert NoisyAnswer(Fraction(1), "refuse").cost == Cost(Fraction(1), Fraction(0), refused.unless)

    # A sum has each condition once.
    assert left + NO_COST == NO_COST + left == left + left == left
    both = left + refused
    assert both != left
    assert both + left == both == both + refused
    assert is_free(both)
    assert left.unless in repr(left)


def test_what_could_not_be_read_again_is_not_written() -> None:
    """Else one release would make a ledger unreadable."""
    long = Fraction(10**4200 + 1, 10**4200)
    with pytest.raises(UsageError):
        encode(Promise(Cost(long, Fraction(0))))
    with pytest.raises(UsageError):
        decode(encode(AllPairs()) + b" " * 5000)


# -- release -------------------------------------------------------------------------------------------------


def counts(epsilon: str = "1.6", delta: str = "2^-40", bins: int = 1, people: int = 1) -> Event:
    return released(calibrate("geometric", epsilon, delta, bins, records_per_person=people))


def key_of(**changes: Any) -> bytes:
    base: dict[str, Any] = {"account": "north", "snapshot": "2026-11", "run": "r1", "place": b"A grid 1"}
    return release_key(**base | {"event": AllPairs()} | changes)


def test_any_change_gives_another_key() -> None:
    changes: list[dict[str, Any]] = [
        {"account": "south"},
        {"snapshot": "2026-12"},
        {"snapshot": None},
        {"place": b"B grid 1"},
        {"place": b"A grid 2"},
        {"event": counts()},
        {"event": counts(epsilon="0.8")},
        {"event": counts(delta="2^-41")},
        {"event": counts(bins=2)},
        {"event": counts(people=2)},
        {"event": counts(people=3)},
        {"event": released(calibrate("gaussian", "1.6", "2^-40"))},
        {"event": Promise(Cost(Fraction(8, 5), Fraction(1, 2**40)))},
        {"account": "north2", "snapshot": "026-11"},
    ]
    assert len({key_of(), *(key_of(**change) for change in changes)}) == len(changes) + 1


def test_the_run_is_in_the_name_exactly_where_there_is_no_snapshot() -> None:
    assert key_of(run="r2") == key_of()
    assert key_of(run="r2", snapshot=None) != key_of(snapshot=None)
    assert key_of(snapshot="r1") != key_of(snapshot=None)
    answer = NoisyAnswer(Fraction(1))
    assert key_of(event=answer, run="r2") != key_of(event=answer), "an answer has no snapshot"


@pytest.mark.parametrize(
    "spelt",
    [
        *("North", "NORTH", " north", "ｎｏｒｔｈ", "no\N{LATIN SMALL LETTER R}th"),
        *("North\N{NO-BREAK SPACE}", "north\N{VARIATION SELECTOR-16}"),
    ],
)
def test_spellings_of_a_name_are_one(spelt: str) -> None:
    assert fold_name(spelt) == "north"
    assert key_of(account=spelt) == key_of()
    assert snapshot_place(spelt, spelt, b"") == snapshot_place("north", "north", b"")


@given(st.text())
def test_folding_ends(name: str) -> None:
    """Combining forms and letters that fold are one."""
    assert fold_name(fold_name(name)) == fold_name(name)
    assert fold_name("Straße") == fold_name("STRASSE")
    assert fold_name("e\N{COMBINING ACUTE ACCENT}t") == fold_name("\N{LATIN SMALL LETTER E WITH ACUTE}t")


# -- budget --------------------------------------------------------------------------------------------------


def promise(epsilon: str, delta: str = "1e-9") -> Promise:
    return Promise(Cost(Fraction(epsilon), Fraction(delta)))


LIMIT = Budget(Cost(Fraction(1), Fraction("1e-6")), 5)


def test_the_budget_may_be_spent_to_the_last_bit() -> None:
    check("d", Budget(), [promise("50")] * 9, 9, promise("50"))
    check("d", LIMIT, [promise("0.1")] * 3, 3, promise("0.7"))
    for refused in (promise("0.7000001"), promise("0.1", "1.1e-6")):
        with pytest.raises(BudgetError):
            check("d", LIMIT, [promise("0.1")] * 3, 3, refused)


def test_a_refusal_says_what_was_asked_and_what_is_left() -> None:
    with pytest.raises(BudgetError) as caught:
        check("patients", LIMIT, [promise("0.5")], 1, promise("0.75"))
    said = {name: re.findall(r"[\d.e-]+", str(fact)) for name, fact in caught.value.facts.items()}
    assert (said["asked"], said["left"]) == (["0.75", "1e-9"], ["0.5", "9.99e-7", "4", "5"])
    assert (caught.value.facts["dataset"], caught.value.exit_code) == ("patients", 6)


def test_runs_that_cost_nothing_count_as_runs() -> None:
    check("d", LIMIT, [promise("1")], 4, AllPairs())
    with pytest.raises(BudgetError):
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
    assert "0.000001" in repr(LIMIT)


@pytest.mark.parametrize("epsilon", [900, 1000])
def test_a_limit_beyond_all_floats_refuses_and_does_not_fail(epsilon: int) -> None:
    release = released(calibrate("geometric", "1", "2^-40"))
    with pytest.raises(BudgetError):
        check("d", Budget(Cost(Fraction(epsilon), Fraction(1, 2**60))), [release], 1, release)
