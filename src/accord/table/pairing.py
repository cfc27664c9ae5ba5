"""A table of pairs that is not there until somebody reads it: two tables, and for each pair a row of either.

A record may match many others, and its cells may be long: all pairs with their cells can be far larger than
both tables together. So what is kept of a pair is a number, perhaps on disk (pairs.py), and cells are put
beside each other for a batch of pairs at a time, which takes no more than some MiB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.table.pairs import Pairs

_BATCH_BYTES = 1 << 24
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class Half:
    """One side of all pairs: ids and disclosed columns of its records."""

    ids: pa.Array
    columns: Mapping[str, pa.Array]
    numbered: bool = False
    """Whether its owner, who looks at the pairs, has whole numbers for ids."""

    @classmethod
    def of(cls, ids: pa.Array, shown: pa.Table, numbered: bool = False) -> Half:
        """Of a table of disclosed columns, each in one piece: to take from many would join them each time."""
        return cls(ids, {name: _whole(shown[name]) for name in shown.column_names}, numbered)

    @cached_property
    def sizes(self) -> NDArray[np.int32]:
        """The octets of each record: less than a partner takes of one, which is 2 MiB."""
        sizes = np.zeros(len(self.ids), np.int32)
        for cells in (self.ids, *self.columns.values()):
            sizes += np.asarray(pc.fill_null(pc.binary_length(cells), 0)).astype(np.int32)
        return sizes


@dataclass(frozen=True, eq=False, repr=False)
class PairTable:
    """`id_a`, `id_b`, then the columns that A disclosed (`…_a`) and those of B (`…_b`)."""

    a: Half
    b: Half
    pairs: Pairs

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def schema(self) -> pa.Schema:
        return self.head(0).schema

    def octets(self) -> int:
        """What all pairs take as text: each cell with its quotes and a comma."""
        cells = 2 + len(self.a.columns) + len(self.b.columns)
        texts = sum(int(self.a.sizes[a].sum()) + int(self.b.sizes[b].sum()) for a, b in self.pairs.pieces())
        return texts + 3 * cells * len(self)

    @property
    def typed_schema(self) -> pa.Schema:
        """Of `typed_batches`."""
        return self._typed(self._take(0, 0)).schema

    def head(self, count: int) -> pa.Table:
        """The first pairs."""
        return pa.Table.from_batches([self._take(0, min(count, len(self)))])

    def ids(self) -> pa.Table:
        """The pairs without what was disclosed."""
        a, b = self.pairs.rows(0, len(self))
        return pa.table({"id_a": self.a.ids.take(pa.array(a)), "id_b": self.b.ids.take(pa.array(b))})

    def table(self) -> pa.Table:
        """All pairs, all at once."""
        return pa.Table.from_batches([self._take(0, len(self))])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The pairs, some at a time; at least one batch, which may be empty."""
        start = 0
        while start < len(self) or start == 0:
            stop = start + self._fitting(start)
            yield self._take(start, stop)
            if stop == start:
                return
            start = stop

    def typed_batches(self) -> Iterator[pa.RecordBatch]:
        """The same with one's own ids as they stand in one's own table, where they are whole numbers."""
        return map(self._typed, self.to_batches())

    def _typed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for place, half in enumerate((self.a, self.b)):
            if half.numbered:
                name = batch.schema.names[place]
                batch = batch.set_column(place, name, batch.column(place).cast(pa.int64()))
        return batch

    def _fitting(self, start: int) -> int:
        """How many pairs make a batch: one at the least, however long it is."""
        a, b = self.pairs.rows(start, start + _BATCH_ROWS)
        ends = np.cumsum(self.a.sizes[a].astype(np.int64) + self.b.sizes[b])
        return min(len(a), max(1, int(np.searchsorted(ends, _BATCH_BYTES, "right"))))

    def _take(self, start: int, stop: int) -> pa.RecordBatch:
        a, b = (pa.array(rows) for rows in self.pairs.rows(start, stop))
        cells = [self.a.ids.take(a), self.b.ids.take(b)]
        cells += [column.take(a) for column in self.a.columns.values()]
        cells += [column.take(b) for column in self.b.columns.values()]
        return pa.record_batch(cells, names=pair_columns(self.a.columns, self.b.columns))


def pair_columns(shown_a: Iterable[str], shown_b: Iterable[str]) -> list[str]:
    """The names of the columns of pairs, if these columns of both sides are disclosed."""
    return ["id_a", "id_b", *(f"{name}_a" for name in shown_a), *(f"{name}_b" for name in shown_b)]


def _whole(cells: pa.ChunkedArray) -> pa.Array:
    return cells.chunk(0) if cells.num_chunks == 1 else cells.combine_chunks()
