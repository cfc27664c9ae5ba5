"""A table that was looked at: some of its cells, how it is written, and what its columns are taken for.

This is what a proposal and a fit are made of, and no draft: a draft follows from what an owner confirms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Self

from accord.drafting.answers import LISTED, Answers
from accord.drafting.confirming import Columns, change, explain, find_id, take_guesses, without_id
from accord.drafting.draft import require_sound
from accord.drafting.guessing import guess_kinds
from accord.drafting.kinds import ColumnKind
from accord.drafting.reading import propose, share_marks
from accord.drafting.sampling import TableSample, look_at
from accord.errors import DataError, Fault, UsageError
from accord.preparing.confirmation import Confirmation
from accord.table.layout import Layout
from accord.table.sniffing import sniff_text
from accord.table.sources.opening import TableLike, find_place, keep_readable, name_of

_NOT_BOTH = "Name the column of ids or have ids made, `make_ids=True`, not both."
_NO_ID = "No column names the records."
_NAME_ID = "Name one with `types=` COLUMN=id; "
_MAKE = "`make_ids=True` makes random ids, and keeps them next to the file."
_QUERY = "a query can make one of other columns."


@dataclass(frozen=True)
class ProposedColumn:
    """A column of one's own table, what it is taken for, and a word to its owner."""

    name: str
    type: str
    note: str = ""
    """Why it is left out, or how its cells would be read; empty if there is nothing to say."""
    cells: tuple[str, ...] = ()
    """Some of its cells, where they are asked for."""


@dataclass(frozen=True, repr=False)
class SeenTable:
    """One's own table, and what it looks like; it can be read more than once."""

    table: TableLike
    look: TableSample
    layout: Layout
    """How it is written, and what its owner's layout says."""
    said: frozenset[str]
    """What of that its owner says."""
    columns: Columns

    def typed(self, pairs: Iterable[str], make_ids: bool = False) -> Self:
        """With other types, `COLUMN=TYPE`; where ids are made, no column is one."""
        if make_ids and "id" in self.said:
            raise UsageError(problem=_NOT_BOTH)
        columns = change(without_id(self.columns) if make_ids else self.columns, pairs)
        if make_ids and find_id(columns) is not None:
            raise UsageError(problem=_NOT_BOTH)
        return replace(self, columns=columns)

    def sought(self) -> Self:
        """Guessed anew for an agreement that is there: what is agreed is wanted, however few cells
        have it."""
        left_out = {one.name for one in self.columns if one.is_.kind is ColumnKind.SKIP}
        columns = _guess(self.look, self.layout, self.said, keep_sparse=True)
        return replace(self, columns=tuple(replace(one, spare=one.name in left_out) for one in columns))

    def proposed(self, cells: int, as_of: date | None = None) -> tuple[ProposedColumn, ...]:
        """What each column is taken for, with so many of its cells and how these would be read: for the eyes
        of the table's owner."""
        kinds = {one.name: one.is_.kind for one in self.columns}
        samples = {sample.column: sample for sample in share_marks(kinds, self.look.samples)}
        found = []
        for one in explain(self.columns, as_of):
            sample = samples[one.name]
            note = one.note or propose(one.is_.kind, sample, LISTED.get(one.is_.kind, ())).tell()
            some = tuple(dict.fromkeys(sample.filled))[:cells]
            found.append(ProposedColumn(one.name, one.is_.typed, note, some))
        return tuple(found)

    def lacks_id(self, make_ids: bool) -> list[Fault]:
        """The fault that no column names the records, unless ids are made."""
        if make_ids or self.layout.make_ids or find_id(self.columns):
            return []
        can = [f"'{sample.column}'" for sample in self.look.samples if sample.names_rows]
        differ = f" All cells are filled and different in {', '.join(can)}." if can else ""
        is_file = isinstance(find_place(self.table), Path)
        return [Fault("", _NO_ID + differ, _NAME_ID + (_MAKE if is_file else _QUERY))]


def look(table: TableLike, known: Layout, said: frozenset[str]) -> SeenTable:
    """Look at a table of which its owner says this; raises all faults of its header."""
    table = keep_readable(table)
    layout = sniff_text(table, known, said, ())
    found = look_at(table, layout)
    return SeenTable(table, found, layout, said, _guess(found, layout, said, keep_sparse=False))


def _guess(found: TableSample, layout: Layout, said: frozenset[str], keep_sparse: bool) -> Columns:
    columns = take_guesses(guess_kinds(found.samples, keep_sparse))
    columns = without_id(columns) if layout.make_ids else columns
    return change(columns, [f"{layout.id}=id"] if "id" in said else [])


def confirmed(
    seen: SeenTable,
    answers: Answers,
    make_ids: bool = False,
    dates: Mapping[str, str] | None = None,
    as_of: date | None = None,
) -> Confirmation:
    """The confirmation of these columns and answers; raises what no draft or no linkage can be made of,
    before anything is learnt for it."""
    if faults := seen.lacks_id(make_ids):
        raise DataError(name_of(seen.table), faults)
    require_sound(answers)
    return Confirmation(seen.columns, answers, make_ids, dates or {}, as_of)
