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

**Two planes.** An output can have two choices (a double OT, `extension.py`): with rows v + ω·v′ as the secret
of the code, z = A·v ⊕ s ⊕ ω·(A·v′ ⊕ s′) has the choices x = A·u ⊕ e and x′ = A·u′ ⊕ e′, for as many reads as
one has. To LPN these are two rounds with secrets and noise of their own, as rounds share A in any case;
nothing more is assumed. Every plane has trees of its own, whose points are single OTs: the receiver says
the second choices of the outputs that become points, which serve nothing else, and the sender takes them out.

An OT with a chosen bit takes one more bit from the receiver, x ⊕ choice, by which the sender adds Δ or not:
then q = t ⊕ choice·Δ as in `extension.py`.

The choice lies in the lowest bit of the receiver's row. The lowest bit of Δ is 1 (`setup.py`) and
that of every row of the sender is 0, so in the lowest bit z = y ⊕ x·Δ says that y ends in x. Nothing is given
away by it: the receiver knows x and the sender a 0. What is lost is one bit of Δ; 127 uniform ones are left
for H to hide. Of double OTs the second choice lies in the lowest bit of the upper word, where Δ has a 0 and
ω·Δ a 1: 126 bits are left. In a derandomised row the sender's lowest bit is the correction, which both know,
and the equation holds in all 128 bits.

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
from accord.secure.transfer.checked import checked_bytes, choose, offer
from accord.secure.transfer.extension import (
    DOUBLES,
    TILE,
    Receiver,
    Sender,
    Tile,
    add_turned,
    padded_count,
)
from accord.secure.transfer.half_tree import grow, path, rebuild
from accord.secure.transfer.lpn import REAL, Code, Parameters

Words = NDArray[np.uint64]

RATE = 1
"""Bits that a chosen bit of an OT costs."""
_BLOCK = 16


def feed_bytes(first: bool, rate: int, parameters: Parameters = REAL) -> int:
    """Bytes of one round in both directions; the first also takes its base from SoftSpoken, at this rate."""
    return _sum_bytes(parameters) + (_first_bytes(rate, parameters) if first else point_bytes(parameters))


def point_bytes(parameters: Parameters) -> int:
    """Bytes that the receiver sends in a round after the first: the second choices of points."""
    return parameters.points // 8 if parameters.planes > 1 else 0


def _sum_bytes(parameters: Parameters) -> int:
    """What the sender sends: all levels of all trees but the first ones."""
    return parameters.planes * parameters.trees * (parameters.depth - 1) * _BLOCK


def _first_bytes(rate: int, parameters: Parameters) -> int:
    """The seed of the code, and the corrections of the first base."""
    return _BLOCK + checked_bytes(parameters.first_base, rate)


class _Silent:
    """What the two ends share: the code, the base of the next round, and the reserve."""

    rate = RATE

    def __init__(self, end: Sender | Receiver, parameters: Parameters) -> None:
        self.pi = end.pi
        self.parameters = parameters
        self._end = end
        self._base: Words | None = None
        self._code: Code | None = None
        self._reserve: deque[Words] = deque()
        self._spent: list[Words] = []
        """Memory of rounds that are used up, for the next ones."""
        self.rounds = 0
        """So many were begun."""
        self.available = 0
        """OTs in the reserve: the same number at both ends."""

    def feed(self) -> Party[None]:
        """One round of extension, at the same time as the other end's."""
        raise NotImplementedError

    def _start(self) -> Party[tuple[Code, Words, NDArray[np.uint64]]]:
        """The code, the secret, and the rows of the trees, (planes, t, d, 2).

        The base serves once and is gone even if the round fails.
        """
        self.rounds += 1
        base, self._base = self._base, None
        of = self.parameters
        if base is None or self._code is None:
            base, seed = yield from self._bootstrap()
            self._code = Code(self.pi, seed, of)
            for plane in range(1, of.planes):
                add_turned(base[plane * of.secret : (plane + 1) * of.secret], base[: of.secret])
            points = base[of.planes * of.secret :]
        else:
            points = base[of.secret :]
            if of.planes > 1:
                yield from self._single(points)
        return self._code, base[: of.secret], points.reshape(of.planes, of.trees, of.depth, 2)

    def _bootstrap(self) -> Party[tuple[Words, Words]]:
        """The rows of the first base, from SoftSpoken, and the seed of the code."""
        rows, seed = yield from self._ordinary(self.parameters.first_base, _BLOCK // 8)
        return rows, seed[None]

    def _single(self, points: Words) -> Party[None]:
        """Take the second choices out of some rows."""
        raise NotImplementedError

    def _leaves(self) -> tuple[Words, NDArray[np.uint64]]:
        """Memory for a round's rows, and the same as leaves."""
        of = self.parameters
        rows = self._spent.pop() if self._spent else np.empty((of.noisy, 2), dtype=np.uint64)
        return rows, rows.reshape(of.trees, -1, 2)

    def _store(self, rows: Words) -> None:
        self._base = rows[self.parameters.outputs :].copy()
        self._reserve.append(rows[: self.parameters.outputs])
        self.available += self.parameters.outputs

    def _pieces(self, count: int, most: int) -> Iterator[tuple[int, Words]]:
        """So many rows of the reserve as they lie there, at most so many at a time, and the number of the
        first.

        They are valid until the next: then their memory may serve another round.
        """
        self.available -= padded_count(count)
        first = 0
        while first < padded_count(count):
            head = self._reserve.popleft()
            length = min(len(head), padded_count(count) - first, most)
            if length < len(head):
                self._reserve.appendleft(head[length:])
            yield first, head[:length]
            first += length
            if length == len(head) and head.base is not None:
                self._spent.append(head.base)

    @property
    def code(self) -> Code:
        """Of the session. Requires: one round at least."""
        if self._code is None:
            raise RuntimeError("there is no code before the first round")
        return self._code

    def take(self, count: int) -> Words:
        """So many rows as they lie in the reserve: random OTs, with the receiver's choice in the lowest bit.

        Requires: so many are available.
        """
        self._check(count)
        rows = np.concatenate([rows for _, rows in self._pieces(count, count)])[:count]
        # Who takes rows away like this takes many once and few later: no round needs the memory soon.
        self._spent.clear()
        return rows

    def make_ordinary(self, count: int) -> Party[Words]:
        """So many random OTs from SoftSpoken, as `take` has them."""
        rows, _ = yield from self._ordinary(count, 0)
        return rows

    def _ordinary(self, count: int, head: int) -> Party[tuple[Words, Words]]:
        """Random OTs from SoftSpoken, and so many words that the receiver draws and sends with them."""
        raise NotImplementedError

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
        code, secret, trees = yield from self._start()
        rows, leaves = self._leaves()
        # The code first: the sender grows its trees meanwhile, and neither waits for the other.
        code.add(secret, rows, onto=False)
        message = (yield from receive(_sum_bytes(self.parameters))).view("<u8")
        for plane, sums in enumerate(message.reshape(*trees.shape[:2], -1, 2)):
            rebuild(self.pi, trees[plane], path(trees[plane]), sums, leaves, turned=plane > 0)
        self._store(rows)

    def _single(self, points: Words) -> Party[None]:
        yield from send(np.packbits((points[:, 1] & np.uint64(1)).astype(np.uint8), bitorder="little"))
        points[:, 1] &= ~np.uint64(1)

    def _ordinary(self, count: int, head: int) -> Party[tuple[Words, Words]]:
        choices = np.frombuffer(self._entropy.bytes(padded_count(count) // 8), dtype="<u8").copy()
        words = np.frombuffer(self._entropy.bytes(8 * head), dtype="<u8").copy()
        rows = yield from choose(self._receiver, choices, count, self._entropy, words)
        _mark(rows, choices)
        return rows, words

    def extend(self, choices: Words, corrections: Words, count: int) -> Iterator[Tile]:
        """Rows t_j; fills `corrections`, which is complete when the iterator ends.

        Requires: `choices` has one bit an OT, padded with zeros; so many OTs are available.
        """
        self._check(count)
        return self._extend(choices, corrections, count)

    def _extend(self, choices: Words, corrections: Words, count: int) -> Iterator[Tile]:
        for first, rows in self._pieces(count, TILE):
            words = slice(first // 64, (first + len(rows)) // 64)
            _ask(rows, choices[words], corrections[words])
            yield Tile(first, rows)

    def extend_double(self, choices: Words, corrections: Words, count: int, second: int) -> Iterator[Tile]:
        """Rows of double OTs; fills `corrections`. `choices` is (2, words), and `second` is `count`."""
        self._check(count)
        sent = corrections.reshape(2, -1)
        for first, rows in self._pieces(count, DOUBLES):
            words = slice(first // 64, (first + len(rows)) // 64)
            _ask_double(rows, choices[:, words], sent[:, words])
            yield Tile(first, rows)


class SilentSender(_Silent):
    """The end that has Δ."""

    def __init__(self, end: Sender, parameters: Parameters = REAL) -> None:
        super().__init__(end, parameters)
        self._sender, self.delta = end, end.delta
        self.mixed = end.mixed
        if not int(end.delta[0]) & 1 or int(end.delta[1]) & 1:
            raise ValueError("silent OTs need a Δ whose lowest bit is 1 and whose bit 64 is 0")

    def feed(self) -> Party[None]:
        """One round of extension, at the same time as the receiver's."""
        code, secret, trees = yield from self._start()
        rows, leaves = self._leaves()
        sums = [grow(self.pi, some, self.delta, leaves, turned=plane > 0) for plane, some in enumerate(trees)]
        yield from send(np.concatenate(sums))
        code.add(secret, rows)
        self._store(rows)

    def _single(self, points: Words) -> Party[None]:
        told = np.unpackbits((yield from receive(point_bytes(self.parameters))), bitorder="little")
        points ^= self._sender.multiples[2] * told[:, None].astype(np.uint64)
        points[:, 1] &= ~np.uint64(1)

    def _ordinary(self, count: int, head: int) -> Party[tuple[Words, Words]]:
        rows, words = yield from offer(self._sender, count, head)
        _mark(rows, np.zeros(padded_count(count) // 64, dtype=np.uint64))
        return rows, words

    def extend(self, corrections: Words, count: int, both: bool = True) -> Iterator[Tile]:
        """Rows q_j = t_j ⊕ choice_j·Δ and, if both are asked for, q_j ⊕ Δ.

        Requires: so many OTs are available.
        """
        self._check(count)
        return self._extend(corrections, count, both)

    def _extend(self, corrections: Words, count: int, both: bool) -> Iterator[Tile]:
        for first, rows in self._pieces(count, TILE):
            keys = self.pi.scratch("rows", (1 + both) * len(rows))
            words = slice(first // 64, (first + len(rows)) // 64)
            _answer(rows, corrections[words], self.delta, keys[: len(rows)])
            if both:
                np.bitwise_xor(keys[: len(rows)], self.delta, out=keys[len(rows) :])
            yield Tile(first, keys)

    def extend_double(self, corrections: Words, count: int, second: int) -> Iterator[Tile]:
        """Rows of double OTs, without their multiples of Δ; `second` is `count`."""
        self._check(count)
        got, every = corrections.reshape(2, -1), self._sender.multiples
        for first, rows in self._pieces(count, DOUBLES):
            keys = self.pi.scratch("rows", len(rows))
            words = slice(first // 64, (first + len(rows)) // 64)
            _answer_double(rows, got[:, words], every, keys)
            yield Tile(first, keys)


@kernel("void(uint64[:,::1], uint64[::1])")
def _mark(rows: Words, bits: Words) -> None:
    """Bits into the lowest bits of rows, and zeros into those of their upper words."""
    one = np.uint64(1)
    for row in range(rows.shape[0]):
        bit = (bits[row >> 6] >> np.uint64(row & 63)) & one
        rows[row, 0] = (rows[row, 0] & ~one) | bit
        rows[row, 1] &= ~one


@kernel("void(uint64[:,::1], uint64[::1], uint64[::1])")
def _ask(rows: Words, choices: Words, corrections: Words) -> None:
    """Corrections: the lowest bit of each row ⊕ its choice."""
    for word in range(corrections.shape[0]):
        bits = np.uint64(0)
        for place in range(64):
            bits |= (rows[64 * word + place, 0] & np.uint64(1)) << np.uint64(place)
        corrections[word] = bits ^ choices[word]


@kernel("void(uint64[:,::1], uint64[:,:], uint64[:,:])")
def _ask_double(rows: Words, choices: Words, corrections: Words) -> None:
    """The same for the lowest bits of both words of each row, and its two choices."""
    one = np.uint64(1)
    for word in range(corrections.shape[1]):
        first, second = np.uint64(0), np.uint64(0)
        for place in range(64):
            first |= (rows[64 * word + place, 0] & one) << np.uint64(place)
            second |= (rows[64 * word + place, 1] & one) << np.uint64(place)
        corrections[0, word] = first ^ choices[0, word]
        corrections[1, word] = second ^ choices[1, word]


@kernel("void(uint64[:,::1], uint64[::1], uint64[::1], uint64[:,::1])")
def _answer(rows: Words, corrections: Words, delta: Words, result: Words) -> None:
    """q ⊕ correction·Δ."""
    low, high = delta[0], delta[1]
    for row in range(rows.shape[0]):
        bit = (corrections[row >> 6] >> np.uint64(row & 63)) & np.uint64(1)
        every = np.uint64(0) - bit
        result[row, 0], result[row, 1] = rows[row, 0] ^ (low & every), rows[row, 1] ^ (high & every)


@kernel("void(uint64[:,::1], uint64[:,:], uint64[:,::1], uint64[:,::1])", joined=True)
def _answer_double(rows: Words, corrections: Words, multiples: Words, result: Words) -> None:
    """q ⊕ y·Δ, y being what two corrections say."""
    one, two = np.uint64(1), np.uint64(2)
    for word in range(corrections.shape[1]):
        first, second = corrections[0, word], corrections[1, word]
        for place in range(64):
            row, shift = 64 * word + place, np.uint64(place)
            y = ((first >> shift) & one) | (((second >> shift) & one) * two)
            result[row, 0] = rows[row, 0] ^ multiples[y, 0]
            result[row, 1] = rows[row, 1] ^ multiples[y, 1]
