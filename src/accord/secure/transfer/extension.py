"""Oblivious transfers by the million from 128 base ones: SoftSpoken, semi-honest.

Roy, SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE (CRYPTO'22), with the repetition code.
The sender has a secret Δ of 128 bits, cut into 128/k pieces of k bits; for each piece the receiver has 2ᵏ
seeds and the sender all of them but number Δᵢ. With r_x the expansion of seed x, bit by bit over n OTs,

    receiver   u = ⊕ₓ r_x,  v = ⊕ₓ x·r_x,  sends c = u ⊕ choices                  128/k bits an OT
    sender     w = ⊕ₓ (x ⊕ Δᵢ)·r_x = v ⊕ Δᵢ·u,  q = w ⊕ Δᵢ·c = v ⊕ Δᵢ·choices

so row j of the sender is q_j = t_j ⊕ choice_j·Δ with t_j the receiver's row. k = 1 is Ishai, Kilian, Nissim,
Petrank (CRYPTO'03). Messages are masked with H(q_j) and H(q_j ⊕ Δ); the receiver can compute one.

Assumption: the expansion is a pseudorandom generator, H is correlation robust (`permutation.py`).
Learns: the sender nothing (c is masked by the seed that it lacks); the receiver nothing of Δ.

*Double* OTs have two choices in one row. Read a row (l, h) of two words as 64 elements l + ωh of F4, so that
ω·(l, h) = (h, l ⊕ h). From two rows with choices b and c, t ⊕ ω·t′ at the receiver is q ⊕ ω·q′ ⊕ (b + ωc)·Δ
at the sender: one of four multiples of Δ, all different, and so a 1-of-4 OT with the keys H(q ⊕ ω·q′ ⊕ y·Δ).

The numbers of blocks only ever grow, so no tweak comes back as long as an end lives. Rows come in tiles that
fit the L2 cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel
from accord.secure.transfer.permutation import LEAF, Permutation, counter_blocks, mix
from accord.secure.transfer.transpose import transpose

Words = NDArray[np.uint64]

TILE = 1 << 14
"""OTs that are made at once."""

DOUBLES = 1 << 13
"""Double OTs that are made at once: four keys of each must fit the cache, hashed and not."""

_GROUP = 1 << 14
"""Blocks that are expanded at once."""


def padded_count(count: int) -> int:
    """OTs that are made when `count` are asked for."""
    return -(-count // 128) * 128


def correction_words(count: int, rate: int) -> int:
    """64-bit words that the receiver sends for `count` OTs at so many bits each."""
    return padded_count(count) // 64 * rate


def double_words(count: int, second: int, rate: int) -> int:
    """64-bit words that the receiver sends for double OTs of which the first `second` have two choices."""
    return correction_words(count, rate) + correction_words(second, rate)


@dataclass(frozen=True, eq=False, repr=False)
class Tile:
    """Some rows of one call, numbered from `first`."""

    first: int
    rows: Words
    """Shape (n, 2), or (2n, 2) at a sender that is asked for both: q, then q ⊕ Δ. Valid until the next
    tile."""


class _End:
    """What the two ends share: seeds, the permutation, and counters that never go back."""

    def __init__(self, leaves: Words, k: int, permutation: Permutation) -> None:
        self._leaves = leaves
        self._ends = _sums_of_seeds(leaves, k)
        self.k = k
        self.rate = 128 // k
        self.pi = permutation
        self._block = 0

    def _tiles(self, count: int) -> Iterator[tuple[int, int]]:
        for first in range(0, padded_count(count), TILE):
            yield first, min(TILE, padded_count(count) - first)

    def _double(
        self, count: int, second: int, rows_of: Callable[[int, int, int, int], Words]
    ) -> Iterator[Tile]:
        """Rows of double OTs, from a function that makes those of one choice: (choice, first OT, first word
        of its corrections, OTs)."""
        word = 0
        for first in range(0, padded_count(count), DOUBLES):
            length = min(DOUBLES, padded_count(count) - first)
            rows = self.pi.scratch("double", length)
            rows[:] = rows_of(0, first, word, length)
            word += correction_words(length, self.rate)
            more = min(length, padded_count(second) - first)
            if more > 0:
                add_turned(rows_of(1, first, word, more), rows[:more])
                word += correction_words(more, self.rate)
            yield Tile(first, rows)

    def _expand(self, trees: slice, skip: int, count: int) -> NDArray[np.uint64]:
        """π(s ⊕ t) of the next blocks of some trees' seeds, shape (trees, seeds, words)."""
        seeds = np.ascontiguousarray(self._leaves[trees, skip:]).reshape(-1, 2)
        source = self.pi.scratch("leaves", len(seeds) * count).reshape(len(seeds), count, 2)
        counter_blocks(seeds, np.uint64(self._block), np.uint64(LEAF), source)
        result = self.pi.apply(source, "expanded")
        return result.reshape(-1, self._leaves.shape[1] - skip, 2 * count)

    def _groups(self, count: int) -> Iterator[slice]:
        trees, seeds = self._leaves.shape[:2]
        step = max(1, _GROUP // (seeds * count))
        for first in range(0, trees, step):
            yield slice(first, min(trees, first + step))

    def _finish(self, first: int, columns: Words, sets: int) -> Tile:
        """Count what was used and turn columns into rows, with room for more sets of them."""
        count = 64 * columns.shape[1]
        rows = self.pi.scratch("rows", sets * count)
        transpose(columns, rows[:count])
        self._block += count // 128
        return Tile(first, rows)


class Receiver(_End):
    """The end that chooses."""

    def extend(self, choices: Words, corrections: Words, count: int) -> Iterator[Tile]:
        """Rows t_j; fills `corrections`, which is complete when the iterator ends.

        Requires: `choices` has one bit an OT, padded with zeros to `padded(count)`.
        """
        for first, length in self._tiles(count):
            words = length // 64
            columns = np.zeros((128, words), dtype=np.uint64)
            start = first // 64 * self.rate
            sent = corrections[start : start + correction_words(length, self.rate)].reshape(-1, words)
            chosen = choices[first // 64 : first // 64 + words]
            for trees in self._groups(words // 2):
                expanded = self._expand(trees, 0, words // 2)
                _fold(expanded, self._ends[trees], 0, columns[_columns(trees, self.k)])
                np.bitwise_xor(expanded[:, -1], chosen, out=sent[trees])
            yield self._finish(first, columns, 1)

    def extend_double(self, choices: Words, corrections: Words, count: int, second: int) -> Iterator[Tile]:
        """Rows of double OTs; fills `corrections`. `choices` is (2, words), `second` as in `double_words`."""

        def rows_of(choice: int, first: int, word: int, length: int) -> Words:
            chosen, sent = choices[choice, first // 64 :], corrections[word:]
            return next(self.extend(chosen, sent, length)).rows

        return self._double(count, second, rows_of)


class Sender(_End):
    """The end that has Δ. Its leaves are ordered by x ⊕ Δᵢ, so number 0 of each tree is the unknown one."""

    def __init__(self, leaves: Words, delta: Words, k: int, permutation: Permutation) -> None:
        super().__init__(leaves, k, permutation)
        self.delta = delta
        self.multiples = multiples(delta)
        self.mixed = mix(self.multiples)
        """σ of them."""

    def extend(self, corrections: Words, count: int, both: bool = True) -> Iterator[Tile]:
        """Rows q_j = t_j ⊕ choice_j·Δ and, if both are asked for, q_j ⊕ Δ."""
        for tile in self._rows(corrections, count, 1 + both):
            if both:
                _offset(tile.rows, self.delta)
            yield tile

    def extend_double(self, corrections: Words, count: int, second: int) -> Iterator[Tile]:
        """Rows of double OTs, without their multiples of Δ."""

        def rows_of(choice: int, first: int, word: int, length: int) -> Words:
            return next(self._rows(corrections[word:], length, 1)).rows

        return self._double(count, second, rows_of)

    def _rows(self, corrections: Words, count: int, sets: int) -> Iterator[Tile]:
        """Rows q_j, with room for more sets of them."""
        bits = (self.delta[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).reshape(-1)
        every = (np.uint64(0) - bits).reshape(-1, self.k, 1)
        for first, length in self._tiles(count):
            words = length // 64
            columns = np.empty((128, words), dtype=np.uint64)
            start = first // 64 * self.rate
            got = corrections[start : start + correction_words(length, self.rate)].reshape(-1, words)
            np.bitwise_and(got[:, None], every, out=columns.reshape(-1, self.k, words))
            for trees in self._groups(words // 2):
                expanded = self._expand(trees, 1, words // 2)
                _fold(expanded, self._ends[trees], 1, columns[_columns(trees, self.k)])
            yield self._finish(first, columns, sets)


@kernel("void(uint64[:,::1], uint64[:,::1])")
def add_turned(rows: Words, result: Words) -> None:
    """result ⊕= ω·rows."""
    for row in range(rows.shape[0]):
        low, high = rows[row, 0], rows[row, 1]
        result[row, 0] ^= high
        result[row, 1] ^= low ^ high


def multiples(delta: Words) -> Words:
    """Δ times 0, 1, ω and 1 + ω, shape (4, 2)."""
    turned = np.array([delta[1], delta[0] ^ delta[1]], dtype=np.uint64)
    return np.stack([delta ^ delta, delta, turned, delta ^ turned])


@kernel("void(uint64[:,::1], uint64[::1])")
def _offset(rows: Words, delta: Words) -> None:
    """The second half of the rows is the first ⊕ Δ."""
    half = rows.shape[0] // 2
    source, target = rows[:half], rows[half:]
    for row in range(half):
        target[row, 0] = source[row, 0] ^ delta[0]
        target[row, 1] = source[row, 1] ^ delta[1]


def _columns(trees: slice, k: int) -> slice:
    return slice(trees.start * k, trees.stop * k)


def _sums_of_seeds(leaves: Words, k: int) -> Words:
    """⊕ s_x of each tree over the x with bit b, for each b, and over all x; shape (trees, k + 1, 2)."""
    numbers = np.arange(leaves.shape[1])
    chosen = [*(numbers >> bit & 1 == 1 for bit in range(k)), numbers >= 0]
    return np.stack([np.bitwise_xor.reduce(leaves[:, some], axis=1) for some in chosen], axis=1)


@kernel("void(uint64[:,:,::1], uint64[:,:,::1], int64, uint64[:,::1])")
def _fold(expanded: NDArray[np.uint64], ends: NDArray[np.uint64], missing: int, columns: Words) -> None:
    """columns[b] ⊕= ⊕ r_x over the x with bit b, two bits at a time, in every tree; and the sum of all r_x
    into the last line of the tree.

    The last line of each span of x that is done with holds the sum of the span, so in the end the last line
    of all holds the sum of all. The first `missing` seeds are not in `expanded`. A span that starts with seed
    0 enters no column, so what is read in place of a missing seed 0 does not matter. The ⊕ s at the end of
    each expansion is added once to each sum, from `ends`.
    """
    trees, known = expanded.shape[:2]
    k = columns.shape[0] // trees
    for tree in range(trees):
        lines, first = expanded[tree], tree * k
        for bit in range(0, k - 1, 2):
            step, low, high = 1 << bit, columns[first + bit], columns[first + bit + 1]
            for last in range(4 * step - 1 - missing, known, 4 * step):
                start = last - 3 * step
                a, b = lines[start if start > 0 else 0], lines[last - 2 * step]
                c, d = lines[last - step], lines[last]
                for word in range(low.shape[0]):
                    x, y, z = b[word], c[word], d[word]
                    low[word] ^= x ^ z
                    high[word] ^= y ^ z
                    d[word] = a[word] ^ x ^ y ^ z
        if k == 1:
            zero, one, column = lines[0], lines[1 - missing], columns[first]
            for word in range(column.shape[0]):
                column[word] ^= one[word]
                one[word] ^= zero[word]
        for bit in range(k + 1):
            target = columns[first + bit] if bit < k else lines[known - 1]
            even, odd = ends[tree, bit, 0], ends[tree, bit, 1]
            for block in range(target.shape[0] // 2):
                target[2 * block] ^= even
                target[2 * block + 1] ^= odd


def collect(tiles: Iterator[Tile]) -> NDArray[np.uint64]:
    """All rows of a call, shape (n, 2)."""
    return np.concatenate([tile.rows.reshape(-1, 2).copy() for tile in tiles])
