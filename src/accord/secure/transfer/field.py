"""GF(2¹²⁸), for arrays of its elements.

An element is two little-endian words: bit i of the 128 is the coefficient of Xⁱ, and X¹²⁸ = X⁷ + X² + X + 1.
Addition is XOR. Elements are secrets, so no table is read by them and nothing branches on them: a product is
made of ordinary multiplications of words of which only every fourth bit is set, so that a sum of up to
fifteen ones does not reach the next bit that counts, and of sixteen the carry leaves the word (as in
BearSSL's GHASH for machines without a carry-less multiplication). The upper half of a product is the lower
half of the product of the words turned round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Words = NDArray[np.uint64]

BITS = 128

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


@kernel("uint64(uint64, uint64)")
def _low(x: np.uint64, y: np.uint64) -> np.uint64:
    """The lower 64 bits of a carry-less product."""
    m0, m1 = np.uint64(0x1111111111111111), np.uint64(0x2222222222222222)
    m2, m3 = np.uint64(0x4444444444444444), np.uint64(0x8888888888888888)
    x0, x1, x2, x3 = x & m0, x & m1, x & m2, x & m3
    y0, y1, y2, y3 = y & m0, y & m1, y & m2, y & m3
    z0 = (x0 * y0) ^ (x1 * y3) ^ (x2 * y2) ^ (x3 * y1)
    z1 = (x0 * y1) ^ (x1 * y0) ^ (x2 * y3) ^ (x3 * y2)
    z2 = (x0 * y2) ^ (x1 * y1) ^ (x2 * y0) ^ (x3 * y3)
    z3 = (x0 * y3) ^ (x1 * y2) ^ (x2 * y1) ^ (x3 * y0)
    return (z0 & m0) | (z1 & m1) | (z2 & m2) | (z3 & m3)


@kernel("uint64(uint64, uint64, uint64)")
def _swap(x: np.uint64, mask: np.uint64, far: np.uint64) -> np.uint64:
    """Each group of bits that the mask has with the one above it."""
    return ((x & mask) << far) | ((x >> far) & mask)


@kernel("uint64(uint64)")
def _turn(x: np.uint64) -> np.uint64:
    """The bits in the other order."""
    x = _swap(x, np.uint64(0x5555555555555555), np.uint64(1))
    x = _swap(x, np.uint64(0x3333333333333333), np.uint64(2))
    x = _swap(x, np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(4))
    x = _swap(x, np.uint64(0x00FF00FF00FF00FF), np.uint64(8))
    x = _swap(x, np.uint64(0x0000FFFF0000FFFF), np.uint64(16))
    return (x << np.uint64(32)) | (x >> np.uint64(32))


@kernel("void(uint64[:,::1], uint64[::1], uint64[:,::1])")
def product_rows(rows: Words, element: Words, result: Words) -> None:
    """By Karatsuba: three products of words, each in two halves; then what lies beyond X¹²⁷ comes down."""
    one, two, seven = np.uint64(1), np.uint64(2), np.uint64(7)
    y0, y1 = element[0], element[1]
    t0, t1 = _turn(y0), _turn(y1)
    y2, t2 = y0 ^ y1, t0 ^ t1
    for row in range(rows.shape[0]):
        x0, x1 = rows[row, 0], rows[row, 1]
        s0, s1 = _turn(x0), _turn(x1)
        low, high, middle = _low(x0, y0), _low(x1, y1), _low(x0 ^ x1, y2)
        low_up = _turn(_low(s0, t0)) >> one
        high_up = _turn(_low(s1, t1)) >> one
        middle_up = _turn(_low(s0 ^ s1, t2)) >> one
        v1 = low_up ^ middle ^ low ^ high
        v2 = high ^ middle_up ^ low_up ^ high_up
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
