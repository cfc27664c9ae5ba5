"""Rows of an input: those of dummies are zero, however the table lies in memory."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.ot.reading import read_rows


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_rows_are_those_asked_for_and_dummies_are_zero(order: str, count: int) -> None:
    random = np.random.default_rng(count)
    values = np.array(random.integers(0, 1 << 40, (50, 7)), order=order)  # type: ignore[call-overload]
    rows, there = random.integers(0, 50, count), random.random(count) < 0.5
    for writeable in (True, False):
        values.flags.writeable = writeable
        found = read_rows(values, rows, there)
        assert (found == values[rows] * there[:, None]).all()
        assert found.T.flags.c_contiguous


def test_an_empty_table_has_no_rows() -> None:
    assert read_rows(np.zeros((0, 3), np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)).shape == (0, 3)
