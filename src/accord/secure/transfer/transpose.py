"""Bit matrices turned on their side: 128 columns of n bits become n rows of 128 bits.

The classic recursion swaps ever smaller quadrants of 64 × 64 bits (Eklundh 1972; Warren, Hacker's Delight,
§7-3). Here each swap runs over many matrices at once, so that the inner loop is a plain loop over words that
any vector unit takes, and two sizes of quadrants go in one pass. Bit i of word w of a column is row 64·w + i,
on every machine.
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
    work = np.empty((128, STRIP), dtype=np.uint64)
    for first in range(0, count, STRIP):
        width = min(STRIP, count - first)
        for line in range(128):
            for word in range(width):
                work[line, word] = columns[line, first + word]
        _swap(work, 32, np.uint64(0x00000000FFFFFFFF), np.uint64(0x0000FFFF0000FFFF))
        _swap(work, 8, np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0F0F0F0F0F0F0F0F))
        _swap(work, 2, np.uint64(0x3333333333333333), np.uint64(0x5555555555555555))
        for word in range(width):
            out = rows[64 * (first + word) : 64 * (first + word) + 64]
            for line in range(64):
                out[line, 0] = work[line, word]
                out[line, 1] = work[64 + line, word]


@kernel("void(uint64[:,::1], int64, uint64, uint64)")
def _swap(work: Words, step: int, outer: np.uint64, inner: np.uint64) -> None:
    """Swap quadrants of `step` lines, then of half as many, in every 64 × 64 matrix of `work`."""
    half = step // 2
    far, near = np.uint64(step), np.uint64(half)
    for base in range(0, 128, 2 * step):
        for line in range(base, base + half):
            lines0, lines1 = work[line], work[line + half]
            lines2, lines3 = work[line + step], work[line + step + half]
            for word in range(STRIP):
                a, b, c, d = lines0[word], lines1[word], lines2[word], lines3[word]
                change = ((a >> far) ^ c) & outer
                a, c = a ^ (change << far), c ^ change
                change = ((b >> far) ^ d) & outer
                b, d = b ^ (change << far), d ^ change
                change = ((a >> near) ^ b) & inner
                lines0[word], lines1[word] = a ^ (change << near), b ^ change
                change = ((c >> near) ^ d) & inner
                lines2[word], lines3[word] = c ^ (change << near), d ^ change
