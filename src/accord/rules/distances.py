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


@kernel("int64(uint64[::1], int64, int64)")
def _letter(row: Any, place: Any, bits: Any) -> Any:
    """A letter of a row of letters (`fields/letters.py`), which may lie across two words."""
    first = place * bits
    word, low = first >> 6, first & 63
    found = row[word] >> np.uint64(low)
    if low + bits > 64:
        found |= row[word + 1] << np.uint64(64 - low)
    return np.int64(found & np.uint64((1 << bits) - 1))


@kernel(f"void({_WORDS}, {_PAIRS}, int64, int64, int64, boolean[::1])")
def mismatches_at_most(
    a: Any, b: Any, left: Any, right: Any, length: Any, bits: Any, bound: Any, out: Any
) -> Any:
    for i in range(len(left)):
        total = 0
        for place in range(length):
            total += _letter(a[left[i]], place, bits) != _letter(b[right[i]], place, bits)
        out[i] = total <= bound


@kernel(f"void({_WORDS}, {_PAIRS}, int64, int64, int64, boolean[::1])")
def edits_at_most(a: Any, b: Any, left: Any, right: Any, length: Any, bits: Any, bound: Any, out: Any) -> Any:
    """The table of Wagner and Fischer, of which only the diagonals within the bound are filled, row by row;
    a row that is all above the bound ends it."""
    x, y = np.zeros(length, np.int64), np.zeros(length, np.int64)
    # Entry j of a row is the distance of some first letters of x and the first j of y, `far` if not below it.
    far = bound + 1
    row = np.empty(length + 1, np.int64)
    for i in range(len(left)):
        m, n = 0, 0
        for place in range(length):
            x[place] = _letter(a[left[i]], place, bits)
            y[place] = _letter(b[right[i]], place, bits)
            m += x[place] != 0
            n += y[place] != 0
        out[i] = False
        if abs(m - n) > bound:
            continue
        for j in range(n + 1):
            row[j] = min(j, far)
        for p in range(1, m + 1):
            low, high = max(1, p - bound), min(n, p + bound)
            before = row[low - 1]
            row[low - 1] = p if low == 1 and p < far else far
            nearest = row[low - 1]
            for j in range(low, high + 1):
                # What lies beyond the last diagonal of the row before was never filled.
                above = row[j] if j < p + bound else far
                here = min(before + (x[p - 1] != y[j - 1]), above + 1, row[j - 1] + 1, far)
                before, row[j] = above, here
                nearest = min(nearest, here)
            if nearest == far:
                row[n] = far
                break
        out[i] = row[n] <= bound


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
