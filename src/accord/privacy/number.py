"""Exact numbers in, bounds out: ε and δ are fractions; what is shown of them errs on the safe side.

Irrational values (e^−s, ln) are computed with `decimal`, whose `exp` and `ln` are correctly rounded and
therefore the same on every machine, at a precision far beyond any probability that matters here. A float
that leaves this module as `above` is never smaller than the number it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError
from accord.exact import Number, text
from accord.exact import exact as written

DIGITS = 120
ULP = 2.0**-52
_SHORT = 12
_BITS = 512
"""A longer sum is not worth writing out to see how long it is."""


def precise() -> Context:
    """A decimal context of `DIGITS` digits whose exponents do not end where probabilities go."""
    return Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9, traps=[])


def exact(value: Number, what: str) -> Fraction:
    """The number that was written, or an error that names what it was meant to be."""
    try:
        return written(value)
    except ValueError as error:
        raise UsageError(problem=f"{what} {error}.") from None


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


def show(value: Fraction, up: bool = True) -> str:
    """The number for a reader: as it is if that is short, else six digits, rounded up or down."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _BITS:
        return round_off(value, up)
    short = text(value)
    return round_off(value, up) if "/" in short or len(short) > _SHORT else short


def round_off(value: Fraction, up: bool = True) -> str:
    """The number as a decimal: exact if it is short, else six digits, rounded up or down."""
    short = repr(float(value))
    if Fraction(short) == value:
        return short
    context = Context(prec=6, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return repr(float(context.divide(Decimal(value.numerator), Decimal(value.denominator))))
