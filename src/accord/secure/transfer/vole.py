"""Products of a secret with many random elements of GF(2¹²⁸), in shares: silent VOLE, semi-honest.

The sender has Δ and elements b, the receiver random elements a, and c with

    c = b ⊕ Δ·a,  element by element;  Δ is the one of the session's OTs.

**A few** are made of OTs alone. With rows qⱼ = tⱼ ⊕ xⱼ·Δ of 128 random OTs, b = Σ qⱼ·Xʲ, c = Σ tⱼ·Xʲ and
a = Σ xⱼ·Xʲ: nothing is sent.

**Many** are made of few, as silent OTs are (`silent.py`; Weng, Yang, Katz, Wang, Wolverine, S&P'21, §3), with
the same trees and the same code. A round takes K + t of them and t·d random OTs, and makes N = t·2^d:

    trees     the OTs name a point α in each of t blocks of 2^d: leaves s at the sender, r at the receiver,
              equal but at α, where r = s ⊕ Δ. Both hash them, so that H(s) at α is unknown to the receiver.
    noise     with one of the elements (β, its share c) for each block the sender sends ⊕ H(s) ⊕ b, from which
              the receiver has H(s_α) ⊕ Δ·β. So s' = r' ⊕ e·Δ, with β at α in e and zeros elsewhere.
    code      with K of the elements: b' = A·b ⊕ s',  c' = A·c ⊕ r',  a' = A·a ⊕ e, and again c' = b' ⊕ Δ·a'

Of its outputs K + t are kept for the next round. K is too large for a first round that starts from OTs, so
there is one round with a smaller code before it: 4.8 million silent OTs → 2¹⁵ + 4,224 → 2¹⁸ + 4,608 → 2.1
million in each further round.

**Hardness.** Of a the assumption is LPN as for silent OTs, over GF(2¹²⁸), but A has zeros and ones alone. So
its 128 bits are as many instances over F2 with the same A and the same noisy rows, and an attacker that
eliminates on rows of which m are noisy is left with errors that span m dimensions: below 128 that can be
seen, and every sum of bits that is 0 on all of them is an instance without noise (an interleaved code:
Metzner and Kapturowski, 1990). Where silent OTs need rows that are all clean, here at most 126 may be noisy,
and 2¹²⁷⁻ᵐ counts of those with more. So blocks are short, their noise dense, and in bits, by the formulas of
`tests/secure/hardness.py`, at the floor of `lpn.py`:

    set         N          K        t      one bit   all bits
    first         270,336   32,768  4,224      254        141
    main        2,359,296  262,144  4,608      258        144

One bit by itself has half of the noise. The main set shares its A with silent OTs: to LPN it is more rounds.

Assumption: that of `silent.py` and `half_tree.py`; what is hashed is one more left child of each leaf.
Learns: the sender nothing, since it receives nothing. The receiver what `half_tree.py` says, and of each
block a sum that is masked by a leaf which it lacks. LPN protects a; Δ does not rest on it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.party import Party, receive, send
from accord.secure.transfer.checked import checked_bytes
from accord.secure.transfer.extension import Receiver, Sender, padded_count
from accord.secure.transfer.field import BITS, join, join_bits
from accord.secure.transfer.half_tree import grow, path, rebuild
from accord.secure.transfer.lpn import REAL, Code, Parameters
from accord.secure.transfer.permutation import Permutation, hash_blocks
from accord.secure.transfer.silent import SilentReceiver, SilentSender, feed_bytes

Words = NDArray[np.uint64]
Vectors = NDArray[np.uint64]
"""Shape (vectors, elements, 2): b at the sender, a and c at the receiver."""

_CHUNK = 1 << 15
"""Leaves that are hashed at once."""
_SEEDS = 1 << 48
"""What the seeds of a session's codes differ by; no counter gets there."""


FIRST = Parameters(secret_bits=15, trees=4224, depth=6)
MAIN = Parameters(secret_bits=18, trees=4608, depth=9)
"""What a linkage uses; see the head of this file before making any of it smaller."""


def needed(of: Parameters) -> int:
    """Elements that a round takes: the secret, and one for each block."""
    return of.secret + of.trees


@dataclass(frozen=True)
class Sizes:
    """Sets of parameters; others than the usual ones are for tests."""

    few: int = 1 << 12
    """Up to so many elements are made of OTs alone."""
    transfers: Parameters = REAL
    first: Parameters = FIRST
    main: Parameters = MAIN

    def __post_init__(self) -> None:
        if self.first.noisy < needed(self.main):
            raise ValueError("a first round that does not make enough for the next")

    @property
    def outputs(self) -> int:
        """Elements of a main round that can be used."""
        return self.main.noisy - needed(self.main)


USUAL = Sizes()


def vole_bytes(total: int, rate: int, sizes: Sizes = USUAL) -> int:
    """Bytes in both directions that `total` elements take, with SoftSpoken at this rate."""
    if total <= sizes.few:
        return checked_bytes(BITS * total, rate)
    rounds = -(-total // sizes.outputs)
    transfers = BITS * needed(sizes.first) + _points(sizes.first) + rounds * _points(sizes.main)
    feeds = -(-transfers // sizes.transfers.outputs)
    return (
        feed_bytes(True, rate, sizes.transfers)
        + (feeds - 1) * feed_bytes(False, rate, sizes.transfers)
        + _round_bytes(sizes.first)
        + rounds * _round_bytes(sizes.main)
    )


def _points(of: Parameters) -> int:
    """Random OTs that name the points of a round."""
    return of.trees * of.depth


def _round_bytes(of: Parameters) -> int:
    """For each tree all levels but the first, and the sum of its leaves."""
    return 16 * of.trees * of.depth


class _Vole:
    """What the two ends share: the silent OTs, what the next round is made of, and the reserve."""

    def __init__(self, transfers: SilentReceiver | SilentSender, total: int, sizes: Sizes) -> None:
        self._transfers, self._pi = transfers, transfers.pi
        self._sizes, self._total = sizes, total
        self._base: Vectors | None = None
        self._codes: dict[Parameters, Code] = {}
        self._reserve: deque[Vectors] = deque()
        self._available = 0

    def take(self, count: int) -> Party[Vectors]:
        """The next elements. Requires: no more are taken in all than were announced."""
        while self._available < count:
            yield from self._feed()
        self._available -= count
        parts: list[Vectors] = []
        while count:
            head = self._reserve.popleft()
            parts.append(head[:, :count])
            if head.shape[1] > count:
                self._reserve.appendleft(head[:, count:])
            count -= parts[-1].shape[1]
        return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]

    def _feed(self) -> Party[None]:
        """More elements, at the same time as the other end's. A base serves once, even if the round fails."""
        sizes = self._sizes
        if self._total <= sizes.few:
            self._store(self._joined((yield from self._transfers.make_ordinary(BITS * self._total))))
            return
        base, self._base = self._base, None
        if base is None:
            rows = yield from self._rows(BITS * needed(sizes.first))
            base = yield from self._round(sizes.first, self._joined(rows))
            base = base[:, : needed(sizes.main)]
        made = yield from self._round(sizes.main, base)
        self._base = made[:, sizes.outputs :].copy()
        self._store(made[:, : sizes.outputs])

    def _store(self, made: Vectors) -> None:
        self._reserve.append(made)
        self._available += made.shape[1]

    def _rows(self, count: int) -> Party[Words]:
        """Random OTs from the silent reserve."""
        while self._transfers.available < padded_count(count):
            yield from self._transfers.feed()
        return self._transfers.take(count)

    def _code(self, of: Parameters) -> Code:
        """The code of a set: that of the silent OTs where it has the same sizes."""
        shared = self._transfers.code
        known = shared.parameters
        if (known.secret, known.noisy) == (of.secret, of.noisy):
            return shared
        if of not in self._codes:
            number = np.uint64((1 + len(self._codes)) * _SEEDS)
            self._codes[of] = Code(self._pi, shared.seed ^ np.array([0, number], np.uint64), of)
        return self._codes[of]

    def _joined(self, rows: Words) -> Vectors:
        """Elements from the rows of OTs."""
        raise NotImplementedError

    def _round(self, of: Parameters, base: Vectors) -> Party[Vectors]:
        """N elements from K + t."""
        raise NotImplementedError


class VoleSender(_Vole):
    """The end that has Δ. What it takes is b, (1, n, 2)."""

    def __init__(self, end: Sender, total: int, sizes: Sizes = USUAL) -> None:
        transfers = SilentSender(end, sizes.transfers)
        super().__init__(transfers, total, sizes)
        self.delta = transfers.delta

    def _joined(self, rows: Words) -> Vectors:
        return join(rows)[None]

    def _round(self, of: Parameters, base: Vectors) -> Party[Vectors]:
        points = (yield from self._rows(_points(of))).reshape(of.trees, of.depth, 2)
        leaves = np.empty((of.trees, 1 << of.depth, 2), np.uint64)
        sums = grow(self._pi, points, self.delta, leaves)
        _hash(self._pi, leaves)
        masked = np.bitwise_xor.reduce(leaves, axis=1) ^ base[0, of.secret :]
        yield from send(np.concatenate([sums, masked[:, None]], axis=1))
        made = leaves.reshape(1, -1, 2)
        self._code(of).add(np.ascontiguousarray(base[0, : of.secret]), made[0])
        return made


class VoleReceiver(_Vole):
    """The end that has the random elements. What it takes is a and c, (2, n, 2)."""

    def __init__(self, end: Receiver, entropy: Entropy, total: int, sizes: Sizes = USUAL) -> None:
        super().__init__(SilentReceiver(end, entropy, sizes.transfers), total, sizes)

    def _joined(self, rows: Words) -> Vectors:
        return np.stack([join_bits(rows), join(rows)])

    def _round(self, of: Parameters, base: Vectors) -> Party[Vectors]:
        points = (yield from self._rows(_points(of))).reshape(of.trees, of.depth, 2)
        message = (yield from receive(_round_bytes(of))).view("<u8").reshape(of.trees, of.depth, 2)
        made = np.zeros((2, of.noisy, 2), np.uint64)
        noise, leaves = made.reshape(2, of.trees, -1, 2)
        at = np.arange(of.trees), path(points)
        rebuild(self._pi, points, at[1], np.ascontiguousarray(message[:, :-1]), leaves)
        _hash(self._pi, leaves)
        known = np.bitwise_xor.reduce(leaves, axis=1) ^ leaves[at]
        noise[at], share = base[:, of.secret :]
        leaves[at] = known ^ message[:, -1] ^ share
        for vector, secret in zip(made, base[:, : of.secret], strict=True):
            self._code(of).add(np.ascontiguousarray(secret), vector)
        return made


def _hash(pi: Permutation, leaves: NDArray[np.uint64]) -> None:
    """H of every leaf, in its place."""
    rows = leaves.reshape(-1, 2)
    for first in range(0, len(rows), _CHUNK):
        part = rows[first : first + _CHUNK]
        inner, outer = hash_blocks(pi, part)
        np.bitwise_xor(inner, outer, out=part)
