"""One public random-looking permutation of 128-bit blocks, and what is built on it.

π is AES-128 under a public key that the two sides of a session draw together (`setup.py`), and that stays
fixed in it: work that somebody puts into one session helps with no other. What is built on it is analysed
with π as an ideal permutation (Guo, Katz, Wang, Yu: Efficient and Secure Multiparty Computation from
Fixed-Key Block Ciphers, S&P'20):

    hash       H(x, t) = π(σ(x) ⊕ t) ⊕ σ(x)      circular correlation robust; σ(l, r) = (2·l, 2·r) in GF(2⁶⁴)
    labels     π(π(x) ⊕ t) ⊕ π(x)                TMMO, for the labels of garbled circuits (`garbled/gates.py`)
    expansion  π(s ⊕ t) ⊕ s                      a seed's blocks; s is uniform and never leaves its owner
    code       π(s ⊕ t)                          public numbers that look random, from a public seed

The hash is their construction π(σ(x)) ⊕ σ(x), moved by a constant: σ is linear, so H(x, t) is t more than the
construction at x ⊕ σ⁻¹(t). It needs no tweak that numbers its uses, since what it is used on (rows of OTs,
nodes of trees) looks random and is used once; t is the number of the block where more than one is asked for.

Rows of double OTs (`extension.py`) differ by y·Δ with y in F4, so σ must do for all of these what they ask of
it for Δ: σ(y·x) ⊕ b·x must be invertible for every y ≠ 0 and every b of F4. Otherwise H(x ⊕ y·Δ) ⊕ b·Δ could
be π(u) ⊕ σ(x) with u = σ(x ⊕ y·Δ), and π, which is public and can be inverted, would show Δ to whoever comes
to see that. So the usual σ(l, r) = (l ⊕ r, l) will not do: it is the multiplication by 1 + ω. Doubling in
GF(2⁶⁴) does: with ζ for ω in that field, 2·ζⁱ = ζʲ would put 2 into F4. What then holds for all uses of
one π, and which published theorem it extends, is in `docs/maths.md`, §11.5.

One key schedule serves a whole session and one library call serves a whole tile, which is where the speed
comes from. A block is two little-endian 64-bit words. The invariant on which all rest: π never sees an input
twice in a session, except by chance.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from accord.kernel import kernel

Words = NDArray[np.uint64]

KEY = b"accord/ot/1 perm"
"""Of a permutation that belongs to no session: to try and to measure."""

_ONE, _TOP, _POLYNOMIAL = np.uint64(1), np.uint64(63), np.uint64(0x1B)
"""x⁶⁴ + x⁴ + x³ + x + 1, which no polynomial divides."""

LEAF, GATE, CODE, PUBLIC, VALUE, NODE = 1 << 56, 3 << 56, 6 << 56, 7 << 56, 8 << 56, 9 << 56
"""Domains of tweaks: expansion of leaves, hash of a garbled circuit's labels, public code of silent OTs,
other public numbers of a session, expansion of an oblivious function's values, nodes of a set-up's trees."""


class Permutation:
    """π, and the memory it works in."""

    def __init__(self) -> None:
        self.take_key(KEY)
        self._memory: dict[str, Words] = {}
        self.aes_blocks = 0
        """Blocks that π was applied to: what an evaluation cannot do without."""

    def take_key(self, key: bytes) -> None:
        """From now on be the permutation of this key, which only has to be fixed before anybody chooses an
        input."""
        self._aes = Cipher(algorithms.AES(key), modes.ECB()).encryptor()

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


def hash_blocks(pi: Permutation, rows: Words, block: int = 0) -> tuple[Words, Words]:
    """Two parts whose XOR is H of each row, for one block."""
    inner = pi.scratch("inner", len(rows))
    mix_rows(rows, np.uint64(0), inner)
    if not block:
        return inner, pi.apply(inner, "outer")
    tweaked = pi.scratch("tweaked", len(rows))
    mix_rows(rows, np.uint64(block), tweaked)
    return inner, pi.apply(tweaked, "outer")


def mix(rows: Words) -> Words:
    """σ of every block, in memory of its own."""
    result = np.empty_like(rows)
    mix_rows(rows.reshape(-1, 2), np.uint64(0), result.reshape(-1, 2))
    return result


@kernel("void(uint64[:,::1], uint64, uint64[:,::1])")
def mix_rows(rows: Words, block: np.uint64, result: Words) -> None:
    """σ(x) ⊕ block."""
    for row in range(rows.shape[0]):
        low, high = rows[row, 0], rows[row, 1]
        result[row, 0] = (low << _ONE) ^ (low >> _TOP) * _POLYNOMIAL
        result[row, 1] = (high << _ONE) ^ (high >> _TOP) * _POLYNOMIAL ^ block


@kernel("void(uint64[:,::1], uint64, uint64, uint64[:,:,::1])")
def counter_blocks(seeds: Words, first: np.uint64, domain: np.uint64, result: NDArray[np.uint64]) -> None:
    """s ⊕ t for every seed and the block numbers from `first`."""
    for seed in range(seeds.shape[0]):
        low, high = seeds[seed, 0], seeds[seed, 1] ^ domain
        for block in range(result.shape[1]):
            result[seed, block, 0] = low ^ (first + np.uint64(block))
            result[seed, block, 1] = high
