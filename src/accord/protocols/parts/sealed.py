"""Sealed rows: what a record would show, under a key of its own, so that all rows can be handed over and only
those be read whose key is known.

A row is 8 zeros, then for its id and each disclosed column 4 bytes of length and the letters (of a missing
cell the highest length and none), then zeros, `row_bytes` in all: of whatever length its cells are. It is
XORed with the expansion of its key (`transfer/permutation.py`), by a permutation that belongs to this run
alone; a key is drawn for one row and never used again. Rows stand in random order, those that were left out
of the linkage among them, random. Whoever has a key also has the place of its row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.fields.columns import Records
from accord.fields.encoders import text_buffers
from accord.ranges import ranges
from accord.secure.transfer.permutation import VALUE, Permutation

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_CHECK, _LENGTH, _NONE = 8, 4, (1 << 32) - 1
AT_ONCE = 1 << 14
"""Rows that are sealed and sent at a time."""


def sealed_bytes(row_bytes: int) -> int:
    """Of a row as it is sent: whole blocks."""
    return -(-(_CHECK + row_bytes) // 16) * 16


def taken_bytes(records: Records) -> Ints:
    """What the id and the disclosed columns of each record take."""
    total = np.zeros(len(records), np.int64)
    for cells in _cells(records.ids, records.disclosed):
        total += _LENGTH + np.asarray(pc.fill_null(pc.binary_length(cells), 0)).astype(np.int64)
    return total


def _cells(ids: pa.Array, columns: pa.Table) -> Iterator[pa.Array]:
    yield ids.cast(pa.large_string())
    for name in columns.column_names:
        yield columns[name].cast(pa.large_string()).combine_chunks()


def seal_rows(run: bytes, ids: pa.Array, columns: pa.Table, keys: Words, row_bytes: int) -> Bytes:
    """These rows, each under its key. *Requires*: none takes more than `row_bytes`."""
    rows = np.zeros((len(ids), sealed_bytes(row_bytes)), np.uint8)
    at = np.arange(len(ids)) * rows.shape[1] + _CHECK
    flat = rows.reshape(-1)
    for cells in _cells(ids, columns):
        starts, octets = text_buffers(pc.fill_null(cells, ""))
        sizes, there = np.diff(starts), np.asarray(pc.is_valid(cells))
        told = np.where(there, sizes, _NONE).astype("<u4").view(np.uint8).reshape(-1, _LENGTH)
        flat[at[:, None] + np.arange(_LENGTH)] = told
        at += _LENGTH
        flat[ranges(at, at + sizes)] = octets[starts[0] : starts[-1]]
        at += sizes
    return rows ^ _expand(run, keys, rows.shape[1])


def open_rows(
    run: bytes, rows: Bytes, keys: Words, names: tuple[str, ...]
) -> tuple[Ints, pa.Array, pa.Table]:
    """Which of these rows their keys open, and the ids and columns of those. A row that cannot be read is not
    among them: whether it matched is not for the one who made it to know."""
    plain = rows ^ _expand(run, keys, rows.shape[1])
    found = np.flatnonzero(~plain[:, :_CHECK].any(axis=1))
    plain = np.ascontiguousarray(plain[found])
    cells, at, good = [], np.full(len(found), _CHECK, np.int64), np.ones(len(found), np.bool_)
    for _ in ("id", *names):
        column, at = _read_cells(plain, at, good)
        good &= _are_texts(column)
        cells.append(column)
    good &= np.asarray(pc.is_valid(cells[0]))
    texts = [column.filter(pa.array(good)).cast(pa.large_string()) for column in cells]
    return found[good], texts[0], pa.table(dict(zip(names, texts[1:], strict=True)))


def _read_cells(rows: Bytes, at: Ints, good: NDArray[np.bool_]) -> tuple[pa.Array, Ints]:
    """The cell of each row that begins there, and where the next one does; a row that has none is no longer
    good."""
    width, first, flat = rows.shape[1], np.arange(len(rows)) * rows.shape[1], rows.reshape(-1)
    good &= at + _LENGTH <= width
    at = np.where(good, at, 0)
    told = flat[(first + at)[:, None] + np.arange(_LENGTH)].view("<u4").reshape(-1).astype(np.int64)
    there, at = told != _NONE, at + _LENGTH
    good &= ~there | (at + told <= width)
    sizes = np.where(good & there, told, 0)
    octets = flat[ranges(first + at, first + at + sizes)]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    found = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(rows), [None, pa.py_buffer(ends), pa.py_buffer(octets.tobytes())]
    )
    return pc.if_else(pa.array(there), found, pa.scalar(None, pa.large_binary())), at + sizes


def _are_texts(cells: pa.Array) -> NDArray[np.bool_]:
    """Which cells are UTF-8: all, unless somebody made up a row."""
    try:
        cells.cast(pa.large_string())
    except pa.ArrowInvalid:
        return np.array([cell is None or _is_text(cell) for cell in cells.to_pylist()], np.bool_)
    return np.ones(len(cells), np.bool_)


def _is_text(cell: bytes) -> bool:
    try:
        cell.decode()
    except UnicodeDecodeError:
        return False
    return True


def _expand(run: bytes, keys: Words, width: int) -> Bytes:
    """What the rows of these keys, (n, 2) words, are sealed with."""
    pi = Permutation()
    pi.take_key(hashlib.sha256(b"accord sealed 1\n" + run).digest()[:16])
    pads = np.empty((len(keys), width // 16, 2), np.uint64)
    for block in range(pads.shape[1]):
        tweaked = keys ^ np.array([0, VALUE + block], np.uint64)
        pads[:, block] = pi.apply(tweaked, "outer") ^ keys
    return pads.astype("<u8", copy=False).view(np.uint8).reshape(len(keys), width)
