"""The expected number of dependent sets of rows, E(b, m) of `sizes.py`: exactly, and in floats."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from accord.secure.okvs.rows import Rows


def signed_triples(minus: int, cells: int) -> int:
    """K: the sum over all 3-subsets of the product of their signs, of which this many are minus."""
    d = cells - 2 * minus
    return (d**3 - (3 * cells - 2) * d) // 6


def expected_exactly(rows: int, cells: int) -> Fraction:
    whole = comb(cells, 3)
    total = sum(comb(cells, i) * (whole + signed_triples(i, cells)) ** rows for i in range(cells + 1))
    return Fraction(total, (1 << cells) * whole**rows) - 1


def expected(rows: int, cells: int) -> float:
    """At least E and hardly more.

    Terms of i and m − i are equal. Where b·x is small f is bounded by cosh(b·x) − 1, in which nothing cancels
    out. The logarithms are off by less than 1e-9, with which the result is raised.
    """
    from scipy.special import gammaln

    i = np.arange(cells // 2 + 1)
    d = cells - 2 * i
    x = np.abs((d**3 - (3 * cells - 2) * d) // 6 / comb(cells, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        small = np.log(2) + 2 * np.log(np.sinh(np.minimum(rows * x, 1) / 2))
        up, down = rows * np.log1p(x), rows * np.log1p(-x)
        large = up + np.log1p(np.exp(down - up) - 2 * np.exp(-up)) - np.log(2)
    f = np.where(rows * x < 0.01, small, large)
    log = gammaln(cells + 1) - gammaln(i + 1) - gammaln(cells - i + 1) - cells * np.log(2) + f
    return float((np.exp(log) * np.where(2 * i == cells, 1, 2)).sum()) * (1 + 1e-9)


def dense_matrix(rows: Rows, sparse: int, dense: int) -> NDArray[np.uint8]:
    """The rows with a byte for each cell, 0 or 1."""
    matrix = np.zeros((len(rows.cells), sparse + dense), dtype=np.uint8)
    np.put_along_axis(matrix, rows.cells.astype(np.int64), 1, axis=1)
    matrix[:, sparse:] = (rows.dense[:, None] >> np.arange(dense, dtype=np.uint64)) & np.uint64(1)
    return matrix


def rank(matrix: NDArray[np.uint8]) -> int:
    """Over F2."""
    left, found = [int.from_bytes(row.tobytes()) for row in np.packbits(matrix, axis=1)], 0
    while left:
        pivot = left.pop()
        if pivot:
            found += 1
            low = pivot & -pivot
            left = [row ^ pivot if row & low else row for row in left]
    return found
