"""What a protocol reveals, as data."""

from __future__ import annotations

from fractions import Fraction

from accord.protocols.leakage import Leakage, leakage
from accord.secure.circuit import Side
from tests.protocols import worlds


def test_laplace() -> None:
    told = leakage(worlds.agreement().task, Side.A)
    assert told == Leakage(16, Fraction(1), Fraction(1, 1000), ("x", "y"), ("x", "y"), True, "noisy counts")
    quiet = leakage(worlds.agreement(greedy=False).task, Side.B)
    assert (quiet.fields, quiet.beyond_blocking) == ((), False)
    assert not leakage(worlds.agreement(closure="candidates").task, Side.A).beyond_blocking


def test_all_pairs_releases_no_count() -> None:
    told = leakage(worlds.agreement(protocol="all-pairs").task, Side.A)
    assert told == Leakage(0, Fraction(0), Fraction(0), ("x", "y"), ("x", "y"), False, "nothing")


def test_greedy_shows_the_fields_of_the_blocking_too() -> None:
    agreed = worlds.agreement(rule="within(y, 1)")
    told = leakage(agreed.task, Side.A)
    assert told.fields == ("y", "x") == agreed.task.shown_fields
