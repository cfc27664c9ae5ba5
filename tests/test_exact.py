"""Exact numbers mean what was written; rows of the bad inputs are none."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.exact import exact, short, text

MEANT = {
    0.1: Fraction(1, 10),
    "0.001": Fraction(1, 1000),
    Decimal("1E-9"): Fraction(1, 10**9),
    "2^-40": Fraction(1, 2**40),
    "2**-3": Fraction(1, 8),
    "1/3": Fraction(1, 3),
    " 7 ": Fraction(7),
    -2: Fraction(-2),
    "1e-300": Fraction(1, 10**300),
    "2^-128": Fraction(1, 2**128),
}


def test_reading_and_one_way_to_write() -> None:
    for written, meant in MEANT.items():
        assert exact(written) == short(written) == meant
    assert [text(exact(x)) for x in ("0.50", "5e-1", "1/2")] == ["0.5"] * 3
    written = {Fraction(1, 2**40): "2^-40", Fraction(-1, 8): "-0.125", Fraction(1, 10**12): "1e-12"}
    assert {number: text(number) for number in written} == written


@given(st.fractions())
def test_writing_and_reading_back(value: Fraction) -> None:
    assert exact(text(value)) == value


@pytest.mark.parametrize(
    "wrong", ["1." + "0" * 1500 + "1", 10**1300, Fraction(1, 3**200), Fraction(10) ** 70]
)
def test_a_number_that_is_too_long_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError):
        short(wrong)
