"""Answers that a table suggests to its owner: how many values its fields have, and between which limits.

Nothing here is part of a draft before the owner has confirmed it. Suggestions are coarse on purpose, since
they are written into the agreement: a class instead of a count, and limits far outside of the data.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import log10

from accord.drafting.answers import COUNTED, RANGED
from accord.drafting.confirming import Found
from accord.drafting.guessing import Sample
from accord.drafting.kinds import ColumnKind
from accord.drafting.reading import decimal_sign
from accord.fields.cardinality import Cardinality, classify, is_often_empty
from accord.fields.date_formats import find_formats
from accord.fields.making import parse_date

_ASIDE = 0.01
"""The share of cells at each end that decide no limit."""
_OF_DAYS = frozenset({ColumnKind.BIRTH, ColumnKind.DATE})
_OF_YEARS = frozenset({ColumnKind.BIRTH_YEAR, ColumnKind.YEAR})
_AMOUNTS = frozenset({ColumnKind.PRICE, ColumnKind.NUMBER})
_OF_BIRTH = frozenset({ColumnKind.BIRTH, ColumnKind.BIRTH_YEAR})
_TRIED = 200


@dataclass(frozen=True)
class Suggestion:
    """By field, what its owner may confirm."""

    cardinality: dict[str, Cardinality] = field(default_factory=dict)
    ranges: dict[str, tuple[str, str]] = field(default_factory=dict)
    often_empty: tuple[str, ...] = ()
    copies: int = 1
    """Records of one person or thing."""

    def of(self, names: Iterable[str]) -> Suggestion:
        """For these fields."""
        some = set(names)
        cardinality = {name: one for name, one in self.cardinality.items() if name in some}
        ranges = {name: one for name, one in self.ranges.items() if name in some}
        often_empty = tuple(name for name in self.often_empty if name in some)
        return Suggestion(cardinality, ranges, often_empty, self.copies)

    def adds_to(
        self, cardinality: Container[str], ranges: Container[str], often_empty: Container[str]
    ) -> bool:
        """Whether it gives an answer about a field that the owner did not give."""
        pairs = ((self.cardinality, cardinality), (self.ranges, ranges), (self.often_empty, often_empty))
        return any(name not in said for suggested, said in pairs for name in suggested)


def suggest(fields: Iterable[Found], samples: Sequence[Sample], today: date, copies: int = 1) -> Suggestion:
    """What the columns of a table suggest about its fields, and so many copies of a person."""
    by_column = {sample.column: sample for sample in samples}
    cardinality: dict[str, Cardinality] = {}
    ranges: dict[str, tuple[str, str]] = {}
    often_empty = []
    for one in fields:
        parts = [by_column[name] for name in one.own if name in by_column]
        kind, name = one.is_.kind, one.is_.name
        if kind in COUNTED and parts:
            # Joined columns have more values than each of them: a date has more than a year.
            most = max(parts, key=lambda sample: sample.distinct)
            joined = len(parts) > 1 and kind in _OF_BIRTH
            often_empty += [name] * is_often_empty(min(sample.filled_share for sample in parts))
            cardinality[name] = "unique" if joined else classify(most.distinct, most.size, copies)
        whole = parts if len(parts) == 1 else [by_column[year] for year in _of_year(one) if year in by_column]
        if kind in RANGED and whole and (limits := _limit(kind, whole[0], today)):
            ranges[name] = limits
        elif kind in _OF_BIRTH:
            ranges[name] = _limit_births(kind, 1900, today)
    return Suggestion(cardinality, ranges, tuple(often_empty), copies)


def _of_year(field: Found) -> list[str]:
    """The column with the years of a date in several columns."""
    return [column.name for column in field.columns if column.is_.kind is ColumnKind.BIRTH_YEAR]


def _limit(kind: ColumnKind, sample: Sample, today: date) -> tuple[str, str] | None:
    """Limits that hold nearly all cells, where they can be read."""
    if kind in _OF_DAYS | _OF_YEARS:
        years = sorted(_years(sample.telling, today if kind in _OF_BIRTH else date.max))
        if not years:
            return None
        low, high = _ends(years)
        if kind in _OF_BIRTH:
            return _limit_births(kind, low, today)
        first, last = low - low % 10, high - high % 10 + 9
        return (f"{first}-01-01", f"{last}-12-31") if kind is ColumnKind.DATE else (str(first), str(last))
    if kind in _AMOUNTS:
        return _limit_amounts(kind, sample)
    return None


def _limit_births(kind: ColumnKind, earliest: int, today: date) -> tuple[str, str]:
    """From a whole century to this year: a birth is never in the future."""
    first = min(1900, earliest - earliest % 100)
    if kind is ColumnKind.BIRTH_YEAR:
        return str(first), str(today.year)
    return f"{first}-01-01", f"{today.year}-12-31"


def _ends(values: list[int]) -> tuple[int, int]:
    aside = int(len(values) * _ASIDE)
    return values[aside], values[len(values) - 1 - aside]


def _years(cells: Sequence[str], today: date) -> list[int]:
    """The years of cells that are years or days; those of two digits are not after today."""
    some = cells[:: max(1, len(cells) // _TRIED)]
    plain = [int(float(cell)) for cell in some if re.fullmatch(r"1\d{3}(?:\.0)?|20\d{2}(?:\.0)?", cell)]
    if 2 * len(plain) > len(some):
        return plain
    read = ([parse_date(cell, way, today) for cell in some] for way in find_formats(some).ways[:1])
    return [day.year for days in read for day in days if day is not None]


def _limit_amounts(kind: ColumnKind, sample: Sample) -> tuple[str, str]:
    """A power of ten above all cells; below 0 the same where amounts are negative."""
    usual = RANGED[kind]
    sign = decimal_sign(sample.telling)
    values = [_number(cell, sign) for cell in sample.telling]
    known = sorted(value for value in values if value is not None)
    if not known:
        return usual
    most = max(abs(known[0]), abs(known[-1]), 1.0)
    limit = max(int(usual[1]), 10 ** min(12, 1 + int(log10(most))))
    negative = sum(value < 0 for value in known) > _ASIDE * len(known)
    return (f"-{limit}" if negative else usual[0], str(limit))


def _number(cell: str, sign: str) -> float | None:
    plain = re.sub(r"[^\d.,\-−]", "", cell).replace("−", "-")
    plain = plain.replace("." if sign == "," else ",", "").replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None
