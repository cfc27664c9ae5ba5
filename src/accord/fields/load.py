"""From a file or table to encoded `Records`, or to the list of all its faults.

Faults are collected over the whole table before anything is raised, named by row (the first row below the
header is row 1) and column, never by value. Rows of a database are numbered in the order of their ids.

Rows of a file may have ids that are made (row_ids.py), those that are left out like others: a row does not
lose its id by an agreement that has no use for it.

A promise to people holds if nobody has more records than it covers. That is judged here, on all rows of the
file, those that are left out included: they are rows of the table like others [MATHS §1.6].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.entropy import Entropy, System
from accord.errors import DataError, Fault, UnreadableError, UsageError
from accord.fields.columns import Column, Records, Unlisted, rows_of
from accord.fields.encoders import encode, encode_made
from accord.fields.gathering import Gathering, Ids
from accord.fields.making import Cells, Parsed, make
from accord.fields.own_cells import formatted, read_all, without_missing
from accord.fields.row_ids import RowIds, made_ids, open_named
from accord.fields.schema import (
    CategoryField,
    FieldSpec,
    TextField,
    agreed_columns,
    dated_columns,
    is_made,
)
from accord.spill import Scratch
from accord.table.address import Address
from accord.table.cell_text import MIXED, is_whole, to_text, without_text
from accord.table.csv_scan import MOST_CELL
from accord.table.field_source import Source
from accord.table.layout import Layout
from accord.table.opened import Faults
from accord.table.sources.opening import TableLike, find_place

_MOST_SHOWN = 3 << 19
"""Octets of a record's id and disclosed cells: what a partner takes of one record is a little more."""
_REPEATED = "repeats the id of another row; ids must be unique: take another with `id=`"
_OR_MADE = ", or have some made with `make_ids=True`"
_NO_ID = "is empty or not text; every record needs an id"
_NOT_MADE = "has none in the file of ids: the row is not one of those that they were made for"

_NOTHING = Fault("", "There are no records below the header.", "Is it whole?")
_NO_ROW = Fault("", "The table has no rows, so there are no records.", "Is it the right one?")
_STORE = "store text, numbers or dates, or leave the column out"
_NOBODY = "is empty or not text; every record needs its person"


_ANY = -1
_FEW_ROWS = 2
_NO_MEMORY = "Does it hold what you expect? Take fewer rows, shorter cells or a larger machine."


Watch = Callable[[int], None]
"""Hears how many rows have been read."""


@dataclass
class Tally:
    """What the owner of a table may want to know of it, and nobody else is told."""

    left_out: dict[tuple[str, str], int] = field(default_factory=dict)
    """Rows that were left out, by field and reason; a row may have several."""
    unread: dict[tuple[str, str], int] = field(default_factory=dict)
    """Cells that count as empty because they cannot be read, by column and reason."""
    people: int | None = None
    """How many there are, where a column says whose record a row is."""
    most_of_one: int = 0
    """The most records of one person."""
    new_ids: int = 0
    """Rows for which an id was made."""
    counts_rows: bool = False
    """Whether the ids of a file are 1, 2, … in its order, or go on so from another number."""
    unlisted: Unlisted = field(default_factory=dict)
    """By field with a list of agreed values: cells that are none of them, and all that are filled."""

    def leave_out(self, name: str, reason: str, count: int) -> None:
        if count:
            self.left_out[name, reason] = self.left_out.get((name, reason), 0) + count

    def forgo(self, column: str, reason: str, count: int) -> None:
        if count:
            self.unread[column, reason] = self.unread.get((column, reason), 0) + count

    def count_unlisted(self, name: str, spec: CategoryField, texts: pa.Array) -> None:
        none = pc.invert(pc.is_in(texts, value_set=pa.array(spec.compared(), texts.type)))
        filled, (others, all_) = pc.is_valid(texts), self.unlisted.get(name, (0, 0))
        others += pc.sum(pc.and_(none, filled)).as_py() or 0
        self.unlisted[name] = others, all_ + (pc.sum(filled).as_py() or 0)

    def count_people(self, chunks: Sequence[pa.Array]) -> None:
        counts = pc.value_counts(pa.chunked_array(chunks, pa.large_string()).drop_null()).field("counts")
        self.people, self.most_of_one = len(counts), pc.max(counts).as_py() or 0


@dataclass(frozen=True)
class Loading:
    """What else is wanted of a table that is read."""

    tally: Tally | None = None
    """Takes what its owner may want to know, people included if their column is named."""
    scratch: Scratch = field(default_factory=Scratch)
    """Where that goes which is too much for memory."""
    watch: Watch = lambda rows: None
    """Hears how many rows are read."""
    entropy: Entropy | None = field(default_factory=System)
    """Draws ids for rows without one, where the layout says that they are made; None if all have one."""


@dataclass(frozen=True)
class _Meaning:
    """What the cells of a table mean, and what of them is shown."""

    fields: Mapping[str, FieldSpec]
    salt: str
    disclose: Sequence[str]
    layout: Layout


def load_records(
    source: TableLike,
    fields: Mapping[str, FieldSpec],
    salt: str,
    disclose: Sequence[str] = (),
    layout: Layout | None = None,
    per_person: int | None = None,
    how: Loading | None = None,
) -> Records:
    """Read, check and encode one party's table.

    With `per_person` nobody may have more records than that, as the layout's person column tells. One record
    may go without such a column, since then the promise is to records; None asks for none.
    """
    try:
        layout = layout or Layout()
        meaning, how = _Meaning(_read_by(layout, fields), salt, disclose, layout), how or Loading()
        with made_ids(source, meaning.layout, how.entropy) as made:
            return _load(source, meaning, per_person, how, made)
    except MemoryError:
        # Arrow's own is one, too. A small file may hold very much: by compression, or one cell many times.
        place = find_place(source)
        path = place.name if isinstance(place, Address) else place or "The table"
        reason = "it takes more memory than there is"
        raise UnreadableError(path=path, reason=reason, mend=_NO_MEMORY) from None


def _read_by(layout: Layout, fields: Mapping[str, FieldSpec]) -> Mapping[str, FieldSpec]:
    """The fields, those cells of which count as empty that cannot be read, where their owner says so."""
    if layout.unreadable == "refuse":
        return fields
    read = {"other": "missing"}
    return {
        name: spec.model_copy(update=read) if getattr(spec, "other", "") == "error" else spec
        for name, spec in fields.items()
    }


def _load(
    source: TableLike, meaning: _Meaning, per_person: int | None, how: Loading, made: RowIds | None
) -> Records:
    fields, disclose, layout = meaning.fields, meaning.disclose, meaning.layout
    person = _person_column(layout, 1 if per_person is None and how.tally is not None else per_person)
    tally, scratch = how.tally or Tally(), how.scratch
    sources = layout.sources(agreed_columns(fields, disclose))
    named, own = layout.id_column, layout.own_columns(sources)
    table = open_named(source, list(dict.fromkeys([named, *own, *person])), layout, made)
    faults = Faults(table)
    as_text = {
        column: _marks(column, layout, sources) for column in _read_as_text([named, *own], fields, layout)
    }
    # Fields judge what they read, and whoever has no id is told so.
    unread = {*own, *person} - {*layout.own_columns(agreed_columns(fields)), named}
    gathering, ids = Gathering(_empty(fields), disclose, scratch), Ids(scratch)
    people: list[pa.Array] = []
    parsed: Parsed = {}
    numbered, last = True, _ANY if table.has_order and not layout.make_ids else None
    for batch in table.batches:
        _judge_cells(batch, as_text, faults)
        _judge_kinds(batch, unread, faults)
        some = to_text(batch.column(named))
        ids.add(some)
        last = _go_on(last, some)
        numbered &= is_whole(batch.schema.field(named))
        columns = read_all(sources, batch)
        cells = _cells(columns, fields, layout, parsed)
        people += [_as_person(batch.column(name)) for name in person]
        gathering.add(_encode_batch(columns, some, cells, meaning, faults, tally))
        for name in person if per_person is not None else ():
            faults.note(np.asarray(pc.is_null(people[-1])), name, _NOBODY)
        faults.first += batch.num_rows
        how.watch(faults.first)
    read = faults.first
    repeated = ids.repeated()
    if repeated is not None:
        faults.first = 0
        is_file = isinstance(find_place(source), Path)
        faults.note(repeated, layout.id, _REPEATED + (_OR_MADE if is_file else ""))
    for name in person:
        tally.count_people(people)
        if per_person is not None:
            _judge_people(people, name, per_person, faults)
    if not table.has_order and faults:
        table.places = ids.places()
    if found := [*table.broken.values(), *faults.in_order()]:
        raise DataError(table.name, found, table.counting)
    if not read and table.is_file:
        raise DataError(table.name, [_NOTHING if table.has_order else _NO_ROW])
    tally.new_ids = made.new if made is not None else 0
    tally.counts_rows = last is not None and read > _FEW_ROWS
    found_all = gathering.whole(not table.has_order)
    return replace(found_all, numbered=numbered and bool(read), unlisted=tally.unlisted)


def _go_on(last: int | None, ids: pa.Array) -> int | None:
    """The last of ids that go on from `last`, one by one; None where they do not, or did not before."""
    if last is None or not len(ids):
        return last
    if ids.null_count:
        return None
    try:
        numbers = np.asarray(ids.cast(pa.int64()))
    except pa.ArrowInvalid:
        return None
    first = last + 1 if last != _ANY else int(numbers[0])
    return int(numbers[-1]) if np.array_equal(numbers, first + np.arange(len(numbers))) else None


def _encode_batch(
    cells_of: Mapping[str, pa.Array],
    ids: pa.Array,
    cells: Cells,
    meaning: _Meaning,
    faults: Faults,
    tally: Tally,
) -> Records:
    fields, disclose, layout = meaning.fields, meaning.disclose, meaning.layout
    columns: dict[str, Column] = {}
    made_texts: dict[str, pa.Array] = {}
    noted: dict[tuple[str, str], NDArray[np.bool_]] = {}
    unread: dict[tuple[str, str], NDArray[np.bool_]] = {}
    left_out = np.zeros(len(ids), np.bool_)
    for name, spec in fields.items():
        made = make(name, spec, cells)
        encoded = encode_made(name, spec, made, meaning.salt)
        # A bin for all others is there on purpose.
        if isinstance(spec, CategoryField) and spec.other != "bin":
            tally.count_unlisted(name, spec, made.values)
        columns[name] = encoded.column
        if name in disclose and is_made(name, fields):
            made_texts[name] = made.shown()
        # A cell that no format reads is one fault, however many fields are made of it.
        place = layout.place(spec.columns(name))
        for found, faulty in ((noted, encoded.bad), (unread, encoded.unread)):
            for problem, rows in faulty.items():
                found[place, problem] = found[place, problem] | rows if (place, problem) in found else rows
        for reason, rows in encoded.left_out.items():
            left_out |= rows
            tally.leave_out(name, reason, int(rows.sum()))
    for (place, problem), rows in noted.items():
        faults.note(rows, place, problem)
    for (place, problem), rows in unread.items():
        tally.forgo(place, problem, int(rows.sum()))
    faults.note(np.asarray(pc.is_null(ids)), layout.id, _NOT_MADE if layout.make_ids else _NO_ID)
    shown = pa.table(
        {name: made_texts[name] if name in made_texts else to_text(cells_of[name]) for name in disclose}
    )
    _judge_shown(ids, shown, layout, faults)
    kept = ~left_out
    return Records(
        ids.filter(pa.array(kept)),
        {name: rows_of(column, kept) for name, column in columns.items()},
        shown.filter(pa.array(kept)) if disclose else shown,
        int(left_out.sum()),
    )


def _cells(
    columns: Mapping[str, pa.Array],
    fields: Mapping[str, FieldSpec],
    layout: Layout,
    parsed: Parsed,
) -> Cells:
    agreed = agreed_columns(fields)
    return Cells(
        {name: columns[name] for name in agreed},
        {name: formatted(layout.source(name)) for name in agreed},
        parsed,
        dated_columns(fields),
    )


def _read_as_text(columns: Sequence[str], fields: Mapping[str, FieldSpec], layout: Layout) -> set[str]:
    """The columns that no number or date judges."""
    text = (TextField, CategoryField)
    judged = [
        column
        for name, spec in fields.items()
        if spec.reads_days or not isinstance(spec, text)
        for column in layout.own_columns(spec.columns(name))
    ]
    return set(columns) - set(judged)


def _marks(column: str, layout: Layout, sources: Mapping[str, Source]) -> list[tuple[str, ...]]:
    """What counts as empty in a column, to each that reads it; an id is as it is."""
    read = [source.missing for source in sources.values() if column in source.names]
    return [*read, ()] if column == layout.id_column else read


def _judge_cells(
    batch: pa.RecordBatch, as_text: Mapping[str, Sequence[tuple[str, ...]]], faults: Faults
) -> None:
    """Note cells that no field takes; numbers and dates themselves judge what is not finite."""
    for name, cells in zip(batch.schema.names, batch.columns, strict=True):
        cells = to_text(cells) if cells.type == MIXED else cells
        if pa.types.is_large_string(cells.type):
            nul = pc.fill_null(pc.match_substring(cells, "\0"), False)
            faults.note(np.asarray(nul), name, "holds a NUL character")
            long = pc.fill_null(pc.greater(pc.binary_length(cells), MOST_CELL), False)
            faults.note(np.asarray(long), name, f"is longer than {MOST_CELL >> 20} MiB")
        elif pa.types.is_floating(cells.type) and name in as_text:
            kept = [without_missing(cells, marks) for marks in as_text[name]]
            odd = [np.asarray(pc.fill_null(pc.invert(pc.is_finite(some)), False)) for some in kept]
            problem = "is NaN or infinite; leave the cell empty if it has no value"
            faults.note(np.any(odd, axis=0), name, problem)


def _judge_kinds(batch: pa.RecordBatch, columns: set[str], faults: Faults) -> None:
    """Note cells of these columns, which no field reads, that are no text and so cannot be shown."""
    for name in batch.schema.names:
        if name in columns:
            for kind, rows in without_text(batch.column(name)).items():
                faults.note(rows, name, f"holds {kind} values, which are not text; {_STORE}")


def _judge_shown(ids: pa.Array, shown: pa.Table, layout: Layout, faults: Faults) -> None:
    """Note records of which more would be shown than a partner takes: it would refuse them in mid-run."""
    sizes = np.zeros(len(ids), np.int64)
    for cells in (ids, *(shown[name].combine_chunks() for name in shown.column_names)):
        sizes += np.asarray(pc.fill_null(pc.binary_length(cells), 0)).astype(np.int64)
    problem = f"belongs to a record with more than {_MOST_SHOWN >> 10:,} KiB to disclose; disclose less of it"
    faults.note(sizes > _MOST_SHOWN, layout.id, problem)


def _person_column(layout: Layout, per_person: int | None) -> tuple[str, ...]:
    """The column that says whose record it is, where somebody asks for it."""
    if per_person is None:
        return ()
    if layout.person is None and per_person > 1:
        raise UsageError(
            problem=f"The agreement promises privacy to people with up to {per_person} records each, so it "
            "must be known whose record a row is. Name that column with `person=`, or with person in the "
            "layout file."
        )
    return () if layout.person is None else (layout.person,)


def _as_person(cells: pa.Array) -> pa.Array:
    """Whose records these are, as folded text; null where a row does not say so."""
    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_finite(cells), cells, pa.scalar(None, cells.type))
    # Spellings of one name are one person: that can only find somebody with more records.
    spelt = pc.utf8_lower(pc.utf8_normalize(to_text(cells), form="NFKC"))
    people = pc.utf8_trim_whitespace(pc.replace_substring_regex(spelt, r"\s+", " "))
    return pc.if_else(pc.equal(people, ""), pa.scalar(None, people.type), people)


def _judge_people(chunks: Sequence[pa.Array], column: str, most: int, faults: Faults) -> None:
    """Note every row of somebody who has more than so many."""
    people = pa.chunked_array(chunks, pa.large_string())
    counts = pc.value_counts(people)
    crowded = counts.filter(pc.greater(counts.field("counts"), most)).field("values").drop_null()
    if len(crowded):
        faults.first = 0
        marks = np.asarray(pc.is_in(people, value_set=crowded))
        faults.note(marks, column, _too_many(most))


def _too_many(most: int) -> str:
    if most == 1:
        return (
            "names somebody with more than one record; agree on more (records_per_person), or name no person "
            "if a promise for each record is enough"
        )
    return (
        f"names somebody with more than {most} records, and the agreement's promise covers {most}; agree on "
        "more (records_per_person)"
    )


def _empty(fields: Mapping[str, FieldSpec]) -> dict[str, Column]:
    """Every field, of no record."""
    nothing = pa.array([], pa.large_string())
    return {name: encode(name, spec, nothing, "").column for name, spec in fields.items()}
