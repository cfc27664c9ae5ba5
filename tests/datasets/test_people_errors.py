"""Rates of errors are what is promised; each event changes what its kind is about, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from accord.datasets.people_errors import EVENTS, FIELDS, Errors, Record, draw_errors
from accord.datasets.people_typos import SLIPS
from accord.datasets.people_world import FIRST_BIRTH, TODAY, People, draw_people
from accord.errors import UsageError

TOUCHED = {
    **{name: {"given", "surname", "street", "city", "postcode", "phone", "email"} for name in SLIPS},
    "phonetic": {"given", "surname", "street", "city"},
    "nickname": {"given"},
    "maiden": {"surname"},
    "moved": {"street", "city", "postcode", "phone"},
    "new_phone": {"phone"},
    "new_email": {"email"},
    "misdated": {"birth"},
    "swapped_date": {"birth"},
    "swapped_names": {"given", "surname"},
    "format": {"given", "middle", "surname", "street"},
}


def befall(kind: str, there: bool, count: int = 3_000) -> tuple[People, Record]:
    """People, and the same after the event has befallen all of them."""
    rng = np.random.default_rng(7)
    people = draw_people(rng, count)
    filled = {name: np.full(count, there) for name in FIELDS}
    for name in FIELDS:
        column = getattr(people, name, None)
        if there and column is not None and column.dtype.kind == "S":
            filled[name] = column != b""
    record = Record(people.take(np.arange(count)), filled, np.zeros(count, np.bool_))
    EVENTS[kind](rng, record, np.arange(count))
    return people, record


def test_every_kind_is_here() -> None:
    assert set(TOUCHED) == set(EVENTS)


@pytest.mark.parametrize("kind", list(EVENTS))
def test_it_touches_its_fields_and_says_whose(kind: str) -> None:
    before, record = befall(kind, there=True)
    differs = np.zeros(len(before), np.bool_)
    for name, column in vars(before).items():
        changed = column != getattr(record.people, name)
        assert name in TOUCHED[kind] or not changed.any(), name
        differs |= changed
    assert (differs == record.changed).all()
    assert record.changed.mean() > {"maiden": 0.1, "swapped_date": 0.3, "nickname": 0.3}.get(kind, 0.5)


@pytest.mark.parametrize("kind", list(EVENTS))
def test_it_changes_nothing_that_is_missing(kind: str) -> None:
    _, record = befall(kind, there=False)
    assert not record.changed.any()


@pytest.mark.parametrize("kind", list(EVENTS))
def test_it_may_befall_nobody(kind: str) -> None:
    people = draw_people(np.random.default_rng(1), 5)
    record = Record(people, {name: np.ones(5, np.bool_) for name in FIELDS}, np.zeros(5, np.bool_))
    EVENTS[kind](np.random.default_rng(1), record, np.zeros(0, np.int64))
    assert not record.changed.any()


def test_swapped_dates_are_swapped_back_by_a_second_swap() -> None:
    before, record = befall("swapped_date", there=True)
    EVENTS["swapped_date"](np.random.default_rng(1), record, np.flatnonzero(record.changed))
    assert (record.people.birth == before.birth).all()


@pytest.mark.parametrize("kind", ["misdated", "swapped_date"])
def test_dates_stay_in_the_calendar_of_the_living(kind: str) -> None:
    before, record = befall(kind, there=True)
    assert record.people.birth.min() >= FIRST_BIRTH
    assert record.people.birth.max() <= TODAY or kind == "swapped_date"
    years = np.abs(before.birth.astype("datetime64[Y]") - record.people.birth.astype("datetime64[Y]"))
    assert years.astype(np.int64).max() <= (10 if kind == "misdated" else 0)


def test_a_move_leaves_the_line_behind() -> None:
    before, record = befall("moved", there=True)
    stays = before.phone == record.people.phone
    assert (stays == before.mobile).all()


def none() -> Errors:
    return Errors().scaled(0)


def test_scaling() -> None:
    assert not any(none().rates.values())
    assert Errors().scaled(1) == Errors()
    assert max(Errors().scaled(100).rates.values()) == 1
    assert Errors().scaled(2).keyboard == 2 * Errors().keyboard
    assert replace(Errors(), missing={"phone": 0.5}).scaled(0.5).missing == {"phone": 0.25}


def test_rates_by_kind() -> None:
    assert {f"missing_{name}" for name in FIELDS} < set(Errors().rates)
    assert "missing" not in Errors().rates
    assert set(replace(none(), missing={"birth": 0.1}).rates) & {"missing_birth", "missing_phone"} == {
        "missing_birth"
    }


def test_wrong_rates_are_named() -> None:
    with pytest.raises(UsageError, match="keyboard, missing_phone is not"):
        Errors(keyboard=1.5, missing={"phone": -1})
    with pytest.raises(UsageError, match="no field fax; they have given"):
        Errors(missing={"fax": 0.1})


def test_an_error_is_in_one_of_the_two_records() -> None:
    errors, count = Errors(), 40_000
    first, second = draw_errors(np.random.default_rng(2), count, errors)
    assert set(first) == set(second) == set(errors.rates)
    for kind, rate in errors.rates.items():
        assert not (first[kind] & second[kind]).any()
        for drawn in (first[kind], second[kind]):
            # Six standard deviations: a false alarm in one of 10^7 runs, over all 50 of these.
            assert abs(drawn.mean() - rate / 2) < 6 * np.sqrt(rate / 2 / count) + 1e-9
