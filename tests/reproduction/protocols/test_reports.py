"""Events of local DP: canonical bytes that a ledger reads where the plug-in is loaded, and what they cost."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from accord.errors import BudgetError, UsageError
from accord.privacy.accounting import basic, exact, promised, spent
from accord.privacy.budget import Budget, check
from accord.privacy.events import EVENTS, Cost, ExactAnswer, Intersection, covered_records, decode, encode
from reproduction.protocols.randomised_response import PublicBins, Reports, Response

KNOWN = [
    PublicBins(),
    Reports(Response(16, 3, Fraction(3, 2), 2)),
    Reports(Response(16, 3, Fraction(3, 2))),
    Reports(Response(16, 3, Fraction(3, 2)), 4),
]
PEOPLE = encode(Reports(Response(16, 3, Fraction(1)), 7))
BAD_NUMBERS = (b"0", b"-1", b"1", b"21", b"2.0", b'"2"', b"true", b"null")


@pytest.mark.parametrize("event", KNOWN, ids=repr)
def test_bytes_read_back_as_the_same_event(
    event: PublicBins | Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert decode(encode(event)) == event
    assert encode(decode(encode(event))) == encode(event)
    monkeypatch.delitem(EVENTS, type(event).__name__)
    with pytest.raises(UsageError, match="No accountant knows"):
        decode(encode(event))


@pytest.mark.parametrize(
    "data",
    [
        encode(Reports(Response(16, 3, Fraction(1)))).replace(b'"spread":3', b'"spread":17'),
        encode(Reports(Response(16, 3, Fraction(1)))).replace(b'"spread":3', b'"spread":"3"'),
        encode(PublicBins()).replace(b"}", b',"bins":3}'),
        *(PEOPLE.replace(b'"records_per_person":7', b'"records_per_person":' + n) for n in BAD_NUMBERS),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="No accountant knows"):
        decode(data)


def test_what_they_cost() -> None:
    assert PublicBins().cost is None
    assert Reports(Response(16, 3, Fraction(1))).cost == Cost(Fraction(1), Fraction(0))
    assert Reports(Response(16, 3, Fraction(1, 5)), 5).cost == Cost(Fraction(1), Fraction(0))
    assert covered_records(Reports(Response(16, 3, Fraction(1)), 2)) == 2
    assert covered_records(PublicBins()) is None
    known = b'{"accord event":1,"bins":16,"epsilon":"1","kind":"Reports","spread":3,"start":0}'
    assert encode(Reports(Response(16, 3, Fraction(1)))) == known
    assert promised([ExactAnswer(), PublicBins()]) is None


def test_reports_compose_exactly() -> None:
    """Twice the same reports: at most 2ε, and at each smaller ε the δ of the two responses convolved."""
    response = Response(8, 2, Fraction(1))
    total = exact([Reports(response)] * 2)
    high, low = 2 * float(response.high), 2 * float(response.low)
    level = 1 - high - low
    at_one_and_a_half = high * high * (1 - math.exp(1.5 - 2))
    at_a_half = high * high * (1 - math.exp(0.5 - 2)) + 2 * high * level * (1 - math.exp(0.5 - 1))
    assert total.delta(Fraction(3, 2)) == pytest.approx(at_one_and_a_half, rel=1e-9)
    assert total.delta(Fraction(1, 2)) == pytest.approx(at_a_half, rel=1e-9)
    assert total.delta(Fraction(2)) < 1e-80
    assert basic([Reports(response)] * 2) == Cost(Fraction(2), Fraction(0))
    assert spent([Reports(response), Intersection(), PublicBins()], Fraction(1, 10**6)) <= 1.0


def test_reports_of_a_person_are_as_many_reports() -> None:
    response = Response(8, 2, Fraction(1, 3))
    person, single = exact([Reports(response, 3)]), exact([Reports(response)] * 3)
    for eighths in range(9):
        together, apart = (total.delta(Fraction(eighths, 8)) for total in (person, single))
        assert together == pytest.approx(apart, rel=1e-12)
    assert person.delta(Fraction(1)) < 1e-80
    assert basic([Reports(response, 3)]) == Cost(Fraction(1), Fraction(0))


def test_no_limit_allows_bins_that_the_agreement_calls_public() -> None:
    """Whoever writes the agreement could else have them at no cost."""
    with pytest.raises(BudgetError, match="shows the bin of every record"):
        check("d", Budget(Cost(Fraction(9), Fraction(0))), [], 0, PublicBins())
    check("d", Budget(), [], 0, PublicBins())
