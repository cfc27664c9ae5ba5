"""Exact numbers in, bounds out: ε and δ are fractions; what is shown of them errs on the safe side.

A float such as 0.1 is read as the decimal that a person wrote. Irrational values (e^−s, ln) are computed
with `decimal`, whose `exp` and `ln` are correctly rounded and therefore the same on every machine, at a
precision far beyond any probability that matters here. A float that leaves this module as `above` is never
smaller than the number it stands for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError

Number = Fraction | Decimal | int | float | str

DIGITS = 120
ULP = 2.0**-52

_POWER = re.compile(r"(\d+)\s*(?:\^|\*\*)\s*(-?\d{1,4})")


def precise() -> Context:
    """A decimal context of `DIGITS` digits whose exponents do not end where probabilities go."""
    return Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9, traps=[])


def exact(value: Number, what: str) -> Fraction:
    """The number that was written: 0.001, '1e-9', '2^-40' and '1/3' are all exact."""
    try:
        if isinstance(value, str) and (power := _POWER.fullmatch(value.strip())):
            return Fraction(int(power[1])) ** int(power[2])
        if isinstance(value, bool):
            raise ValueError
        return Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise UsageError(problem=f"{what} must be a number such as 0.5, 1e-9 or 2^-40.") from None


def decimal(value: Fraction) -> Decimal:
    """The fraction to `DIGITS` digits."""
    with localcontext(precise()):
        return Decimal(value.numerator) / Decimal(value.denominator)


def exp(value: Fraction) -> Decimal:
    """e^value to `DIGITS` digits."""
    with localcontext(precise()):
        return decimal(value).exp()


def log(value: Fraction) -> Decimal:
    """ln value to `DIGITS` digits."""
    with localcontext(precise()):
        return decimal(value).ln()


def above(value: Fraction | Decimal) -> float:
    """The least float that is certainly not smaller."""
    near = float(value)
    return near if Fraction(near) == Fraction(value) else math.nextafter(near, math.inf)


def all_above(values: Iterable[Decimal], count: int) -> NDArray[np.float64]:
    """A float that is not smaller, for each of the values."""
    near = np.fromiter((float(value) for value in values), dtype=np.float64, count=count)
    return np.nextafter(near, np.inf)


def shown(value: Fraction, up: bool = True) -> str:
    """The number for a reader: as it is if that is short, else six digits, rounded up or down."""
    short = text(value)
    return rounded(value, up) if "/" in short else short


def rounded(value: Fraction, up: bool = True) -> str:
    """The number as a decimal: exact if it is short, else six digits, rounded up or down."""
    short = repr(float(value))
    if Fraction(short) == value:
        return short
    context = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return repr(float(context.divide(Decimal(value.numerator), Decimal(value.denominator))))


def text(value: Fraction) -> str:
    """The shortest way to write the number that `exact` reads back as the same number."""
    if value.denominator == 1:
        return str(value.numerator)
    if value.numerator == 1 and value.denominator >= 1024 and value.denominator.bit_count() == 1:
        return f"2^-{value.denominator.bit_length() - 1}"
    short = repr(float(value))
    return short if Fraction(short) == value else f"{value.numerator}/{value.denominator}"
