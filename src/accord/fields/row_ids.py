"""Ids for the rows of a file that has no column of them: drawn once, and kept in a file beside it.

The partner sees the id of every record that matches. The number of its row would tell how many rows stand
before it, and so of rows that match nothing; a hash of its cells would tell what is in it. So an id is drawn.
*Distribution*: the n-th row that needs one gets the n-th of texts that are uniform among all distinct ones:
what they are follows from how many rows there are, and from nothing in them or about their order.

    people.csv            people.csv.ids.csv
    given,birth           row,id,{how digests are made, and a sum of the file}
    Ann,1980-02-01        1,k3v6…,digest
    Bob,1975-11-30        2,z7aq…,digest

A row is found again by a salted digest of its cells, as text and by the names of their columns: of all
columns that the table had when the file was made, whether an agreement reads them or not. So ids stay with
their rows when rows come, go or are sorted, and when columns are sorted or added; under any agreement, and in
`resume`. Among rows that are the same in all cells the first has the first id. A row with a cell that changed
is a new row. Ids of rows that are gone are kept, without a number, below all others: a row that comes back
has its id. Cells that are no text, and columns without a name of their own, do not count.

The file stays with its owner, who joins pairs with the table by `row` and `id`; numbers are those of the last
time that the table was read. It is written after the table was found to have no faults, before anything of it
is used, whole or not at all, and by one process at a time: whoever comes second finds what the first wrote.
One that is not as it was written is never replaced, since new ids are not those that a partner has seen.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.errors import IdsOutputError, OutputError, UnreadableError, UsageError
from accord.fields.encoders import text_buffers
from accord.fields.siphash import hash_texts, key
from accord.spec import Spec
from accord.table.cell_text import to_text
from accord.table.layout import MADE_ID, Layout
from accord.table.opened import OpenTable
from accord.table.sinks.files import write_file
from accord.table.sources.opening import TableLike, column_names, find_place, ids_file, open_table
from accord.wording import counted

_OCTETS = 10
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", np.uint8)
_SALT = 16
_LONGEST_HEAD = 1 << 24
_BEFORE, _BEHIND = b'row,id,"', b'"'
_TEXT = pa.large_string()
_COLUMNS = {"row": pa.int64(), "id": _TEXT, "digest": _TEXT}

_NO_FILE = (
    "Ids are made for a table in a file, and kept beside it; this one has no file: name a column of ids with "
    "`id=`. A query can make one of other columns."
)
_RESTORE = (
    "Restore it from a copy. Without it new ids would be made, which are not those that partners have seen: "
    "only if that does not matter, move it away."
)
_OTHER = (
    "Is it of another table, or has a cell of most rows changed? Restore the one or the other; if all rows "
    "are new, move it away, and new ids are made."
)
_GONE = "Put it back; or move the file away, and new ids are made, which no partner has seen before."


@dataclass(frozen=True, eq=False)
class RowIds:
    """The ids of a table's rows, in their order."""

    path: Path
    """The file that keeps them."""
    ids: pa.Array
    """Null where a row has none."""
    new: int = 0
    """How many were made."""
    _before: _IdsFile | None = field(default=None, repr=False)
    _after: _IdsFile | None = field(default=None, repr=False)
    """What the file is to be."""

    def beside(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches of the table, with the column of ids."""
        start = 0
        for batch in batches:
            stop = start + batch.num_rows
            self._require_whole(stop <= len(self.ids))
            # Copies, since a slice holds the octets of all.
            yield batch.append_column(MADE_ID, self.ids.take(pa.array(np.arange(start, stop))))
            start = stop
        self._require_whole(start == len(self.ids))

    def _require_whole(self, fits: bool) -> None:
        if not fits:
            reason = "the table beside it changed while it was read"
            raise UnreadableError(path=self.path, reason=reason, mend="Try again.")

    def keep(self) -> None:
        """Write the file, if that changes anything."""
        if self._after is None or (self._before and self._after.is_like(self._before)):
            return
        now, before = _read(self.path), self._before
        if (now is None) != (before is None) or (now and before and not now.is_like(before)):
            # Where folders cannot be locked somebody may have been faster.
            reason = "another process wrote it meanwhile"
            raise UnreadableError(path=self.path, reason=reason, mend="Try again.")
        try:
            write_file(self.path, self._after.encode(), replace=now is not None, private=True)
        except OutputError as error:
            raise IdsOutputError(path=self.path, reason=error.reason) from None


@contextmanager
def made_ids(source: TableLike, layout: Layout, entropy: Entropy | None) -> Iterator[RowIds | None]:
    """The ids of a table's rows; None where its layout has a column of them.

    With a source of randomness, rows that have no id get one, and the file is written unless what is done in
    between fails; no other process does the same meanwhile. Without one, the file must be there.
    """
    if not layout.make_ids or (isinstance(source, pa.Table) and MADE_ID in source.column_names):
        yield None
        return
    table = _require_file(source)
    with _alone(ids_file(table).parent) if entropy is not None else ExitStack():
        found = _find(table, layout, entropy)
        yield found
        found.keep()


def open_named(
    source: TableLike, columns: Sequence[str], layout: Layout, ids: RowIds | None = None
) -> OpenTable:
    """Open a table for its wanted columns, which may be that of its ids, made or not."""
    if ids is None:
        with made_ids(source, layout, None) as ids:
            pass
    if ids is None:
        return open_table(source, columns, layout)
    opened = open_table(source, [name for name in columns if name != MADE_ID], layout)
    opened.batches = ids.beside(opened.batches)
    return opened


def _require_file(source: TableLike) -> Path:
    place = find_place(source)
    if not isinstance(place, Path):
        raise UsageError(problem=_NO_FILE)
    return place


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process makes ids in this folder meanwhile; where folders cannot be locked, perhaps one."""
    with ExitStack() as stack:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _find(table: Path, layout: Layout, entropy: Entropy | None) -> RowIds:
    path = ids_file(table)
    before, names = _read(path), column_names(table, layout)
    times = Counter(names)
    if before is None and entropy is None:
        mend = "It belongs next to the table: copy it there from where its ids were made."
        raise UnreadableError(path=path, reason="it is not there", mend=mend)
    known = before
    if known is None:
        assert entropy is not None
        once = tuple(name for name in names if name and times[name] == 1)
        known = _IdsFile(entropy.bytes(_SALT).hex(), once)
    elif gone := [f"'{name}'" for name in known.columns if times[name] != 1]:
        columns = f"column {gone[0]}" if len(gone) == 1 else f"columns {', '.join(gone)}"
        reason = f"its ids are found by {columns}, which {table} does not have any more"
        raise UnreadableError(path=path, reason=reason, mend=_GONE)
    digests = _digest(table, layout, known)
    lines = _match(known.digests, digests)
    new = lines < 0
    had, has = known.count_rows(), known.count_rows(lines[~new])
    if 2 * has < had and 2 * int(new.sum()) > len(new):
        ids_ = counted(had, "id")
        found = f"only {has:,} of its {ids_} are" if has else f"none of its {ids_} is"
        reason = f"{found} of a row of {table}"
        raise UnreadableError(path=path, reason=reason, mend=_OTHER)
    ids = known.ids.take(pa.array(lines, mask=new))
    if entropy is None:
        return RowIds(path, ids)
    ids = pc.replace_with_mask(ids, pa.array(new), _draw(entropy, int(new.sum()), known.ids))
    return RowIds(path, ids, int(new.sum()), before, known.with_rows(ids, digests, lines))


def _draw(entropy: Entropy, count: int, taken: pa.Array) -> pa.Array:
    """So many ids that differ from each other and from those that are taken; all are drawn again if any is
    not, so that none is more likely than another."""
    while True:
        octets = np.frombuffer(entropy.bytes(_OCTETS * count), np.uint8).reshape(count, _OCTETS)
        ids = _spell(octets)
        if pc.count_distinct(pa.concat_arrays([taken, ids])).as_py() == len(taken) + count:
            return ids


def _spell(octets: NDArray[np.uint8]) -> pa.Array:
    """Ten octets a text: five of them are eight letters."""
    halves = octets.reshape(-1, 5).astype(np.uint64)
    numbers = np.zeros(len(halves), np.uint64)
    for place in range(5):
        numbers = (numbers << np.uint64(8)) | halves[:, place]
    letters = np.empty((len(halves), 8), np.uint8)
    for place in range(8):
        letters[:, place] = _LETTERS[(numbers >> np.uint64(35 - 5 * place)) & np.uint64(31)]
    ends = np.arange(len(octets) + 1, dtype=np.int64) * 16
    return pa.Array.from_buffers(_TEXT, len(octets), [None, pa.py_buffer(ends), pa.py_buffer(letters)])


def _digest(table: Path, layout: Layout, known: _IdsFile) -> pa.Array:
    """A digest of every row: the sum, bit by bit, of a keyed hash of each cell, under a key for its column.

    An empty cell is nothing in it, so a column of them changes none. Whoever does not know the salt cannot
    find rows that have the same one; if two do, they are taken for the same row, and have two ids anyway.
    """
    keys = {name: key(known.salt, name) for name in known.columns}
    found = [_spell(np.zeros((0, _OCTETS), np.uint8))]
    for batch in open_table(table, known.columns, layout).batches:
        words, sums = np.zeros((2, batch.num_rows, 2), np.uint64)
        for name, (k0, k1) in keys.items():
            cells = to_text(batch.column(name))
            hash_texts(k0, k1, *text_buffers(pc.fill_null(cells, "")), words)
            sums ^= words * np.asarray(pc.is_valid(cells))[:, None]
        octets = sums.astype("<u8").view(np.uint8)[:, :_OCTETS]
        found.append(_spell(np.ascontiguousarray(octets)))
    return pa.concat_arrays(found)


def _match(old: pa.Array, now: pa.Array) -> NDArray[np.int64]:
    """By row, the line of its digest; −1 if there is none. The n-th of the same is the n-th of the same."""
    codes = np.asarray(pa.concat_arrays([old, now]).dictionary_encode().indices).astype(np.int64)
    keys = [code * (len(codes) + 1) + _nth(code) for code in (codes[: len(old)], codes[len(old) :])]
    found = pc.index_in(pa.array(keys[1]), value_set=pa.array(keys[0]))
    return np.asarray(pc.fill_null(found, -1)).astype(np.int64)


def _nth(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the same stand before each."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    places = np.arange(len(codes))
    first = np.maximum.accumulate(np.where(np.diff(ordered, prepend=-1) != 0, places, 0))
    found = np.empty(len(codes), np.int64)
    found[order] = places - first
    return found


class _Head(Spec):
    """What stands above the digests."""

    accord_ids: Literal[1]
    salt: str
    columns: tuple[str, ...]
    sum: str = ""
    """Of all the rest of the file."""

    def over(self, body: bytes) -> _Head:
        """This head with the sum of the file that it is the head of."""
        bare = self.model_copy(update={"sum": ""})
        digest = hashlib.sha256(bare.model_dump_json().encode() + b"\n" + body)
        return bare.model_copy(update={"sum": digest.hexdigest()})


def _no_lines() -> pa.Table:
    return pa.table({name: pa.array([], kind) for name, kind in _COLUMNS.items()})


@dataclass(frozen=True, eq=False)
class _IdsFile:
    """What the file holds: rows that are there, in their order, then those that are gone."""

    salt: str
    columns: tuple[str, ...]
    lines: pa.Table = field(default_factory=_no_lines)

    @property
    def ids(self) -> pa.Array:
        return self.lines["id"].combine_chunks()

    @property
    def digests(self) -> pa.Array:
        return self.lines["digest"].combine_chunks()

    def count_rows(self, lines: NDArray[np.int64] | None = None) -> int:
        """How many, of these lines or of all, had a row when the table was last read."""
        rows = self.lines["row"] if lines is None else self.lines["row"].take(pa.array(lines))
        return len(rows) - int(rows.null_count)

    def is_like(self, other: _IdsFile) -> bool:
        return bool(self.salt == other.salt and self.lines.equals(other.lines))

    def with_rows(self, ids: pa.Array, digests: pa.Array, lines: NDArray[np.int64]) -> _IdsFile:
        """With these rows, of which some stand in these lines; the others that it has are gone."""
        rows = pa.array(np.arange(1, len(ids) + 1))
        there = pa.table({"row": rows, "id": ids, "digest": digests})
        gone = np.ones(self.lines.num_rows, np.bool_)
        gone[lines[lines >= 0]] = False
        left = self.lines.filter(pa.array(gone))
        left = left.set_column(0, "row", pa.nulls(left.num_rows, pa.int64()))
        return _IdsFile(self.salt, self.columns, pa.concat_tables([there, left]).combine_chunks())

    def encode(self) -> bytes:
        sink = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
        pyarrow.csv.write_csv(self.lines, sink, options)
        body = sink.getvalue().to_pybytes()
        head = _Head(accord_ids=1, salt=self.salt, columns=self.columns).over(body)
        # One line, whatever the names of columns are, and one cell of it.
        digest = head.model_dump_json().encode().replace(b'"', b'""')
        return _BEFORE + digest + _BEHIND + b"\n" + body


def _decode(content: bytes) -> _IdsFile:
    """What `encode` wrote; raises ValueError for anything else."""
    line, _, body = content.partition(b"\n")
    if len(line) > _LONGEST_HEAD or not (line.startswith(_BEFORE) and line.endswith(_BEHIND)):
        raise ValueError("no head")
    digest = line[len(_BEFORE) : -len(_BEHIND)]
    head = _Head.model_validate_json(digest.replace(b'""', b'"'))
    if head != head.over(body):
        raise ValueError("another sum")
    if not body:
        return _IdsFile(head.salt, head.columns)
    lines = pyarrow.csv.read_csv(
        pa.BufferReader(body),
        pyarrow.csv.ReadOptions(column_names=[*_COLUMNS], use_threads=False),
        pyarrow.csv.ParseOptions(quote_char=False),
        pyarrow.csv.ConvertOptions(column_types=_COLUMNS),
    )
    return _IdsFile(head.salt, head.columns, lines.combine_chunks())


def _read(path: Path) -> _IdsFile | None:
    """The file, if there is one."""
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        mend = "It has the ids of the rows of the table beside it: see that you may read it."
        raise UnreadableError(path=path, reason=reason, mend=mend) from None
    except ValueError:
        raise UnreadableError(path=path, reason="it is not as Accord wrote it", mend=_RESTORE) from None
