"""Rows of an input as the distances take them: one element of all rows after the other, dummies' as zeros.

The addresses are row numbers, which are public; of a dummy as much is read and written as of any other row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Ints = NDArray[np.int64]


def read_rows(values: Ints, rows: Ints, there: NDArray[np.bool_]) -> Ints:
    """Some rows of a table, shape (rows, elements); those that are not there are zero.

    Requires: the table has these rows.
    """
    if not values.flags.writeable:
        # Compiled loops take no array that must not be written.
        values, rows = values[rows], np.arange(len(rows))
    result = np.empty((values.shape[1], len(rows)), dtype=np.int64)
    _read(values, rows, there, result)
    return result.T


@kernel("void(int64[:,:], int64[:], boolean[:], int64[:,::1])")
def _read(values: Ints, rows: Ints, there: NDArray[np.bool_], result: Ints) -> None:
    for place in range(rows.shape[0]):
        row, mask = values[rows[place]], -np.int64(there[place])
        for element in range(row.shape[0]):
            result[element, place] = row[element] & mask
