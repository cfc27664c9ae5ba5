"""One part of a store: a table of which each row's cells add up to the row's value.

    value of a row  =  T[c₀] ⊕ T[c₁] ⊕ T[c₂] ⊕ the sum of T[m + j] over the dense bits j

so reading is linear in the table, over F2 and over every field that contains it. To write one, the rows are
peeled (`peeling.py`), their core is made triangular (`elimination.py`), every cell that no row determines is
filled at random, the core is solved, and then the peeled rows, the last first.

Distribution: the rows are independent, and together with the free cells they determine all cells and are
determined by them. So the table is a bijective image of (values, free cells), for fixed points: if the values
are uniform and the free cells are, the table is uniform and says nothing of the points. The free cells are
never zero or left as they were for this reason, the dense ones among them.

The dense cells are added up eight at a time, from sums that are made beforehand for all 256 choices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.errors import AccordError
from accord.kernel import kernel
from accord.secure.okvs.elimination import substitute, triangle
from accord.secure.okvs.peeling import core, peel
from accord.secure.okvs.rows import Rows

Words = NDArray[np.uint64]
Ints32 = NDArray[np.int32]


class StoreError(AccordError):
    """No table holds the values: {reason}. This is chance in fewer than one of 10¹² runs. Start a new run; if
    it ends like this again, the program is at fault."""


def write_table(rows: Rows, sparse: int, dense: int, values: Words, free: Words) -> Words:
    """The cells of a part, (cells, words), such that each row reads its value.

    *Requires*: `free` uniform, (cells − rows, words). *Distribution*: see above. Dependent rows raise.
    """
    peeled = peel(rows.cells, sparse)
    left = core(peeled, len(rows.cells))
    system = triangle(Rows(rows.cells[left], rows.dense[left]), values[left], sparse, dense)
    if system is None:
        raise StoreError(reason="their rows are dependent")
    determined = np.zeros(sparse + dense, dtype=np.bool_)
    determined[peeled.cells] = True
    determined[system.cells] = True
    table = np.empty((sparse + dense, values.shape[1]), dtype=np.uint64)
    _place(determined, free, table)
    substitute(system, table)
    sums = dense_sums(table[sparse:])
    if table.shape[1] == 2:
        _fill_pairs(peeled.rows, peeled.cells, rows, values, sums, table)
    else:
        _fill(peeled.rows, peeled.cells, rows, values, sums, table)
    return table


def read_table(rows: Rows, sparse: int, table: Words) -> Words:
    """The values of the rows, (rows, words)."""
    values = np.empty((len(rows.cells), table.shape[1]), dtype=np.uint64)
    sums = dense_sums(table[sparse:])
    if table.shape[1] == 2:
        _read_pairs(rows, table, sums, values)
    else:
        _read(rows, table, sums, values)
    return values


def dense_sums(columns: Words) -> Words:
    """The sums of all choices among each eight of the dense cells, 256 rows for each eight."""
    sums = np.empty((256 * -(-len(columns) // 8), columns.shape[1]), dtype=np.uint64)
    _add_up(columns, sums)
    return sums


@kernel("void(uint64[:,::1], uint64[:,::1])")
def _add_up(columns: Words, sums: Words) -> None:
    """A choice is an earlier one and its highest bit's cell; cells that do not exist add nothing."""
    for eight in range(sums.shape[0] // 256):
        first = 256 * eight
        for word in range(sums.shape[1]):
            sums[first, word] = 0
        for bit in range(8):
            column = 8 * eight + bit
            for choice in range(1 << bit):
                target, source = sums[first + (1 << bit) + choice], sums[first + choice]
                for word in range(sums.shape[1]):
                    target[word] = source[word]
                if column < columns.shape[0]:
                    for word in range(sums.shape[1]):
                        target[word] ^= columns[column, word]


@kernel("void(bool_[::1], uint64[:,::1], uint64[:,::1])")
def _place(determined: NDArray[np.bool_], free: Words, table: Words) -> None:
    """The free cells' values, in order; the others become zero."""
    number = 0
    for cell in range(table.shape[0]):
        if determined[cell]:
            for word in range(table.shape[1]):
                table[cell, word] = 0
        else:
            for word in range(table.shape[1]):
                table[cell, word] = free[number, word]
            number += 1


@kernel("void(int32[::1], int32[::1], Rows, uint64[:,::1], uint64[:,::1], uint64[:,::1])", Rows)
def _fill(order: Ints32, alone: Ints32, rows: Rows, values: Words, sums: Words, table: Words) -> None:
    """From the last row to the first, its own cell, which is zero = value ⊕ what the row reads."""
    for number in range(order.shape[0]):
        row, cell = order[order.shape[0] - 1 - number], alone[order.shape[0] - 1 - number]
        _read_row(rows.cells[row], rows.dense[row], table, sums, values[row], table[cell])


@kernel("void(Rows, uint64[:,::1], uint64[:,::1], uint64[:,::1])", Rows)
def _read(rows: Rows, table: Words, sums: Words, values: Words) -> None:
    for row in range(values.shape[0]):
        for word in range(values.shape[1]):
            values[row, word] = 0
        _read_row(rows.cells[row], rows.dense[row], table, sums, values[row], values[row])


@kernel("void(int32[::1], uint64, uint64[:,::1], uint64[:,::1], uint64[::1], uint64[::1])")
def _read_row(
    cells: Ints32, dense: np.uint64, table: Words, sums: Words, value: Words, target: Words
) -> None:
    """target = value ⊕ what the row reads, where its own cell is the target and zero."""
    a, b, c = table[cells[0]], table[cells[1]], table[cells[2]]
    for word in range(target.shape[0]):
        target[word] = value[word] ^ a[word] ^ b[word] ^ c[word]
    for eight in range(sums.shape[0] >> 8):
        some = sums[np.int64(256 * eight) + np.int64((dense >> np.uint64(8 * eight)) & np.uint64(255))]
        for word in range(target.shape[0]):
            target[word] ^= some[word]


@kernel("void(int32[::1], int32[::1], Rows, uint64[:,::1], uint64[:,::1], uint64[:,::1])", Rows, joined=True)
def _fill_pairs(order: Ints32, alone: Ints32, rows: Rows, values: Words, sums: Words, table: Words) -> None:
    """`_fill` for values of two words."""
    for number in range(order.shape[0]):
        row, cell = order[order.shape[0] - 1 - number], alone[order.shape[0] - 1 - number]
        low, high = values[row, 0], values[row, 1]
        for place in range(3):
            at = rows.cells[row, place]
            low ^= table[at, 0]
            high ^= table[at, 1]
        for eight in range(sums.shape[0] >> 8):
            choice = 256 * eight + np.int64((rows.dense[row] >> np.uint64(8 * eight)) & np.uint64(255))
            low ^= sums[choice, 0]
            high ^= sums[choice, 1]
        table[cell, 0], table[cell, 1] = low, high


@kernel("void(Rows, uint64[:,::1], uint64[:,::1], uint64[:,::1])", Rows, joined=True)
def _read_pairs(rows: Rows, table: Words, sums: Words, values: Words) -> None:
    """`_read` for values of two words."""
    for row in range(values.shape[0]):
        low, high = np.uint64(0), np.uint64(0)
        for place in range(3):
            at = rows.cells[row, place]
            low ^= table[at, 0]
            high ^= table[at, 1]
        for eight in range(sums.shape[0] >> 8):
            choice = 256 * eight + np.int64((rows.dense[row] >> np.uint64(8 * eight)) & np.uint64(255))
            low ^= sums[choice, 0]
            high ^= sums[choice, 1]
        values[row, 0], values[row, 1] = low, high
