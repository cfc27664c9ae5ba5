"""How the cells of a column are read, once it is known what it is: what its owner's layout should say of it.

Proposed from the cells, shown to the owner, and written to the layout, which never leaves: cells that mean
that nothing is known, spellings of agreed values, and how numbers are written. Nothing of it is part of a
draft.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from accord.drafting.guessing import Sample
from accord.drafting.headers import words_of
from accord.drafting.kinds import ColumnKind
from accord.drafting.shapes import FITS, NUMBER, are_dates, surname_first
from accord.drafting.vocabulary import (
    LETTERS_OF_SEXES,
    MARKS,
    MAY_BE_NAMES,
    NUMBERED_SEXES,
    OTHER_SEXES,
    SEXES,
    UNKNOWN_CODES,
    UNKNOWN_SEXES,
    UNSURE_SEXES,
    YES_NO,
)
from accord.fields.date_formats import FORMATS
from accord.fields.making import parse_date

_OFTEN, _SOME_TIMES = 0.01, 3
"""A cell that may mean something is a mark where it occurs more often than it should."""
_FREQUENT = 0.05
_DIGITS = 5
_CALLED = frozenset(
    {ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.SURNAME_2, ColumnKind.MIDDLE, ColumnKind.NAME}
) | {ColumnKind.CITY, ColumnKind.CATEGORY}
_ANY_WORDS = frozenset({ColumnKind.TEXT, ColumnKind.COMPANY})
_CODES = frozenset({ColumnKind.CATEGORY, ColumnKind.SEX, ColumnKind.YESNO})
_DAYS = frozenset({ColumnKind.BIRTH, ColumnKind.DATE})
_NUMBERS = frozenset({ColumnKind.PRICE, ColumnKind.NUMBER, ColumnKind.LATITUDE, ColumnKind.LONGITUDE})
_FILLED_IN = {
    **dict.fromkeys((ColumnKind.BIRTH_YEAR, ColumnKind.YEAR), r"0+|9999"),
    **dict.fromkeys((ColumnKind.BIRTH_MONTH, ColumnKind.BIRTH_DAY), r"0+|99"),
    **dict.fromkeys((ColumnKind.PHONE, ColumnKind.POSTCODE, ColumnKind.IDENTIFIER), r"0+|9{4,}"),
    **dict.fromkeys(_DAYS, r"0+|9{4}.*"),
}
"""By type, the digits of cells that were filled in for want of a value."""
_NEVER = r"(?!)"
_OFTEN_FILLED_IN = {
    **dict.fromkeys((ColumnKind.PRICE, ColumnKind.NUMBER, ColumnKind.AGE), r"-1|-9+|-?9{3,}"),
    **dict.fromkeys((ColumnKind.BIRTH_YEAR, ColumnKind.YEAR), r"1[89]00"),
}
_FILLERS = frozenset(
    date(*day)
    for day in ((1753, 1, 1), (1800, 1, 1), (1899, 12, 30), (1900, 1, 1), (1901, 1, 1), (1970, 1, 1))
) | {date(1111, 11, 11), date(2099, 12, 31), date(2999, 12, 31)}
_PARTS = {"year": "of its dates the year is read", "postcode": "countries are dropped"}
_COUNTRY = re.compile(r"[A-Za-z]{1,3}\s*-\s*\S.*")


@dataclass(frozen=True)
class Reading:
    """How a column is read: what a source of it says besides where it is."""

    said: Mapping[str, Any] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    """Spellings that are none of the agreed values and mean none that is known."""
    unknown_cells: int = 0
    unsure: tuple[str, ...] = ()
    """Of these, letters of sexes that mean another one in another language than that of the header."""
    lone: str = ""
    """The agreed value that all cells mean, where they are spelt in several ways."""

    def tell(self) -> str:
        """What its owner is told; empty if it is read as it is."""
        parts = []
        if marks := self.said.get("missing"):
            parts.append(f"{', '.join(marks)} {'counts' if len(marks) == 1 else 'count'} as empty")
        read: dict[str, list[str]] = {}
        for cell, value in self.said.get("values", {}).items():
            read.setdefault(value, []).append(cell)
        parts += [f"{', '.join(cells)} is read as {value}" for value, cells in read.items()]
        if sign := self.said.get("decimal"):
            parts.append(f"numbers are read without currency and unit, decimals behind '{sign}'")
        if (part := self.said.get("part")) in _PARTS:
            parts.append(_PARTS[part])
        if digits := self.said.get("digits"):
            parts.append(f"numbers of fewer digits than {digits} get zeros in front, which were lost")
        return "; ".join(parts)


def share_marks(kinds: Mapping[str, ColumnKind], samples: Sequence[Sample]) -> list[Sample]:
    """The samples of a table, of which columns of codes share their marks of unknown: a `U` that means so in
    one of them does in all."""
    codes = [one for one in samples if kinds.get(one.column) in _CODES]
    marks = {mark.casefold() for one in codes for mark in _marks(kinds[one.column], one)}
    unknown = frozenset().union(*(codes_of for codes_of in UNKNOWN_CODES if codes_of & marks))
    return [replace(one, unknown=unknown) if one in codes else one for one in samples]


def propose(kind: ColumnKind, sample: Sample, agreed: Sequence[str] = ()) -> Reading:
    """How a column of this type is read, whose field has these agreed values, if they are listed."""
    said: dict[str, Any] = {}
    known = {value.casefold() for value in agreed}
    if marks := (*(mark for mark in _marks(kind, sample) if mark.casefold() not in known),):
        said["missing"] = marks
    values, unknown = _values(kind, sample, agreed, marks)
    if values:
        said["values"] = values
    said |= _written(kind, _without(sample, marks))
    cells = sum(sample.common[cell] for cell in unknown)
    letters = _find_letters(_often(sample), sample.column) if kind is ColumnKind.SEX and agreed else []
    unsure = {letter for pair in letters for letter in pair} if len(letters) > 1 else set()
    unsure_cells = (*(cell for cell in unknown if cell.casefold() in unsure),)
    return Reading(said, unknown, cells, unsure_cells, _lone(sample, values, agreed))


def order_of(sample: Sample) -> str:
    """Whether whole names begin with the surname."""
    return "surname given" if surname_first(sample.telling) else "given surname"


def _without(sample: Sample, marks: Iterable[str]) -> list[str]:
    known = {mark.casefold() for mark in marks}
    return [cell for cell in sample.telling if cell.casefold() not in known]


def _marks(kind: ColumnKind, sample: Sample) -> Iterator[str]:
    """Cells that mean that nothing is known, each in one spelling."""
    seen = set()
    for cell, count in sample.common.items():
        often = count >= max(_SOME_TIMES, _OFTEN * sample.size)
        folded = " ".join(cell.casefold().split())
        is_mark = _is_mark(kind, folded, often) or _is_unknown_code(sample, folded)
        if folded not in seen and is_mark:
            seen.add(folded)
            yield cell


def _is_unknown_code(sample: Sample, cell: str) -> bool:
    """Whether a code is unknown; a number is none where the one before it is a code, too."""
    before = str(int(cell) - 1) if cell.isdecimal() else ""
    return cell in sample.unknown and before not in sample.common


def _is_mark(kind: ColumnKind, cell: str, often: bool) -> bool:
    if cell in MARKS:
        # Books, films and firms are called by any word.
        says_more = cell.isalpha() if kind in _ANY_WORDS else kind in _CALLED and cell in MAY_BE_NAMES
        return often or not says_more
    if kind is ColumnKind.SEX:
        return cell in UNKNOWN_SEXES
    if re.fullmatch(_FILLED_IN.get(kind, _NEVER), re.sub(r"\W", "", cell)):
        return True
    if often and kind in _DAYS:
        return any(parse_date(cell, how) in _FILLERS for how in FORMATS)
    return often and re.fullmatch(_OFTEN_FILLED_IN.get(kind, _NEVER), cell) is not None


def _values(
    kind: ColumnKind, sample: Sample, agreed: Sequence[str], marks: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """By spelling, the agreed value that it means, and the spellings that mean none."""
    if kind not in (ColumnKind.SEX, ColumnKind.YESNO) or not agreed:
        return {}, ()
    spelt = {value.casefold(): value for value in agreed}
    meanings, theirs = (
        (YES_NO, YES_NO)
        if kind is ColumnKind.YESNO
        else (_sexes(_often(sample), sample.column), _sexes(set(spelt)))
    )
    # Of values that mean the same the first is taken, which comes last here.
    meant = {theirs[value]: value for value in reversed(spelt) if value in theirs}
    values: dict[str, str] = {}
    unknown = []
    for cell in sample.common:
        folded = cell.casefold()
        meaning = meanings.get(folded) or meanings.get(folded.rstrip("."))
        # An agreed value is itself, unless it means another in this table.
        is_agreed = folded in spelt and theirs.get(folded) in (None, meaning)
        if is_agreed or cell in marks or folded in MARKS:
            continue
        if meaning in meant:
            values.setdefault(folded, spelt[meant[meaning]])
        else:
            unknown.append(cell)
    return values, tuple(unknown)


def _often(sample: Sample) -> set[str]:
    """Spellings that too many cells have for slips."""
    return {cell.casefold() for cell, count in sample.common.items() if count > _FREQUENT * sample.size}


def _sexes(spelt: Set[str], header: str = "") -> dict[str, str]:
    """What spellings of sexes mean where these are used: of letters, what the two that stand there mean in
    the language of the header, and nothing where languages differ."""
    letters = _find_letters(spelt, header)
    unsure = UNSURE_SEXES.union(*letters)
    meanings = {word: sex for word, sex in {**SEXES, **NUMBERED_SEXES}.items() if word not in unsure}
    return meanings | (dict(zip(letters[0], "fm", strict=True)) if len(letters) == 1 else {})


def _find_letters(spelt: Set[str], header: str) -> list[tuple[str, str]]:
    """The letters of woman and man that these may be: in the language of the header, else in any, and there
    beside no other words."""
    known = {**SEXES, **NUMBERED_SEXES}
    words = {word for word in spelt if word in OTHER_SEXES or known.get(word) in ("f", "m")}
    letters = {word for word in words if len(word) == 1 and word.isalpha()}
    headers = {*words_of(header)}
    own = [(w, m) for w, m, said in LETTERS_OF_SEXES if letters == {w, m} - {"-"} and said & headers]
    return own or [(w, m) for w, m, _ in LETTERS_OF_SEXES if words == {w, m} - {"-"}]


def _lone(sample: Sample, values: Mapping[str, str], agreed: Sequence[str]) -> str:
    """The one agreed value that several frequent spellings are read as."""
    known = {value.casefold(): value for value in agreed}
    read = {cell: values.get(cell, known.get(cell)) for cell in _often(sample)}
    meant = [value for value in read.values() if value]
    return meant[0] if len(meant) > 1 and len({*meant}) == 1 else ""


def _written(kind: ColumnKind, cells: Sequence[str]) -> dict[str, Any]:
    """How numbers, years and postcodes are written, where that must be said."""
    if kind in _NUMBERS and not all(map(NUMBER.fullmatch, cells)):
        return {"decimal": _decimal(cells, kind in (ColumnKind.LATITUDE, ColumnKind.LONGITUDE))}
    if kind in (ColumnKind.YEAR, ColumnKind.BIRTH_YEAR) and are_dates(cells) > 0.5:
        return {"part": "year"}
    if kind is ColumnKind.POSTCODE and any(map(_COUNTRY.fullmatch, cells)):
        return {"part": "postcode"}
    if kind is ColumnKind.POSTCODE and _lost_zeros(cells):
        return {"digits": _DIGITS}
    return {}


def _lost_zeros(cells: Sequence[str]) -> bool:
    """Whether postcodes of five digits went through a spreadsheet: some have four, and none begins with a
    zero. Those of a country with four digits are no fewer than half."""
    lengths = [len(cell) for cell in cells if cell.isdecimal()]
    whole = sum(length == _DIGITS for length in lengths)
    short = sum(length == _DIGITS - 1 for length in lengths)
    zero = any(cell.startswith("0") for cell in cells)
    return not zero and whole + short >= 0.9 * len(cells) and whole > short > _OFTEN * len(cells)


def _decimal(cells: Sequence[str], never_thousands: bool) -> str:
    """The sign before decimals: the last one of a cell, but for three digits behind it, which are thousands
    unless another sign stands before them."""
    votes = {",": 0, ".": 0}
    for written in cells:
        # A dot behind a letter shortens a word, such as that of a currency.
        cell = re.sub(r"(?<=[^\W\d_])\.", "", written)
        found = re.search(r"([.,])(\d+)\D*$", cell)
        if found is None:
            continue
        sign, digits = found.groups()
        other = "," if sign == "." else "."
        is_thousand = len(digits) == 3 and not never_thousands and other not in cell
        votes[other if is_thousand else sign] += 1
    return "," if votes[","] > votes["."] else "."


def decimal_sign(cells: Sequence[str]) -> str:
    """The sign before the decimals of amounts."""
    return _decimal(cells, never_thousands=False)


def two_digit_years(cells: Sequence[str]) -> bool:
    return FITS[ColumnKind.BIRTH_YEAR](cells) < 0.5
