"""What two sides have disclosed to each other over the runs of a series, as values and as bytes."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.fields.columns import Bits, Column, Columns, Integers, rows_of
from accord.protocols.parts.disclosed import Disclosed, Shape, decode, encode, nothing

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_TAG = b"accord shown 1\n"
_HEAD = struct.Struct("<QQQQ")


@dataclass(frozen=True)
class Shown:
    """What two sides have disclosed to each other so far, and not named as gone."""

    own: Ints
    """Members (batches.py), in the order in which the partner has them."""
    removed: tuple[Ints, Ints]
    """Slots of one's own, and of the partner's, that are out of each bin of each batch."""
    partner: Disclosed
    """The partner's, in its order; without slots."""

    @classmethod
    def nothing(cls, shape: Shape) -> Shown:
        """Before the first run; `shape` is that of what the partner discloses."""
        none = np.zeros(0, np.int64)
        return cls(none, (none, none), nothing(shape))

    def rows(self, member: Ints) -> Bools:
        """Which rows, of these members, the partner has seen."""
        return np.isin(member, self.own)

    def left(self, counts: Ints) -> Ints:
        """Own counts, as they were released, without what is out of them."""
        return counts - padded(self.removed[0], len(counts))


def padded(counts: Ints, size: int) -> Ints:
    """With zeros at the end, in memory of their own."""
    return np.pad(counts, (0, size - len(counts)))


def without_slots(of: Disclosed, rows: Ints) -> Disclosed:
    """Some of the records, without their slots, in memory of their own."""
    none, index = np.zeros(0, np.int64), pa.array(rows)
    fields: Columns = {name: rows_of(column, rows) for name, column in of.fields.items()}
    shown = of.columns.take(index) if of.columns.num_columns else of.columns
    return Disclosed(np.zeros(len(rows), np.int64), none, fields, of.ids.take(index), shown)


def joined(parts: list[Disclosed]) -> Disclosed:
    """All of them, without slots."""
    fields = {name: _stack([part.fields[name] for part in parts]) for name in parts[0].fields}
    ids = pa.concat_arrays([part.ids.cast(pa.large_string()) for part in parts])
    names = parts[0].columns.column_names
    texts = {n: [chunk for part in parts for chunk in part.columns[n].chunks] for n in names}
    shown = pa.table({n: pa.chunked_array(cells, pa.large_string()) for n, cells in texts.items()})
    return Disclosed(np.zeros(len(ids), np.int64), np.zeros(0, np.int64), fields, ids, shown)


def _stack(columns: list[Column]) -> Column:
    present = np.concatenate([column.present for column in columns])
    first = columns[0]
    if isinstance(first, Bits):
        words = np.concatenate([column.words for column in columns if isinstance(column, Bits)])
        return Bits(words, first.length, present)
    values = [column.values for column in columns if not isinstance(column, Bits)]
    return Integers(np.concatenate(values), present)


def encode_shown(shown: Shown) -> bytes:
    """As bytes, with a checksum in front."""
    own, theirs = shown.removed
    body = _HEAD.pack(len(shown.own), len(own), len(theirs), len(shown.partner))
    body += b"".join(part.astype("<i8").tobytes() for part in (shown.own, own, theirs))
    body += encode(shown.partner)
    return _TAG + hashlib.sha256(body).digest() + body


def decode_shown(content: bytes, shape: Shape) -> Shown:
    """What `encode_shown` wrote, of a partner that discloses in this shape; raises ValueError for anything
    else."""
    start = len(_TAG) + 32
    body = content[start:]
    if content[:start] != _TAG + hashlib.sha256(body).digest() or len(body) < _HEAD.size:
        raise ValueError("not what was shown, or damaged")
    *sizes, count = _HEAD.unpack_from(body)
    if 8 * sum(sizes) > len(body) - _HEAD.size:
        raise ValueError("not what was shown")
    at, parts = _HEAD.size, []
    for size in sizes:
        parts.append(np.frombuffer(body, "<i8", size, at).astype(np.int64))
        at += 8 * size
    try:
        partner = decode(body[at:], count, replace(shape, most_records=count, slots=0))
    except PeerError:
        raise ValueError("not what was shown") from None
    return Shown(parts[0], (parts[1], parts[2]), partner)
