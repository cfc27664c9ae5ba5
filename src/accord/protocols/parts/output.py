"""`[output]`: what comes out of a run, and for whom.

    answer   "pairs": the matching pairs; or an answer in which nobody is shown (answers.py): "count", how
             many pairs there are; "table", how many by categories of A and of B; "sum", a number over them
    ids      "own": a matching record shows its id; "pseudonyms": a random name, its own in this run alone
    to       "both", or the one side that learns the pairs: the other learns its size and nothing else
    epsilon  of the noise on an answer, which each side draws by itself, for every record, or every person
             with up to `records_per_person`; `exact = true` forgoes it

Public, and the same on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt, model_validator

from accord.fields.recipe import ColumnName
from accord.fields.schema import Exact
from accord.protocols.parts.people import Protected
from accord.side import Side
from accord.spec import Spec

MOST_VALUES = 100
MOST_CELLS = 1024
_FARTHEST = 10**12
OTHER = "other"
"""The category of whatever is none of those that were agreed on, or missing."""
SEALED, MOST_SEALED = 256, 1 << 16

Value = Annotated[str, Field(min_length=1, max_length=100)]


class Categories(Spec):
    """What a table counts by, on one side: a column, and those of its values that have a row of their own."""

    column: ColumnName
    """The column, by its agreed name."""
    values: tuple[Value, ...] = Field(min_length=1, max_length=MOST_VALUES)
    """Those that are counted each for itself, as the table spells them; all others, and empty cells, are
    'other'. Of both sides together at most 1,024 cells."""

    @model_validator(mode="after")
    def _differ(self) -> Categories:
        if len(set(self.values)) < len(self.values):
            raise ValueError("names a value twice")
        if OTHER in self.values:
            raise ValueError(f"has '{OTHER}', which stands for all others anyway; remove it")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.values, OTHER)


class By(Spec):
    """The categories of each side; of one side alone, if the other has none."""

    A: Categories | None = None
    """Those of A."""
    B: Categories | None = None
    """Those of B."""

    @model_validator(mode="after")
    def _some(self) -> By:
        if self.A is None and self.B is None:
            raise ValueError("needs categories of A, of B or of both")
        if len(self.of(Side.A)) * len(self.of(Side.B)) > MOST_CELLS:
            raise ValueError(f"makes more than {MOST_CELLS:,} cells; take fewer values")
        return self

    def of(self, side: Side) -> tuple[str, ...]:
        """The categories of a side; a single one where it has none."""
        found = self.A if side is Side.A else self.B
        return ("all",) if found is None else found.names


class Amount(Spec):
    """A number that is added up: a column of one side, rounded to whole numbers and clipped to a range."""

    side: Literal["A", "B"]
    """Whose column it is."""
    column: ColumnName
    """The column, by its agreed name; a cell that is no number adds nothing, and is not counted."""
    low: StrictInt = Field(ge=-_FARTHEST, le=_FARTHEST)
    """What less is taken for."""
    high: StrictInt = Field(ge=-_FARTHEST, le=_FARTHEST)
    """What more is taken for. Noise grows with the range: choose it from what the number means, not from your
    table."""

    @model_validator(mode="after")
    def _in_order(self) -> Amount:
        if self.low >= self.high:
            raise ValueError("needs a low below its high")
        return self


class Output(Protected):
    """What comes out of a run."""

    answer: Literal["pairs", "count", "table", "sum"] = "pairs"
    """The matching pairs; or numbers, and nobody is shown: `count`, how many pairs match; `table`, how many
    by categories; `sum`, of a column over all matching pairs, and how many have a number there. An answer
    needs the protocol `routed`, or `all-pairs` if it is exact, and refuses what is for pairs: `disclose`,
    `one_to_one`, `most_matches`."""
    ids: Literal["own", "pseudonyms"] = "own"
    """What a matching record is called in the pairs: its id, or a random name that is new in every run,
    beside which your own output has your own ids."""
    to: Literal["both", "A", "B"] = "both"
    """Who learns the pairs. With `A` or `B` the other side learns how many records this one has and nothing
    else, not even how many match. It has no output. This needs `routed`."""
    epsilon: Exact | None = Field(default=None, gt=0, le=64)
    """Of an answer: each side adds noise of its own to every number, which hides each of its records, or all
    those of a person, matching or not. Every run spends it."""
    exact: StrictBool = False
    """In place of `epsilon`: an answer without noise. It promises nothing: a category with one record, or the
    same question with one record more, tells whether it matches. Over full keys even a record without a match
    can change it."""
    by: By | None = None
    """What a table counts by."""
    of: Amount | None = None
    """What a sum adds up."""
    row_bytes: StrictInt = Field(default=SEALED, ge=32, le=MOST_SEALED)
    """With `to`: what the id and the disclosed columns of a record may take; all are sealed as if they took
    it."""

    def faults(self) -> Iterator[str]:
        """What does not go together."""
        if self.epsilon is None and self.records_per_person > 1:
            yield "records_per_person is what noise hides together; set epsilon of an answer, or remove it."
        if self.answer == "pairs":
            for name in ("epsilon", "by", "of"):
                if getattr(self, name) is not None:
                    yield f"{name} is for answers; set answer, or remove it."
            if self.exact:
                yield "pairs are always exact; remove exact."
            if self.to != "both" and self.ids == "pseudonyms":
                yield 'pseudonyms are names that both sides have; with `to` take ids = "own".'
            return
        if self.ids != "own" or self.to != "both":
            yield "an answer shows nobody, and both sides learn it; remove ids and to."
        if (self.epsilon is None) != self.exact:
            yield "an answer needs either epsilon, or exact = true if it may tell anything of anybody."
        if (self.by is None) == (self.answer == "table"):
            yield "by is what a table counts by: [output.by.A] or [output.by.B], and only there."
        if (self.of is None) == (self.answer == "sum"):
            yield "of is what a sum adds up: [output.of], and only there."

    @property
    def answers(self) -> bool:
        """Whether nobody is shown."""
        return self.answer != "pairs"

    @property
    def asks(self) -> str:
        """What is asked, in words; empty for pairs."""
        if self.of is not None:
            of = f"{self.of.column} of {self.of.side}"
            return f"the sum of {of}, from {self.of.low:,} to {self.of.high:,}, over all matching pairs"
        if self.by is not None:
            named = (("A", self.by.A), ("B", self.by.B))
            return f"how many pairs match, by {' and '.join(f'{c.column} of {s}' for s, c in named if c)}"
        return "how many pairs match" if self.answers else ""

    @property
    def told(self) -> str:
        """What is asked, and what is answered beside it."""
        return self.asks + (", and how many have it" if self.of is not None else "")

    @property
    def hides(self) -> bool:
        """Whether a side is not to see which records match: then bits of matches must stay shared."""
        return self.answers or self.learner is not None

    @property
    def learner(self) -> Side | None:
        """The one side that learns the pairs; None where both do."""
        return None if self.to == "both" else Side(self.to)

    def columns(self, side: Side) -> tuple[str, ...]:
        """The columns of a side that an answer is made of."""
        found = None if self.by is None else self.by.A if side is Side.A else self.by.B
        if found is not None:
            return (found.column,)
        return (self.of.column,) if self.of is not None and Side(self.of.side) is side else ()


PAIRS = Output()
