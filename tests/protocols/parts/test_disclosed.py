"""Disclosed records as bytes: what goes in comes out, and nothing else is let in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.fields.columns import Bits, Integers
from accord.protocols.parts.disclosed import Coming, Disclosed, Shape, decode, encode, exchange, take
from accord.secure.party import Party, Receive, Send, run_pair
from tests.rules import worlds

NAMES = ("name", "code", "hour", "birth", "tag")
ROW = worlds.EMPTY | {"name": "a", "code": "x"}


def disclosed(table: list[worlds.Row], seed: int = 0) -> tuple[Disclosed, Shape]:
    records = worlds.records(table)
    shown = pa.table({"note": pa.array([row["name"] for row in table], pa.large_string())})
    fields, ids, _ = take(records, np.arange(len(table)), NAMES)
    counts = 1 + np.frombuffer(Seeded(seed).bytes(len(table)), np.uint8).astype(np.int64) % 3
    made = Disclosed(counts, np.arange(counts.sum()), fields, ids, shown)
    return made, Shape(worlds.FIELDS, NAMES, ("note",), len(table), int(counts.sum()))


@given(worlds.tables, st.integers(0, 9))
def test_bytes_give_the_records_back(table: list[worlds.Row], seed: int) -> None:
    made, shape = disclosed(table, seed)
    back = decode(encode(made), len(made), shape)
    assert back.slot_counts.tolist() == made.slot_counts.tolist()
    assert back.slots.tolist() == made.slots.tolist()
    assert back.ids.to_pylist() == made.ids.to_pylist()
    assert back.columns.to_pylist() == made.columns.to_pylist()
    for name in NAMES:
        one, other = made.fields[name], back.fields[name]
        assert one.present.tolist() == other.present.tolist()
        if isinstance(one, Bits):
            assert isinstance(other, Bits)
            assert one.words.tolist() == other.words.tolist()
        else:
            assert isinstance(other, Integers)
            assert one.values.tolist() == other.values.tolist()


@given(worlds.tables.filter(bool), st.data())
def test_damaged_bytes_are_refused_or_mean_something_sound(
    table: list[worlds.Row], data: st.DataObject
) -> None:
    made, shape = disclosed(table)
    body = bytearray(encode(made))
    cut = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(PeerError):
        decode(bytes(body[:cut]), len(made), shape)
    with pytest.raises(PeerError):
        decode(bytes(body) + b"x", len(made), shape)
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    try:
        back = decode(bytes(body), len(made), shape)
    except PeerError:
        return
    hour = back.fields["hour"]
    assert isinstance(hour, Integers)
    assert hour.values.max() <= 3
    assert back.slots.max() < shape.slots


@given(st.binary(max_size=300), st.integers(0, 5))
def test_any_bytes_are_refused_or_read(body: bytes, count: int) -> None:
    _, shape = disclosed([])
    wide = Shape(shape.fields, shape.field_names, shape.column_names, 9, 99)
    with pytest.raises(PeerError):
        decode(body, count, wide)
    with pytest.raises(PeerError):
        decode(b"accord disclosed 1\n" + body + bytes(1000), count, wide)


def test_letters_that_are_none_are_refused() -> None:
    made, shape = disclosed([ROW])
    tag = made.fields["tag"]
    assert isinstance(tag, Bits)
    for word in (0b101, 0b001_000_001):
        wrong = {**made.fields, "tag": replace(tag, words=np.array([[word]], np.uint64))}
        with pytest.raises(PeerError, match="tag that is no text of its letters"):
            decode(encode(replace(made, fields=wrong)), 1, shape)


def test_the_same_slot_twice_and_slots_that_do_not_exist() -> None:
    made, shape = disclosed([ROW, ROW])
    for slots in (np.zeros(len(made.slots), np.int64), made.slots + shape.slots):
        wrong = Disclosed(made.slot_counts, slots, made.fields, made.ids, made.columns)
        with pytest.raises(PeerError, match="slot"):
            decode(encode(wrong), 2, shape)


def test_more_records_than_the_table_holds() -> None:
    made, shape = disclosed([ROW, ROW])
    small = Shape(shape.fields, shape.field_names, shape.column_names, 1, shape.slots)
    with pytest.raises(PeerError, match="more than its table holds"):
        run_pair(exchange(made, small, 2), exchange(made, shape, 2))


def test_a_body_out_of_proportion_is_refused() -> None:
    made, shape = disclosed([])

    def swollen() -> Party[None]:
        yield Send(np.array([0, 1 << 33], "<u8").tobytes())
        yield Receive(16)

    with pytest.raises(PeerError, match="bytes for 0 disclosed records"):
        run_pair(exchange(made, shape, 0), swollen())


def test_two_records_with_one_id_are_refused() -> None:
    made, shape = disclosed([ROW, ROW])
    twice = Disclosed(
        made.slot_counts, made.slots, made.fields, made.ids.take(pa.array([0, 0])), made.columns
    )
    with pytest.raises(PeerError, match="the same id"):
        decode(encode(twice), 2, shape)


def test_a_missing_text_that_hides_something_is_refused() -> None:
    made, shape = disclosed([ROW])
    body = bytearray(encode(made))
    note = len(body) - len(b"a") - 8 - 1
    assert body[note] == 1
    body[note] = 0
    with pytest.raises(PeerError, match="neither present nor missing"):
        decode(bytes(body), 1, shape)


@given(worlds.tables, st.data())
def test_pieces_give_what_the_whole_gives(table: list[worlds.Row], data: st.DataObject) -> None:
    made, shape = disclosed(table)
    body = encode(made)
    coming = Coming(len(made), len(body), shape)
    for end in sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=9))):
        coming.look(body[:end])
        assert coming.records is None or end == len(body)
    coming.look(body)
    assert coming.records is not None
    assert coming.records.ids.to_pylist() == made.ids.to_pylist()
    assert coming.records.columns.to_pylist() == made.columns.to_pylist()


def test_a_long_message_is_refused_at_its_first_wrong_byte() -> None:
    """Of what is announced as 500 MiB, a few bytes are enough to know; nothing waits for the rest."""
    made, shape = disclosed([ROW] * 3)
    body = encode(made)
    wide = replace(shape, most_records=500, slots=500)
    for start, words in (
        (bytes(100), "unknown format"),
        (body[:19] + b"\xff" * 2000, "more slots"),
        (body[:19] + b"\1\0\0\0" * 500 + bytes(4000), "same slot twice"),
    ):
        coming = Coming(500, 500 << 20, wide)
        with pytest.raises(PeerError, match=words):
            coming.look(start)


def test_more_than_is_due_or_fits_is_refused_before_it_comes() -> None:
    made, shape = disclosed([ROW, ROW])

    def swollen(size: int) -> Party[None]:
        yield Send(np.array([2, size], "<u8").tobytes())
        yield Receive(16)

    for due, room, size, words in (
        (1, 1 << 30, 100, "2 disclosed records where 1 can match"),
        (2, 1000, 1020, "1,020 bytes for 2 disclosed records"),
        (2, 1 << 40, (4 << 20) + 20, "4,194,324 bytes for 2 disclosed records"),
    ):
        with pytest.raises(PeerError, match=words):
            run_pair(exchange(made, replace(shape, room=room), due), swollen(size))


def test_a_record_cannot_lack_what_every_record_has() -> None:
    made, shape = disclosed([worlds.ROW, worlds.ROW])
    made.fields["hour"].present[1] = False
    with pytest.raises(PeerError, match="a record without the field hour, which no record may lack"):
        decode(encode(made), len(made), shape)
