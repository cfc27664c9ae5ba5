"""What a column probably is, by its name and by some of its cells: a guess, for its owner to confirm.

Everything here stays with the owner of the table. A guess decides what the owner is asked, and nothing else:
a draft is made of what was confirmed (answers.py).

First each column by itself: what its cells cannot be is out, then its name decides, then its cells. A name
that is known and that the cells contradict leaves the column out, with a word to its owner: cells that merely
look like something else must not overrule it. Then all together: one `id`, at most one column of a type that
stands once in an agreement, a lone `name` beside a given name is a family name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from unicodedata import normalize

from accord.drafting.kinds import ENDINGS, OF_PEOPLE, SEVERAL, WORDS, ColumnKind
from accord.fields.date_formats import FORMATS
from accord.fields.frequencies import census_names
from accord.fields.making import parse_date

_MOST = 0.9
"""Of the cells that are filled, so many must look alike."""
_MANY, _SOME = 0.7, 0.5
_FEW_VALUES = 60
_DECADES = 30
_TELLING = 40
"""Cells that formats of dates are tried on."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_PHONE = re.compile(r"(?=(?:\D*\d){6,15}\D*$)[+(]?[\d][\d ()./+-]*")
# Of any country, but without its code: of D-10115 five characters would be compared, D-101.
_POSTCODE = re.compile(r"(?i)(?![a-z]{1,3}-)(?=.*\d)[a-z\d](?:[ -]?[a-z\d]){2,9}")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_PRICE = re.compile(
    r"\d+(?:\.\d{1,2})?(?: (?:eur|usd|gbp|chf|€|\$|£))?|(?:eur|usd|gbp|chf|€|\$|£) \d+(?:\.\d{1,2})?"
)
_MONEY = re.compile(r"(?i)\s*(?:[€$£]|eur|usd|gbp|chf)?\s*[\d.,']*\d\s*(?:[€$£]|eur|usd|gbp|chf)?\s*")
_DEGREES = re.compile(r"-?\d{1,3}\.\d{2,}")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_STREET = re.compile(r"(?i)(?:\d+\w? .*[a-z]{3,}|.*[a-z]{3,}.* \d+\s?\w?)")
_SEXES = frozenset(
    [
        "f",
        "m",
        "w",
        "d",
        "x",
        "u",
        "0",
        "1",
        "2",
        "9",
        "female",
        "male",
        "woman",
        "man",
        "weiblich",
        "maennlich",
        "männlich",
        "divers",
    ]
)


@dataclass(frozen=True)
class Sample:
    """A column of one's own table: its name, some of its cells, and whether all are filled and different."""

    column: str
    cells: tuple[str, ...] = ()
    names_rows: bool = False

    @property
    def filled(self) -> tuple[str, ...]:
        return tuple(cell.strip() for cell in self.cells if cell.strip())


@dataclass(frozen=True)
class Guess:
    """What a column probably is, and a word to its owner where that needs one."""

    column: str
    kind: ColumnKind
    note: str = ""
    """Why it is left out; every column that is left out has one."""
    meant: ColumnKind | None = None
    """What a column that is left out may be meant to be."""


def guess_kinds(samples: Sequence[Sample]) -> tuple[Guess, ...]:
    """What each column of a table probably is."""
    alone = [_guess_one(sample) for sample in samples]
    return tuple(_keep_once(_choose_id(_name_people(alone, samples), samples)))


def _guess_one(sample: Sample) -> Guess:
    column, cells = sample.column, sample.filled
    if not cells:
        return Guess(column, ColumnKind.SKIP, "it is empty")
    named = _kinds_by_name(column)
    for kind in named:
        if _can_be(kind, cells):
            return Guess(column, kind)
    found = _by_cells(cells, sample.names_rows)
    told = next((kind for kind in named if kind in _READ_AS), None)
    # A name of one word decides; one of many words that the name has ("cost centre") only against an id.
    if told is not None and (_is_called(column, told) or found in (ColumnKind.ID, ColumnKind.SKIP)):
        return Guess(column, ColumnKind.SKIP, _why_not(told, cells), told)
    if found is not ColumnKind.SKIP:
        return Guess(column, found)
    if _CELLS[ColumnKind.LATITUDE](cells):
        return Guess(
            column,
            found,
            "degrees of latitude or longitude; its name does not say which",
            ColumnKind.LATITUDE,
        )
    return Guess(column, found, "numbers; its name does not say what they are")


_READ_AS = {
    ColumnKind.BIRTH: "days, all written in one way",
    ColumnKind.DATE: "days, all written in one way and without a time of the day",
    ColumnKind.LATITUDE: "decimal numbers of degrees, such as 52.5200",
    ColumnKind.LONGITUDE: "decimal numbers of degrees, such as 13.4050",
    ColumnKind.PRICE: "plain numbers, such as 12.99, or 12.99 EUR",
    ColumnKind.POSTCODE: "postcodes without a country, such as 10115",
}
"""Types that a name is believed about, and as what their cells must be read."""


def _why_not(told: ColumnKind, cells: Sequence[str]) -> str:
    """Why cells cannot be read as what the name of their column says; without a cell."""
    how = _READ_AS[told]
    if _share(cells, _COMMA.fullmatch) >= _SOME:
        how += "; they have a decimal comma"
    elif told is ColumnKind.PRICE and _share(cells, _MONEY.fullmatch) >= _SOME:
        how += "; they have a currency sign next to the number, or commas"
    return f"its name says {told}, but its cells are not {how}"


def _is_called(column: str, kind: ColumnKind) -> bool:
    """Whether the whole name of a column says so, not one word of it."""
    joined = "".join(_words_of(column))
    return joined in WORDS[kind] or any(joined.endswith(end) for end, of in ENDINGS if of is kind)


def _kinds_by_name(column: str) -> list[ColumnKind]:
    """What the name of a column says, the likeliest first."""
    words = _words_of(column)
    joined = "".join(words)
    found = [kind for kind, names in WORDS.items() if joined in names]
    found += [kind for ending, kind in ENDINGS if joined.endswith(ending)]
    found += [kind for kind, names in WORDS.items() if any(word in names for word in words)]
    return list(dict.fromkeys(found))


def _words_of(column: str) -> list[str]:
    """Its words in lower case, without accents: `dateOfBirth`, `DATE_OF_BIRTH` and `Date of birth` alike."""
    spelt = re.sub(r"(?<=[a-zß-ü\d])(?=[A-ZÄÖÜ])", " ", column).casefold()
    return re.findall(r"[a-z0-9]+", re.sub("[\u0300-\u036f]", "", normalize("NFD", spelt)))


def _can_be(kind: ColumnKind, cells: Sequence[str]) -> bool:
    """Whether cells do not contradict a type that a name suggests."""
    judge = _CELLS.get(kind)
    if judge is not None:
        return judge(cells)
    letters = _share(cells, lambda cell: any(letter.isalpha() for letter in cell))
    return letters >= _SOME if kind in (*_LETTERS,) else True


_LETTERS = (
    ColumnKind.GIVEN,
    ColumnKind.SURNAME,
    ColumnKind.MIDDLE,
    ColumnKind.NAME,
    ColumnKind.STREET,
    ColumnKind.CITY,
    ColumnKind.TEXT,
)


def _by_cells(cells: Sequence[str], names_rows: bool) -> ColumnKind:
    """By its cells alone."""
    order = (ColumnKind.EMAIL, ColumnKind.BIRTH, ColumnKind.SEX, ColumnKind.LATITUDE)
    for kind in order:
        if _CELLS[kind](cells):
            # Which of two numbers is north nobody can tell, nor whether a date is of a birth.
            return {ColumnKind.LATITUDE: ColumnKind.SKIP, ColumnKind.BIRTH: _date_kind(cells)}.get(kind, kind)
    distinct = len(set(cells))
    if names_rows and _share(cells, lambda cell: " " not in cell) == 1 and any(c.isdigit() for c in cells[0]):
        return ColumnKind.ID
    if _share(cells, _is_name) >= _MANY:
        return _name_kind(cells)
    if distinct <= min(_FEW_VALUES, len(cells) // 5):
        return ColumnKind.CATEGORY
    if _share(cells, _STREET.fullmatch) >= _MOST:
        return ColumnKind.STREET
    if _share(cells, _NUMBER.fullmatch) >= _MOST:
        return ColumnKind.SKIP
    return ColumnKind.PHONE if _share(cells, _PHONE.fullmatch) >= _MOST else ColumnKind.TEXT


def _date_kind(cells: Sequence[str]) -> ColumnKind:
    """A date of birth if they lie decades apart; a twentieth at each end, and at least one, decides nothing,
    since one row must not."""
    years = sorted(int(found[0]) for cell in cells if (found := re.search(r"(?:19|20)\d\d", cell)))
    aside = max(1, len(years) // 20)
    kept = years[aside:-aside]
    return ColumnKind.BIRTH if kept and kept[-1] - kept[0] >= _DECADES else ColumnKind.DATE


def _is_name(cell: str) -> bool:
    words = re.findall(r"\w+", cell.casefold())
    known = sum(word in _people() for word in words)
    return 0 < len(words) <= 4 and 2 * known >= len(words) and not re.search(r"\d", cell)


@cache
def _people() -> set[str]:
    return {*census_names("surname"), *census_names("female"), *census_names("male")}


def _name_kind(cells: Sequence[str]) -> ColumnKind:
    """Whole names have several words; a given name is seldom a family name."""
    if _share(cells, lambda cell: len(cell.split()) > 1) >= _SOME:
        return ColumnKind.NAME
    given, surnames = {*census_names("female"), *census_names("male")}, census_names("surname")
    weight = sum((cell.casefold() in given) - (cell.casefold() in surnames) for cell in set(cells))
    return ColumnKind.GIVEN if weight >= 0 else ColumnKind.SURNAME


def _share(cells: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(bool(holds(cell)) for cell in cells) / len(cells) if cells else 0.0


def _are_dates(cells: Sequence[str]) -> bool:
    """Whether some format reads nearly all of them; a number of a few digits is no date."""
    tried = [cell for cell in cells[:: max(1, len(cells) // _TELLING)] if len(cell) >= 6]
    if len(tried) < _MOST * len(cells[:: max(1, len(cells) // _TELLING)]):
        return False
    return any(sum(_is_day(cell, how) for cell in tried) >= _MOST * len(tried) for how in FORMATS)


def _is_day(cell: str, how: str) -> bool:
    day = parse_date(cell, how)
    return day is not None and 1800 <= day.year <= 2100


def _are_degrees(most: int) -> Callable[[Sequence[str]], bool]:
    def judge(cells: Sequence[str]) -> bool:
        return _share(cells, lambda c: _DEGREES.fullmatch(c) and abs(float(c)) <= most) >= _MOST

    return judge


def _like(pattern: re.Pattern[str]) -> Callable[[Sequence[str]], bool]:
    return lambda cells: _share(cells, lambda cell: pattern.fullmatch(cell.casefold())) >= _MOST


_CELLS: dict[ColumnKind, Callable[[Sequence[str]], bool]] = {
    ColumnKind.EMAIL: _like(_EMAIL),
    ColumnKind.PHONE: _like(_PHONE),
    ColumnKind.POSTCODE: _like(_POSTCODE),
    ColumnKind.PRICE: _like(_PRICE),
    ColumnKind.BIRTH: _are_dates,
    ColumnKind.DATE: _are_dates,
    ColumnKind.SEX: lambda cells: _share(cells, lambda cell: cell.casefold().rstrip(".") in _SEXES) >= _MOST,
    ColumnKind.LATITUDE: _are_degrees(90),
    ColumnKind.LONGITUDE: _are_degrees(180),
}
"""How cells of a type look, where that can be told."""


# -- all columns together -----------------------------------------------------------------------------------


def _name_people(guesses: list[Guess], samples: Sequence[Sample]) -> list[Guess]:
    """What `name` means follows from the columns beside it."""
    kinds = {guess.kind for guess in guesses}
    found = []
    for guess, sample in zip(guesses, samples, strict=True):
        if guess.kind is ColumnKind.NAME:
            several = _share(sample.filled, lambda cell: len(cell.split()) > 1) >= _SOME
            about_people = kinds & (OF_PEOPLE - {ColumnKind.NAME}) or _share(sample.filled, _is_name) >= _SOME
            if not about_people:
                guess = replace(guess, kind=ColumnKind.TEXT)
            elif not several:
                guess = replace(guess, kind=ColumnKind.SURNAME)
        found.append(guess)
    return found


def _choose_id(guesses: list[Guess], samples: Sequence[Sample]) -> list[Guess]:
    """One column names the records: of those whose cells are all different the first that is called so, or
    else the first that looks so."""
    ids = [i for i, guess in enumerate(guesses) if guess.kind is ColumnKind.ID and samples[i].names_rows]
    named = [i for i in ids if ColumnKind.ID in _kinds_by_name(guesses[i].column)]
    chosen = next(iter([*named, *ids]), None)
    found = []
    for place, guess in enumerate(guesses):
        if guess.kind is ColumnKind.ID and place != chosen:
            why, meant = "some cells are empty or repeated, so it cannot name records", None
            if place in ids:
                why, meant = "another column names the records", ColumnKind.IDENTIFIER
            guess = replace(guess, kind=ColumnKind.SKIP, note=why, meant=meant)
        found.append(guess)
    return found


def _keep_once(guesses: list[Guess]) -> list[Guess]:
    """Of a type that stands once in an agreement, the first column."""
    seen: set[ColumnKind] = set()
    found = []
    for guess in guesses:
        if guess.kind in seen and guess.kind not in SEVERAL and guess.kind is not ColumnKind.SKIP:
            guess = replace(
                guess, kind=ColumnKind.SKIP, note=f"there is a {guess.kind} already", meant=guess.kind
            )
        seen.add(guess.kind)
        found.append(guess)
    return found
