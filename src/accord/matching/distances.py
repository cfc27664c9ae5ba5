"""The loops behind a rule in the clear: one answer for each pair (left[i], right[i]) of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from accord.kernel import kernel

_PAIRS = "int64[::1], int64[::1]"
_WORDS = "uint64[:, ::1], uint64[:, ::1]"


@kernel("int64(uint64)")
def _ones(x: Any) -> Any:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel(f"void({_WORDS}, {_PAIRS}, int64, boolean[::1])")
def hamming_at_most(a: Any, b: Any, left: Any, right: Any, bound: Any, out: Any) -> Any:
    for i in range(len(left)):
        total = 0
        for w in range(a.shape[1]):
            total += _ones(a[left[i], w] ^ b[right[i], w])
        out[i] = total <= bound


@kernel(f"void({_WORDS}, {_PAIRS}, boolean[::1])")
def words_equal(a: Any, b: Any, left: Any, right: Any, out: Any) -> Any:
    for i in range(len(left)):
        equal = True
        for w in range(a.shape[1]):
            equal &= a[left[i], w] == b[right[i], w]
        out[i] = equal


@kernel(f"void({_WORDS}, {_PAIRS}, int64, int64, boolean[::1])")
def overlap_at_least(a: Any, b: Any, left: Any, right: Any, w: Any, v: Any, out: Any) -> Any:
    """w·|a ∧ b| ≥ v·(|a| + |b|): Dice and Jaccard."""
    for i in range(len(left)):
        common = 0
        total = 0
        for j in range(a.shape[1]):
            x, y = a[left[i], j], b[right[i], j]
            common += _ones(x & y)
            total += _ones(x) + _ones(y)
        out[i] = w * common >= v * total


@kernel(f"void({_WORDS}, {_PAIRS}, int64, int64, boolean[::1])")
def cosine_at_least(a: Any, b: Any, left: Any, right: Any, p: Any, q: Any, out: Any) -> Any:
    """q²·|a ∧ b|² ≥ p²·|a|·|b|, and not just one of the two empty."""
    for i in range(len(left)):
        common = 0
        ones_a = 0
        ones_b = 0
        for j in range(a.shape[1]):
            x, y = a[left[i], j], b[right[i], j]
            common += _ones(x & y)
            ones_a += _ones(x)
            ones_b += _ones(y)
        alike = (ones_a == 0) == (ones_b == 0)
        out[i] = alike and q * q * common * common >= p * p * ones_a * ones_b


@kernel(f"void(int64[::1], int64[::1], {_PAIRS}, int64[::1])")
def add_squared_difference(a: Any, b: Any, left: Any, right: Any, total: Any) -> Any:
    for i in range(len(left)):
        difference = a[left[i]] - b[right[i]]
        total[i] += difference * difference


@kernel("int64(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def expand(rows: Any, starts: Any, stops: Any, order: Any, left: Any, right: Any) -> Any:
    """Write the pairs (rows[i], order[starts[i]:stops[i]]) one after the other; give their number."""
    at = 0
    for i in range(len(rows)):
        for j in range(starts[i], stops[i]):
            left[at] = rows[i]
            right[at] = order[j]
            at += 1
    return at
