"""How cells of a type look: for each type, the share of some cells that may be of it.

A judgement is of filled cells, without marks for missing ones; slips are why it is a share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial

from accord.drafting.kinds import ColumnKind
from accord.drafting.vocabulary import NUMBERED_SEXES, SEXES, SUFFIXES, UNKNOWN_SEXES, YES_NO
from accord.fields.census import census_names
from accord.fields.date_formats import find_formats
from accord.fields.making import parse_date
from accord.table.postal import ADDRESSES, PLACES, full_share

Cells = Sequence[str]
_TELLING = 40
"""Cells that formats of dates are tried on."""
_LONGEST = 120
"""A longer cell is a text, whatever it begins with. Patterns take no more than linear time all the same."""
_DECADES = 30
_YEARS = range(1500, 2101)
"""Of dates that people have in tables."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_PHONE = re.compile(
    r"(?:tel\.?:? *)?(?=(?:\D*\d){6,15}\D*$)[+(]?[\d(][\d ()./+\-\xa0]*(?:(?:ext|x|#)\.? ?\d+)?"
)
_DIALLED = re.compile(r"\+\d[\d ()./-]{6,}|0\d[\d ()./-]{6,}|\(\d+\) ?\d[\d ./-]{4,}")
_POSTCODE = re.compile(r"(?:[a-z]{1,3} ?- ?)?(?=.*\d)[a-z\d](?:[ -]?[a-z\d]){2,9}")
_SURE_POSTCODE = re.compile(
    r"[a-z]{1,3}-\d{4,5}|[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}|\d{4} ?[a-z]{2}|\d{2}-\d{3}|\d{4}-\d{3}"
    r"|[a-z]\d[a-z] ?\d[a-z]\d"
)
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_MONEY = r"[€$£¥₹]|eur|euro|usd|us\$|gbp|chf|sek|pln|zł|kr\.?|fr\.?|rs\.?|brl|r\$"
_AMOUNT = re.compile(
    rf"(?:{_MONEY})?\s*+[+\-−]?\s*+(?:[.,'’ \xa0]*+\d)++[.,]*(?:[-–—]{{1,2}})?\s*(?:{_MONEY})?"
)
_PRICED = re.compile(rf"(?:{_MONEY})\s*\d.*|.*\d[-–—]{{0,2}}\s*(?:{_MONEY})")
_MEASURE = re.compile(r"[+\-−]?[\d.,']*\d\s*[a-z%°\"]{0,5}")
_DEGREES = re.compile(r"-?\d{1,3}[.,]\d{2,}")
_STREET = re.compile(r"\d+\w? .*[a-z]{3}|(?>.*?[a-z]{3}).* \d+\s?\w?")
_CODE = re.compile(r"[^\W\d_]{0,4}[-_/. ]?\d[\d\-_/.]*[^\W\d_]?")
_HOUSE = re.compile(r"(?:nr?\.? ?)?\d{1,5}\s?[a-z]{0,3}(?:\s?[-/+]\s?\d{0,5}\s?[a-z]{0,2})?")


def share(cells: Cells, holds: Callable[[str], object]) -> float:
    return sum(bool(holds(cell)) for cell in cells) / len(cells) if cells else 0.0


def _like(pattern: re.Pattern[str]) -> Callable[[Cells], float]:
    return lambda cells: share(
        cells, lambda cell: len(cell) <= _LONGEST and pattern.fullmatch(cell.casefold())
    )


are_streets = _like(_STREET)


def _between(low: int, high: int) -> Callable[[str], bool]:
    return lambda cell: bool(re.fullmatch(r"\d{1,4}(?:\.0)?", cell)) and low <= int(float(cell)) <= high


def _one_of(words: object) -> Callable[[Cells], float]:
    known = frozenset(words)  # type: ignore[call-overload]
    return lambda cells: share(cells, lambda cell: cell.casefold().rstrip(".") in known)


def are_dates(cells: Cells) -> float:
    """The share that formats read which exclude each other; a number of a few digits is no date."""
    tried = cells[:: max(1, len(cells) // _TELLING)]
    days = [cell for cell in tried if 6 <= len(cell) <= _LONGEST]
    ways = find_formats(days, _YEARS).ways
    return max((share(tried, partial(_is_day, days, way)) for way in ways), default=0.0)


def _is_day(days: Cells, way: str, cell: str) -> bool:
    day = parse_date(cell, way) if cell in days else None
    return day is not None and day.year in _YEARS


def _years(low: int) -> Callable[[Cells], float]:
    """Years, or days of which the year is meant."""
    return lambda cells: max(share(cells, _between(low, 2100)), are_dates(cells))


def _degrees(most: int) -> Callable[[Cells], float]:
    return lambda cells: share(
        cells, lambda c: _DEGREES.fullmatch(c) and abs(float(c.replace(",", "."))) <= most
    )


def _words(cells: Cells) -> float:
    return share(cells, lambda cell: any(letter.isalpha() for letter in cell))


def _names(cells: Cells) -> float:
    return share(cells, lambda cell: re.search(r"[^\W\d_]", cell) and not re.search(r"\d", cell))


FITS: dict[ColumnKind, Callable[[Cells], float]] = {
    ColumnKind.EMAIL: _like(_EMAIL),
    ColumnKind.PHONE: _like(_PHONE),
    ColumnKind.POSTCODE: _like(_POSTCODE),
    ColumnKind.PRICE: _like(_AMOUNT),
    ColumnKind.NUMBER: _like(_MEASURE),
    ColumnKind.BIRTH: are_dates,
    ColumnKind.DATE: are_dates,
    ColumnKind.BIRTH_YEAR: _years(1500),
    ColumnKind.YEAR: _years(1000),
    ColumnKind.BIRTH_MONTH: lambda cells: share(cells, _between(1, 12)),
    ColumnKind.BIRTH_DAY: lambda cells: share(cells, _between(1, 31)),
    ColumnKind.AGE: lambda cells: share(cells, _between(0, 120)),
    ColumnKind.HOUSE: _like(_HOUSE),
    ColumnKind.IDENTIFIER: lambda cells: share(cells, lambda cell: re.search(r"\d", cell)),
    ColumnKind.SEX: _one_of([*SEXES, *NUMBERED_SEXES, *UNKNOWN_SEXES]),
    ColumnKind.YESNO: _one_of(YES_NO),
    ColumnKind.LATITUDE: _degrees(90),
    ColumnKind.LONGITUDE: _degrees(180),
    ColumnKind.GIVEN: _names,
    ColumnKind.SURNAME: _names,
    ColumnKind.SURNAME_2: _names,
    ColumnKind.MIDDLE: _names,
    ColumnKind.NAME: _names,
    ColumnKind.CITY: _names,
    ColumnKind.STREET: _words,
    ColumnKind.COMPANY: _words,
    ColumnKind.TEXT: _words,
    ColumnKind.PLACE: partial(full_share, orders=PLACES),
    ColumnKind.ADDRESS: partial(full_share, orders=ADDRESSES),
}
"""The share of cells that look so, where that can be told."""
SURE: dict[ColumnKind, Callable[[Cells], float]] = {
    ColumnKind.PHONE: _like(_DIALLED),
    ColumnKind.POSTCODE: _like(_SURE_POSTCODE),
    ColumnKind.PRICE: _like(_PRICED),
}
"""The same of cells that look like nothing else, whatever their column is called."""


def are_suffixes(cells: Cells) -> bool:
    """Whether cells are suffixes of names: numbers alone may be classes."""
    is_junior = any(cell.casefold().startswith(("jr", "jnr")) for cell in cells)
    return is_junior and _one_of(SUFFIXES)(cells) >= 0.9


_UNITS = 3
"""So many units a column may have, such as min, mins and minutes."""


def are_measures(cells: Cells) -> bool:
    """Whether cells are numbers with a unit, the same in all: codes have many letters."""
    units = {re.sub(r"[^a-z%°\"]", "", cell.casefold()) for cell in cells[:_TELLING]}
    return "" not in units and len(units) <= _UNITS and FITS[ColumnKind.NUMBER](cells) >= 0.9


def are_codes(cells: Cells) -> bool:
    """Whether most cells are a letter or a few with a number, such as P00000: never names of people."""
    return share(cells, lambda cell: len(cell) <= _LONGEST and _CODE.fullmatch(cell)) >= 0.5


def spread_over_decades(cells: Cells) -> bool:
    """As dates of birth do; a twentieth at each end, and at least one, decides nothing, since one row must
    not."""
    years = sorted(int(found[0]) for cell in cells if (found := re.search(r"(?:1[5-9]|20)\d\d", cell)))
    aside = max(1, len(years) // 20)
    kept = years[aside:-aside]
    return bool(kept) and kept[-1] - kept[0] >= _DECADES


# -- names of people ----------------------------------------------------------------------------------------


def is_name(cell: str) -> bool:
    if len(cell) > _LONGEST:
        return False
    words = re.findall(r"\w+", cell.casefold())
    known = sum(word in _people() for word in words)
    return 0 < len(words) <= 4 and 2 * known >= len(words) and not re.search(r"\d", cell)


@cache
def _given() -> frozenset[str]:
    return frozenset({*census_names("female"), *census_names("male")})


@cache
def _people() -> frozenset[str]:
    return _given() | {*census_names("surname")}


def are_whole_names(cells: Cells) -> float:
    """The share of cells with several words."""
    return share(cells, lambda cell: len(cell.split()) > 1)


def looks_given(cells: Cells) -> bool:
    """Whether names are given ones rather than of families, by the words that are only one of both."""
    surnames = census_names("surname")
    return sum((cell.casefold() in _given()) - (cell.casefold() in surnames) for cell in set(cells)) >= 0


def surname_first(cells: Cells) -> bool:
    """Whether whole names without a comma begin with the surname, as far as given names are known."""
    whole = [cell.casefold().split() for cell in cells if "," not in cell and " " in cell]
    return sum((words[-1] in _given()) - (words[0] in _given()) for words in whole) > 0


# -- numbers with a check digit -----------------------------------------------------------------------------


def checked_number(cells: Cells) -> str | None:
    """What numbers are whose check digits are right, by a name of the public vocabulary."""
    bare = [re.sub(r"[\s.-]", "", cell).upper() for cell in cells]
    for name, holds in (("iban", _is_iban), ("isbn", _is_isbn), ("ean", _is_ean), ("ssn", _is_nir)):
        if len(bare) >= 3 and share(bare, holds) >= 0.9:
            return name
    return None


def _is_iban(text: str) -> bool:
    moved = text[4:] + text[:4]
    return bool(re.fullmatch(r"[A-Z]{2}\d{2}[A-Z\d]{11,30}", text)) and int(_digits(moved)) % 97 == 1


def _digits(text: str) -> str:
    return "".join(str(int(letter, 36)) for letter in text)


def _is_ean(text: str) -> bool:
    if not re.fullmatch(r"\d{13}", text):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(text)) % 10 == 0


def _is_isbn(text: str) -> bool:
    if re.fullmatch(r"97[89]\d{10}", text):
        return _is_ean(text)
    if not re.fullmatch(r"\d{9}[\dX]", text):
        return False
    return sum((10 - place) * int(digit.replace("X", "10")) for place, digit in enumerate(text)) % 11 == 0


def _is_nir(text: str) -> bool:
    """The French number of social security: 13 digits, and 97 without their rest."""
    return bool(re.fullmatch(r"[12]\d{14}", text)) and 97 - int(text[:13]) % 97 == int(text[13:])
