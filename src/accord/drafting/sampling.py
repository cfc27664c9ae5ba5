"""Some cells of each column of one's own table, for guesses that its owner sees.

The table is read to its end: whether a column names the records can only be told then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from accord.drafting.guessing import Sample
from accord.drafting.kinds import ColumnKind
from accord.drafting.shapes import FITS
from accord.drafting.vocabulary import MARKS
from accord.errors import DataError, Fault
from accord.fields.folding import trim
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.sources.csv import filled_places
from accord.table.sources.opening import (
    TableLike,
    column_names,
    find_place,
    kind_of,
    name_of,
    open_table,
)
from accord.wording import counted

_CELLS = 1_000
_COMMON = 60
_NO_HEADER = "Is the first line a record? Write a line above it with a name for each column."
_NO_NAMES = (ColumnKind.DATE, ColumnKind.EMAIL)
_TITLE = "Does a title stand above the header? Say the line of the header in a layout file: header = 4."


@dataclass(frozen=True)
class TableSample:
    """What somebody sees who opens the table: how many rows, and some cells of each column."""

    rows: int
    samples: tuple[Sample, ...]
    nameless: tuple[int, ...] = ()
    """Columns, counted from 1, without a name or a cell: nobody can mean them."""


def look_at(table: TableLike, layout: Layout) -> TableSample:
    """Look at a table; the encoding, delimiter and quote of a file are known. Raises all faults of its
    header. *Requires* that it can be read more than once."""
    header, path = column_names(table, layout), name_of(table)
    nameless = tuple(number for number, name in enumerate(header, 1) if not name.strip())
    _require_names(path, header, _with_cells(table, layout, nameless))
    names = [name for name in header if name.strip()]
    opened = open_table(table, names, layout)
    batches = [_texts(batch) for batch in opened.batches]
    cells = pa.Table.from_batches(batches) if batches else None
    if cells is None or not cells.num_rows:
        mend = _TITLE if opened.broken else "Is it the right file?"
        raise DataError(path, [Fault("", "There are no rows below the header.", mend)])
    samples = tuple(_sample(name, cells[name]) for name in names)
    _require_header(path, header, samples)
    return TableSample(cells.num_rows, samples, nameless)


def _with_cells(table: TableLike, layout: Layout, numbers: tuple[int, ...]) -> list[int]:
    """Those of the columns without a name that have cells; as far as is known, all of them."""
    place = find_place(table)
    if not numbers or not isinstance(place, Path) or kind_of(place) != "csv":
        return [*numbers]
    return sorted({*numbers} & filled_places(place, layout))


def _require_names(path: str, names: list[str], nameless: list[int]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1 and name.strip()]
    faults = [
        Fault(f"column '{name}'", "appears more than once in the header.", "Rename one.") for name in twice
    ]
    if nameless:
        places = ", ".join(map(str, nameless))
        mend = _TITLE if 2 * len(nameless) >= len(names) else "Name it, or remove it."
        faults.append(Fault("", f"Column {places} has no name.", mend))
    if faults:
        raise DataError(path, faults)


def _require_header(path: str, names: list[str], samples: tuple[Sample, ...]) -> None:
    """A day or an address for mail among cells of its kind is no name, so none of that line is told."""
    faults = [
        Fault(f"column {names.index(sample.column) + 1}", "is named as its cells are.", _NO_HEADER)
        for sample in samples
        if any(FITS[kind]([sample.column]) and FITS[kind](sample.cells) > 0.5 for kind in _NO_NAMES)
    ]
    if faults:
        raise DataError(path, faults)


def _texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch([to_text(_days(cells)) for cells in batch.columns], names=batch.schema.names)


def _sample(name: str, cells: pa.ChunkedArray) -> Sample:
    texts = trim(cells.combine_chunks())
    filled = texts.drop_null()
    differ = len(filled) == len(texts) == pc.count_distinct(texts).as_py()
    # Spread over the table: rows that stand together may be alike.
    rows = range(0, len(filled), max(1, len(filled) // _CELLS))[:_CELLS]
    some = tuple(filled.take(pa.array(rows, pa.int64())).to_pylist())
    clash = "" if differ else _find_clash(texts)
    share = len(filled) / max(1, len(texts))
    values = pc.count_distinct(pc.utf8_lower(filled)).as_py()
    return Sample(name, some, differ, _count(filled), len(filled), share, clash, values)


def _find_clash(texts: pa.Array) -> str:
    """Which rows have no cell, or the same, in a column where most are different."""
    if empty := texts.null_count:
        first = pc.index(pc.is_null(texts), True).as_py() + 1
        are = "is" if empty == 1 else "are"
        return f"{counted(empty, 'cell')} of it {are} empty, the first in row {first:,}"
    counts = pc.value_counts(texts)
    if 2 * len(counts) < len(texts):
        return ""
    again = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")[0]
    one, other = pc.indices_nonzero(pc.equal(texts, again))[:2].to_pylist()
    return f"rows {one + 1:,} and {other + 1:,} have the same"


def _count(filled: pa.Array) -> dict[str, int]:
    """How often the commonest cells occur, and all that may be marks for missing values."""
    counts = pc.value_counts(filled)
    cells, times = counts.field("values"), counts.field("counts")
    common = pc.sort_indices(times, sort_keys=[("", "descending")])[:_COMMON]
    marks = pc.indices_nonzero(pc.is_in(pc.utf8_lower(cells), value_set=pa.array([*MARKS], cells.type)))
    chosen = counts.take(pa.concat_arrays([common, marks]))
    return dict(zip(chosen.field("values").to_pylist(), chosen.field("counts").to_pylist(), strict=True))


def _days(cells: pa.Array) -> pa.Array:
    """Moments as the days that a linkage reads of them; those in a time zone are no days."""
    is_day = pa.types.is_timestamp(cells.type) and cells.type.tz is None
    return cells.cast(pa.date32(), safe=False) if is_day else cells
