"""Correlated OTs for a bit or two each: Ferret, semi-honest, on top of SoftSpoken.

Yang, Weng, Lan, Zhang, Wang, Ferret: Fast Extension for Correlated OT with Small Communication (CCS'20), with
regular noise and the trees of `half_tree.py`. Both ends hold `base` random correlated OTs: rows v at the
sender, w at the receiver, choices u with v = w ⊕ u·Δ, row by row. One round (`feed`) makes N = t·2^d of them:

    trees     t·d of the base OTs name one point in each of t blocks of 2^d: s = r ⊕ e·Δ
    code      K of them are the secret of a public sparse code A: z = A·v ⊕ s,  y = A·w ⊕ r,  x = A·u ⊕ e
    so        z = y ⊕ x·Δ: again random correlated OTs, whose choices x look uniform to the sender by LPN

The last of them are the base of the next round. The first base comes from SoftSpoken, with uniform choices,
and with it the seed of the code, which the receiver draws. The points are the choices of their base OTs as
these are, so after the first round the receiver sends nothing; the sender sends (d − 1)·16 bytes a tree. The
choices of a base are uniform in the first round; in a later one they are outputs of the round before, of
which nothing was sent, hence uniform up to LPN: round by round x may be replaced by uniform bits.

An OT with a chosen bit takes one more bit from the receiver, x ⊕ choice, by which the sender adds Δ or not:
then q = t ⊕ choice·Δ as in `extension.py`.

The choice lies in the lowest bit of the receiver's row. The lowest bit of Δ is 1 (`setup.py`) and
that of every row of the sender is 0, so in the lowest bit z = y ⊕ x·Δ says that y ends in x. Nothing is given
away by it: the receiver knows x and the sender a 0. What is lost is one bit of Δ; 127 uniform ones are left
for H to hide. In a derandomised row the sender's lowest bit is the correction, which both know, and the
equation holds in all 128 bits.

Assumption: that of SoftSpoken and of the trees, and LPN with regular noise and the code of `lpn.py`, which
is newer than the rest. LPN protects the receiver's choices; Δ does not rest on it.
Learns: the sender x ⊕ choice, which looks uniform. The receiver what `half_tree.py` says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.kernel import kernel
from accord.secure.party import Party, receive, send
from accord.secure.transfer import extension
from accord.secure.transfer.extension import TILE, Receiver, Sender, Tile, collect, padded_count
from accord.secure.transfer.half_tree import grow, path, rebuild
from accord.secure.transfer.lpn import REAL, Code, Parameters

Words = NDArray[np.uint64]

_BLOCK = 16


def feed_bytes(first: bool, rate: int, parameters: Parameters = REAL) -> int:
    """Bytes of one round in both directions; the first also takes its base from SoftSpoken, at this rate."""
    trees = parameters.trees * (parameters.depth - 1) * _BLOCK
    return trees + (_first_bytes(rate, parameters) if first else 0)


def _first_bytes(rate: int, parameters: Parameters) -> int:
    """The seed of the code, and the corrections of the first base."""
    return _BLOCK + 8 * extension.correction_words(parameters.base, rate)


class _Silent:
    """What the two ends share: the code, the base of the next round, and the reserve."""

    rate = 1
    """Bits that an OT with a chosen bit costs."""

    def __init__(self, end: Sender | Receiver, parameters: Parameters) -> None:
        self.pi, self._base_rate = end.pi, end.rate
        self.parameters = parameters
        self._end = end
        self._base: Words | None = None
        self._code: Code | None = None
        self._reserve: deque[Words] = deque()
        self.rounds = 0
        """So many were begun."""
        self.available = 0
        """OTs in the reserve: the same number at both ends."""

    def feed(self) -> Party[None]:
        """One round of extension, at the same time as the other end's."""
        raise NotImplementedError

    def _start(self) -> Party[tuple[Words, Code]]:
        """The base, which serves once and is gone even if the round fails, and the code."""
        self.rounds += 1
        base, self._base = self._base, None
        if base is None or self._code is None:
            base, seed = yield from self._bootstrap()
            self._code = Code(self.pi, seed, self.parameters)
        return base, self._code

    def _bootstrap(self) -> Party[tuple[Words, Words]]:
        """The first base, from SoftSpoken, and the seed of the code."""
        raise NotImplementedError

    def _split(self, base: Words) -> tuple[Words, NDArray[np.uint64]]:
        """The secret, and the rows of the trees, (t, d, 2)."""
        secret, trees = base[: self.parameters.secret], base[self.parameters.secret :]
        return secret, trees.reshape(self.parameters.trees, self.parameters.depth, 2)

    def _leaves(self) -> tuple[Words, NDArray[np.uint64]]:
        """Memory of zeros for a round's rows, and the same as leaves."""
        rows = np.zeros((self.parameters.noisy, 2), dtype=np.uint64)
        return rows, rows.reshape(self.parameters.trees, -1, 2)

    def _store(self, rows: Words) -> None:
        self._base = rows[self.parameters.outputs :].copy()
        self._reserve.append(rows[: self.parameters.outputs])
        self.available += self.parameters.outputs

    def _tiles(self, count: int, sets: int) -> Iterator[Tile]:
        """Rows from the reserve, with room for more sets of them."""
        for first in range(0, padded_count(count), TILE):
            length = min(TILE, padded_count(count) - first)
            rows = self.pi.scratch("rows", sets * length)
            self._take(rows[:length])
            yield Tile(first, rows)

    def _take(self, target: Words) -> None:
        self.available -= len(target)
        while len(target):
            head = self._reserve.popleft()
            count = min(len(head), len(target))
            target[:count] = head[:count]
            target = target[count:]
            if count < len(head):
                self._reserve.appendleft(head[count:])

    def _check(self, count: int) -> None:
        if padded_count(count) > self.available:
            raise RuntimeError("more silent OTs are asked for than there are; feed first")


class SilentReceiver(_Silent):
    """The end that chooses."""

    def __init__(self, end: Receiver, entropy: Entropy, parameters: Parameters = REAL) -> None:
        super().__init__(end, parameters)
        self._receiver, self._entropy = end, entropy

    def feed(self) -> Party[None]:
        """One round of extension, at the same time as the sender's."""
        base, code = yield from self._start()
        secret, trees = self._split(base)
        rows, leaves = self._leaves()
        # The code first: the sender grows its trees meanwhile, and neither waits for the other.
        code.add(secret, rows)
        size = feed_bytes(False, self._base_rate, self.parameters)
        message = (yield from receive(size)).view("<u8").reshape(len(trees), -1, 2)
        rebuild(self.pi, trees, path(trees), message, leaves)
        self._store(rows)

    def _bootstrap(self) -> Party[tuple[Words, Words]]:
        count = self.parameters.base
        choices = np.frombuffer(self._entropy.bytes(count // 8), dtype="<u8").copy()
        message = np.empty(_first_bytes(self._base_rate, self.parameters) // 8, dtype=np.uint64)
        message[:2] = np.frombuffer(self._entropy.bytes(_BLOCK), dtype="<u8")
        rows = collect(self._receiver.extend(choices, message[2:], count), 1)
        yield from send(message)
        _mark(rows[0], choices)
        return rows[0], message[None, :2]

    def extend(self, choices: Words, corrections: Words, count: int) -> Iterator[Tile]:
        """Rows t_j; fills `corrections`, which is complete when the iterator ends.

        Requires: `choices` has one bit an OT, padded with zeros; so many OTs are available.
        """
        self._check(count)
        return self._extend(choices, corrections, count)

    def _extend(self, choices: Words, corrections: Words, count: int) -> Iterator[Tile]:
        for tile in self._tiles(count, 1):
            words = slice(tile.first // 64, (tile.first + len(tile.rows)) // 64)
            _ask(tile.rows, choices[words], corrections[words])
            yield tile


class SilentSender(_Silent):
    """The end that has Δ."""

    def __init__(self, end: Sender, parameters: Parameters = REAL) -> None:
        super().__init__(end, parameters)
        self._sender, self.delta = end, end.delta
        if not int(end.delta[0]) & 1:
            raise ValueError("silent OTs need a Δ whose lowest bit is 1")

    def feed(self) -> Party[None]:
        """One round of extension, at the same time as the receiver's."""
        base, code = yield from self._start()
        secret, trees = self._split(base)
        rows, leaves = self._leaves()
        yield from send(grow(self.pi, trees, self.delta, leaves))
        code.add(secret, rows)
        self._store(rows)

    def _bootstrap(self) -> Party[tuple[Words, Words]]:
        count = self.parameters.base
        message = (yield from receive(_first_bytes(self._base_rate, self.parameters))).view("<u8")
        rows = collect(self._sender.extend(message[2:], count), 2)
        _mark(rows[0], np.zeros(count // 64, dtype=np.uint64))
        return rows[0], message[None, :2].copy()

    def extend(self, corrections: Words, count: int) -> Iterator[Tile]:
        """Rows q_j = t_j ⊕ choice_j·Δ, and q_j ⊕ Δ. Requires: so many OTs are available."""
        self._check(count)
        return self._extend(corrections, count)

    def _extend(self, corrections: Words, count: int) -> Iterator[Tile]:
        for tile in self._tiles(count, 2):
            half = len(tile.rows) // 2
            _answer(tile.rows, corrections[tile.first // 64 : (tile.first + half) // 64], self.delta)
            yield tile


@kernel("void(uint64[:,::1], uint64[::1])")
def _mark(rows: Words, bits: Words) -> None:
    """Bits into the lowest bits of rows."""
    one = np.uint64(1)
    for row in range(rows.shape[0]):
        bit = (bits[row >> 6] >> np.uint64(row & 63)) & one
        rows[row, 0] = (rows[row, 0] & ~one) | bit


@kernel("void(uint64[:,::1], uint64[::1], uint64[::1])")
def _ask(rows: Words, choices: Words, corrections: Words) -> None:
    """Corrections: the lowest bit of each row ⊕ its choice."""
    for word in range(corrections.shape[0]):
        bits = np.uint64(0)
        for place in range(64):
            bits |= (rows[64 * word + place, 0] & np.uint64(1)) << np.uint64(place)
        corrections[word] = bits ^ choices[word]


@kernel("void(uint64[:,::1], uint64[::1], uint64[::1])")
def _answer(rows: Words, corrections: Words, delta: Words) -> None:
    """q ⊕= correction·Δ in the first half of the rows, and q ⊕ Δ in the second."""
    half = rows.shape[0] // 2
    low, high = delta[0], delta[1]
    for row in range(half):
        bit = (corrections[row >> 6] >> np.uint64(row & 63)) & np.uint64(1)
        every = np.uint64(0) - bit
        x, y = rows[row, 0] ^ (low & every), rows[row, 1] ^ (high & every)
        rows[row, 0], rows[row, 1] = x, y
        rows[half + row, 0], rows[half + row, 1] = x ^ low, y ^ high
