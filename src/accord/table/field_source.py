"""Where one agreed field is found in one's own table, and how its cells are read before anything else.

    column, or columns      one column, or several that are joined: by a blank, or as a date's `format` needs
    absent = true           the table has none: every cell is empty
    missing                 cells that count as empty
    values                  what a cell is read as: `values = { w = "f" }`
    part, order             of a whole name the given name or the surname; of a date the year; of a postcode
                            what follows its country; of a cell with postcode and city, or with street,
                            postcode and city, one of these
    digits                  numbers with fewer get zeros in front: postcodes out of a spreadsheet
    decimal                 numbers with a currency, a unit or commas, and which sign stands before decimals
    as_of                   ages, read as years of birth: the year of this day without the age
    format                  dates that are not written 2026-11-15; several formats have | between, and a cell
                            is read by the first that fits

All of it stays with the owner of the table. Cells, and words here, are compared as folded texts: letter case
and blanks around do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from accord.errors import UsageError
from accord.spec import Spec
from accord.table import postal
from accord.wording import counted

OF_NAMES = ("given", "surname")
OR = "|"
"""Between formats of one column."""
Order = Literal["given surname", "surname given", postal.PlaceOrder, postal.AddressOrder]
_DIRECTIVE = re.compile(r"%[A-Za-z]")
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a character: Python has texts with it, and nobody else."""


def _as_day(given: object) -> object:
    """A day, or a text of one: a number would be seconds since 1970."""
    if isinstance(given, int | float) or (isinstance(given, str) and not re.match(r"\d{4}-", given)):
        raise ValueError("should be a day, such as 2024-06-30")
    return given


class Source(Spec):
    """Where one field comes from, and how it is read."""

    column: str | None = None
    columns: tuple[str, ...] = ()
    absent: bool = False
    format: str | None = None
    missing: tuple[str, ...] = ()
    values: dict[str, str] = Field(default_factory=dict)
    part: Literal["given", "surname", "year", "street", "postcode", "city"] | None = None
    order: Order | None = None
    decimal: Literal[".", ","] | None = None
    digits: Annotated[int | None, Field(ge=2, le=20)] = None
    as_of: Annotated[date | None, BeforeValidator(_as_day)] = None

    @model_validator(mode="after")
    def _fits(self) -> Source:
        if problems := [*self._problems()]:
            raise ValueError("; ".join(problems))
        return self

    def _problems(self) -> Iterator[str]:
        texts = [*self.names, self.format or "", *self.missing, *self.values, *self.values.values()]
        if any(map(_SURROGATE.search, texts)):
            yield "a text holds half of a character, a lone surrogate"
        places = [self.column is not None, bool(self.columns), self.absent]
        if places.count(True) != 1:
            yield "name one column, or columns that are joined, or say absent = true"
        said = {*self.model_dump(exclude_defaults=True)} - {"column", "columns", "absent"}
        if self.absent and said:
            yield f"a field that is absent has no {', '.join(sorted(said))}"
        ways = [word for word in ("values", "part", "decimal", "as_of", "digits") if getattr(self, word)]
        if len(ways) > 1:
            yield f"{' and '.join(ways)} do not go together"
        if self.columns and ways:
            yield f"{ways[0]} is for one column, not for columns that are joined"
        yield from self._ill_ordered()
        if self.columns and self.format and len(self.pieces) != len(self.columns):
            yield (
                f"format has {len(self.pieces)} parts and there are {len(self.columns)} columns: name them "
                'in its order, such as columns = ["year", "month", "day"] for "%Y-%m-%d"'
            )

    def _ill_ordered(self) -> Iterator[str]:
        """An order is of the part that is read."""
        if self.order is not None and self.part not in self.order.split():
            parts = (f'part = "{part}"' for part in self.order.split())
            yield f'order = "{self.order}" is for {" and ".join(parts)}'
        if self.order is None and self.part in ("street", "city"):
            orders = [order for order in (*postal.PLACES, *postal.ADDRESSES) if self.part in order.split()]
            yield f'part = "{self.part}" needs an order: {", ".join(orders)}'

    @property
    def names(self) -> tuple[str, ...]:
        """One's own columns that are read."""
        return self.columns if self.column is None else (self.column,)

    def tell(self) -> str:
        """One's own columns in words, and what is made of their cells."""
        if self.absent:
            return "none (declared absent)"
        ways = [
            f"with {counted(len(self.missing), 'value')} read as empty" if self.missing else "",
            f"with {counted(len(self.values), 'value')} read as others" if self.values else "",
            f"of which the {self.part} is read" if self.part else "",
            f"read as numbers with '{self.decimal}' before decimals" if self.decimal else "",
            f"with zeros in front up to {self.digits} digits" if self.digits else "",
            f"read as ages on {self.as_of}" if self.as_of else "",
        ]
        return ", ".join([" + ".join(self.names), *filter(None, ways)])

    @property
    def pieces(self) -> list[str]:
        """The parts of the format, such as %Y, %m and %d."""
        return _DIRECTIVE.findall(self.format or "")

    @property
    def between(self) -> list[str]:
        """What the format has before, between and after its parts."""
        return _DIRECTIVE.split(self.format or "")

    def dated(self, format: str) -> Source:
        """The same with another format of dates."""
        try:
            return Source.model_validate(self.model_dump(exclude_defaults=True) | {"format": format})
        except ValidationError as error:
            place, problem = " + ".join(self.names), error.errors()[0]["msg"].removeprefix("Value error, ")
            raise UsageError(problem=f"'{place}': {problem}.") from None


def as_source(given: object) -> object:
    """A text is a column's name."""
    return {"column": given} if isinstance(given, str) else given
