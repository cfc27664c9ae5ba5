"""The types that a column can have for a draft: words that people say, and what each one asks for.

A type is all that a draft learns of a column. Those of people (and `latitude`, `longitude`) stand once in an
agreement, under their own name; the others may stand several times, and their owner may name them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from accord.errors import UsageError
from accord.fields.schema import NAME_PATTERN
from accord.wording import did_you_mean


class Kind(StrEnum):
    """What the cells of a column are."""

    GIVEN = "given"
    SURNAME = "surname"
    MIDDLE = "middle"
    NAME = "name"
    BIRTH = "birth"
    SEX = "sex"
    STREET = "street"
    CITY = "city"
    POSTCODE = "postcode"
    PHONE = "phone"
    EMAIL = "email"
    IDENTIFIER = "identifier"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"
    PRICE = "price"
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    ID = "id"
    SKIP = "skip"


MEANINGS = {
    Kind.GIVEN: "given name",
    Kind.SURNAME: "family name",
    Kind.MIDDLE: "middle name",
    Kind.NAME: "whole name of a person",
    Kind.BIRTH: "date of birth",
    Kind.SEX: "sex",
    Kind.STREET: "street, with or without its number",
    Kind.CITY: "city",
    Kind.POSTCODE: "postcode",
    Kind.PHONE: "phone number",
    Kind.EMAIL: "email address",
    Kind.IDENTIFIER: "a number that both sides know, such as an insurance or article number",
    Kind.CATEGORY: "one of some values, such as a brand",
    Kind.DATE: "another date",
    Kind.TEXT: "free text, such as the name of a product",
    Kind.PRICE: "price, a plain number",
    Kind.LATITUDE: "degrees north",
    Kind.LONGITUDE: "degrees east",
    Kind.ID: "names the record; the partner sees it for matches",
    Kind.SKIP: "left out",
}
OF_PEOPLE = frozenset({Kind.GIVEN, Kind.SURNAME, Kind.NAME, Kind.BIRTH})
"""Where one of these is, records are about people."""
SEVERAL = frozenset({Kind.IDENTIFIER, Kind.CATEGORY, Kind.DATE, Kind.TEXT, Kind.PRICE})
"""May stand several times, and be named."""
LOCAL = frozenset({Kind.ID, Kind.SKIP})
"""Never in an agreement."""


@dataclass(frozen=True)
class Confirmed:
    """What an owner says of a column: its type and, where that has no name of its own, an agreed name."""

    kind: Kind
    name: str = ""


def read_kind(text: str) -> Confirmed:
    """A type as it is typed: `surname`, or with a name of its own `category:brand`."""
    word, colon, name = (part.strip() for part in text.partition(":"))
    known = [kind.value for kind in Kind]
    if word.lower() not in known:
        hint = did_you_mean(word, known, f"Types are: {', '.join(known)}.")
        raise UsageError(problem=f"'{word}' is not a column type. {hint}")
    kind = Kind(word.lower())
    if colon and kind not in SEVERAL:
        names = ", ".join(sorted(SEVERAL))
        raise UsageError(problem=f"'{text}': a {kind} has its own name; only {names} can be named.")
    if colon and not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(problem=f"'{text}': a name has letters, digits and _, and begins with a letter.")
    return Confirmed(kind, name)
