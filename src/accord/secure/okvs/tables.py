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

from accord.errors import NoTableError
from accord.kernel import kernel
from accord.secure.okvs.elimination import substitute, triangle
from accord.secure.okvs.peeling import core, peel
from accord.secure.okvs.rows import Rows

Words = NDArray[np.uint64]
Ints32 = NDArray[np.int32]


def failed(reason: str) -> NoTableError:
    """What closes a run whose table or store cannot be made: seeds drawn again would depend on the points."""
    return NoTableError(reason=reason)


def write_table(rows: Rows, sparse: int, dense: int, values: Words, free: Words) -> Words:
    """The cells of a part, (cells, words), such that each row reads its value.

    *Requires*: `free` uniform, (cells − rows, words). *Distribution*: see above. Dependent rows raise.
    """
    peeled = peel(rows.cells, sparse)
    left = core(peeled, len(rows.cells))
    system = triangle(Rows(rows.cells[left], rows.dense[left]), values[left], sparse, dense)
    if system is None:
        raise failed("their rows are dependent")
    determined = np.zeros(sparse + dense, dtype=np.bool_)
    determined[peeled.cells] = True
    determined[system.cells] = True
    table = np.empty((sparse + dense, values.shape[1]), dtype=np.uint64)
    _place(determined, free, table)
    substitute(system, table)
    sums = dense_sums(table[sparse:])
    _fill(peeled.rows, peeled.cells, rows, values, sums, table)
    return table


def read_table(rows: Rows, sparse: int, table: Words) -> Words:
    """The values of the rows, (rows, words)."""
    values = np.empty((len(rows.cells), table.shape[1]), dtype=np.uint64)
    sums = dense_sums(table[sparse:])
    _read(rows, table, sums, values)
    return values


def dense_sums(columns: Words) -> Words:
    """The sums of all choices among each eight of forty dense cells, 256 rows for each eight."""
    sums = np.empty((5 * 256, columns.shape[1]), dtype=np.uint64)
    _add_up(columns, sums)
    return sums


@kernel("void(uint64[:,::1], uint64[:,::1])")
def _add_up(columns: Words, sums: Words) -> None:
    """A choice is an earlier one and its highest bit's cell; cells that do not exist add nothing."""
    for eight in range(5):
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
    """The free cells' values, in order; the others are written later."""
    number = 0
    for cell in range(table.shape[0]):
        if not determined[cell]:
            for word in range(table.shape[1]):
                table[cell, word] = free[number, word]
            number += 1


@kernel("void(int32[::1], int32[::1], Rows, uint64[:,::1], uint64[:,::1], uint64[:,::1])", Rows, joined=True)
def _fill(order: Ints32, alone: Ints32, rows: Rows, values: Words, sums: Words, table: Words) -> None:
    """From the last row to the first, its own cell = value ⊕ the rest of what the row reads.

    Here and below, all eight sources are added up in one go over the words: to go over them once for each
    source takes twice as long.
    """
    byte = np.uint64(255)
    for number in range(order.shape[0] - 1, -1, -1):
        row, cell = order[number], alone[number]
        first, second, third = rows.cells[row, 0], rows.cells[row, 1], rows.cells[row, 2]
        # The two others. Were the target among the sources, no two words could be added at once.
        a = table[second if first == cell else first]
        b = table[second if third == cell else third]
        dense = rows.dense[row]
        s = sums[np.int64(dense & byte)]
        t = sums[256 + np.int64((dense >> np.uint64(8)) & byte)]
        u = sums[512 + np.int64((dense >> np.uint64(16)) & byte)]
        v = sums[768 + np.int64((dense >> np.uint64(24)) & byte)]
        w = sums[1024 + np.int64((dense >> np.uint64(32)) & byte)]
        value, target = values[row], table[cell]
        for i in range(table.shape[1]):
            target[i] = value[i] ^ a[i] ^ b[i] ^ s[i] ^ t[i] ^ u[i] ^ v[i] ^ w[i]


@kernel("void(Rows, uint64[:,::1], uint64[:,::1], uint64[:,::1])", Rows, joined=True)
def _read(rows: Rows, table: Words, sums: Words, values: Words) -> None:
    """The sum of three sparse cells and of a choice from each eight of the dense ones."""
    byte = np.uint64(255)
    for row in range(values.shape[0]):
        a, b, c = table[rows.cells[row, 0]], table[rows.cells[row, 1]], table[rows.cells[row, 2]]
        dense = rows.dense[row]
        s = sums[np.int64(dense & byte)]
        t = sums[256 + np.int64((dense >> np.uint64(8)) & byte)]
        u = sums[512 + np.int64((dense >> np.uint64(16)) & byte)]
        v = sums[768 + np.int64((dense >> np.uint64(24)) & byte)]
        w = sums[1024 + np.int64((dense >> np.uint64(32)) & byte)]
        target = values[row]
        for i in range(values.shape[1]):
            target[i] = a[i] ^ b[i] ^ c[i] ^ s[i] ^ t[i] ^ u[i] ^ v[i] ^ w[i]
