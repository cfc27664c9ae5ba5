"""Pairs in the order of both ids, each once, in memory or in a file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.side import Side
from accord.spill import Scratch
from accord.table import pairs
from accord.table.id_order import IdOrder
from accord.table.pairs import SomePairs, order_pairs

ids = st.lists(st.text(max_size=4), max_size=8, unique=True)
places = st.lists(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=9), max_size=5)


def order(texts: list[str]) -> IdOrder:
    return IdOrder.of(pa.array(texts, pa.large_string()))


@given(ids)
def test_the_order_is_that_of_the_bytes(texts: list[str]) -> None:
    found = order(texts)
    assert [texts[row] for row in found.rows] == sorted(texts, key=str.encode)
    assert [found.rows[place] for place in found.places] == list(range(len(texts)))
    assert len(found) == len(texts)


@given(ids, ids, places, st.integers(0, 9), st.integers(1, 5))
def test_pairs_are_in_order_and_each_once(
    a: list[str], b: list[str], found: list[list[tuple[int, int]]], most: int, size: int
) -> None:
    some = [[(i % len(a), j % len(b)) for i, j in batch] if a and b else [] for batch in found]
    batches: list[SomePairs] = []
    for batch in some:
        rows = np.array(batch, np.int64).reshape(-1, 2)
        batches.append((rows[:, 0], rows[:, 1]))
    got = order_pairs(order(a), order(b), batches, Scratch(most=most))
    every = {pair for batch in some for pair in batch}
    expected = sorted(every, key=lambda pair: (a[pair[0]].encode(), b[pair[1]].encode()))
    assert list(zip(got.of(Side.A).tolist(), got.of(Side.B).tolist(), strict=True)) == expected
    assert len(got) == len(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "PIECE", size)
        pieces = [list(zip(*map(np.ndarray.tolist, rows), strict=True)) for rows in got.pieces()]
    assert [pair for piece in pieces for pair in piece] == expected
    assert all(len(piece) <= size for piece in pieces)
    left, right = got.places(0, len(got))
    assert (np.diff(left * max(1, len(b)) + right) > 0).all()
