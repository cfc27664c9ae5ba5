"""The batches of a table become one: columns that grow, in memory or, where they are long, in files.

Whoever adds a batch gives away copies. A column is one piece in the end and never was two: to join pieces
would take their memory twice. Ids must differ. To remember them all for that would take more than the ids
themselves; so a hash of each is sorted, and only ids whose hashes are the same are looked at.

Rows that come without an order get that of their ids, column by column: one at a time is there twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.fields.columns import Bits, Column, Integers, Records
from accord.fields.encoders import text_buffers
from accord.fields.siphash import hash_texts, key
from accord.ranges import contained, distinct
from accord.spill import Growing, Ints, Scratch, pieces


class Texts:
    """Texts of one column, each of which may be missing, as Arrow has them: ends, octets, which there are."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._starts = Growing(scratch)
        self._octets = Growing(scratch, np.uint8)
        self._there = Growing(scratch, np.bool_)
        self._end = 0
        self._starts.add(np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self._there)

    def add(self, texts: pa.Array) -> None:
        """Append these."""
        if not len(texts):
            return
        # What stands where none is could be anything.
        filled = pc.fill_null(texts.cast(pa.large_string()), "") if texts.null_count else texts
        plain = filled.cast(pa.large_string())
        _, offsets, data = plain.buffers()
        starts = np.frombuffer(offsets, np.int64)[plain.offset : plain.offset + len(plain) + 1]
        octets = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        self._starts.add(starts[1:] + (self._end - starts[0]))
        self._octets.add(octets[starts[0] : starts[-1]].copy())
        self._there.add(np.asarray(pc.is_valid(texts)))
        self._end += int(starts[-1] - starts[0])

    def order(self) -> Ints | None:
        """The rows by their texts, octet by octet; None if they stand so already."""
        rows = np.asarray(pc.sort_indices(self.whole())).astype(np.int64)
        return None if np.array_equal(rows, np.arange(len(rows))) else rows

    def whole(self, rows: Ints | None = None) -> pa.Array:
        """All of them, or these rows."""
        if rows is not None:
            return self._taken(rows)
        there = self._there.whole()
        marks = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        buffers = [marks, pa.py_buffer(self._starts.whole()), pa.py_buffer(self._octets.whole())]
        return pa.Array.from_buffers(pa.large_string(), len(there), buffers)

    def _taken(self, rows: Ints) -> pa.Array:
        texts, taken = self.whole(), Texts(self._scratch)
        for some in pieces(rows):
            taken.add(texts.take(pa.array(some)))
        return taken.whole()


class Gathering:
    """Records that come in batches."""

    def __init__(self, empty: Mapping[str, Column], disclose: Sequence[str], scratch: Scratch) -> None:
        """`empty`: each field, of no record."""
        self._columns = {name: GrowingColumn(column, scratch) for name, column in empty.items()}
        self._ids = Texts(scratch)
        self._disclosed = {name: Texts(scratch) for name in disclose}
        self._left_out = 0

    def add(self, batch: Records) -> None:
        self._ids.add(batch.ids)
        for name, column in batch.columns.items():
            self._columns[name].add(column)
        for name, texts in self._disclosed.items():
            for cells in batch.disclosed[name].chunks:
                texts.add(cells)
        self._left_out += batch.left_out

    def whole(self, by_id: bool = False) -> Records:
        """All of them: as they came, or in the order of their ids."""
        rows = self._ids.order() if by_id else None
        columns = {name: column.whole(rows) for name, column in self._columns.items()}
        shown = pa.table({name: texts.whole(rows) for name, texts in self._disclosed.items()})
        return Records(self._ids.whole(rows), columns, shown, self._left_out)


class GrowingColumn:
    """An encoded field."""

    def __init__(self, like: Column, scratch: Scratch) -> None:
        self._present = Growing(scratch, np.bool_)
        self._length = like.length if isinstance(like, Bits) else None
        width = like.words.shape[1] if isinstance(like, Bits) else None
        self._values = Growing(scratch, np.int64 if width is None else np.uint64, width)

    def add(self, column: Column) -> None:
        self._present.add(column.present)
        self._values.add(column.words if isinstance(column, Bits) else column.values)

    def whole(self, rows: Ints | None = None) -> Column:
        values, present = self._values.whole(rows), self._present.whole(rows)
        return Integers(values, present) if self._length is None else Bits(values, self._length, present)


class Ids:
    """The ids of all rows, which must differ."""

    def __init__(self, scratch: Scratch) -> None:
        self._texts, self._hashes = Texts(scratch), Growing(scratch)

    def add(self, ids: pa.Array) -> None:
        self._texts.add(ids)
        words = np.zeros((len(ids), 2), np.uint64)
        hash_texts(*key("", "ids"), *text_buffers(pc.fill_null(ids, "")), words)
        self._hashes.add(words[:, 0].view(np.int64))

    def places(self) -> NDArray[np.int64]:
        """By row, its place in the order of ids; rows without an id come last."""
        return np.argsort(np.asarray(pc.sort_indices(self._texts.whole())))

    def repeated(self) -> NDArray[np.bool_] | None:
        """Which rows have an id that another row has, too; None if there is no such row."""
        hashes = self._hashes.whole()
        ordered = np.sort(hashes)
        again = distinct(ordered[1:][ordered[1:] == ordered[:-1]])
        if not len(again):
            return None
        suspects = np.flatnonzero(contained(hashes, again))
        ids = self._texts.whole().take(pa.array(suspects))
        counts = pc.value_counts(ids)
        shared = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").drop_null()
        marks = np.zeros(len(hashes), np.bool_)
        marks[suspects] = np.asarray(pc.is_in(ids, value_set=shared))
        return marks if marks.any() else None
