"""What the owner of a table confirmed: names of columns with their types, and what the owner typed. No cell.

Of it a draft is given `answers`, in which no name of a column is either; the names are for the layout, which
stays with the owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from accord.drafting.answers import Answers
from accord.drafting.confirming import Columns
from accord.wording import counted


@dataclass(frozen=True, repr=False)
class Confirmation:
    """What `Proposal.confirm` gives: all that `draft` is made of. It holds no cell of the table
    (in a file without a header its first row stands for the names of columns)."""

    columns: Columns
    """Your columns by name, each with its type; they stay with you."""
    answers: Answers
    """All that a draft follows from: types, and what you typed."""
    make_ids: bool = False
    dates: Mapping[str, str] = field(default_factory=dict)
    """By field, the formats of dates that you named."""
    as_of: date | None = None
    """The day that ages are of."""

    def __repr__(self) -> str:
        # Without names of columns: of a file without a header they are somebody's cells.
        fields = ", ".join(one.name for one in self.answers.fields)
        return f"<Confirmation: {counted(len(self.answers.fields), 'field')}: {fields}>"
