"""Bit transposition against the definition."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.transfer.transpose import transpose


@pytest.mark.parametrize("words", [2, 4, 16, 18, 34, 256])
def test_row_i_holds_bit_i_of_every_column(words: int) -> None:
    columns = np.random.default_rng(words).integers(0, 1 << 64, (128, words), dtype=np.uint64)
    rows = np.empty((64 * words, 2), dtype=np.uint64)
    transpose(columns, rows)
    bits = np.unpackbits(columns.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    expected = np.packbits(bits.T, axis=1, bitorder="little")
    assert (rows.astype("<u8").view(np.uint8) == expected).all()


def test_one_bit_lands_where_it_belongs() -> None:
    columns = np.zeros((128, 2), dtype=np.uint64)
    columns[70, 1] = 1 << 5
    rows = np.empty((128, 2), dtype=np.uint64)
    transpose(columns, rows)
    assert rows[69].tolist() == [0, 1 << 6]
    rows[69] = 0
    assert not rows.any()
