"""One part: what is written is read, whatever the core; the table is a bijective image of what fills it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.errors import NoTableError
from accord.secure.okvs.elimination import substitute, triangle
from accord.secure.okvs.peeling import core, peel
from accord.secure.okvs.rows import Rows
from accord.secure.okvs.tables import dense_sums, read_table, write_table
from tests.secure.okvs.failure import dense_matrix, rank
from tests.secure.okvs.test_elimination import random_rows, read

Words = NDArray[np.uint64]


def random_words(shape: tuple[int, int], seed: int = 0) -> Words:
    return np.random.default_rng(seed).integers(0, 1 << 64, shape, dtype=np.uint64)


def written(rows: Rows, sparse: int, dense: int, values: Words, seed: int = 1) -> Words:
    free = random_words((sparse + dense - len(values), values.shape[1]), seed)
    return write_table(rows, sparse, dense, values, free)


@given(
    count=st.integers(0, 40),
    sparse=st.integers(3, 60),
    dense=st.integers(1, 40),
    width=st.integers(1, 4),
    seed=st.integers(0, 1 << 32),
)
def test_what_is_written_is_read_or_the_rows_are_dependent(
    count: int, sparse: int, dense: int, width: int, seed: int
) -> None:
    """With cores of all sizes, and rows that do not fit at all."""
    assume(count <= sparse + dense)
    rows, values = random_rows(count, sparse, dense, seed), random_words((count, width), seed)
    matrix = dense_matrix(rows, sparse, dense)
    if rank(matrix) < count:
        with pytest.raises(NoTableError, match="dependent"):
            written(rows, sparse, dense, values)
        return
    table = written(rows, sparse, dense, values)
    assert (read(matrix, table) == values).all()
    assert (read_table(rows, sparse, table) == values).all()


def test_rows_with_the_same_cells_are_solved_by_their_dense_bits() -> None:
    cells = np.tile(np.array([[0, 1, 2], [3, 1, 0]], dtype=np.int32), (8, 1))
    rows = Rows(cells, np.random.default_rng(3).integers(0, 1 << 40, 16).astype(np.uint64))
    values = random_words((16, 3))
    assert len(core(peel(rows.cells, 20), 16)) == 16
    assert (read_table(rows, 20, written(rows, 20, 40, values)) == values).all()


def test_equal_rows_raise_whatever_the_values() -> None:
    rows = Rows(np.array([[0, 1, 2], [2, 0, 1]], dtype=np.int32), np.array([5, 5], dtype=np.uint64))
    with pytest.raises(NoTableError, match="dependent"):
        written(rows, 10, 40, np.ones((2, 2), dtype=np.uint64))


@pytest.mark.parametrize("width", [1, 2, 3, 10, 50, 64])
def test_values_of_any_width(width: int) -> None:
    rows, values = random_rows(2_000, 2_500, 40, width), random_words((2_000, width))
    table = written(rows, 2_500, 40, values)
    assert table.shape == (2_540, width)
    assert (read_table(rows, 2_500, table) == values).all()


def test_words_are_written_independently() -> None:
    """A wide value is several narrow ones."""
    rows, values, free = random_rows(80, 100, 40, 0), random_words((80, 5)), random_words((60, 5), 1)
    table = write_table(rows, 100, 40, values, free)
    for word in range(5):
        column = slice(word, word + 1)
        alone = write_table(
            rows, 100, 40, np.ascontiguousarray(values[:, column]), np.ascontiguousarray(free[:, column])
        )
        assert (alone == table[:, column]).all()


def test_a_giant_core() -> None:
    """Under the threshold most rows are left to elimination."""
    rows, values = random_rows(1_000, 1_100, 40, 2), random_words((1_000, 2))
    assert len(core(peel(rows.cells, 1_100), 1_000)) > 500
    assert (read_table(rows, 1_100, written(rows, 1_100, 40, values)) == values).all()


@pytest.mark.parametrize("sparse", [55, 100])
def test_peeling_and_elimination_agree(sparse: int) -> None:
    """Elimination of all rows, given its own free cells of the table, finds the others."""
    rows, values = random_rows(50, sparse, 40, 4), random_words((50, 2))
    table = written(rows, sparse, 40, values)
    system = triangle(rows, values, sparse, 40)
    assert system is not None
    again = table.copy()
    again[system.cells] = 0
    substitute(system, again)
    assert (again == table).all()


def test_reading_is_linear() -> None:
    rows, one, two = random_rows(300, 100, 40, 0), random_words((140, 3), 1), random_words((140, 3), 2)
    sums = read_table(rows, 100, one) ^ read_table(rows, 100, two)
    assert (read_table(rows, 100, one ^ two) == sums).all()


@given(count=st.integers(1, 30), spare=st.integers(0, 10), seed=st.integers(0, 1 << 32))
def test_the_table_is_a_bijective_image(count: int, spare: int, seed: int) -> None:
    """So that uniform values and uniform free cells make it uniform: all unit vectors, one a bit."""
    sparse, dense = max(3, count + spare), 20
    cells, rows = sparse + dense, random_rows(count, sparse, dense, seed)
    assume(rank(dense_matrix(rows, sparse, dense)) == count)
    bits = np.eye(cells, 64, dtype=np.uint64)
    units = (bits << np.arange(64, dtype=np.uint64)).sum(axis=1, keepdims=True, dtype=np.uint64)
    table = write_table(rows, sparse, dense, units[:count], units[count:])
    image = (table >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert rank(image[:, :cells].astype(np.uint8)) == cells


def test_sums_of_dense_cells() -> None:
    columns = random_words((37, 2))
    sums = dense_sums(columns)
    for choice in (0, 1, 0b10110, 255):
        for eight in range(5):
            bits = [8 * eight + bit for bit in range(8) if choice >> bit & 1 and 8 * eight + bit < 37]
            expected = np.bitwise_xor.reduce(columns[bits], axis=0)
            assert (sums[256 * eight + choice] == expected).all()
