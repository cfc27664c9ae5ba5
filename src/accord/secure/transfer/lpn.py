"""The public code of silent OTs, and how hard it is to see through its noise.

x = A·u ⊕ e with u of K = 2^18 uniform bits, A public, and e of N = t·2^d bits that has one 1 in each block of
2^d, at a uniform place ("regular" noise). Each row of A names ten of the K places, uniform and independent,
so A·v for rows v of 128 bits is ten reads a row: the local linear code of Boyle, Couteau, Gilboa, Ishai,
Compressing Vector OLE (CCS'18), and of Ferret. A is expanded by π from a counter and a public seed that is
new in each session, since one A for everybody could be studied once for all; the rounds of a session share
it. K is a power of two, so that indices are cut from π's words without rejection. Two equal indices cancel;
that a whole row cancels, and shows a bit of e in each round, has probability under 2⁻⁵⁸ a session.

Assumption: x cannot be told from uniform bits (LPN over F2, regular noise, this sparse code). It is newer and
less studied than all else that the engines assume. What is known costs, in bits, by the formulas that
`tests/secure/hardness.py` has and the tests check:

    set                 N           K        t      random code   peeled   floor
    Ferret, emp-ot      10,485,760  452,000  1,280          129       86      82
    smaller secret       2,396,160  131,072  1,170          135       89      85
    ours                 2,359,296  262,144  1,152          231      155     147

"Random code" is the least of pooled Gauss, statistical decoding and Dumer's information-set decoding (Liu,
Wang, Yang, Yu, EUROCRYPT'24) and of the algebraic attack on regular noise (Briaud, Øygarden, EUROCRYPT'23).
These treat A as random, which it is not: rows that lie within some of the columns are an instance with a
shorter secret and the same noise (domain reduction: Chen, Shu, Zhou, Algorithms for Sparse LPN and LSPN
Against Low-noise, 2024). "Peeled" is Dumer's attack on what is left when the columns in the fewest rows are
taken away, one by one, while there are still as many rows as columns: two thirds of K here. "Floor" is the
same on the smallest such part that can exist at all, by counting. Both let the attacker find ever new parts
at no cost. This is why K is larger than a random code would need: the set keeps 128 bits at the floor.

Not covered: parity checks lighter than elimination gives, which exist and which we know no way to find;
representations (BJMM), and the algebraic and hybrid attacks on regular noise of 2025, which would have to
gain a hundred bits on a random code and were not joined with sparsity here; quantum computers. R rounds are R
instances, and one of them may be enough.

Addresses depend on public numbers alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel
from accord.secure.transfer.permutation import CODE, Permutation, counter_blocks

Words = NDArray[np.uint64]

WEIGHT = 10
"""Rows of the secret that each output is the sum of."""

_CHUNK = 3 << 13
"""Words of the code that are expanded at once."""


@dataclass(frozen=True)
class Parameters:
    """Sizes of one round; the real ones are `REAL`, others are for tests."""

    secret_bits: int
    """The secret has 2^secret_bits rows."""
    trees: int
    """Blocks of noise, each with one point."""
    depth: int
    """A block has 2^depth outputs."""
    planes: int = 1
    """Choices in each output, one or two: see `silent.py`."""

    def __post_init__(self) -> None:
        fits = 3 * self.secret_bits <= 54 and self.planes in (1, 2)
        if not fits or self.base % 128 or self.outputs < 128:
            raise ValueError("sizes that do not fit the words, or give nothing")

    @property
    def secret(self) -> int:
        return 1 << self.secret_bits

    @property
    def noisy(self) -> int:
        """Outputs of one round, N."""
        return self.trees << self.depth

    @property
    def base(self) -> int:
        """Outputs that the next round is made from: its secret, and the choices of its trees."""
        return self.secret + self.points

    @property
    def points(self) -> int:
        """OTs that name the points of a round's trees."""
        return self.planes * self.trees * self.depth

    @property
    def first_base(self) -> int:
        """Ordinary OTs that the first round is made from, one for each choice."""
        return self.planes * self.secret + self.points

    @property
    def outputs(self) -> int:
        """Outputs of one round that can be used."""
        return self.noisy - self.base


REAL = Parameters(secret_bits=18, trees=1152, depth=11)
"""What a linkage uses; see the head of this file before making any of it smaller."""


class Code:
    """A, as the places of each row's ten rows of the secret, made once and read in every round.

    They take 94 MB at `REAL`. To cut them anew from π's words in each round takes a third more time.
    """

    def __init__(self, pi: Permutation, seed: Words, parameters: Parameters = REAL) -> None:
        self.seed, self.parameters = seed, parameters
        self._places = np.empty(WEIGHT * parameters.noisy, dtype=np.uint32)
        bits, rows = np.uint64(parameters.secret_bits), _CHUNK // 3
        for first in range(0, parameters.noisy, rows):
            part = self._places[WEIGHT * first : WEIGHT * (first + rows)]
            # Three words a row; a chunk has an even number of them.
            count = 3 * len(part) // WEIGHT
            source = pi.scratch("counters", count // 2).reshape(1, -1, 2)
            counter_blocks(seed, np.uint64(3 * first // 2), np.uint64(CODE), source)
            _cut(pi.apply(source, "code").reshape(-1), bits, part)

    def add(self, secret: Words, rows: Words, onto: bool = True) -> None:
        """rows ⊕= A·secret, row by row, or = where what is there does not count.

        Requires: as many rows, and as much of a secret, as A has.
        """
        kept = np.uint64(0xFFFFFFFFFFFFFFFF if onto else 0)
        _add(self._places, secret.reshape(-1), kept, rows.reshape(-1))


@kernel("void(uint64[::1], uint64, uint32[::1])")
def _cut(words: Words, bits: np.uint64, places: NDArray[np.uint32]) -> None:
    """Three indices from each word, and one from what two leave over.

    An index is `bits` bits that stand one place up, which is the place of the row's first word; nine bits at
    the top of each word belong to no other index.
    """
    mask, top = (np.uint64(1) << (bits + np.uint64(1))) - np.uint64(2), np.uint64(54)
    for row in range(places.shape[0] // 10):
        target = places[10 * row : 10 * row + 10]
        for word in range(3):
            x = words[3 * row + word]
            target[3 * word] = x & mask
            target[3 * word + 1] = (x >> bits) & mask
            target[3 * word + 2] = (x >> (bits + bits)) & mask
        # Bits 55 to 63 of two words, at the places 1 to 9 and 10 to 18.
        a, b = words[3 * row], words[3 * row + 1]
        target[9] = ((a >> top) ^ ((b >> (top + np.uint64(1))) << np.uint64(10))) & mask


@kernel("void(uint32[::1], uint64[::1], uint64, uint64[::1])", joined=True)
def _add(places: NDArray[np.uint32], secret: Words, kept: np.uint64, rows: Words) -> None:
    """Add ten rows of the secret to what is kept of each row: all of it or nothing.

    What takes the time is waiting for memory, so the reads of several rows must be on their way at once: all
    is flat and the two words of a row are read as one, since only so many reads can wait. Their places lie
    ready, so that the processor gets to the next reads early; asking for them ahead takes longer.
    """
    one = np.uint64(1)
    for row in range(rows.shape[0] // 2):
        x, y = rows[2 * row] & kept, rows[2 * row + 1] & kept
        for number in range(10):
            at = np.uint64(places[10 * row + number])
            x ^= secret[at]
            y ^= secret[at + one]
        rows[2 * row] = x
        rows[2 * row + 1] = y
