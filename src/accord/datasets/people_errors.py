"""What goes wrong between a person and the two tables, each kind at its rate.

A rate is the share of people, among those to whom it can happen, of whose two records one has the error;
which one is a toss of a coin. So a true pair has each kind at most once, a record that is in one table only
is as faulty as any, and what is listed for a pair has changed a cell. (Two may undo each other, as a doubled
letter and one too few: in 1 of 10,000 pairs.) Kinds are independent of each other, so that more of them leave
fewer pairs without any, as Π(1 − rate).

A field that is missing has no other error. By default a pair has 1.5 errors on average, a fifth of the pairs
have none, and a tenth lacks a given name, surname, birth date, postcode or phone on one side.

What an error does to the cells of those whom it befalls is an *event*. It changes cells that are there, and
only those; whom it cannot befall, it leaves alone. That somebody is known by another name comes before slips,
since slips happen to what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.arguments import require
from accord.datasets.people_typos import SLIPS, Slip
from accord.datasets.people_world import (
    FIRST_BIRTH,
    TODAY,
    Days,
    Flags,
    Ints,
    People,
    draw_addresses,
    draw_emails,
    join,
    mobiles,
    nicknames,
)
from accord.errors import UsageError

_WHERE = {
    **{"given": 0.25, "surname": 0.33, "street": 0.2, "city": 0.07},
    **{"postcode": 0.04, "phone": 0.06, "email": 0.05},
}
"""In which field a slip happens. Nobody hears a number as letters: phonetic ones happen in the first four."""
_HEARD = 4
_TITLES = np.array([b"mr ", b"ms ", b"dr ", b"prof "])
_SHORT = ((b"street", b"st"), (b"road", b"rd"), (b"avenue", b"ave"), (b"lane", b"ln"), (b"drive", b"dr"))
FIELDS = ("given", "middle", "surname", "sex", "birth", "street", "city", "postcode", "phone", "email")


@dataclass(frozen=True)
class Record:
    """People as one table has them; `there` says which cells are filled, `changed` whose cells the present
    event has changed."""

    people: People
    there: Mapping[str, Flags]
    changed: Flags

    def having(self, rows: Ints, *names: str) -> Ints:
        """Those of the rows that have all of these fields."""
        return rows[np.logical_and.reduce([self.there[name][rows] for name in names])]

    def put(self, name: str, rows: Ints, cells: NDArray[Any]) -> None:
        """Write these cells; a text longer than its column stays out, since cut it would be another."""
        column = getattr(self.people, name)
        if column.dtype.kind == "S":
            fits = np.char.str_len(cells) <= column.dtype.itemsize
            rows, cells = rows[fits], cells[fits]
        self.changed[rows] |= (column[rows] != cells) & self.there[name][rows]
        column[rows] = cells


Event = Callable[[np.random.Generator, Record, Ints], None]


def _nickname(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    """Somebody is called by a short name."""
    people, rows = record.people, record.having(rows, "given")
    full, short = nicknames()
    place = np.searchsorted(full, people.given[rows]).clip(max=len(full) - 1)
    known = full[place] == people.given[rows]
    record.put("given", rows[known], short[place[known], rng.integers(0, short.shape[1], int(known.sum()))])


def _maiden(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    """A record is from before a marriage."""
    people, rows = record.people, record.having(rows, "surname")
    rows = rows[people.maiden[rows] != b""]
    record.put("surname", rows, people.maiden[rows])


def _moved(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    """Another address; the line of a household stays behind, one's own number comes along."""
    people, new = record.people, draw_addresses(rng, len(rows))
    for name in ("street", "city", "postcode"):
        record.put(name, rows, getattr(new, name))
    record.put("phone", rows, np.where(people.mobile[rows], people.phone[rows], new.line))


def _new_phone(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    rows = record.having(rows, "phone")
    record.put("phone", rows, mobiles(rng, len(rows)))


def _new_email(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    people, rows = record.people, record.having(rows, "email")
    names = people.given[rows], people.surname[rows]
    record.put("email", rows, draw_emails(rng, *names, people.birth[rows]))


def _swapped_names(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    """The given name stands in the column of surnames, and the other way round."""
    people, rows = record.people, record.having(rows, "given", "surname")
    given, surname = people.given[rows], people.surname[rows]
    record.put("given", rows, surname)
    record.put("surname", rows, given)


def _swapped_date(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    """The day of a birth date as its month."""
    people, rows = record.people, record.having(rows, "birth")
    year, month, day = _calendar(people.birth[rows])
    can = day <= 12
    record.put("birth", rows[can], _date(year[can], day[can], month[can]))


def _misdated(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    people, rows = record.people, record.having(rows, "birth")
    record.put("birth", rows, misdate(rng, people.birth[rows]).clip(FIRST_BIRTH, TODAY))


def misdate(rng: np.random.Generator, dates: Days) -> Days:
    """Dates that are off by one in the day, the month, the year or the decade."""
    year, month, day = _calendar(dates)
    what, sign = rng.integers(0, 4, len(dates)), rng.choice([-1, 1], len(dates))
    year = year + sign * np.choose(what, [0, 0, 1, 10])
    month = (month + sign * (what == 1)).clip(1, 12)
    day = (day + sign * (what == 0)).clip(1, 28 + (month != 2))
    return _date(year, month, day)


def _format(rng: np.random.Generator, record: Record, rows: Ints) -> None:
    """One writes an initial, a title, a suffix or a short word for a way, where the other does not."""
    people, way = record.people, rng.integers(0, 4, len(rows))
    initial = record.having(rows[way == 0], "middle")
    record.put("middle", initial, people.middle[initial].astype("S1"))
    titled = record.having(rows[way == 1], "given")
    titles = _TITLES[rng.integers(0, len(_TITLES), len(titled))]
    record.put("given", titled, join(titles, people.given[titled]))
    son = record.having(rows[way == 2], "surname")
    record.put("surname", son, join(people.surname[son], np.where(people.female[son], b" esq", b" jr")))
    street = record.having(rows[way == 3], "street")
    for long, short in _SHORT:
        ends = street[np.char.endswith(people.street[street], long)]
        stem = np.char.replace(people.street[ends], b" " + long, b"") if len(ends) else people.street[ends]
        record.put("street", ends, np.char.add(stem, b" " + short))


def _slip(slip: Slip, fields: int, rng: np.random.Generator, record: Record, rows: Ints) -> None:
    """One slip in one of the fields."""
    names = list(_WHERE)[:fields]
    weights = np.array([_WHERE[name] for name in names])
    which = rng.choice(fields, len(rows), p=weights / weights.sum())
    for number, name in enumerate(names):
        here = record.having(rows[which == number], name)
        record.put(name, here, slip(rng, getattr(record.people, name)[here]))


def _calendar(dates: Days) -> tuple[Ints, Ints, Ints]:
    """Year, month and day, each from 1 as people count."""
    months = dates.astype("datetime64[M]")
    count = months.astype(np.int64)
    return 1970 + count // 12, 1 + count % 12, 1 + (dates - months).astype(np.int64)


def _date(year: Ints, month: Ints, day: Ints) -> Days:
    months: Days = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    return months.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")


EVENTS: dict[str, Event] = {
    "nickname": _nickname,
    "maiden": _maiden,
    "moved": _moved,
    "new_phone": _new_phone,
    "new_email": _new_email,
    **{
        name: partial(_slip, slip, _HEARD if name == "phonetic" else len(_WHERE))
        for name, slip in SLIPS.items()
    },
    "misdated": _misdated,
    "swapped_date": _swapped_date,
    "format": _format,
    "swapped_names": _swapped_names,
}
"""In the order in which they happen."""


def _missing() -> dict[str, float]:
    return {
        **{"given": 0.005, "surname": 0.005, "birth": 0.02, "postcode": 0.03, "phone": 0.044},
        **{"middle": 0.05, "sex": 0.01, "street": 0.02, "city": 0.01, "email": 0.05},
    }


@dataclass(frozen=True)
class Errors:
    """How often each kind of error happens."""

    keyboard: float = 0.21
    phonetic: float = 0.14
    scanning: float = 0.09
    transposed: float = 0.09
    inserted: float = 0.07
    deleted: float = 0.08
    nickname: float = 0.18
    maiden: float = 0.18
    swapped_names: float = 0.03
    swapped_date: float = 0.06
    misdated: float = 0.03
    moved: float = 0.17
    new_phone: float = 0.08
    new_email: float = 0.06
    format: float = 0.16
    missing: Mapping[str, float] = field(default_factory=_missing)
    """By field."""

    def __post_init__(self) -> None:
        require("missing", self.missing, "a dictionary of fields and rates, such as {'phone': 0.05}", Mapping)
        unknown = [name for name in self.missing if name not in FIELDS]
        wrong = [name for name, rate in self.rates.items() if not 0 <= rate <= 1]
        if unknown:
            raise UsageError(
                problem=f"People have no field {', '.join(unknown)}; they have {', '.join(FIELDS)}."
            )
        if wrong:
            raise UsageError(problem=f"Rates are from 0 to 1; {', '.join(wrong)} is not.")

    @property
    def rates(self) -> dict[str, float]:
        """By kind, as the truth calls it: a missing phone is `missing_phone`."""
        kinds = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "missing"}
        return kinds | {f"missing_{name}": self.missing[name] for name in FIELDS if name in self.missing}

    def scaled(self, factor: float) -> Errors:
        """All of them so many times as often, none more often than always."""
        kinds = {name: min(1.0, rate * factor) for name, rate in self.rates.items()}
        lacks = {name: kinds.pop(f"missing_{name}") for name in FIELDS if name in self.missing}
        return replace(self, **kinds, missing=lacks)


def draw_errors(
    rng: np.random.Generator, count: int, errors: Errors
) -> tuple[Mapping[str, Flags], Mapping[str, Flags]]:
    """By kind, to which of so many people it is to happen, in the first table and in the second."""
    first, second = {}, {}
    for kind, rate in errors.rates.items():
        drawn = rng.random(count)
        first[kind], second[kind] = drawn < rate / 2, (drawn >= rate / 2) & (drawn < rate)
    return first, second


def write_down(
    rng: np.random.Generator, people: People, due: Mapping[str, Flags]
) -> tuple[Record, Mapping[str, Flags]]:
    """The people as a table has them, and which of the errors that were due in it came about."""
    there = {name: _filled(people, name) for name in FIELDS}
    came: dict[str, Flags] = {}
    for kind in (kind for kind in due if kind.startswith("missing_")):
        name = kind.removeprefix("missing_")
        came[kind] = due[kind] & there[name]
        there[name] = there[name] & ~due[kind]
    for kind, happen in EVENTS.items():
        record = Record(people, there, np.zeros(len(people), np.bool_))
        happen(rng, record, np.flatnonzero(due[kind]))
        came[kind] = record.changed
    return record, came


def _filled(people: People, name: str) -> Flags:
    column = people.female if name == "sex" else getattr(people, name)
    return column != b"" if column.dtype.kind == "S" else np.ones(len(people), np.bool_)
