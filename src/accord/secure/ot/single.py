"""Shares of a distance for pairs that stand alone: each row of A meets one row of B, and each of B one of A.

What `distance.py` says with k = 1 and stretches of one row: of each term and pair there are two seeds, leaves
x₀ and x₁ of a tree of one level, and A lacks number a, its bit. With r = H(x), cut to the ring,

    B sends     c = factor − r₀ − r₁
    B's share   own_b + Σ 2^shift · r₁
    A's share   own_a + Σ 2^shift · (a·(r₁₋ₐ + c) − (1 − a)·r₁₋ₐ)

to the byte what the loops there would send, without trees, groups and lines of which each has one element.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.kernel import Kernel, kernel
from accord.secure.blocks import StripBatch
from accord.secure.ot.program import NumberShare
from accord.secure.transfer.half_tree import CLEAR
from accord.secure.transfer.packing import LANES
from accord.secure.transfer.permutation import Permutation, mix

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

_CHUNK = 1 << 14
"""OTs that are hashed at once, within the cache."""


def stands_alone(batch: StripBatch) -> bool:
    """Whether every row of the batch meets one other."""
    return batch.pairs == batch.columns == len(batch.width) == len(batch.members)


def correct_singles(
    pi: Permutation,
    share: NumberShare,
    rows: Words,
    delta: Words,
    batch: StripBatch,
    factors: NDArray[Any],
    values: NDArray[Any],
    result: NDArray[Any],
) -> None:
    """B's part: writes c into `values` (terms, pairs and padding) and adds to its shares, of each pair."""
    other, shifts = mix((delta & CLEAR)[None])[0], np.array(share.form.shifts, np.uint64)
    for first in range(0, len(rows), _CHUNK):
        zero = mix(rows[first : first + _CHUNK] & CLEAR)
        one = zero ^ other
        zero ^= pi.apply(zero, "zero")
        one ^= pi.apply(one, "one")
        to = values, result
        _CORRECT[share.lane](zero, one, first, factors, batch.b_start, shifts, share.exclusive, to)


def collect_singles(
    pi: Permutation,
    share: NumberShare,
    rows: Words,
    bits: NDArray[np.uint8],
    got: NDArray[Any],
    result: NDArray[Any],
) -> None:
    """A's part: adds to its shares, from its bits (terms, pairs) and what came, c."""
    chosen, shifts = np.ascontiguousarray(bits).reshape(-1), np.array(share.form.shifts, np.uint64)
    for first in range(0, len(rows), _CHUNK):
        known = mix(rows[first : first + _CHUNK] & CLEAR)
        known ^= pi.apply(known, "one")
        _COLLECT[share.lane](known, first, chosen, got, shifts, share.exclusive, result)


def _correct(
    zero: Words,
    one: Words,
    first: int,
    factors: Any,
    b_start: Ints,
    shifts: Words,
    exclusive: bool,
    to: Any,
) -> None:
    """Numbers are added in words and cut to their lane where they are written."""
    values, result = to
    pairs = result.shape[0]
    term, pair = first // pairs, first % pairs
    for row in range(zero.shape[0]):
        factor = np.uint64(factors[term, b_start[pair]])
        if exclusive:
            values[term, pair] = factor ^ zero[row, 0] ^ one[row, 0]
            result[pair] ^= one[row, 0]
        else:
            values[term, pair] = factor - zero[row, 0] - one[row, 0]
            result[pair] += one[row, 0] << shifts[term]
        pair += 1
        if pair == pairs:
            term, pair = term + 1, 0


def _collect(
    known: Words,
    first: int,
    chosen: NDArray[np.uint8],
    got: Any,
    shifts: Words,
    exclusive: bool,
    result: Any,
) -> None:
    """a·(r + c) − (1 − a)·r = a·c + (2a − 1)·r; with XOR, a·c ⊕ r."""
    pairs = result.shape[0]
    term, pair = first // pairs, first % pairs
    for row in range(known.shape[0]):
        bit, c = np.uint64(chosen[first + row]), np.uint64(got[term, pair])
        if exclusive:
            result[pair] ^= bit * c ^ known[row, 0]
        else:
            result[pair] += (bit * c + (bit + bit - np.uint64(1)) * known[row, 0]) << shifts[term]
        pair += 1
        if pair == pairs:
            term, pair = term + 1, 0


_CORRECT: dict[int, Kernel[..., None]] = {
    w: kernel(
        f"void(uint64[:,::1], uint64[:,::1], int64, uint{w}[:,::1], int64[::1], uint64[::1], boolean, "
        f"Tuple((uint{w}[:,::1], uint{w}[::1])))"
    )(_correct)
    for w in LANES
}
_COLLECT: dict[int, Kernel[..., None]] = {
    w: kernel(f"void(uint64[:,::1], int64, uint8[::1], uint{w}[:,::1], uint64[::1], boolean, uint{w}[::1])")(
        _collect
    )
    for w in LANES
}
