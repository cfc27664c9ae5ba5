"""Pairs of records: in the order of the output, as a table that is not there until somebody reads it, and as
its reader wants it.

Records have one order that both sides come to: by the bytes of their ids. It is found once for a table; after
that numbers are sorted and no texts. There may be far more pairs than records. A pair is one whole number,
the place of A's record among its ids · width + the place of B's; so all pairs are an ascending list, which
lies in a file if it is long (spill.py), and a stretch of it is turned into rows of both tables when somebody
reads it.

A record may match many others, and its cells may be long: all pairs with their cells can be far larger than
both tables together. So cells are put beside each other for a batch of pairs at a time, which takes no more
than some MiB.
"""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import UsageError
from accord.side import Side
from accord.spill import PIECE, Ints, Scratch, sort_distinct

if TYPE_CHECKING:
    import pandas
    import polars

Rows = NDArray[np.int32]
SomePairs = tuple[NDArray[np.integer], NDArray[np.integer]]
"""A row of A and a row of B for each."""
_BATCH_BYTES = 1 << 24
_BATCH_ROWS = 1 << 16
_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class IdOrder:
    """The order of ids: `rows` has the row at each place, `places` the place of each row."""

    rows: Rows
    places: Rows

    @classmethod
    def of(cls, ids: pa.Array) -> IdOrder:
        rows = np.asarray(pc.sort_indices(ids)).astype(np.int32)
        places = np.empty(len(rows), np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        return cls(rows, places)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Each pair once."""

    keys: Ints
    width: int
    a: Rows
    """A's row at each place."""
    b: Rows

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, start: int, stop: int) -> tuple[Rows, Rows]:
        """Some of the pairs, as rows of A and of B."""
        a, b = self.places(start, stop)
        return self.a[a], self.b[b]

    def places(self, start: int, stop: int) -> tuple[Ints, Ints]:
        """The same as places in the orders of both sides' ids."""
        keys = np.asarray(self.keys[start:stop])
        a = keys // self.width
        return a, keys - a * self.width

    def pieces(self) -> Iterator[tuple[Rows, Rows]]:
        """All pairs, some at a time."""
        for start in range(0, len(self), PIECE):
            yield self.rows(start, start + PIECE)

    def of(self, side: Side) -> Rows:
        """One side's row of every pair, all at once."""
        return self.rows(0, len(self))[0 if side is Side.A else 1]


def order_pairs(a: IdOrder, b: IdOrder, found: Iterable[SomePairs], scratch: Scratch) -> Pairs:
    """These pairs in order, each once however often it was found."""
    width = max(1, len(b))
    keys = (a.places[some].astype(np.int64) * width + b.places[others] for some, others in found)
    return Pairs(sort_distinct(keys, scratch), width, a.rows, b.rows)


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


class Paired:
    """A result whose heart are its `pairs`, or the cells of an answer; anything that speaks Arrow takes it as
    that table, and is given some pairs at a time."""

    if TYPE_CHECKING:
        # At run time it would be taken for the default of a field of that name.
        @property
        def found(self) -> PairTable:
            """The pairs as rows of two tables: for whoever does not need them all at once."""

    @property
    def result(self) -> PairTable | pa.Table:
        """What came out: the pairs, or the cells of an answer."""
        return self.found

    @cached_property
    def pairs(self) -> pa.Table:
        """`id_a`, `id_b`, and the disclosed columns of both sides."""
        return self.found.table()

    @property
    def _table(self) -> pa.Table:
        return self.result if isinstance(self.result, pa.Table) else self.pairs

    @abstractmethod
    def _facts(self) -> dict[str, str]:
        """What is worth seeing at first sight."""

    def to_pandas(self) -> pandas.DataFrame:
        """The pairs, or the cells of an answer, as a pandas table."""
        try:
            return self._table.to_pandas()
        except ImportError:
            raise UsageError(
                problem="pandas is not installed: `pip install pandas`, or take .pairs."
            ) from None

    def to_polars(self) -> polars.DataFrame:
        """The pairs, or the cells of an answer, as a polars table."""
        try:
            import polars
        except ImportError:
            raise UsageError(
                problem="polars is not installed: `pip install polars`, or take .pairs."
            ) from None
        return polars.DataFrame(polars.from_arrow(self._table))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        result = self.result
        reader = pa.RecordBatchReader.from_batches(result.schema, result.to_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        """For notebooks. Every text is escaped: the partner wrote some of it."""
        facts = "".join(html_row((name, value), "th", "td") for name, value in self._facts().items())
        result = self.result
        shown = result.slice(0, _SHOWN) if isinstance(result, pa.Table) else result.head(_SHOWN)
        head = html_row(shown.column_names, "th", "th")
        rows = "".join(html_row(row.values(), "td", "td") for row in shown.to_pylist())
        hidden = len(result) - shown.num_rows
        what = "rows" if isinstance(result, pa.Table) else "pairs"
        more = f"<p>… and {hidden:,} more {what}</p>" if hidden > 0 else ""
        return f"<table>{facts}</table><table>{head}{rows}</table>{more}"


def html_row(cells: Any, first: str, rest: str) -> str:
    """A row of a table, escaped: the first cell between tags of one name, the rest of another."""
    texts = ["" if cell is None else html.escape(str(cell)) for cell in cells]
    tags = [first, *[rest] * (len(texts) - 1)]
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in zip(tags, texts, strict=True))}</tr>"
