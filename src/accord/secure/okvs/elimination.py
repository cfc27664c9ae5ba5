"""What peeling leaves over: a dense system over F2, of the core's rows in its cells and the dense cells.

Plain Gauss, 64 columns a word, with the values carried along. A row's pivot is its first column that no row
above has for a pivot; from the last row to the first each pivot is then the sum of what else its row has. All
other columns are free. A row in which nothing is left is a sum of others, and there is no table for values
that do not add up in the same way: nothing is solved then, whatever the values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel
from accord.secure.okvs.rows import Rows

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]


class Triangle(NamedTuple):
    """Rows of which each has a pivot that no later row has."""

    matrix: Words
    """Bits, 64 columns a word."""
    values: Words
    columns: Ints
    """The cell of each column."""
    pivots: Ints
    """The column of each row's pivot."""

    @property
    def cells(self) -> Ints:
        """The cells that the rows determine."""
        return self.columns[self.pivots]


def triangle(rows: Rows, values: Words, sparse: int, dense: int) -> Triangle | None:
    """The rows made triangular, with their values; nothing if they are dependent."""
    columns = np.zeros(sparse, dtype=np.int64)
    columns[rows.cells.reshape(-1)] = 1
    used = np.flatnonzero(columns)
    columns[used] = np.arange(len(used))
    width = len(used) + dense
    matrix = np.zeros((len(rows.cells), -(-width // 64)), dtype=np.uint64)
    _write(rows.cells, rows.dense, columns, len(used), matrix)
    found = Triangle(
        matrix,
        values.copy(),
        np.concatenate([used, np.arange(sparse, sparse + dense)]),
        np.empty(len(matrix), dtype=np.int64),
    )
    rank = _eliminate(matrix, found.values, found.pivots)
    return found if rank == len(matrix) else None


def substitute(system: Triangle, table: Words) -> None:
    """Solve the system in the table, in which the free cells have their values."""
    _substitute(system.matrix, system.values, system.columns, system.pivots, table)


@kernel("void(int32[:,::1], uint64[::1], int64[::1], int64, uint64[:,::1])")
def _write(cells: NDArray[np.int32], dense: Words, columns: Ints, first: int, matrix: Words) -> None:
    """Set the bits of each row; the dense cells are the columns from `first`."""
    one = np.uint64(1)
    for row in range(cells.shape[0]):
        for place in range(3):
            column = columns[cells[row, place]]
            matrix[row, column >> 6] |= one << np.uint64(column & 63)
        word, shift = first >> 6, np.uint64(first & 63)
        # What does not fit goes to the next word; a shift by 64 is none.
        matrix[row, word] |= dense[row] << shift
        if shift and word + 1 < matrix.shape[1]:
            matrix[row, word + 1] |= dense[row] >> (np.uint64(64) - shift)


@kernel("int64(uint64[:,::1], uint64[:,::1], int64[::1])")
def _eliminate(matrix: Words, values: Words, pivots: Ints) -> int:
    """Take each row's pivot out of all rows below; how many have one before the first that has none."""
    one = np.uint64(1)
    for row in range(matrix.shape[0]):
        word = 0
        while word < matrix.shape[1] and not matrix[row, word]:
            word += 1
        if word == matrix.shape[1]:
            return row
        bit = np.uint64(0)
        while not (matrix[row, word] >> bit) & one:
            bit += one
        pivots[row] = 64 * word + np.int64(bit)
        for below in range(row + 1, matrix.shape[0]):
            if (matrix[below, word] >> bit) & one:
                for place in range(word, matrix.shape[1]):
                    matrix[below, place] ^= matrix[row, place]
                for place in range(values.shape[1]):
                    values[below, place] ^= values[row, place]
    return matrix.shape[0]


@kernel("void(uint64[:,::1], uint64[:,::1], int64[::1], int64[::1], uint64[:,::1])")
def _substitute(matrix: Words, values: Words, columns: Ints, pivots: Ints, table: Words) -> None:
    """From the last row to the first, pivot = value ⊕ the other cells of the row."""
    one = np.uint64(1)
    for number in range(matrix.shape[0]):
        row = matrix.shape[0] - 1 - number
        target = table[columns[pivots[row]]]
        for place in range(values.shape[1]):
            target[place] = values[row, place]
        for column in range(pivots[row] + 1, columns.shape[0]):
            if (matrix[row, column >> 6] >> np.uint64(column & 63)) & one:
                source = table[columns[column]]
                for place in range(values.shape[1]):
                    target[place] ^= source[place]
