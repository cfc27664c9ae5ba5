"""The order in which rows are solved: peeled off one by one, and the core that is left over.

A cell that only one row has can be given whatever value that row needs, once all else in the row is known. So
that row is taken away, which may leave other cells with one row, and so on; the rows are filled in the
opposite order. What is left is the 2-core, whose cells have two rows or more each; at 1.25 cells a row it is
empty or of a few rows in all but small stores (the threshold is 1.222: Molloy, Cores in random hypergraphs,
2005). It is left to elimination (`elimination.py`).

The order is a function of the rows. So is the time that it takes, which is the owner's alone to see.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Ints32 = NDArray[np.int32]


class Peeled(NamedTuple):
    """Rows in the order in which they were taken away, and the cell that each alone had then."""

    rows: Annotated[Ints32, "int32[::1]"]
    cells: Annotated[Ints32, "int32[::1]"]


def peel(cells: Ints32, sparse: int) -> Peeled:
    """All rows but those of the core. Requires: under 2^20 rows, of three distinct cells each."""
    found = Peeled(np.empty(len(cells), dtype=np.int32), np.empty(len(cells), dtype=np.int32))
    count = _peel(cells, sparse, found.rows, found.cells)
    return Peeled(found.rows[:count], found.cells[:count])


def core(peeled: Peeled, count: int) -> NDArray[np.int64]:
    """The rows, of this many, that were not peeled off, ascending."""
    left = np.ones(count, dtype=np.bool_)
    left[peeled.rows] = False
    return np.flatnonzero(left)


@kernel("int64(int32[:,::1], int64, int32[::1], int32[::1])")
def _peel(cells: Ints32, sparse: int, rows: Ints32, alone: Ints32) -> int:
    """How many rows could be peeled off; each goes to `rows`, its cell to `alone`.

    A cell's word has the number of its rows in the upper 24 bits and the sum of their numbers below. Where
    there is one row, the sum is that row: no lists, and one read.
    """
    one, low = np.uint64(1 << 40), np.uint64((1 << 40) - 1)
    words = np.zeros(sparse, dtype=np.uint64)
    for row in range(cells.shape[0]):
        for place in range(3):
            words[cells[row, place]] += one + np.uint64(row)
    # A cell comes to have one row once at most, so there is room for all.
    stack = np.empty(sparse, dtype=np.int32)
    count = 0
    for start in range(sparse):
        if words[start] & ~low != one:
            continue
        stack[0], height = start, 1
        while height:
            height -= 1
            cell = stack[height]
            # Its row may have been taken by another cell meanwhile.
            if words[cell] & ~low != one:
                continue
            last = np.int64(words[cell] & low)
            rows[count], alone[count] = last, cell
            count += 1
            for place in range(3):
                other = cells[last, place]
                words[other] -= one + np.uint64(last)
                if words[other] & ~low == one:
                    stack[height] = other
                    height += 1
    return count
