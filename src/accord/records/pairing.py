"""A table of pairs that is not there until somebody reads it: two tables, and for each pair a row of either.

A record may match many others, and its cells may be long: all pairs with their cells can be far larger than
both tables together. So what is kept of a pair are two numbers, and cells are put beside each other for a
batch of pairs at a time, which takes no more than some MiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_BATCH_BYTES = 1 << 24
_BATCH_ROWS = 1 << 16

Rows = NDArray[np.integer]


@dataclass(frozen=True, eq=False, repr=False)
class Half:
    """One side of all pairs: ids and disclosed columns of its records, and which record each pair has."""

    ids: pa.Array
    columns: Mapping[str, pa.Array]
    rows: Rows

    @classmethod
    def of(cls, ids: pa.Array, shown: pa.Table, rows: Rows) -> Half:
        """Of a table of disclosed columns, each in one piece: to take from many would join them each time."""
        return cls(ids, {name: _whole(shown[name]) for name in shown.column_names}, rows)

    def sizes(self) -> NDArray[np.int64]:
        """The octets of each record."""
        sizes = np.zeros(len(self.ids), np.int64)
        for cells in (self.ids, *self.columns.values()):
            sizes += np.asarray(pc.fill_null(pc.binary_length(cells), 0)).astype(np.int64)
        return sizes


@dataclass(frozen=True, eq=False, repr=False)
class PairTable:
    """`id_a`, `id_b`, then the columns that A disclosed (`…_a`) and those of B (`…_b`)."""

    a: Half
    b: Half

    def __len__(self) -> int:
        return len(self.a.rows)

    @property
    def schema(self) -> pa.Schema:
        return self.head(0).schema

    def octets(self) -> int:
        """What all pairs take as text: each cell with its quotes and a comma."""
        cells = 2 + len(self.a.columns) + len(self.b.columns)
        return sum(int(half.sizes()[half.rows].sum()) for _, half in self._halves()) + 3 * cells * len(self)

    def head(self, count: int) -> pa.Table:
        """The first pairs."""
        return pa.Table.from_batches([self._take(0, min(count, len(self)))])

    def ids(self) -> pa.Table:
        """The pairs without what was disclosed."""
        return pa.table({f"id_{name}": half.ids.take(pa.array(half.rows)) for name, half in self._halves()})

    def table(self) -> pa.Table:
        """All pairs, all at once."""
        return pa.Table.from_batches([self._take(0, len(self))])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The pairs, some at a time; at least one batch, which may be empty."""
        sizes = self.a.sizes()[self.a.rows] + self.b.sizes()[self.b.rows]
        ends = np.cumsum(sizes)
        start = 0
        while start < len(self) or start == 0:
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + _BATCH_BYTES, "right"))
            # One pair at the least, however long it is.
            stop = min(max(stop, start + 1), start + _BATCH_ROWS, len(self))
            yield self._take(start, stop)
            if stop == start:
                return
            start = stop

    def _take(self, start: int, stop: int) -> pa.RecordBatch:
        taken = {name: pa.array(half.rows[start:stop]) for name, half in self._halves()}
        found = {f"id_{name}": half.ids.take(taken[name]) for name, half in self._halves()}
        for letter, half in self._halves():
            found |= {f"{name}_{letter}": cells.take(taken[letter]) for name, cells in half.columns.items()}
        return pa.record_batch(found)

    def _halves(self) -> tuple[tuple[str, Half], tuple[str, Half]]:
        return ("a", self.a), ("b", self.b)


def _whole(cells: pa.ChunkedArray) -> pa.Array:
    return cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
