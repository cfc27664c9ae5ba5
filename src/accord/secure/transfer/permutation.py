"""One public random-looking permutation of 128-bit blocks, and what is built on it.

π is AES-128 under a fixed public key; the constructions on it are analysed with π as an ideal permutation
(Guo, Katz, Wang, Yu: Efficient and Secure Multiparty Computation from Fixed-Key Block Ciphers, S&P'20):

    hash       H(x, t) = π(π(x) ⊕ t) ⊕ π(x)      their TMMO: tweakable, circular correlation robust
    expansion  E(s, t) = π(s ⊕ t) ⊕ s            a seed's blocks; s is uniform and never leaves its owner

One key schedule serves a whole session and one library call serves a whole tile, which is where the speed
comes from. A block is two little-endian 64-bit words; a tweak is (number, `domain` | block). The invariant on
which both rest: in a session no (x, t) and no (s, t) is used twice, so π never sees an input twice except by
chance.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from accord.kernel import kernel

Words = NDArray[np.uint64]

KEY = b"accord/ot/1 perm"
"""Public; it only has to be fixed before anybody chooses an input."""

LEAF, ROW, GATE = 1 << 56, 2 << 56, 3 << 56
"""Domains of tweaks: expansion of leaves, hash of rows, hash of a garbled circuit's labels."""


class Permutation:
    """π, and the memory it works in."""

    def __init__(self) -> None:
        self._aes = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()
        self._memory: dict[str, Words] = {}
        self.aes_blocks = 0
        """Blocks that π was applied to: what an evaluation cannot do without."""

    def scratch(self, name: str, count: int) -> Words:
        """Memory of this many 128-bit blocks, shape (count, 2), valid until the name is asked for again."""
        # The cipher wants room for one block more than it writes.
        words = 2 * count + 2
        if name not in self._memory or len(self._memory[name]) < words:
            self._memory[name] = np.empty(words, dtype="<u8")
        return self._memory[name][: 2 * count].reshape(count, 2)

    def apply(self, source: Words, name: str) -> Words:
        """π of every block, into the scratch memory of this name."""
        flat = np.ascontiguousarray(source).reshape(-1)
        count = len(flat) // 2
        result = self.scratch(name, count)
        self.aes_blocks += count
        if count:
            self._aes.update_into(flat.view(np.uint8).data, self._memory[name].view(np.uint8).data)
        return result


def hash_rows(pi: Permutation, inner: Words, first: int, block: int, copies: int) -> Words:
    """π(π(x) ⊕ t) for rows numbered from `first`, given `inner` = π(x); the caller XORs `inner` to it.

    Requires: numbers and block that were not used with these rows before. `copies` sets of rows that follow
    each other (q, then q ⊕ Δ) have the same numbers.
    """
    tweaked = pi.scratch("tweaked", len(inner))
    _tweak(inner, np.uint64(first), np.uint64(ROW | block), copies, tweaked)
    return pi.apply(tweaked, "outer")


@kernel("void(uint64[:,::1], uint64, uint64, int64, uint64[:,::1])")
def _tweak(inner: Words, first: np.uint64, high: np.uint64, copies: int, result: Words) -> None:
    rows = inner.shape[0] // copies
    for copy in range(copies):
        for row in range(rows):
            result[copy * rows + row, 0] = inner[copy * rows + row, 0] ^ (first + np.uint64(row))
            result[copy * rows + row, 1] = inner[copy * rows + row, 1] ^ high


@kernel("void(uint64[:,::1], uint64, uint64, uint64[:,:,::1])")
def counter_blocks(seeds: Words, first: np.uint64, domain: np.uint64, result: NDArray[np.uint64]) -> None:
    """s ⊕ t for every seed and the block numbers from `first`."""
    for seed in range(seeds.shape[0]):
        low, high = seeds[seed, 0], seeds[seed, 1] ^ domain
        for block in range(result.shape[1]):
            result[seed, block, 0] = low ^ (first + np.uint64(block))
            result[seed, block, 1] = high
