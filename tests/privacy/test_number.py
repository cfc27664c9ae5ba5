"""Exact numbers, and floats that never understate."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.exact import Number, text
from accord.privacy.number import above, all_above, exact, exp, log, round_off, show


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1e-5", Fraction(1, 100_000)),
        (1e-5, Fraction(1, 100_000)),
        ("2^-40", Fraction(1, 2**40)),
        ("2**-40", Fraction(1, 2**40)),
        ("1/3", Fraction(1, 3)),
        (Fraction(8, 5), Fraction(8, 5)),
        (2, Fraction(2)),
    ],
)
def test_a_number_is_what_was_written(written: Number, meant: Fraction) -> None:
    assert exact(written, "ε") == meant


@pytest.mark.parametrize(
    "written", ["", "much", "1/0", "0^-1", float("nan"), float("inf"), True, Decimal("NaN")]
)
def test_what_is_no_number_is_refused_by_name(written: Number) -> None:
    with pytest.raises(UsageError, match="δ must be a number"):
        exact(written, "δ")


@given(st.fractions())
def test_text_reads_back_as_the_same_number(value: Fraction) -> None:
    assert exact(text(value), "x") == value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("0.00001", "0.00001"),
        ("1e-9", "1e-9"),
        ("0.5", "0.5"),
        ("2^-40", "2^-40"),
        ("1.6", "1.6"),
        ("2", "2"),
        ("1/3", "1/3"),
    ],
)
def test_text_is_short(value: str, written: str) -> None:
    assert text(exact(value, "x")) == written


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


@given(st.fractions(min_value=0, max_value=1))
def test_a_float_above_is_not_below_and_not_far(value: Fraction) -> None:
    near = Fraction(above(value))
    assert value <= near
    assert near <= value * (1 + Fraction(1, 2**51)) + Fraction(1, 2**1000)


@given(st.lists(st.decimals(min_value=0, max_value=1, places=60), min_size=1, max_size=5))
def test_floats_above_are_not_below(values: list[Decimal]) -> None:
    found = all_above(values, len(values))
    assert all(Fraction(value) <= Fraction(float(near)) for value, near in zip(values, found, strict=True))


@given(st.fractions(min_value=-50, max_value=50, max_denominator=10**6))
def test_exp_and_log_agree_with_another_library(value: Fraction) -> None:
    import mpmath

    with mpmath.workdps(130):
        theirs = mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)
        assert abs(mpmath.mpf(str(exp(value))) / theirs - 1) < mpmath.mpf(10) ** -115
    assert abs(log(Fraction(exp(value))) - Decimal(value.numerator) / value.denominator) < Decimal("1e-25")


def test_a_sum_of_many_long_fractions_is_shown() -> None:
    total = sum((Fraction(10**30 + i, 10**29 + 3 * i + 1) for i in range(400)), Fraction(0))
    assert float(show(total)) == pytest.approx(4000)
