"""Shares of a distance for pairs that stand alone: each strip is one row of A and one of B.

What `distance.py` says with k = 1 and stretches of one row: of each term and pair there are two seeds, leaves
x₀ and x₁ of a tree of one level, and A lacks number a, its bit. With r = H(x), cut to the ring,

    B sends     c = factor − r₀ − r₁
    B's share   own_b + Σ 2^shift · r₁
    A's share   own_a + Σ 2^shift · (a·(r₁₋ₐ + c) − (1 − a)·r₁₋ₐ)

to the byte what the loops there would send, without trees, groups and lines of which each has one element.

Where two terms multiply one bit (`program.Choices`), one OT serves both: H has two words, of which the first
gives the r of one term and the second those of the other. A lacks H(x_a) as a whole, so each of the two
corrections is masked by a word of it that masks nothing else, and B sees one choice of one bit.

Assumption: H of `transfer/permutation.py` is correlation robust, with all of its 128 bits.

Of an OT nothing is needed but these r, in the program's widest lane: rows are hashed as they come, and A
holds a number a term until B's corrections are there. What follows runs over neighbouring pairs of one term.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.kernel import Kernel, kernel
from accord.secure.blocks import StripBatch
from accord.secure.ot.distance import pack_values, reduce, room, unpack_values
from accord.secure.ot.program import NumberShare, Program
from accord.secure.transfer.extension import Tile
from accord.secure.transfer.half_tree import CLEAR
from accord.secure.transfer.packing import LANES
from accord.secure.transfer.permutation import Permutation, mix

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]


def stands_alone(batch: StripBatch) -> bool:
    """Whether every strip of the batch is one pair, in a group of its own."""
    return batch.pairs == batch.columns == len(batch.width) == len(batch.members)


def hash_known(pi: Permutation, program: Program, tiles: Iterator[Tile], pairs: int) -> NDArray[Any]:
    """A's r₁₋ₐ for so many pairs, shape (1, words, pairs)."""
    return _hash(pi, program, tiles, np.zeros((1, 2), np.uint64), pairs)


def hash_both(
    pi: Permutation, program: Program, tiles: Iterator[Tile], delta: Words, pairs: int
) -> NDArray[Any]:
    """B's r₀ and r₁ for so many pairs, shape (2, words, pairs)."""
    return _hash(pi, program, tiles, mix(np.stack([delta ^ delta, delta & CLEAR])), pairs)


def _hash(
    pi: Permutation, program: Program, tiles: Iterator[Tile], others: Words, pairs: int
) -> NDArray[Any]:
    """H of the rows and of what differs from them by some, which are given as σ of it: the first words of all
    bits, and then the second words of those that serve two terms."""
    lane, choices = max(share.lane for share in program.shares), program.choices
    count, twice = choices.count * pairs, choices.twice * pairs
    result = np.empty((len(others), count + twice), dtype=f"u{lane // 8}")
    for tile in tiles:
        rows = tile.rows[: count - tile.first]
        inner = pi.scratch("inner", len(others) * len(rows)).reshape(len(others), -1, 2)
        _ready(rows, others, inner)
        outer = pi.apply(inner, "outer").reshape(inner.shape)
        _TAKE[lane](inner, outer, 0, len(rows), tile.first, result)
        _TAKE[lane](inner, outer, 1, min(len(rows), max(0, twice - tile.first)), count + tile.first, result)
    return result.reshape(len(others), -1, pairs)


def send_singles(
    pi: Permutation,
    share: NumberShare,
    hashes: NDArray[Any],
    words: Ints,
    batch: StripBatch,
    factors: NDArray[Any],
    own: Ints,
    corrections: NDArray[Any],
) -> NDArray[Any]:
    """B's shares, one a pair, from some words of `hash_both`; fills what is sent."""
    result = own.astype(f"u{share.lane // 8}")
    if len(share.form.shifts):
        values, factor = room(pi, share, batch), factors.astype(result.dtype, order="C", copy=False)
        if factor.shape[1] != batch.pairs:
            factor = np.take(factor, batch.b_start, axis=1)
        parts = _lanes(share, hashes, words)
        _CORRECT[share.lane](parts[0], parts[1], factor, _shifts(share), share.exclusive, values, result)
        pack_values(share, batch, values, corrections)
    return reduce(share, result)


def receive_singles(
    pi: Permutation,
    share: NumberShare,
    hashes: NDArray[Any],
    words: Ints,
    batch: StripBatch,
    bits: NDArray[np.uint8],
    own: Ints,
    corrections: NDArray[Any],
) -> NDArray[Any]:
    """A's shares, one a pair, from some words of `hash_known` and its bits (terms, pairs)."""
    result = own.astype(f"u{share.lane // 8}")
    if len(share.form.shifts):
        got = unpack_values(pi, share, batch, corrections)
        (known,) = _lanes(share, hashes, words)
        _COLLECT[share.lane](known, bits, got, _shifts(share), share.exclusive, result)
    return reduce(share, result)


def _lanes(share: NumberShare, hashes: NDArray[Any], words: Ints) -> NDArray[Any]:
    """Some words of hashes in the share's lane, shape (…, terms, pairs)."""
    return np.take(hashes, words, axis=1).astype(f"u{share.lane // 8}", copy=False)


def _shifts(share: NumberShare) -> Words:
    # A shift of 63 already moves everything out of a ring of at most 62 bits.
    return np.minimum(np.array(share.form.shifts, np.uint64), np.uint64(63))


@kernel("void(uint64[:,::1], uint64[:,::1], uint64[:,:,::1])", joined=True)
def _ready(rows: Words, others: Words, result: NDArray[np.uint64]) -> None:
    """σ of each row, its lowest bits cut off, and of what differs from it."""
    one, top, polynomial, clear = np.uint64(1), np.uint64(63), np.uint64(0x1B), CLEAR
    first = result[0]
    for row in range(rows.shape[0]):
        low, high = rows[row, 0] & clear, rows[row, 1] & clear
        first[row, 0] = (low << one) ^ (low >> top) * polynomial
        first[row, 1] = (high << one) ^ (high >> top) * polynomial
    for y in range(1, others.shape[0]):
        low, high, target = others[y, 0], others[y, 1], result[y]
        for row in range(rows.shape[0]):
            target[row, 0] = first[row, 0] ^ low
            target[row, 1] = first[row, 1] ^ high


def _take(inner: Any, outer: Any, word: int, count: int, first: int, result: Any) -> None:
    """One word of H of so many rows, cut to its lane."""
    for y in range(inner.shape[0]):
        x, z, target = inner[y], outer[y], result[y, first : first + count]
        for row in range(target.shape[0]):
            target[row] = x[row, word] ^ z[row, word]


def _correct(
    zero: Any, one: Any, factors: Any, shifts: Words, exclusive: bool, values: Any, result: Any
) -> None:
    """Numbers are added in words and cut to their lane where they are written."""
    pairs = result.shape[0]
    for term in range(zero.shape[0]):
        shift, x, y, factor, value = shifts[term], zero[term], one[term], factors[term], values[term, :pairs]
        if exclusive:
            for pair in range(pairs):
                value[pair] = factor[pair] ^ x[pair] ^ y[pair]
                result[pair] ^= y[pair]
        elif shift == 0:
            for pair in range(pairs):
                value[pair] = factor[pair] - x[pair] - y[pair]
                result[pair] += y[pair]
        else:
            for pair in range(pairs):
                value[pair] = factor[pair] - x[pair] - y[pair]
                result[pair] += y[pair] << shift


def _collect(
    known: Any, chosen: NDArray[np.uint8], got: Any, shifts: Words, exclusive: bool, result: Any
) -> None:
    """a·(r + c) − (1 − a)·r = a·c + (2a − 1)·r; with XOR, a·c ⊕ r."""
    pairs = result.shape[0]
    for term in range(known.shape[0]):
        shift, r, a, c = shifts[term], known[term], chosen[term], got[term, :pairs]
        if exclusive:
            for pair in range(pairs):
                result[pair] ^= a[pair] * c[pair] ^ r[pair]
        elif shift == 0:
            for pair in range(pairs):
                result[pair] += a[pair] * c[pair] + (a[pair] + a[pair] - 1) * r[pair]
        else:
            for pair in range(pairs):
                bit = np.uint64(a[pair])
                sum = bit * np.uint64(c[pair]) + (bit + bit - np.uint64(1)) * np.uint64(r[pair])
                result[pair] += sum << shift


# One kernel a lane: numbers of 8, 16, 32 or 64 bits are added as they lie, many at once.
_TAKE: dict[int, Kernel[..., None]] = {
    w: kernel(f"void(uint64[:,:,::1], uint64[:,:,::1], int64, int64, int64, uint{w}[:,::1])")(_take)
    for w in LANES
}
_CORRECT: dict[int, Kernel[..., None]] = {
    w: kernel(
        f"void(uint{w}[:,::1], uint{w}[:,::1], uint{w}[:,::1], uint64[::1], boolean, uint{w}[:,::1], "
        f"uint{w}[::1])"
    )(_correct)
    for w in LANES
}
_COLLECT: dict[int, Kernel[..., None]] = {
    w: kernel(f"void(uint{w}[:,::1], uint8[:,::1], uint{w}[:,::1], uint64[::1], boolean, uint{w}[::1])")(
        _collect
    )
    for w in LANES
}
