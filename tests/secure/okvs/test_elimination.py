"""Elimination against numpy's rank, and its solutions against the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.secure.okvs.elimination import Triangle, substitute, triangle
from accord.secure.okvs.rows import RowHash, Rows
from tests.secure.okvs.failure import dense_matrix, rank


def random_rows(count: int, sparse: int, dense: int, seed: int) -> Rows:
    points = np.random.default_rng(seed).integers(0, 1 << 64, (count, 2), dtype=np.uint64)
    return RowHash(bytes(16)).rows(points, sparse, dense)


def solved(system: Triangle, cells: int, seed: int) -> NDArray[np.uint64]:
    width = system.values.shape[1]
    table = np.random.default_rng(seed).integers(0, 1 << 64, (cells, width), dtype=np.uint64)
    substitute(system, table)
    return table


def read(matrix: NDArray[np.uint8], table: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """By the definition."""
    return np.bitwise_xor.reduce(np.where(matrix[:, :, None], table[None], np.uint64(0)), axis=1)


@given(
    count=st.integers(0, 20),
    sparse=st.integers(3, 70),
    dense=st.integers(1, 40),
    width=st.integers(1, 3),
    seed=st.integers(0, 1 << 32),
)
def test_rows_are_solved_just_if_they_are_independent(
    count: int, sparse: int, dense: int, width: int, seed: int
) -> None:
    rows = random_rows(count, sparse, dense, seed)
    values = np.random.default_rng(seed).integers(0, 1 << 64, (count, width), dtype=np.uint64)
    matrix = dense_matrix(rows, sparse, dense)
    system = triangle(rows, values, sparse, dense)
    assert (system is None) == (rank(matrix) < count)
    if system is not None:
        assert len(set(system.cells.tolist())) == count
        assert (read(matrix, solved(system, sparse + dense, seed)) == values).all()


@pytest.mark.parametrize("count", [150, 240])
def test_cores_of_many_rows(count: int) -> None:
    """More rows than sparse cells, so that the dense ones must serve."""
    rows = random_rows(count, 210, 40, count)
    values = np.random.default_rng(0).integers(0, 1 << 64, (count, 2), dtype=np.uint64)
    system = triangle(rows, values, 210, 40)
    matrix = dense_matrix(rows, 210, 40)
    assert system is not None
    assert (read(matrix, solved(system, 250, 0)) == values).all()


def test_what_was_given_stays_as_it_was() -> None:
    rows = random_rows(30, 40, 40, 0)
    values = np.arange(60, dtype=np.uint64).reshape(30, 2)
    assert triangle(rows, values, 40, 40) is not None
    assert (values == np.arange(60, dtype=np.uint64).reshape(30, 2)).all()
