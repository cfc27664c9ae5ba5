"""What each kind of error does to the cells of those whom it befalls.

An event changes cells that are there, and only those; whom it cannot befall, it leaves alone. That somebody
is known by another name comes before slips, since slips happen to what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.datasets.people_names import nicknames
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
)

_WHERE = {
    **{"given": 0.25, "surname": 0.33, "street": 0.2, "city": 0.07},
    **{"postcode": 0.04, "phone": 0.06, "email": 0.05},
}
"""In which field a slip happens. Nobody hears a number as letters: phonetic ones happen in the first four."""
_HEARD = 4
_TITLES = np.array([b"mr ", b"ms ", b"dr ", b"prof "])
_SHORT = ((b"street", b"st"), (b"road", b"rd"), (b"avenue", b"ave"), (b"lane", b"ln"), (b"drive", b"dr"))


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
