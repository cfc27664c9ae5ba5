"""Exact numbers: thresholds, steps, ε and δ are fractions, from the text of the agreement to the circuit.

A float such as 0.1 is read as the decimal that a person wrote, not as the binary number next to it, so that
no rounding of one machine decides a match or a budget.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

_POWER = re.compile(r"([1-9]\d{0,2})\s*(?:\^|\*\*)\s*(-?\d{1,3})")
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")
_PLAIN_DIGITS = 6
LONGEST = 60
"""Characters of a number that somebody may agree on. What is computed and kept of it grows with them."""
_MOST_BITS = 4_000
_RATIO = re.compile(r"[+-]?\d+/\d+")


Number = Fraction | Decimal | int | float | str


def exact(value: object) -> Fraction:
    """The number that was written: 0.001, 1e-9, '2^-40' and '1/3' are all exact."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise ValueError("must be a number such as 0.001, 1e-9 or '2^-40'")
    if isinstance(value, Fraction):
        return value
    text = repr(value) if isinstance(value, float) else str(value).strip()
    if power := _POWER.fullmatch(text):
        return Fraction(int(power[1])) ** int(power[2])
    if not (_DECIMAL.fullmatch(text) or _RATIO.fullmatch(text)) or re.search(r"/0+$", text):
        raise ValueError("must be a number such as 0.001, 1e-9 or '2^-40'")
    return Fraction(text)


def short(value: object) -> Fraction:
    """The number, if it was written with as many characters as a person would write."""
    long = ValueError(f"must be a number that takes at most {LONGEST} characters when it is written out")
    if (isinstance(value, str) and len(value) > LONGEST) or (
        isinstance(value, int | Fraction) and value.numerator.bit_length() > _MOST_BITS
    ):
        raise long
    found = exact(value)
    if found.denominator.bit_length() > _MOST_BITS or len(text(found)) > LONGEST:
        raise long
    return found


def share(value: object) -> Fraction:
    """A share of a whole: a number from 0 to 1, or '1%'."""
    part = isinstance(value, str) and value.strip().endswith("%")
    try:
        found = short(value.strip()[:-1]) / 100 if part and isinstance(value, str) else short(value)
    except ValueError:
        found = Fraction(-1)
    if not 0 <= found <= 1:
        percent = "" if part or not 1 < found <= 100 else f". Did you mean '{text(found)}%'?"
        raise ValueError(f"is a share from 0 to 1, such as 0.01 or '1%'{percent}")
    return found


def is_decimal(value: Fraction) -> bool:
    """Whether the number has finitely many decimal digits."""
    return _digits(value) is not None


def _digits(value: Fraction) -> int | None:
    """How many decimal digits follow the point; None if they do not end."""
    rest, found = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest, count = rest // prime, count + 1
        found = max(found, count)
    return found if rest == 1 else None


def text(value: Fraction) -> str:
    """The one way to write an exact number; `exact(text(x)) == x`."""
    if value.denominator == 1:
        return str(value.numerator)
    if value.numerator == 1 and value.denominator >= 1024 and value.denominator.bit_count() == 1:
        return f"2^-{value.denominator.bit_length() - 1}"
    digits = _digits(value)
    if digits is None:
        return f"{value.numerator}/{value.denominator}"
    figures = str(abs(value.numerator) * 10**digits // value.denominator)
    if digits > _PLAIN_DIGITS:
        point = f".{figures[1:]}" if len(figures) > 1 else ""
        return f"{'-' if value < 0 else ''}{figures[0]}{point}e{len(figures) - 1 - digits}"
    whole = figures.rjust(digits + 1, "0")
    return f"{'-' if value < 0 else ''}{whole[:-digits]}.{whole[-digits:]}"
