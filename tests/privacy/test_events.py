"""Events: canonical bytes, and nothing unknown is read or accounted."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from accord.errors import UsageError
from accord.privacy.calibration import calibrate
from accord.privacy.events import (
    NO_COST,
    AllPairs,
    Cost,
    Event,
    ExactAnswer,
    Intersection,
    NoisyAnswer,
    NoisyCounts,
    Promise,
    Routing,
    covered_records,
    decode,
    encode,
    is_free,
    released,
)

EVENTS: list[Event] = [
    AllPairs(),
    Promise(Cost(Fraction(1, 3), Fraction(1, 2**40))),
    Intersection(),
    ExactAnswer(),
    Routing(""),
    Routing("leave-out"),
    Routing("refuse"),
    NoisyAnswer(Fraction(1, 3)),
    NoisyAnswer(Fraction(1, 3), "refuse"),
    NoisyAnswer(Fraction(1, 3), records_per_person=7),
    released(calibrate("geometric", "0.1", "2^-40", 2)),
    released(calibrate("gaussian", "1.6", "1e-5", 3)),
    released(calibrate("geometric", "0.1", "2^-40", 2, records_per_person=3)),
]


PEOPLE = encode(released(calibrate("geometric", "0.1", "2^-40", 2, records_per_person=7)))
BAD_NUMBERS = (b"0", b"-1", b"1", b"21", b"2.0", b'"2"', b"true", b"null")
NOISY = next(event for event in EVENTS if isinstance(event, NoisyCounts))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_bytes_read_back_as_the_same_event(event: Event) -> None:
    assert decode(encode(event)) == event
    assert encode(decode(encode(event))) == encode(event)


def test_different_events_have_different_bytes() -> None:
    assert len({encode(event) for event in EVENTS}) == len(EVENTS)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"accord event":1,"kind":"Gossip"}',
        b'{"accord event":2,"kind":"AllPairs"}',
        b'{"accord event":1,"kind":"AllPairs"} ',
        b'{"accord event":1,"kind":"AllPairs","epsilon":"1"}',
        b'{"accord event":1,"kind":"Promise","epsilon":"x","delta":"0"}',
        encode(Routing("refuse")).replace(b'"refuse"', b'"ignore"'),
        encode(Routing("refuse")).replace(b'"refuse"', b"null"),
        encode(NoisyAnswer(Fraction(1), "refuse")).replace(b'"refuse"', b'"leave-out"'),
        encode(NOISY).replace(b'"middle"', b'"center"'),
        encode(NOISY).replace(b'"geometric"', b'"uniform"'),
        encode(NOISY)[:-1],
        encode(AllPairs()) + b" " * 5000,
        *(PEOPLE.replace(b'"records_per_person":7', b'"records_per_person":' + n) for n in BAD_NUMBERS),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="No accountant knows"):
        decode(data)


def test_the_version_is_in_the_bytes() -> None:
    assert json.loads(encode(AllPairs()))["accord event"] == 1


def test_an_event_costs_its_promise_or_what_is_true_if_that_is_more() -> None:
    assert released(calibrate("geometric", "0.1", "1e-5")).cost == Cost(Fraction(1, 10), Fraction(1, 10**5))
    kept = calibrate("geometric", "0.1", "1e-5")
    broken = replace(kept, delta=Fraction(1, 10**9))
    assert released(broken).cost.delta == Fraction(kept.delta_exact) > broken.delta
    for free in (AllPairs(), Intersection()):
        assert free.cost == Cost(Fraction(0), Fraction(0))
    assert ExactAnswer().cost is None


def test_the_condition_is_part_of_the_cost() -> None:
    """Full keys that are left out are in the sensitivity of an answer; a refusal is seen in any case."""
    left, refused = Routing("leave-out").cost, Routing("refuse").cost
    assert left != refused
    assert left.unless
    assert refused.unless
    assert Routing("").cost == NO_COST
    assert NoisyAnswer(Fraction(1)).cost == Cost(Fraction(1), Fraction(0))
    assert NoisyAnswer(Fraction(1), "refuse").cost == Cost(Fraction(1), Fraction(0), refused.unless)


def test_a_sum_has_each_condition_once() -> None:
    left, refused = Routing("leave-out").cost, Routing("refuse").cost
    assert left + NO_COST == NO_COST + left == left + left == left
    both = left + refused
    assert both != left
    assert both + left == both == both + refused
    assert is_free(both)
    assert left.unless in repr(left)


def test_one_record_a_person_does_not_stand_in_the_bytes() -> None:
    """What a ledger has stored before there were people reads back, and is written as it was."""
    known = (
        b'{"accord event":1,"bins_per_record":1,"delta":"0.00001","epsilon":"1.6","kind":"NoisyCounts",'
        b'"noise":{"down":"0.3296","kind":"geometric","middle":8,"reach":64,"up":"1.2704"}}'
    )
    event = released(calibrate("geometric", "1.6", "1e-5"))
    assert encode(event) == known
    assert decode(known) == event


def test_an_event_for_people_costs_what_is_promised_to_a_person() -> None:
    noisy = released(calibrate("geometric", "0.1", "1e-5", 1, records_per_person=5))
    assert (noisy.cost, noisy.records_per_person) == (Cost(Fraction(1, 10), Fraction(1, 10**5)), 5)


def test_what_could_not_be_read_again_is_not_written() -> None:
    """Else one release would make a ledger unreadable."""
    long = Fraction(10**4200 + 1, 10**4200)
    with pytest.raises(UsageError, match="too long to be kept"):
        encode(Promise(Cost(long, Fraction(0))))


def test_for_whom_a_cost_holds() -> None:
    people = released(calibrate("geometric", "1", "2^-40", records_per_person=3))
    assert [covered_records(event) for event in (people, AllPairs(), Promise(NO_COST))] == [3, None, None]
