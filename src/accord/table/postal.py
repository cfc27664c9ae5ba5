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
    r"(?:[A-Za-z]{1,3}\s*-\s*|(?i:cep|c\.?p\.?):?\s+)?"
    r"(\d{4}\s?[A-Z]{2}|\d{2}-\d{3}|\d{4}-\d{3}|\d{5}-\d{3}|\d{3} \d{2}|\d{5}-\d{4}"
    r"|(?i:[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}|[a-z]\d[\dw] ?[a-z\d]{4}|[a-z]\d[a-z] ?\d[a-z]\d)|\d{4,6})"
)
"""A postcode beside the name of its city, and what may stand before it."""
_DISTRICT = r"(?:\s+(?i:cedex\s*)?\d{1,2})?(?:\s+-\s+\p{L}[^,;\d\n]*?)?"
_CITY = rf"(\p{{L}}[^,;\d\n]*?{_DISTRICT})"
_STREET = r"(.*[^\s,;/-])"
_NUMBERED = r"(.*\d[^\s,;]*)"
"""A street with the number of a house."""
_TOWN = r"(\p{L}[^,;\d\n]{2,}?)"
_STATE = r"(?:[\s,-]+[A-Z]{2,3})?"
_COUNTRY = r"(?:\s*[,;\n].*)?"
_BEHIND = rf"(?:\s+\([A-Z]{{2}}\))?{_COUNTRY}"
"""A province and a country."""
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
        # With only a blank before it, a number behind which a comma stands is that of the house.
        (
            ("street", "postcode", "city"),
            rf"(?s)^{_STREET}(?:\s*[,;/\n]\s*|\s+-\s+){_CODE}[\s,/-]+{_CITY}{_BEHIND}$",
        ),
        (("street", "postcode", "city"), rf"(?s)^{_NUMBERED}\s+{_CODE}\s+{_CITY}{_BEHIND}$"),
        _PLACE,
        *_STREET_ALONE,
    ),
    "street city postcode": (
        (
            ("street", "city", "postcode"),
            rf"(?s)^(.*?[^\s,;/-])\s*[,;\n]\s*{_TOWN}{_STATE}[\s,;-]+{_CODE}{_COUNTRY}$",
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
"""The first form, or those with as many parts, have all."""
_YEAR = r"^(?:1[5-9]|20)\d\d$"


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
    """The share of cells that have all parts in the best of these orders; a year is no postcode."""
    texts = pa.array(cells, pa.large_string())
    return max(pc.sum(_are_full(texts, order)).as_py() or 0 for order in orders) / max(1, len(cells))


def _are_full(texts: pa.Array, order: PostalOrder) -> pa.Array:
    found = pa.array([False] * len(texts), pa.bool_())
    for parts, pattern in _FORMS[order]:
        if len(parts) == len(order.split()):
            code = pc.replace_substring_regex(texts, pattern, rf"\{1 + parts.index('postcode')}")
            fits = pc.match_substring_regex(texts, pattern)
            found = pc.or_(found, pc.and_not(fits, pc.match_substring_regex(code, _YEAR)))
    return found
