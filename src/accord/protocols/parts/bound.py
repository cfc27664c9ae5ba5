"""`most_matches`: the most of its own records that a side shows in a run, whatever the partner answers.

Match bits come out of the engine, and a partner that cheats there decides about them. So each side counts by
itself the records that it is about to show, each once over all rounds, passes and slices, and ends the run
before it shows one beyond the bound. To resume is to do the same steps again from the journal; all that was
shown before follows from what is kept there, so a cut gives an honest partner no second count. Another has
three at most: where it leaves with what was shown, or answers otherwise than before, is counted (naming.py).

*Learns*: who passes the bound stops, which tells the partner that more records match than it says, a number
that is public; of the records beyond nothing but what match bits tell: the numbers of their slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from accord.errors import TooManyMatchesError
from accord.exact import short, text
from accord.side import Side

_WRONG = 'must be a number of records, at least 1, or a share such as "5%", above 0% and at most 100%'


@dataclass(frozen=True)
class Most:
    """So many records, or a share of them."""

    number: int | None = None
    share: Fraction | None = None

    def of(self, records: int) -> int:
        """The bound of a table of so many records: a share is rounded down, and at least 1."""
        if self.number is not None:
            return self.number
        assert self.share is not None
        return max(1, int(self.share * records))

    def __str__(self) -> str:
        return f"{self.number:,}" if self.number is not None else self.written

    @property
    def written(self) -> Any:
        """As an agreement writes it."""
        if self.share is None:
            return self.number
        return f"{text(self.share * 100)}%"


def _read(value: object) -> Most:
    if isinstance(value, Most):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 31:
        return Most(number=value)
    if isinstance(value, str) and value.rstrip().endswith("%"):
        try:
            share = short(value.rstrip()[:-1]) / 100
        except ValueError:
            raise ValueError(_WRONG) from None
        if 0 < share <= 1:
            return Most(share=share)
    raise ValueError(_WRONG)


MostRecords = Annotated[
    Most,
    PlainValidator(_read),
    PlainSerializer(lambda most: most.written),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": "^[0-9.eE/^*+-]+ *%$"},
            ]
        }
    ),
]
"""A bound as an agreement has it: `500` or `"5%"`."""

Bounds = dict[Side, Most]
"""Of the sides that have one."""


def require_within(bounds: Bounds, side: Side, records: int, shown: int, more: int) -> None:
    """Raise if a side with so many records, of which some are shown, may not show so many more."""
    if side not in bounds:
        return
    most = bounds[side].of(records)
    if shown + more > most:
        raise TooManyMatchesError(most=most, shown=shown)
