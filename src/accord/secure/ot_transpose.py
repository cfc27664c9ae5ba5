"""Bit matrices turned on their side: 128 columns of n bits become n rows of 128 bits.

The classic recursion swaps ever smaller quadrants of 64 × 64 bits (Eklundh 1972; Warren, Hacker's Delight,
§7-3); here each swap runs over many matrices at once, so that the inner loop is a plain loop over words that
any vector unit takes. Bit i of word w of a column is row 64·w + i, on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Words = NDArray[np.uint64]

STRIP = 16


@kernel("void(uint64[:,::1], uint64[:,::1])")
def transpose(columns: Words, rows: Words) -> None:
    """Columns of shape (128, n/64) to rows of shape (n, 2)."""
    count = columns.shape[1]
    work = np.empty((64, STRIP), dtype=np.uint64)
    for half in range(2):
        for first in range(0, count, STRIP):
            width = min(STRIP, count - first)
            for line in range(64):
                for word in range(width):
                    work[line, word] = columns[64 * half + line, first + word]
            _swap(work)
            for word in range(width):
                for line in range(64):
                    rows[64 * (first + word) + line, half] = work[line, word]


@kernel("void(uint64[:,::1])")
def _swap(work: Words) -> None:
    """Transpose the 64 × 64 matrices whose lines are the columns of `work`."""
    step = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while step:
        shift = np.uint64(step)
        for base in range(0, 64, 2 * step):
            for line in range(base, base + step):
                for word in range(STRIP):
                    low, high = work[line, word], work[line + step, word]
                    change = ((low >> shift) ^ high) & mask
                    work[line + step, word] = high ^ change
                    work[line, word] = low ^ (change << shift)
        step >>= 1
        mask = mask ^ (mask << np.uint64(step))
