"""What a protocol reveals, as data."""

from __future__ import annotations

from fractions import Fraction

from accord.entropy import Seeded
from accord.protocols.base import Leakage
from accord.secure.ideal import IdealEngine
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.views import views


def facts(told: Leakage) -> tuple[object, ...]:
    promised = told.bins, told.epsilon, told.delta
    return (*promised, told.columns, told.fields, told.beyond_blocking, told.guarantee.told)


def test_laplace() -> None:
    told = worlds.agreement().leakage(Side.A)
    assert facts(told) == (16, Fraction(1), Fraction(1, 1000), ("x", "y"), ("x", "y"), True, "noisy counts")
    quiet = worlds.agreement(greedy=False).leakage(Side.B)
    assert (quiet.fields, quiet.beyond_blocking) == ((), False)
    assert not worlds.agreement(rule=worlds.WITHOUT_INDEX).leakage(Side.A).beyond_blocking


def test_all_pairs_releases_no_count() -> None:
    told = worlds.agreement(protocol="all-pairs").leakage(Side.A)
    assert facts(told) == (0, Fraction(0), Fraction(0), ("x", "y"), ("x", "y"), False, "nothing")


def test_greedy_shows_the_fields_of_the_blocking_too() -> None:
    agreed = worlds.agreement(rule="within(y, 1)")
    told = agreed.leakage(Side.A)
    assert told.fields == ("y", "x") == agreed.task.shown_fields


def test_psi_tells_nothing_of_bins() -> None:
    told = worlds.agreement(protocol="psi").leakage(Side.A)
    assert facts(told) == (0, Fraction(0), Fraction(0), ("x", "y"), (), False, "nothing")


def test_views_hold_what_each_side_was_sent() -> None:
    agreed, entropy = worlds.agreement(), Seeded(1)
    own_a = worlds.side(agreed, Side.A, [(1, 1)], entropy, partner=2)
    own_b = worlds.side(agreed, Side.B, [(1, 1), (9, 9)], entropy, partner=1)
    seen = views(agreed.task, own_a, own_b, IdealEngine())
    assert tuple(map(len, seen[Side.A].received)) == seen[Side.B].sent
    assert tuple(map(len, seen[Side.B].received)) == seen[Side.A].sent
    assert seen[Side.A].received[1][32:] == own_b.slots.counts.astype("<i8").tobytes(), "B's noisy counts"
    assert worlds.pairs_of_a(seen[Side.A].outcome) == worlds.pairs_of_b(seen[Side.B].outcome) == [(0, 0)]
