"""Peeling against a plain one, and that its order can be filled backwards."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.secure.okvs.peeling import core, peel
from accord.secure.okvs.rows import RowHash


def random_cells(rows: int, sparse: int, seed: int) -> NDArray[np.int32]:
    points = np.random.default_rng(seed).integers(0, 1 << 64, (rows, 2), dtype=np.uint64)
    return RowHash(bytes(16)).rows(points, sparse, 40).cells


def plain_core(cells: NDArray[np.int32]) -> list[int]:
    """What is left when no cell has one row alone; it does not depend on the order."""
    left = set(range(len(cells)))
    while True:
        having: dict[int, list[int]] = {}
        for row in left:
            for cell in cells[row].tolist():
                having.setdefault(cell, []).append(row)
        alone = {rows[0] for rows in having.values() if len(rows) == 1}
        if not alone:
            return sorted(left)
        left -= alone


@given(rows=st.integers(0, 60), sparse=st.integers(3, 80), seed=st.integers(0, 1 << 32))
def test_the_core_and_the_order(rows: int, sparse: int, seed: int) -> None:
    cells = random_cells(rows, sparse, seed)
    peeled = peel(cells, sparse)
    left = core(peeled, rows).tolist()
    assert left == plain_core(cells)
    assert sorted([*peeled.rows.tolist(), *left]) == list(range(rows))
    for number, (row, cell) in enumerate(zip(peeled.rows, peeled.cells, strict=True)):
        assert cell in cells[row]
        assert cell not in cells[peeled.rows[number + 1 :]]
        assert cell not in cells[left]


def test_a_large_part_leaves_next_to_nothing() -> None:
    """At 1.25 cells a row; at 1.15, under the threshold, there is a core of most rows."""
    assert len(peel(random_cells(40_000, 50_000, 1), 50_000).rows) >= 39_990
    assert len(peel(random_cells(40_000, 46_000, 1), 46_000).rows) < 20_000


def test_rows_with_the_same_cells_are_left() -> None:
    cells = np.array([[0, 1, 2], [3, 4, 5], [2, 1, 0]], dtype=np.int32)
    assert core(peel(cells, 6), 3).tolist() == [0, 2]
