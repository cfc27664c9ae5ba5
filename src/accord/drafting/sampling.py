"""Some cells of each column of one's own table, for guesses that its owner sees.

The table is read to its end: whether a column names the records can only be told then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from accord.drafting.guessing import Sample
from accord.drafting.vocabulary import MARKS
from accord.errors import DataError, Fault
from accord.fields.folding import trim
from accord.table.address import Address
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.sources.opening import Place, column_names, open_table

_CELLS = 1_000
_COMMON = 60


@dataclass(frozen=True)
class TableSample:
    """What somebody sees who opens the table: how many rows, and some cells of each column."""

    rows: int
    samples: tuple[Sample, ...]


def look_at(place: Place, layout: Layout) -> TableSample:
    """Look at a file whose encoding, delimiter and quote are known; raises all faults of its header."""
    names, path = column_names(place, layout), place.name if isinstance(place, Address) else str(place)
    _require_names(path, names)
    batches = [_texts(batch) for batch in open_table(place, names, layout).batches]
    table = pa.Table.from_batches(batches) if batches else None
    if table is None or not table.num_rows:
        raise DataError(path, [Fault("", "There are no rows below the header.", "Is it the right file?")])
    return TableSample(table.num_rows, tuple(_sample(name, table[name]) for name in names))


def _require_names(path: str, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1 and name.strip()]
    faults = [
        Fault(f"column '{name}'", "appears more than once in the header.", "Rename one.") for name in twice
    ]
    if nameless := [place for place, name in enumerate(names, 1) if not name.strip()]:
        places = ", ".join(map(str, nameless))
        faults.append(Fault("", f"Column {places} has no name.", "Name it, or remove it."))
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
    return Sample(name, some, differ, _count(filled), len(filled), len(filled) / max(1, len(texts)))


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
