"""Generated sets of the quality table, each with one fault that ordinary tables have.

People come from Accord's own generator, faults from here. Each side writes its table as an export does, with
its own headers and in its own order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from accord.datasets import things
from accord.datasets.people import generate_people
from accord.datasets.people_typos import SLIPS

Random = np.random.Generator
Cells = dict[str, str]
Made = tuple[list[Cells], list[Cells], list[tuple[str, str]]]
_RECORDS = 2_000
_SHARED = 1_000
_COUNTIES, _STATES, _TRADES, _SHOPS = 100, 60, 80, 250
_RACES = ("W", "B", "H", "A", "O", "I", "M")
_VENUES = ("VLDB", "SIGMOD Conference", "VLDB J.", "SIGMOD Record", "ACM Trans. Database Syst.")
_FORMS = ("GmbH", "Ltd", "S.p.A.", "Inc", "AG", "LLC", "B.V.", "S.A.")
_OTHER_FORMS = ("G.m.b.H.", "Limited", "SpA", "Inc.", "Aktiengesellschaft", "L.L.C.", "BV", "SA")
_SECTORS = (
    *("Logistics", "Consulting", "Foods", "Engineering", "Systems", "Trading", "Services", "Partners"),
    *("Media", "Energy", "Textiles", "Pharma", "Motors", "Properties", "Software", "Bakery"),
)


def unknown_texts(rng: Random) -> Made:
    """Two rolls of voters: race, county and place of birth in columns whose names say little."""
    races, counties, states = (_common(rng, 2 * _RECORDS, count) for count in (7, _COUNTIES, _STATES))
    towns = things.draw_words(_COUNTIES + _STATES, 1).tolist()

    def write(row: Cells, person: int, other: bool) -> Cells:
        moved, unknown = other and rng.random() < 0.1, rng.random(2) < 0.08
        county = towns[rng.integers(_COUNTIES) if moved else counties[person]].upper()
        cells = {
            "last_name": row["surname"], "first_name": row["given"], "midl_name": row["middle"],
            "gender": row["sex"][:1].upper(), "race_code": "U" if unknown[0] else _RACES[races[person]],
            "birth_year": row["birth"][:4], "county_desc": county,
            "birth_state": "" if unknown[1] else towns[_COUNTIES + states[person]].title(),
        }  # fmt: skip
        return dict(sorted(cells.items())) if other else cells

    return _of_people(rng, write)


def copies(rng: Random) -> Made:
    """Persons of parish registers around 1850, up to three records of each on either side."""
    trades, towns = _common(rng, 2 * _RECORDS, _TRADES), _common(rng, 2 * _RECORDS, _COUNTIES)
    words = things.draw_words(_TRADES + _COUNTIES, 2).tolist()

    def write(row: Cells, person: int, other: bool) -> Cells:
        year = f"{int(row['birth'][:4]) - 110}{row['birth'][4:]}" if row["birth"] else ""
        cells = {
            "given_name": row["given"], "surname": row["surname"], "birth_date": year,
            "birth_place": words[_TRADES + towns[person]], "occupation": words[trades[person]],
        }  # fmt: skip
        for name in cells:
            if name == "birth_date" and rng.random() < 0.05:
                cells[name] = _misdate(rng, cells[name])
            elif name != "birth_date" and rng.random() < 0.06:
                cells[name] = _slip(rng, cells[name])
            elif rng.random() < 0.05:
                cells[name] = ""
        return cells

    return _of_people(rng, write, records=1_200, each=(0.5, 0.35, 0.15))


def slips(rng: Random) -> Made:
    """Persons of whose birth dates 12 % are impossible or mistyped."""

    def write(row: Cells, person: int, other: bool) -> Cells:
        birth = row["birth"]
        if birth and rng.random() < 0.12:
            impossible = f"{birth[:5]}{rng.choice(['02-31', '13-05', '00-14', '06-31'])}"
            birth = impossible if rng.random() < 0.5 else _misdate(rng, birth)
        names = {"first_name": row["given"], "surname": row["surname"]}
        rest = {"city": row["city"], "email": row["email"]}
        if not other:
            return {**names, "dob": birth, **rest}
        year, month, day = birth.split("-") if birth else ("", "", "")
        return {"date_of_birth": f"{day}.{month}.{year}" if birth else "", **rest, **names}

    return _of_people(rng, write)


def companies(rng: Random) -> Made:
    """Firms with legal forms, some of a chain, at addresses of which some have changed."""
    count = 2 * _RECORDS - _SHARED
    places, moved = things.draw_things(rng, count).places, things.draw_things(rng, count).places
    words = things.draw_words(1_200, 3).tolist()
    firsts, seconds, sectors = (_common(rng, count, size) for size in (1_200, 1_200, len(_SECTORS)))
    forms, styles = _common(rng, count, len(_FORMS)), rng.random(count)

    def write(firm: int, other: bool) -> Cells:
        parts = [words[firsts[firm]].title()]
        if styles[firm] < 0.6:
            parts.append(words[seconds[firm]].title())
        sector = _SECTORS[sectors[firm]]
        parts.append(sector[:3] + "." if other and rng.random() < 0.1 else sector)
        if other:
            parts = parts if rng.random() < 0.9 else parts[::-1]
            parts = [_slip(rng, one.lower()).title() if rng.random() < 0.06 else one for one in parts]
        form = (_OTHER_FORMS if other and rng.random() < 0.6 else _FORMS)[forms[firm]]
        name = " ".join(parts if rng.random() < 0.15 else [*parts, form])
        where = moved if other and rng.random() < 0.12 else places
        street, city, postcode, phone = (
            str(getattr(where, one)[firm], "ascii") for one in ("street", "city", "postcode", "line")
        )
        cells = {"address": street.title(), "city": city.title(), "zip": postcode, "phone": phone}
        for one in cells:
            if rng.random() < (0.3 if one == "phone" else 0.06):
                cells[one] = ""
        if not other:
            return {"company_name": name, **cells}
        headers = ("telephone", "postal_code", "town", "street")
        return {"legal_name": name.upper(), **dict(zip(headers, [*cells.values()][::-1], strict=True))}

    return _of_things(rng, write)


def transactions(rng: Random) -> Made:
    """Payments in a ledger, and as a bank books them up to four days later."""
    count = 2 * _RECORDS - _SHARED
    names = things.draw_words(_SHOPS, 4).tolist()
    shops, days = _common(rng, count, _SHOPS), rng.integers(0, 365, count)
    amounts = np.where(rng.random(count) < 0.2, 5 * rng.integers(1, 40, count), rng.lognormal(3.5, 1, count))
    towns = things.draw_words(_COUNTIES, 6)[rng.integers(0, _COUNTIES, _SHOPS)].tolist()

    def write(one: int, other: bool) -> Cells:
        late = int(rng.choice(5, p=[0.3, 0.3, 0.2, 0.1, 0.1])) if other else 0
        day = date(2025, 1, 1) + timedelta(int(days[one]) + late)
        amount = f"{amounts[one] + (rng.random() < 0.03) * other:.2f}"
        text = f"{names[shops[one]]} {towns[shops[one]]}"
        if not other:
            return {"date": str(day), "amount": amount, "text": text.title()}
        text = f"{'card ' if rng.random() < 0.2 else ''}{_slip(rng, text) if rng.random() < 0.1 else text}"
        return {"booking_date": day.strftime("%d.%m.%Y"), "booking_text": text[:16].upper(), "amount": amount}

    return _of_things(rng, write)


def venues(rng: Random) -> Made:
    """A bibliography twice: titles, authors, year, and a venue out of five."""
    count = 2 * _RECORDS - _SHARED
    words = things.draw_words(1_500, 5).tolist()
    titles = _common(rng, (count, 9), len(words))
    lengths, years, held = rng.integers(4, 10, count), rng.integers(1994, 2004, count), _common(rng, count, 5)
    people = generate_people(2 * count, 1.0, int(rng.integers(1 << 30))).a
    given, surname = ([one or "x" for one in people[name].to_pylist()] for name in ("given", "surname"))

    def write(one: int, other: bool) -> Cells:
        title = [words[place] for place in titles[one][: lengths[one]]]
        authors = [2 * one, 2 * one + 1][: 1 + one % 2]
        if other:
            title = [_slip(rng, word) if rng.random() < 0.04 else word for word in title]
            title = title[:-1] if rng.random() < 0.1 else title
            named = [f"{given[who][0]}. {surname[who]}" for who in authors]
            named = named[::-1] if rng.random() < 0.1 else named
        else:
            named = [f"{given[who]} {surname[who]}" for who in authors]
        year = str(years[one] + (other and rng.random() < 0.04))
        venue = _VENUES[held[one]] if rng.random() < 0.95 else ""
        cells = {"title": " ".join(title).capitalize(), "authors": ", ".join(named)}
        return {**cells, "year": year, "venue": venue} if other else {**cells, "venue": venue, "year": year}

    return _of_things(rng, write)


MADE: dict[str, Callable[[Random], Made]] = {
    "unknown-texts": unknown_texts,
    "copies": copies,
    "slips": slips,
    "companies": companies,
    "transactions": transactions,
    "venues": venues,
}
"""By the name of the set."""


def _of_people(
    rng: Random,
    write: Callable[[Cells, int, bool], Cells],
    records: int = _RECORDS,
    each: Sequence[float] = (1.0,),
) -> Made:
    """Tables of generated people, with as many records of each as the shares in `each` say."""
    made = generate_people(records, _SHARED / _RECORDS, int(rng.integers(1 << 30)))
    tables = [
        [{name: cell or "" for name, cell in row.items()} for row in table.to_pylist()]
        for table in (made.a, made.b)
    ]
    number = {row["id"]: person for person, row in enumerate(tables[0])}
    pairs = zip(made.truth["id_b"].to_pylist(), made.truth["id_a"].to_pylist(), strict=True)
    same = {of_b: number[of_a] for of_b, of_a in pairs}
    second = [same.get(row["id"], records + place) for place, row in enumerate(tables[1])]
    whose = [[*range(records)], second]

    def rows(side: int) -> list[tuple[int, Cells]]:
        return [
            (person, write(row, person, bool(side)))
            for person, row in zip(whose[side], tables[side], strict=True)
            for _ in range(1 + int(rng.choice(len(each), p=each)))
        ]

    return _number(rng, rows(0), rows(1))


def _of_things(rng: Random, write: Callable[[int, bool], Cells]) -> Made:
    """Tables of things, of which the first are in both."""
    second = [*range(_SHARED), *range(_RECORDS, 2 * _RECORDS - _SHARED)]
    first = [(one, write(one, False)) for one in range(_RECORDS)]
    return _number(rng, first, [(one, write(one, True)) for one in second])


def _number(rng: Random, *sides: Sequence[tuple[int, Cells]]) -> Made:
    """Give both tables ids, and an order of their own; the truth is all pairs of the same."""
    tables, places = [], []
    for letter, rows in zip("ab", sides, strict=True):
        shuffled = [rows[place] for place in rng.permutation(len(rows))]
        ids = [f"{letter}{number}" for number in rng.permutation(len(rows)) + 10_000]
        tables.append([{"id": name, **cells} for name, (_, cells) in zip(ids, shuffled, strict=True)])
        places.append([(one, name) for name, (one, _) in zip(ids, shuffled, strict=True)])
    by_one: dict[int, list[str]] = {}
    for one, name in places[1]:
        by_one.setdefault(one, []).append(name)
    return tables[0], tables[1], [(name, other) for one, name in places[0] for other in by_one.get(one, ())]


def _common(rng: Random, size: int | tuple[int, int], count: int) -> NDArray[np.int64]:
    """Numbers below `count`, the first of which come up most."""
    return np.floor(count * rng.random(size) ** 2).astype(np.int64)


def _slip(rng: Random, text: str) -> str:
    slip = [*SLIPS.values()][rng.integers(len(SLIPS))]
    cells = np.array([text.encode()], f"S{len(text) + 2}")
    return str(slip(rng, cells)[0], "ascii")


def _misdate(rng: Random, day: str) -> str:
    """A possible date that differs in one number."""
    if not day:
        return day
    year, month, rest = day.split("-")
    wrong: Iterable[str] = (
        f"{int(year) - int(rng.integers(1, 10))}-{month}-{rest}",
        f"{year}-{int(rng.integers(1, 13)):02}-{min(int(rest), 28):02}",
        f"{year}-{month}-{int(rng.integers(1, 29)):02}",
    )
    return [*wrong][rng.integers(3)]
