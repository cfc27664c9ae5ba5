"""Disclosed records as bytes: what goes in comes out, and nothing else is let in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.entropy import Seeded
from accord.errors import PeerError
from accord.protocols.disclosed import Disclosed, Shape, decode, encode, exchange, take
from accord.records.columns import Bits, Integers
from accord.secure.party import Party, Receive, Send, run_pair
from tests.matching import worlds

NAMES = ("name", "code", "hour", "birth")


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


def test_the_same_slot_twice_and_slots_that_do_not_exist() -> None:
    row = {"name": "a", "code": "x", "brand": "red", "hour": 1, "x": 1.0, "y": 1.0, "birth": None}
    made, shape = disclosed([row, row])
    for slots in (np.zeros(len(made.slots), np.int64), made.slots + shape.slots):
        wrong = Disclosed(made.slot_counts, slots, made.fields, made.ids, made.columns)
        with pytest.raises(PeerError, match="slot"):
            decode(encode(wrong), 2, shape)


def test_more_records_than_the_table_holds() -> None:
    row = {"name": "a", "code": "x", "brand": "red", "hour": 1, "x": 1.0, "y": 1.0, "birth": None}
    made, shape = disclosed([row, row])
    small = Shape(shape.fields, shape.field_names, shape.column_names, 1, shape.slots)
    with pytest.raises(PeerError, match="more than its table holds"):
        run_pair(exchange(made, small), exchange(made, shape))


def test_a_body_out_of_proportion_is_refused() -> None:
    made, shape = disclosed([])

    def swollen() -> Party[None]:
        yield Send(np.array([0, 1 << 33], "<u8").tobytes())
        yield Receive(16)

    with pytest.raises(PeerError, match="bytes for 0 disclosed records"):
        run_pair(exchange(made, shape), swollen())
