"""What passes find if one field is wrong in every pair.

A pass that needs a field finds nothing where that field is wrong. Errors of real tables are not those of
synthetic pairs: a whole column may be shifted, dated by another office or spelled in another language. So
each column is made wrong in turn, and the pairs that the rule accepts all the same should still meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.fields.columns import rows_of
from accord.fields.schema import agreed_columns
from accord.rules.evaluate import Tables, holds
from accord.rules.rule import fields_of

SURVIVING = 0.8
"""The share of such pairs that should meet."""
WRONG = 0.05
"""What it is worth to find all pairs with one wrong column, in shares of all matches."""
_FORGIVEN = 0.1
"""The least share of matches that the rule accepts without a column: below, it needs the column itself."""

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WrongField:
    """A column that is wrong in every pair, and which pairs the rule accepts nevertheless."""

    column: str
    fields: frozenset[str]
    """The fields that read it."""
    accepted: NDArray[np.bool_]
    """By pair."""


def wrong_fields(agreement: Agreement, tables: Tables, left: Rows, right: Rows) -> list[WrongField]:
    """Each column without which the rule accepts enough of these pairs, all of them matches."""
    fields, found = agreement.fields, []
    read = {name: fields[name] for name in fields_of(agreement.rule)}
    if not len(left):
        return []
    for column in agreed_columns(read):
        touched = frozenset(name for name, spec in fields.items() if column in spec.columns(name))
        # Each pair gets the value of another one.
        other = dict(tables.b)
        swap = np.arange(len(next(iter(tables.b.values())).present))
        swap[right] = np.roll(right, 1)
        for name in touched:
            other[name] = rows_of(tables.b[name], swap)
        accepted = holds(agreement.rule, Tables(fields, tables.a, other), left, right)
        if accepted.mean() >= _FORGIVEN:
            found.append(WrongField(column, touched, accepted))
    return found
