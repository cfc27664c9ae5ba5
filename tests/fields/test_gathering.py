"""Batches become one table, wherever it lies; of ids that are the same every row is found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields import gathering
from accord.fields.columns import Bits, Integers, Records, rows_of
from accord.fields.gathering import Gathering, Ids, Texts
from accord.spill import Scratch

batches = st.lists(st.lists(st.none() | st.text(max_size=5), max_size=12), max_size=6)
sizes = st.lists(st.integers(0, 7), max_size=5)


@given(
    batches,
    st.sampled_from([0, 2, 1 << 20]),
    st.integers(0, 3),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_all_texts_are_there(some: list[list[str | None]], most: int, cut: int, kind: pa.DataType) -> None:
    """Wherever they lie in a batch."""
    found = Texts(Scratch(most=most))
    for batch in some:
        found.add(pa.array(batch, kind).slice(cut))
    expected = [text for batch in some for text in batch[cut:]]
    whole = found.whole()
    whole.validate(full=True)
    assert whole.type == pa.large_string()
    assert whole.to_pylist() == expected
    assert len(found) == len(expected)


def batch(size: int, first: int) -> Records:
    rows = np.arange(first, first + size)
    words = np.stack([rows, rows + 1], axis=1).astype(np.uint64)
    return Records(
        pa.array([f"r{i}" for i in rows], pa.large_string()),
        {"n": Integers(rows.astype(np.int64), rows % 2 == 0), "t": Bits(words, 100, rows % 3 == 0)},
        pa.table({"shown": pa.array([None if i % 5 == 0 else str(i) for i in rows], pa.large_string())}),
        left_out=1,
    )


@given(sizes, st.sampled_from([0, 3, 1 << 20]))
def test_the_whole_is_its_batches(some: list[int], most: int) -> None:
    found = Gathering(batch(0, 0).columns, ["shown"], Scratch(most=most))
    for i, size in enumerate(some):
        found.add(batch(size, sum(some[:i])))
    got, expected = found.whole(), batch(sum(some), 0)
    assert got.ids.equals(expected.ids)
    assert got.disclosed.equals(expected.disclosed)
    assert got.left_out == len(some)
    n, t = got.columns["n"], got.columns["t"]
    assert isinstance(n, Integers)
    assert isinstance(t, Bits)
    np.testing.assert_array_equal(n.values, np.arange(sum(some)))
    np.testing.assert_array_equal(t.words, np.stack([np.arange(sum(some)), np.arange(sum(some)) + 1], axis=1))
    assert t.length == 100
    for column in ("n", "t"):
        np.testing.assert_array_equal(got.columns[column].present, expected.columns[column].present)


@given(st.lists(st.lists(st.none() | st.sampled_from("abcdefgh"), max_size=4), max_size=4), st.booleans())
def test_ids_that_another_row_has(some: list[list[str | None]], collide: bool) -> None:
    """Also where hashes are the same and ids are not."""
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(gathering, "hash_texts", lambda *_: None)
        found = Ids(Scratch(most=2))
        for ids in some:
            found.add(pa.array(ids, pa.large_string()))
        every = [name for ids in some for name in ids]
        marks = found.repeated()
    expected = [name is not None and every.count(name) > 1 for name in every]
    assert (marks is None) == (not any(expected))
    assert marks is None or marks.tolist() == expected


@given(st.permutations(range(12)), st.sampled_from([0, 3, 1 << 20]))
def test_rows_without_an_order_get_that_of_their_ids(order: list[int], most: int) -> None:
    """Every column goes with its ids, wherever it lies, in batches of three."""
    one = batch(12, 10)
    empty = {name: rows_of(column, np.arange(0)) for name, column in one.columns.items()}
    gathered, numbers = Gathering(empty, ["shown"], Scratch(most=most)), Ids(Scratch(most=most))
    mixed = np.array(order)
    for some in mixed.reshape(4, 3):
        ids = one.ids.take(pa.array(some))
        numbers.add(ids)
        columns = {name: rows_of(column, some) for name, column in one.columns.items()}
        gathered.add(Records(ids, columns, one.disclosed.take(pa.array(some))))
    found = gathered.whole(by_id=True)
    assert found.ids.equals(one.ids)
    for name, column in one.columns.items():
        assert np.array_equal(found.columns[name].present, column.present)
    values, words = found.columns["n"], found.columns["t"]
    assert isinstance(values, Integers)
    assert isinstance(words, Bits)
    assert values.values.tolist() == list(range(10, 22))
    assert words.words[:, 1].tolist() == list(range(11, 23))
    assert found.disclosed["shown"].to_pylist() == one.disclosed["shown"].to_pylist()
    assert numbers.places().tolist() == order
