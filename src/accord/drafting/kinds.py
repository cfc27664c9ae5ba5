"""The types that a column can have for a draft, in words that people say.

A type is all that a draft learns of a column. Those of people (and `latitude`, `longitude`) stand once in an
agreement, under their own name; the others may stand several times, and their owner may name them. Some are
parts, never in an agreement: a month of birth, or the number of a house, belongs to columns beside it. A
`place` is two in one, an `address` three.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from accord.errors import UsageError
from accord.fields.schema import NAME_PATTERN
from accord.wording import did_you_mean


class ColumnKind(StrEnum):
    """What the cells of a column are."""

    GIVEN = "given"
    SURNAME = "surname"
    SURNAME_2 = "surname_2"
    PREFIX = "prefix"
    MIDDLE = "middle"
    NAME = "name"
    BIRTH = "birth"
    BIRTH_YEAR = "birth_year"
    BIRTH_MONTH = "birth_month"
    BIRTH_DAY = "birth_day"
    AGE = "age"
    SEX = "sex"
    STREET = "street"
    HOUSE = "house"
    CITY = "city"
    POSTCODE = "postcode"
    PLACE = "place"
    ADDRESS = "address"
    PHONE = "phone"
    EMAIL = "email"
    IDENTIFIER = "identifier"
    CATEGORY = "category"
    YESNO = "yesno"
    DATE = "date"
    YEAR = "year"
    COMPANY = "company"
    TEXT = "text"
    PRICE = "price"
    NUMBER = "number"
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    ID = "id"
    SKIP = "skip"


MEANINGS = {
    ColumnKind.GIVEN: "given name",
    ColumnKind.SURNAME: "family name",
    ColumnKind.SURNAME_2: "second family name",
    ColumnKind.PREFIX: "words before the family name, in a column of their own, such as van",
    ColumnKind.MIDDLE: "middle name",
    ColumnKind.NAME: "whole name of a person",
    ColumnKind.BIRTH: "date of birth",
    ColumnKind.BIRTH_YEAR: "year of birth",
    ColumnKind.BIRTH_MONTH: "month of birth, in a column of its own",
    ColumnKind.BIRTH_DAY: "day of birth, in a column of its own",
    ColumnKind.AGE: "age in years; `accord init --as-of` says on which day",
    ColumnKind.SEX: "sex",
    ColumnKind.STREET: "street, with or without its number",
    ColumnKind.HOUSE: "number of the house, in a column of its own",
    ColumnKind.CITY: "city",
    ColumnKind.POSTCODE: "postcode",
    ColumnKind.PLACE: "postcode and city in one column",
    ColumnKind.ADDRESS: "street, postcode and city in one column",
    ColumnKind.PHONE: "phone number",
    ColumnKind.EMAIL: "email address",
    ColumnKind.IDENTIFIER: "a number that both sides know, such as an insurance or article number",
    ColumnKind.CATEGORY: "one of some values, such as a brand",
    ColumnKind.YESNO: "yes or no",
    ColumnKind.DATE: "another date",
    ColumnKind.YEAR: "another year",
    ColumnKind.COMPANY: "name of an organisation, with or without its legal form",
    ColumnKind.TEXT: "free text, such as the name of a product",
    ColumnKind.PRICE: "price",
    ColumnKind.NUMBER: "another number, which may differ a little",
    ColumnKind.LATITUDE: "degrees north",
    ColumnKind.LONGITUDE: "degrees east",
    ColumnKind.ID: "names the record; the partner sees it for matches",
    ColumnKind.SKIP: "left out",
}
OF_PEOPLE = frozenset(
    {ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME, ColumnKind.BIRTH, ColumnKind.BIRTH_YEAR}
)
"""Where one of these is, records are about people."""
SEVERAL = frozenset(
    {
        ColumnKind.IDENTIFIER,
        ColumnKind.CATEGORY,
        ColumnKind.YESNO,
        ColumnKind.DATE,
        ColumnKind.YEAR,
        ColumnKind.COMPANY,
        ColumnKind.TEXT,
        ColumnKind.PRICE,
        ColumnKind.NUMBER,
    }
)
"""May stand several times, and be named."""
HOLDS = {
    ColumnKind.PLACE: (ColumnKind.CITY, ColumnKind.POSTCODE),
    ColumnKind.ADDRESS: (ColumnKind.STREET, ColumnKind.CITY, ColumnKind.POSTCODE),
}
"""Types of columns that are several fields."""
PARTS = frozenset(
    {
        ColumnKind.BIRTH_MONTH,
        ColumnKind.BIRTH_DAY,
        ColumnKind.AGE,
        ColumnKind.HOUSE,
        ColumnKind.PREFIX,
        *HOLDS,
    }
)
"""Of fields that other columns belong to as well, or of several; never in an agreement by themselves."""
LOCAL = frozenset({ColumnKind.ID, ColumnKind.SKIP})
"""Never in an agreement."""


@dataclass(frozen=True)
class Confirmed:
    """What an owner says of a column: its type and, where that has no name of its own, an agreed name."""

    kind: ColumnKind
    name: str = ""

    @property
    def typed(self) -> str:
        """As it is typed: `read_kind` reads it."""
        return f"{self.kind}:{self.name}" if self.name else self.kind.value


def read_kind(text: str) -> Confirmed:
    """A type as it is typed: `surname`, or with a name of its own `category:brand`."""
    word, colon, name = (part.strip() for part in text.partition(":"))
    known = [kind.value for kind in ColumnKind]
    if word.lower() not in known:
        hint = did_you_mean(word, known, f"Types are: {', '.join(known)}.")
        raise UsageError(problem=f"'{word}' is not a column type. {hint}")
    kind = ColumnKind(word.lower())
    if colon and kind not in SEVERAL:
        names = ", ".join(sorted(SEVERAL))
        raise UsageError(problem=f"'{text}': a {kind} has its own name; only {names} can be named.")
    if colon and not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(problem=f"'{text}': a name has letters, digits and _, and begins with a letter.")
    return Confirmed(kind, name)
