"""Records that one side discloses to the other because they match: as values, and as bytes.

A disclosed record has its slots, its id, the agreed columns and, with greedy, the encoded fields of the rule
and the blocking. Bytes are little-endian, with a tag and a version in front; the decoder checks every length
before it reads, every code against its field, and that nothing is left over. The sizes of these messages
depend on what is disclosed, that is, on the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.matching.thresholds import Fields
from accord.ranges import distinct
from accord.records.columns import Bits, Column, Columns, Integers, Records, rows_of
from accord.records.encoders import text_buffers
from accord.records.schema import TextField
from accord.secure.party import Party, Send, receive

Ints = NDArray[np.int64]

_TAG = b"accord disclosed 1\n"
_MOST_BYTES = 1 << 20
"""Of one record, and of all records 16,384 times as much."""


@dataclass(frozen=True)
class Disclosed:
    """Some records of one side, with all that the other side may know of them."""

    slot_counts: Ints
    slots: Ints
    """The slots of each record, one record after the other."""
    fields: Columns
    ids: pa.Array
    columns: pa.Table

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Shape:
    """What the receiver knows of a message before it comes: its fields, columns, and bounds."""

    fields: Fields
    field_names: tuple[str, ...]
    column_names: tuple[str, ...]
    most_records: int
    slots: int


def take(records: Records, rows: Ints, names: Sequence[str]) -> tuple[Columns, pa.Array, pa.Table]:
    """Some rows of a table: their encoded fields, ids and disclosed columns."""
    index = pa.array(rows)
    shown = records.disclosed.take(index) if records.disclosed.num_columns else records.disclosed
    return {name: rows_of(records.columns[name], rows) for name in names}, records.ids.take(index), shown


def exchange(own: Disclosed, shape: Shape) -> Party[bytes]:
    """Show these records and see the partner's: how many, in eight bytes, then the records."""
    body = encode(own)
    yield Send(np.array([len(own), len(body)], "<u8").tobytes())
    count, size = np.frombuffer((yield from receive(16)).tobytes(), "<u8").tolist()
    if count > shape.most_records:
        raise PeerError(problem=f"{count:,} disclosed records, more than its table holds")
    if size > len(_TAG) + min(count, 1 << 14) * _MOST_BYTES:
        raise PeerError(problem=f"{size:,} bytes for {count:,} disclosed records")
    yield Send(body)
    return int(count).to_bytes(8, "little") + (yield from receive(size)).tobytes()


def partner_records(answer: bytes, shape: Shape) -> Disclosed:
    """The records that the partner showed."""
    return decode(answer[8:], int.from_bytes(answer[:8], "little"), shape)


def encode(own: Disclosed) -> bytes:
    """The bytes of these records."""
    parts = [_TAG, own.slot_counts.astype("<u4").tobytes(), own.slots.astype("<u8").tobytes()]
    for column in own.fields.values():
        parts.append(column.present.astype(np.uint8).tobytes())
        if isinstance(column, Bits):
            parts.append(column.words.astype("<u8").tobytes())
        else:
            parts.append(column.values.astype("<u8").tobytes())
    for texts in (own.ids, *(own.columns[name].combine_chunks() for name in own.columns.column_names)):
        parts += _encode_texts(texts)
    return b"".join(parts)


def _encode_texts(texts: pa.Array) -> list[bytes]:
    present = np.asarray(pc.is_valid(texts)).astype(np.uint8)
    filled = pc.fill_null(texts.cast(pa.large_string()), "")
    ends, octets = text_buffers(filled)
    whole = octets[ends[0] : ends[-1]].tobytes()
    return [present.tobytes(), np.diff(ends).astype("<u8").tobytes(), whole]


def decode(body: bytes, count: int, shape: Shape) -> Disclosed:
    """The records in these bytes; anything that `encode` would not have written is refused."""
    reader = _Reader(body)
    if reader.take(len(_TAG)) != _TAG:
        raise PeerError(problem="disclosed records in an unknown format")
    slot_counts = reader.numbers("<u4", count)
    if count and slot_counts.sum() > shape.slots:
        raise PeerError(problem="more slots than it has")
    slots = reader.numbers("<u8", int(slot_counts.sum()))
    if len(slots) and (slots.max() >= shape.slots or len(distinct(slots)) < len(slots)):
        raise PeerError(problem="slots that do not exist, or the same slot twice")
    fields = {name: _decode_field(reader, name, count, shape.fields) for name in shape.field_names}
    ids = reader.texts(count)
    if ids.null_count:
        raise PeerError(problem="a disclosed record without an id")
    columns = pa.table({name: reader.texts(count) for name in shape.column_names})
    reader.end()
    return Disclosed(slot_counts, slots, fields, ids, columns)


def _decode_field(reader: _Reader, name: str, count: int, fields: Fields) -> Column:
    spec = fields[name]
    present = reader.numbers("u1", count)
    if len(present) and present.max() > 1:
        raise PeerError(problem=f"a value of the field {name} that is neither there nor missing")
    if isinstance(spec, TextField):
        width = (spec.bits + 63) // 64
        words = reader.words(count * width).reshape(count, width)
        spare = spec.bits % 64
        if spare and count and (words[:, -1] >> np.uint64(spare)).any():
            raise PeerError(problem=f"a value of the field {name} with more than {spec.bits} bits")
        return Bits(words, spec.bits, present.astype(np.bool_))
    values = reader.numbers("<u8", count)
    if count and values.max() > spec.high:
        raise PeerError(problem=f"a value of the field {name} outside its agreed range")
    return Integers(values, present.astype(np.bool_))


class _Reader:
    """Reads from the front and never beyond the end."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def take(self, size: int) -> bytes:
        if size > len(self._body) - self._at:
            raise PeerError(problem="disclosed records that end too early")
        self._at += size
        return self._body[self._at - size : self._at]

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(self.take(8 * count), "<u8").astype(np.uint64)

    def numbers(self, kind: str, count: int) -> Ints:
        found = np.frombuffer(self.take(np.dtype(kind).itemsize * count), kind)
        if len(found) and found.max() > np.iinfo(np.int64).max:
            raise PeerError(problem="a number that is too large")
        return found.astype(np.int64)

    def texts(self, count: int) -> pa.Array:
        present = self.numbers("u1", count).astype(np.bool_)
        lengths = self.numbers("<u8", count)
        # One after the other, so that no sum of lengths can wrap around.
        if len(lengths) and lengths.max() > len(self._body):
            raise PeerError(problem="disclosed records that end too early")
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        data = self.take(int(offsets[-1]))
        try:
            data.decode("utf-8")
            texts = pa.LargeStringArray.from_buffers(
                count, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)
            )
            texts.validate(full=True)
        except (UnicodeDecodeError, pa.ArrowInvalid):
            raise PeerError(problem="a text that is not UTF-8") from None
        return pc.if_else(pa.array(present), texts, pa.scalar(None, pa.large_string()))

    def end(self) -> None:
        if self._at != len(self._body):
            raise PeerError(problem="disclosed records with bytes left over")
