"""Exact numbers mean what was written."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.exact import exact, short, text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("0.001", Fraction(1, 1000)),
        (Decimal("1E-9"), Fraction(1, 10**9)),
        ("2^-40", Fraction(1, 2**40)),
        ("2**-3", Fraction(1, 8)),
        ("1/3", Fraction(1, 3)),
        (" 7 ", Fraction(7)),
        (-2, Fraction(-2)),
    ],
)
def test_reading(written: object, meant: Fraction) -> None:
    assert exact(written) == meant


@pytest.mark.parametrize(
    "written", ["", "abc", "1/0", "1e99999", "nan", float("inf"), True, None, [], "0x10"]
)
def test_what_is_no_number(written: object) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        exact(written)


@given(st.fractions())
def test_writing_and_reading_back(value: Fraction) -> None:
    assert exact(text(value)) == value


def test_one_way_to_write() -> None:
    assert [text(exact(x)) for x in ("0.50", "5e-1", "1/2")] == ["0.5"] * 3
    assert text(Fraction(1, 2**40)) == "2^-40"
    assert text(Fraction(-1, 8)) == "-0.125"
    assert text(Fraction(1, 10**12)) == "1e-12"


@pytest.mark.parametrize(
    "wrong", ["1." + "0" * 1500 + "1", 10**1300, "9" * 61, Fraction(1, 3**200), "1e400", Fraction(10) ** 70]
)
def test_a_number_that_nobody_would_write_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="at most 60 characters"):
        short(wrong)


@pytest.mark.parametrize("right", ["1e-300", "2^-128", 0.1, "1/3", 64, Fraction(1, 3), "0.000001"])
def test_a_short_number_is_what_it_is(right: object) -> None:
    assert short(right) == exact(right)
