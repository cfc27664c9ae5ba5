"""Records that one side discloses to the other because they match: as values, and as bytes.

A disclosed record has its slots, its id, the agreed columns and, with greedy, the encoded fields of the rule
and the blocking. Bytes are little-endian, with a tag and a version in front; the decoder checks every length
before it reads, every code against its field, and that nothing is left over. The sizes of these messages
depend on what is disclosed, that is, on the output.

A message can be as long as its records are, so it is judged while it comes: the decoder takes each part as
soon as it is there, and what cannot be right ends the message where it stands. Texts are never copied: they
stay where they were received.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import ConnectionLostError, NoRoomError, PeerError, StoppedError, WithheldError
from accord.fields.columns import Bits, Column, Columns, Integers, Records, rows_of
from accord.fields.encoders import text_buffers
from accord.fields.letters import are_texts
from accord.fields.schema import Letters, TextField
from accord.protocols.parts.journal import Answer, halve
from accord.ranges import distinct
from accord.rules.thresholds import Fields
from accord.secure.party import Buffer, Party, Send, receive

Ints = NDArray[np.int64]
T = TypeVar("T")

_TAG = b"accord disclosed 1\n"
_MOST_BYTES = 1 << 21
"""Of one record, whose texts have at most three quarters of it (`fields/load.py`); all that are disclosed
in a run take a quarter of the memory at most."""
_SHARE = 4
_COUNT = 8


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
    """That the partner can have left to disclose."""
    slots: int
    room: int = field(default_factory=lambda: memory() // _SHARE)
    """The bytes that they may take."""


def memory() -> int:
    """The bytes of this machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def take(records: Records, rows: Ints, names: Sequence[str]) -> tuple[Columns, pa.Array, pa.Table]:
    """Some rows of a table: their encoded fields, ids and disclosed columns."""
    index = pa.array(rows)
    shown = records.disclosed.take(index) if records.disclosed.num_columns else records.disclosed
    return {name: rows_of(records.columns[name], rows) for name in names}, records.ids.take(index), shown


def exchange(own: Disclosed, shape: Shape, due: int) -> Party[Answer]:
    """Show these records and see the partner's: how many, in eight bytes, then the records.

    `due`: more records than this cannot have matched. Neither side can be made to show first what the other
    holds back, so a partner may take records and go; raises `WithheldError` then, for it to be counted. An
    honest partner that is cut off just here looks the same.
    """
    body = encode(own)
    yield Send(np.array([len(own), len(body)], "<u8").tobytes())
    count, size = np.frombuffer((yield from receive(16)).tobytes(), "<u8").tolist()
    if count > shape.most_records:
        raise PeerError(problem=f"{count:,} disclosed records, more than its table holds")
    if count > due:
        raise PeerError(problem=f"{count:,} disclosed records where {due:,} can match")
    if size > len(_TAG) + min(count * _MOST_BYTES, shape.room):
        fits = size <= len(_TAG) + count * _MOST_BYTES
        kind = NoRoomError if fits else PeerError
        raise kind(problem=f"{size:,} bytes for {count:,} disclosed records")
    yield Send(body)
    coming = Coming(count, size, shape)
    came = yield from receive_due(receive(size, coming.look), len(own))
    return int(count).to_bytes(_COUNT, "little"), came.data


def receive_due(party: Party[T], shown: int) -> Party[T]:
    """What the partner owes once so many own records were sent."""
    try:
        return (yield from party)
    except (ConnectionLostError, StoppedError) as error:
        if shown:
            raise WithheldError(lost=error) from None
        raise


def partner_records(answer: Answer, shape: Shape) -> Disclosed:
    """The records that the partner showed."""
    count, body = halve(answer, _COUNT)
    return decode(body, int.from_bytes(count, "little"), shape)


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


def decode(body: Buffer, count: int, shape: Shape) -> Disclosed:
    """The records in these bytes; anything that `encode` would not have written is refused."""
    coming = Coming(count, len(body), shape)
    coming.look(body)
    assert coming.records is not None
    return coming.records


class Coming:
    """Disclosed records that come in pieces."""

    def __init__(self, count: int, size: int, shape: Shape) -> None:
        self.records: Disclosed | None = None
        self._reading = _read(_Reader(size), count, shape)
        next(self._reading)

    def look(self, came: Buffer) -> None:
        """Judge what has come so far, of one message that grows; raises `PeerError`."""
        if self.records is None:
            try:
                self._reading.send(memoryview(came))
            except StopIteration as end:
                self.records = end.value


def _read(reader: _Reader, count: int, shape: Shape) -> _Reading[Disclosed]:
    if (yield from reader.take(len(_TAG))) != _TAG:
        raise PeerError(problem="disclosed records in an unknown format")
    slot_counts = yield from reader.numbers("<u4", count)
    if count and slot_counts.sum() > shape.slots:
        raise PeerError(problem="more slots than it has")
    slots = yield from reader.numbers("<u8", int(slot_counts.sum()))
    if len(slots) and (slots.max() >= shape.slots or len(distinct(slots)) < len(slots)):
        raise PeerError(problem="slots that do not exist, or the same slot twice")
    fields = {}
    for name in shape.field_names:
        fields[name] = yield from _read_field(reader, name, count, shape.fields)
    ids = yield from reader.texts(count)
    if ids.null_count:
        raise PeerError(problem="a disclosed record without an id")
    if pc.count_distinct(ids).as_py() < count:
        raise PeerError(problem="two disclosed records with the same id")
    columns = {}
    for name in shape.column_names:
        columns[name] = yield from reader.texts(count)
    reader.end()
    return Disclosed(slot_counts, slots, fields, ids, pa.table(columns))


def _read_field(reader: _Reader, name: str, count: int, fields: Fields) -> _Reading[Column]:
    spec = fields[name]
    present = yield from reader.numbers("u1", count)
    if len(present) and present.max() > 1:
        raise PeerError(problem=f"a value of the field {name} that is neither present nor missing")
    if len(present) and spec.missing != "differs" and not present.all():
        # The circuit has no bit for it: the record would be one thing to the engine, another in the clear.
        raise PeerError(problem=f"a record without the field {name}, which no record may lack")
    if isinstance(spec, TextField):
        width = (spec.bits + 63) // 64
        words = (yield from reader.words(count * width)).reshape(count, width)
        spare = spec.bits % 64
        if spare and count and (words[:, -1] >> np.uint64(spare)).any():
            raise PeerError(problem=f"a value of the field {name} with more than {spec.bits} bits")
        column = Bits(words, spec.bits, present.astype(np.bool_))
        of = spec.encoder
        if isinstance(of, Letters) and not are_texts(column, of.length, of.alphabet):
            raise PeerError(problem=f"a value of the field {name} that is no text of its letters")
        return column
    values = yield from reader.numbers("<u8", count)
    if count and values.max() > spec.high:
        raise PeerError(problem=f"a value of the field {name} outside its agreed range")
    return Integers(values, present.astype(np.bool_))


_Reading = Generator[None, memoryview, T]
"""Waits, by yielding, until it is sent more of its message: all that has come so far."""


class _Reader:
    """Reads a message of this size from the front, waits for what has not come, and never reads beyond."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._came = memoryview(b"")
        self._at = 0

    def take(self, size: int) -> _Reading[memoryview]:
        if size > self._size - self._at:
            raise PeerError(problem="disclosed records that end too early")
        while self._at + size > len(self._came):
            self._came = yield
        self._at += size
        return self._came[self._at - size : self._at]

    def words(self, count: int) -> _Reading[NDArray[np.uint64]]:
        return np.frombuffer((yield from self.take(8 * count)), "<u8").astype(np.uint64)

    def numbers(self, kind: str, count: int) -> _Reading[Ints]:
        found = np.frombuffer((yield from self.take(np.dtype(kind).itemsize * count)), kind)
        if len(found) and found.max() > np.iinfo(np.int64).max:
            raise PeerError(problem="a number that is too large")
        return found.astype(np.int64)

    def texts(self, count: int) -> _Reading[pa.Array]:
        present = yield from self.numbers("u1", count)
        lengths = yield from self.numbers("<u8", count)
        if len(present) and (present.max() > 1 or lengths[present == 0].any()):
            raise PeerError(problem="a text that is neither present nor missing")
        # One after the other, so that no sum of lengths can wrap around.
        if len(lengths) and lengths.max() > self._size:
            raise PeerError(problem="disclosed records that end too early")
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        data = yield from self.take(int(offsets[-1]))
        there = np.packbits(present.astype(np.uint8), bitorder="little").tobytes()
        try:
            texts = pa.LargeStringArray.from_buffers(
                count, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data), pa.py_buffer(there)
            )
            texts.validate(full=True)
        except pa.ArrowInvalid:
            raise PeerError(problem="a text that is not UTF-8") from None
        return texts

    def end(self) -> None:
        if self._at != self._size:
            raise PeerError(problem="disclosed records with bytes left over")
