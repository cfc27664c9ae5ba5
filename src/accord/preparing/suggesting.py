"""What a table suggests for the answers of its owner: classes of cardinality, limits, and copies.

A suggestion stays with the owner until it is confirmed. On a terminal it is shown with each question. With
`--yes` it is taken as it is, as types are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.drafting.confirming import Found, find_fields
from accord.drafting.kinds import ColumnKind
from accord.drafting.proposing import Suggestion, suggest
from accord.fields.folding import trim
from accord.preparing.seen import SeenTable
from accord.table.cell_text import to_text
from accord.table.sources.opening import open_table

_BORN = frozenset({ColumnKind.BIRTH})
_NAMES = (ColumnKind.GIVEN, ColumnKind.SURNAME, ColumnKind.NAME)
_MOST = 20
_RARE = 0.02
"""The share of records that may belong to people with more copies than suggested."""


def suggest_answers(seen: SeenTable, as_of: date | None, today: date) -> Suggestion:
    """Classes, limits and copies of the fields that the columns of a table are."""
    copies = suggest_copies(seen, as_of)
    return suggest(find_fields(seen.columns, as_of), seen.look.samples, today, copies)


def suggest_copies(seen: SeenTable, as_of: date | None) -> int:
    """How many records one person usually has in the table, at the most; 1 for tables about other things.

    Records are of one person if they agree in a date of birth and a name, or in all names and something else
    that tells people apart.
    """
    most = 1
    sets = [*_identifying(find_fields(seen.columns, as_of))]
    columns = sorted({name for names in sets for name in names})
    if not columns:
        return most
    opened = open_table(seen.table, columns, seen.layout)
    batches = [pa.record_batch([_fold(c) for c in b.columns], names=columns) for b in opened.batches]
    if not batches:
        return most
    table = pa.Table.from_batches(batches)
    for names in sets:
        most = max(most, _usual_size(table.select(list(names))))
    return min(most, _MOST)


def _identifying(fields: Sequence[Found]) -> Iterator[tuple[str, ...]]:
    """Sets of columns in which two records seldom agree by chance."""
    own = {one.is_.kind: one.own for one in fields}
    names = [own[kind] for kind in _NAMES if kind in own]
    for kind in _BORN:
        if kind in own:
            yield from ((*name, *own[kind]) for name in names)
    others = [kind for kind in (ColumnKind.STREET, ColumnKind.PHONE, ColumnKind.EMAIL) if kind in own]
    if not _BORN & own.keys():
        whole = tuple(column for name in names for column in name)
        several = len(names) > 1 or ColumnKind.NAME in own
        for kind in others if several else ():
            yield (*whole, *own[kind])
        years = own.get(ColumnKind.BIRTH_YEAR)
        if years and several:
            rest = [own[kind] for kind in (ColumnKind.CITY, ColumnKind.POSTCODE) if kind in own]
            yield from ((*whole, *years, *one) for (one,) in combinations(rest, 1))


def _fold(cells: pa.Array) -> pa.Array:
    return pc.utf8_lower(trim(to_text(cells)))


def _usual_size(table: pa.Table) -> int:
    """The size of groups of equal rows that nearly all rows are within; rows that lack a cell are aside."""
    full = table.drop_null()
    if full.num_rows < 2:
        return 1
    sizes = np.asarray(full.group_by(full.column_names).aggregate([([], "count_all")])["count_all"])
    sizes = np.sort(sizes)
    beyond = 1 - np.cumsum(sizes) / full.num_rows
    return int(sizes[np.searchsorted(-beyond, -_RARE)])
