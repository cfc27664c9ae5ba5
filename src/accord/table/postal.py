"""Cells with several parts of an address: in which order they stand, and how one part is read.

An order has forms, the fullest first: the first that fits a cell decides what its parts are. A part that a
form lacks is missing in that cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc

PlaceOrder = Literal["postcode city", "city postcode"]
AddressOrder = Literal["street postcode city", "street city postcode", "postcode city street"]
PostalOrder = PlaceOrder | AddressOrder
PARTS = ("street", "postcode", "city")
PLACES: tuple[PlaceOrder, ...] = get_args(PlaceOrder)
ADDRESSES: tuple[AddressOrder, ...] = get_args(AddressOrder)
_CODE = (
    r"(?:[A-Za-z]{1,3}\s*-\s*)?"
    r"(\d{4}\s?[A-Z]{2}|\d{2}-\d{3}|\d{4}-\d{3}|\d{5}-\d{3}|\d{3} \d{2}|\d{5}-\d{4}"
    r"|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|\d{4,6})"
)
"""A postcode beside the name of its city."""
_CITY = r"(\p{L}[^,;\d]*?)"
_STREET = r"(.*[^\s,;/-])"
_COUNTRY = r"(?:\s*[,;].*)?"
_STATE = r"(?:[\s,-]+[A-Z]{2})?"
_Forms = tuple[tuple[tuple[str, ...], str], ...]
_STREET_ALONE: _Forms = (
    (("street", "city"), rf"(?s)^{_STREET}\s*[,;\n]\s*{_CITY}$"),
    (("street",), r"(?s)^(.*)$"),
)
_PLACE = (("postcode", "city"), rf"(?s)^{_CODE}[\s,/-]+(\p{{L}}.*?)$")
_FORMS: dict[str, _Forms] = {
    "postcode city": (_PLACE, (("postcode",), r"(?s)^(.*\d.*)$"), (("city",), r"(?s)^(.*)$")),
    "city postcode": (
        (("city", "postcode"), rf"(?s)^(\p{{L}}.*?)[\s,/-]+{_CODE}$"),
        (("postcode",), r"(?s)^(.*\d.*)$"),
        (("city",), r"(?s)^(.*)$"),
    ),
    "street postcode city": (
        (
            ("street", "postcode", "city"),
            rf"(?s)^{_STREET}(?:[\s,;/]|\s-\s)+{_CODE}[\s,/-]+{_CITY}{_COUNTRY}$",
        ),
        _PLACE,
        *_STREET_ALONE,
    ),
    "street city postcode": (
        (
            ("street", "city", "postcode"),
            rf"(?s)^{_STREET}\s*[,;\n]\s*(\p{{L}}[^,;\d]{{2,}}?){_STATE}[\s,;-]+{_CODE}{_COUNTRY}$",
        ),
        (("city", "postcode"), rf"(?s)^{_CITY}{_STATE}[\s,;-]+{_CODE}{_COUNTRY}$"),
        *_STREET_ALONE,
    ),
    "postcode city street": (
        (("postcode", "city", "street"), rf"(?s)^{_CODE}[\s,/-]+{_CITY}\s*[,;\n]\s*(.*\S)$"),
        _PLACE,
        (("street",), r"(?s)^(.*)$"),
    ),
}


def read_part(texts: pa.Array, part: str, order: str) -> pa.Array:
    """One part of cells; null where the form that fits a cell has none."""
    nothing = pa.nulls(len(texts), pa.large_string())
    found = nothing
    for parts, pattern in reversed(_FORMS[order]):
        fits = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
        read = nothing
        if part in parts:
            read = pc.replace_substring_regex(texts, pattern, rf"\{1 + parts.index(part)}")
        found = pc.if_else(fits, pc.utf8_trim_whitespace(read), found)
    return found


def likeliest_order(cells: Sequence[str], orders: Sequence[PostalOrder]) -> PostalOrder:
    """The order in whose fullest form most cells are."""
    return max(orders, key=lambda order: full_share(cells, (order,)))


def full_share(cells: Sequence[str], orders: Sequence[PostalOrder]) -> float:
    """The share of cells that have all parts in the best of these orders."""
    texts = pa.array(cells, pa.large_string())
    fit = (pc.sum(pc.match_substring_regex(texts, _FORMS[order][0][1])).as_py() or 0 for order in orders)
    return max(fit) / max(1, len(cells))
