"""Blocks, strips and batches: every pair once, in the order that is promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.secure.blocks import Blocks, Limit, Table, batches, shapes
from accord.secure.circuit import Input

Sizes = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=6)


def expected(blocks: Blocks) -> list[tuple[int, int]]:
    pairs, a, b = [], 0, 0
    for m, n in zip(blocks.a_counts, blocks.b_counts, strict=True):
        pairs += [(i, j) for i in blocks.a_rows[a : a + m] for j in blocks.b_rows[b : b + n]]
        a, b = a + m, b + n
    return pairs


@given(Sizes, st.integers(1, 30), st.integers(0, 5), st.sampled_from([1, 3, 4096]))
def test_batches_hold_every_pair_once_at_its_place(
    sizes: list[tuple[int, int]], most: int, strip: int, longest: int
) -> None:
    random = np.random.default_rng(len(sizes))
    m = np.array([s[0] for s in sizes], dtype=np.int64)
    n = np.array([s[1] for s in sizes], dtype=np.int64)
    blocks = Blocks(random.integers(0, 50, m.sum()), m, random.integers(0, 50, n.sum()), n)
    limit = Limit(most, strip, longest)
    found, sized = list(batches(blocks, limit)), shapes(blocks, limit)
    seen = np.zeros(blocks.pairs, dtype=np.int64)
    order = np.array(expected(blocks), dtype=np.int64).reshape(-1, 2)
    for batch in found:
        place = batch.of_a(batch.place - batch.start) + np.arange(batch.pairs)
        np.add.at(seen, place, 1)
        assert (batch.of_a(batch.a_rows) == order[place, 0]).all()
        assert (batch.of_b(batch.b_rows) == order[place, 1]).all()
        assert batch.pairs + strip * len(batch.width) <= most or len(batch.width) == 1
        answer = np.zeros(blocks.pairs, dtype=np.bool_)
        batch.put(np.ones(batch.pairs, dtype=np.bool_), answer)
        assert np.flatnonzero(answer).tolist() == sorted(place.tolist())
    assert (seen == 1).all()
    assert sized.strips.tolist() == [len(batch.width) for batch in found]
    assert sized.b_rows.tolist() == [len(batch.b_rows) for batch in found]
    assert sized.pairs.tolist() == [batch.pairs for batch in found]
    assert all(batch.width.max() <= longest for batch in found)


@given(Sizes, st.integers(1, 30))
def test_pieces_hold_every_pair_in_order_and_at_most_so_many(sizes: list[tuple[int, int]], most: int) -> None:
    random = np.random.default_rng(len(sizes))
    m, n = np.array(sizes, np.int64).reshape(-1, 2).T.copy()
    blocks = Blocks(random.integers(0, 50, m.sum()), m, random.integers(0, 50, n.sum()), n)
    pieces = list(blocks.cut(most))
    assert [pair for piece in pieces for pair in expected(piece)] == expected(blocks)
    assert all(piece.pairs <= most for piece in pieces)
    assert len(pieces) <= 1 + 2 * blocks.pairs // most
    assert len(pieces) == 1 or all(piece.pairs for piece in pieces)


@pytest.mark.parametrize(
    ("a", "b", "alone"),
    [([], [], True), ([1, 0, 1], [1, 1, 0], True), ([1, 2], [1, 1], False), ([1], [2], False)],
)
def test_rows_stand_alone_where_none_meets_two(a: list[int], b: list[int], alone: bool) -> None:
    assert Blocks.of_sizes(np.array(a, np.int64), np.array(b, np.int64)).alone == alone


def test_counts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="add up"):
        Blocks(np.arange(3), np.array([2]), np.arange(1), np.array([1]))
    with pytest.raises(ValueError, match="different numbers"):
        Blocks(np.arange(2), np.array([2]), np.arange(1), np.array([1, 0]))


@pytest.mark.parametrize("values", [[[0, 2]], [[0, -1]], [[0]], [[0, 1], [0, 1]]])
def test_a_table_that_is_not_what_the_circuit_says_is_refused(values: list[list[int]]) -> None:
    table = Table({"x": np.array(values)}, np.ones(1, dtype=np.bool_))
    with pytest.raises(ValueError, match="input 'x'"):
        table.read(Input("x", 2, 1))


def test_marks_that_are_no_truth_values_are_refused() -> None:
    for real in (np.ones(3, np.uint8), np.ones((3, 1), np.bool_)):
        with pytest.raises(ValueError, match="one truth value a row"):
            Table({}, real)  # type: ignore[arg-type]
