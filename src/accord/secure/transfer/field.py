"""GF(2¹²⁸), for arrays of its elements.

An element is two little-endian words: bit i of the 128 is the coefficient of Xⁱ, and X¹²⁸ = X⁷ + X² + X + 1.
Addition is XOR. Elements are secrets, so no table is read by them and nothing branches on them: a product is
made of ordinary multiplications of half words of which only every fourth bit is set, so that a sum of up to
eight ones does not reach the next bit that counts (as in BearSSL's GHASH for machines without a carry-less
multiplication). By Karatsuba, twice, nine products of 32 bits make one of 128; each of the nine is made for
many rows in a loop of its own, so that several rows share an instruction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Words = NDArray[np.uint64]

BITS = 128
_LANES = 256
"""Rows that are multiplied together."""

_TAIL = 0x87
"""X⁷ + X² + X + 1."""


def times(rows: Words, element: Words) -> Words:
    """Every row (n, 2) times one element (2,)."""
    result = np.empty_like(rows)
    product_rows(rows, np.ascontiguousarray(element), result)
    return result


def join(rows: Words) -> Words:
    """Σ rows[128·i + j]·Xʲ over j < 128, for each i: an element from as many of its parts, (n, 2)."""
    result = np.empty((len(rows) // BITS, 2), np.uint64)
    _join(rows, result)
    return result


def join_bits(rows: Words) -> Words:
    """The same for the lowest bit of each row: the element that has these bits."""
    bits = (rows[: len(rows) // BITS * BITS, 0] & np.uint64(1)).astype(np.uint8)
    return np.packbits(bits, bitorder="little").view("<u8").reshape(-1, 2)


@kernel("void(uint64[:,::1], uint64[::1], uint64[:,::1])")
def product_rows(rows: Words, element: Words, result: Words) -> None:
    """Every row times the element: as many at a time as the nearest cache holds the parts of."""
    x, z = np.empty((9, _LANES), np.uint32), np.empty((9, _LANES), np.uint64)
    y = np.empty((9, 1), np.uint32)
    _cut(element.reshape(1, 2), y)
    for first in range(0, rows.shape[0], _LANES):
        target = result[first : first + _LANES]
        _cut(rows[first : first + _LANES], x)
        for part in range(9):
            _multiply(x[part, : len(target)], y[part, 0], z[part])
        _join_parts(z, target)


@kernel("void(uint64[:,::1], uint32[:,::1])")
def _cut(rows: Words, parts: NDArray[np.uint32]) -> None:
    """Lower half, upper half and their sum: of the lower word, the upper word and their sum."""
    half = np.uint64(32)
    for row in range(rows.shape[0]):
        low, high = rows[row, 0], rows[row, 1]
        both = low ^ high
        parts[0, row], parts[1, row], parts[2, row] = low, low >> half, low ^ (low >> half)
        parts[3, row], parts[4, row], parts[5, row] = high, high >> half, high ^ (high >> half)
        parts[6, row], parts[7, row], parts[8, row] = both, both >> half, both ^ (both >> half)


@kernel("void(uint32[::1], uint32, uint64[::1])")
def _multiply(x: NDArray[np.uint32], y: np.uint32, z: Words) -> None:
    """Carry-less products with y. What is multiplied has 32 bits to the compiler, too, which takes two or
    more such products at once."""
    m0, m1 = np.uint32(0x11111111), np.uint32(0x22222222)
    m2, m3 = np.uint32(0x44444444), np.uint32(0x88888888)
    y0, y1 = np.uint64(np.uint32(y & m0)), np.uint64(np.uint32(y & m1))
    y2, y3 = np.uint64(np.uint32(y & m2)), np.uint64(np.uint32(y & m3))
    n0, n1 = np.uint64(0x1111111111111111), np.uint64(0x2222222222222222)
    n2, n3 = np.uint64(0x4444444444444444), np.uint64(0x8888888888888888)
    for row in range(x.shape[0]):
        x0, x1 = np.uint64(np.uint32(x[row] & m0)), np.uint64(np.uint32(x[row] & m1))
        x2, x3 = np.uint64(np.uint32(x[row] & m2)), np.uint64(np.uint32(x[row] & m3))
        z0 = (x0 * y0) ^ (x1 * y3) ^ (x2 * y2) ^ (x3 * y1)
        z1 = (x0 * y1) ^ (x1 * y0) ^ (x2 * y3) ^ (x3 * y2)
        z2 = (x0 * y2) ^ (x1 * y1) ^ (x2 * y0) ^ (x3 * y3)
        z3 = (x0 * y3) ^ (x1 * y2) ^ (x2 * y1) ^ (x3 * y0)
        z[row] = (z0 & n0) | (z1 & n1) | (z2 & n2) | (z3 & n3)


@kernel("void(uint64[:,::1], uint64[:,::1])")
def _join_parts(z: Words, result: Words) -> None:
    """The product from its nine parts: words, then all of it; what lies beyond X¹²⁷ comes down."""
    half, one, two, seven = np.uint64(32), np.uint64(1), np.uint64(2), np.uint64(7)
    for row in range(result.shape[0]):
        low, low_up = z[0, row], z[1, row]
        high, high_up = z[3, row], z[4, row]
        middle, middle_up = z[6, row], z[7, row]
        a, b, c = low ^ low_up ^ z[2, row], high ^ high_up ^ z[5, row], middle ^ middle_up ^ z[8, row]
        low, low_up = low ^ (a << half), low_up ^ (a >> half)
        high, high_up = high ^ (b << half), high_up ^ (b >> half)
        v1 = low_up ^ middle ^ (c << half) ^ low ^ high
        v2 = high ^ middle_up ^ (c >> half) ^ low_up ^ high_up
        v1 ^= high_up ^ (high_up << one) ^ (high_up << two) ^ (high_up << seven)
        v2 ^= (high_up >> np.uint64(63)) ^ (high_up >> np.uint64(62)) ^ (high_up >> np.uint64(57))
        result[row, 0] = low ^ v2 ^ (v2 << one) ^ (v2 << two) ^ (v2 << seven)
        result[row, 1] = v1 ^ (v2 >> np.uint64(63)) ^ (v2 >> np.uint64(62)) ^ (v2 >> np.uint64(57))


@kernel("void(uint64[:,::1], uint64[:,::1])")
def _join(rows: Words, result: Words) -> None:
    """By Horner's rule, the highest power first."""
    one, top = np.uint64(1), np.uint64(63)
    for number in range(result.shape[0]):
        low, high = np.uint64(0), np.uint64(0)
        for part in range(BITS - 1, -1, -1):
            tail = (high >> top) * np.uint64(_TAIL)
            high = (high << one) ^ (low >> top) ^ rows[BITS * number + part, 1]
            low = (low << one) ^ tail ^ rows[BITS * number + part, 0]
        result[number, 0], result[number, 1] = low, high
