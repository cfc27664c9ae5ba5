"""An oblivious pseudo-random function: one side has the key, the other the points and their values.

Raghuraman and Rindal, Blazing Fast PSI from Improved OKVS and Subfield VOLE (CCS'22), semi-honest, over the
whole field. The asker's points are put into a store P (`okvs/`) that reads x at every point x, and a VOLE
(`transfer/vole.py`) of as many elements as P has cells hides it:

    asker    has a, c        P with P(x) = x at its points,          P ⊕ a  →
    lister   has Δ, b        K = b ⊕ Δ·(P ⊕ a) = c ⊕ Δ·P
    values   F(x) = h(K(x) ⊕ Δ·x, x)  at the lister,  h(c(x), x)  at the asker

since reading a store is linear: K(x) = c(x) ⊕ Δ·P(x). At any other x the asker lacks Δ·(P(x) ⊕ x), a product
of the secret Δ with something that is 0 with probability 2⁻¹²⁸. h(y, x) = π(π(y) ⊕ x) ⊕ π(y) is TMMO, with a
permutation of its own: that of the OTs hashes multiples of the same Δ [MATHS §10.1]. `binned.py` has the same
function for questions that stand in bins.

A *point* is 128 bits, from words of any number by `points`: Σ wᵢ·ρⁱ in the field, ρ public and drawn together
after both sides have fixed their tables, so that two unlike items are one point with probability 2⁻¹²⁸ for
each block of 128 bits; then π hides that it is a sum. A *value* is 128 bits, a seed, and `expand` makes as
many bytes of it as somebody needs.

Both go part by part of the store, so memory holds one at a time, and no more of either side's points than the
lists themselves. The lister hands in all its points before: it evaluates those of a part when the part comes.

*Learns*: the asker F at its points, which without the key looks random elsewhere; the lister how many points
there are: P ⊕ a is uniform by the assumption of the VOLE. The asker draws the seed of P, once, when its
points are fixed: a lister that could choose among seeds would try them on points that it guesses.
Semi-honest. An asker that departs from this may put more points into a store than it announced: up to as many
as it has cells, 1.3 times as many; the OTs are checked (`transfer/checked.py`), so that Δ stays hidden. It
can ask for any points. A lister can list what it likes. Messages follow from the number of points alone.

`Clear` hides nothing: a value is its point. It is to both what the `ideal` engine is to the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.kernel import kernel
from accord.secure.okvs.rows import SEED
from accord.secure.okvs.sizes import store_shape
from accord.secure.okvs.store import Encoder, Layout, spread
from accord.secure.party import Party, Send, receive, send
from accord.secure.transfer import setup
from accord.secure.transfer.field import times
from accord.secure.transfer.permutation import PUBLIC, VALUE, Permutation
from accord.secure.transfer.vole import USUAL, Sizes, VoleReceiver, VoleSender, vole_bytes
from accord.side import Side

Words = NDArray[np.uint64]
Points = NDArray[np.uint64]
"""Shape (n, 2)."""
Seeds = NDArray[np.uint64]
"""Shape (n, 2)."""
Progress = Callable[[int], None]
"""Called with the number of points of each part that is done."""

BLOCK = 16
FIELD = 8
"""SoftSpoken's, for the OTs that all is made of."""
HELLO = b"accord/prf/4"
_RHO, _SEED, _KEY = range(3)
"""Public numbers of a session: ρ, the seed of bins, the key of the hash."""
_CHUNK = 1 << 14
"""Points that are hashed at once, within the cache."""


class Meeting(Protocol):
    """One side's end of a function, and what is public of it once the two have met."""

    pi: Permutation

    def meet(self) -> Party[None]:
        """Set up, with the other side."""

    def points(self, items: Words) -> Points:
        """The point of each item, (n, words), for items of both sides that have as many words."""

    def public_seed(self) -> bytes:
        """Public; neither side chose it, and it was drawn after both had fixed their tables."""


class Function(Meeting, Protocol):
    """A function for one set of questions."""

    def ask(self, points: Points, progress: Progress) -> Party[Seeds]:
        """The values of the points, which are distinct. *Learns*: nobody else anything but their number."""

    def answer(self, asked: int, points: Points, progress: Progress) -> Party[Seeds]:
        """Serve so many points of the peer; the values of one's own points, of any number, some alike."""


class Keyed:
    """One end of a function over a key that the lister alone has: its session, and what is public in it."""

    def __init__(self, side: Side, entropy: Entropy, sizes: Sizes = USUAL) -> None:
        self.pi, self._hashing = Permutation(), Permutation()
        self._side, self._entropy, self._sizes = side, entropy, sizes
        self._session: setup.Session | None = None

    def meet(self) -> Party[None]:
        made = setup.set_up(self._side, FIELD, self._entropy, self.pi, HELLO, doubles=True)
        self._session = yield from made
        self._rho = _public(self.pi, _RHO)
        self._hashing.take_key(_public(self.pi, _KEY).tobytes())

    def points(self, items: Words) -> Points:
        return _points(self.pi, self._rho, items)

    def public_seed(self) -> bytes:
        return _public(self.pi, _SEED).tobytes()

    def hash(self, keys: Words, points: Points) -> Seeds:
        """TMMO of each key with its point as the tweak."""
        result = np.empty_like(keys)
        for first in range(0, len(keys), _CHUNK):
            inner = self._hashing.apply(keys[first : first + _CHUNK], "keys")
            outer = self._hashing.apply(inner ^ points[first : first + _CHUNK], "hashed")
            np.bitwise_xor(inner, outer, out=result[first : first + _CHUNK])
        return result

    def take_session(self) -> setup.Session:
        """The session, which serves one VOLE: another one needs another Δ."""
        if self._session is None:
            raise RuntimeError("nothing was set up, or it has served")
        session, self._session = self._session, None
        return session


class Oblivious(Keyed):
    """The function for one set of questions, which a store has."""

    def ask(self, points: Points, progress: Progress) -> Party[Seeds]:
        seed = self._entropy.bytes(SEED)
        yield Send(seed)
        encoder = Encoder(store_shape(len(points)), seed, points)
        shape, seeds = encoder.shape, np.empty((len(points), 2), np.uint64)
        vole = VoleReceiver(self.take_session().receiver, self._entropy, shape.total, self._sizes)
        for part in range(shape.parts):
            a, c = yield from vole.take(shape.cells)
            places = encoder.places(part)
            own = points.take(places, axis=0)
            free = encoder.draw(part, 2, self._entropy)
            yield from send(encoder.encode_part(part, own, free) ^ a)
            spread(self.hash(encoder.decode_part(part, c), own), places, seeds)
            progress(len(places))
        return seeds

    def answer(self, asked: int, points: Points, progress: Progress) -> Party[Seeds]:
        seed = (yield from receive(SEED)).tobytes()
        layout = Layout(store_shape(asked), seed, points)
        shape, seeds = layout.shape, np.empty((len(points), 2), np.uint64)
        vole = VoleSender(self.take_session().sender, shape.total, self._sizes)
        for part in range(shape.parts):
            (b,) = yield from vole.take(shape.cells)
            came = yield from receive(BLOCK * shape.cells)
            key = b ^ times(came.view("<u8").reshape(-1, 2), vole.delta)
            places = layout.places(part)
            own = points.take(places, axis=0)
            keys = layout.decode_part(part, key) ^ times(own, vole.delta)
            spread(self.hash(keys, own), places, seeds)
            progress(len(places))
        return seeds


class Clear:
    """No secrets: both sides are in one process."""

    def __init__(self) -> None:
        self.pi = Permutation()

    def meet(self) -> Party[None]:
        yield from ()

    def points(self, items: Words) -> Points:
        return _points(self.pi, _public(self.pi, _RHO), items)

    def public_seed(self) -> bytes:
        return _public(self.pi, _SEED).tobytes()

    def ask(self, points: Points, *others: object) -> Party[Seeds]:
        yield from ()
        return points

    def answer(self, asked: int, points: Points, *others: object) -> Party[Seeds]:
        yield from ()
        return points


def asked_bytes(asked: int) -> int:
    """Bytes in both directions for so many points."""
    total = store_shape(asked).total
    return setup.set_up_bytes(len(HELLO), FIELD) + SEED + vole_bytes(total, 128 // FIELD) + BLOCK * total


def expand(pi: Permutation, seeds: Seeds, numbers: NDArray[np.int32], width: int) -> Words:
    """So many words of each seed, (n, width), from the block that comes after `number` times as many: uniform
    to whoever has not the seed."""
    result, blocks = np.empty((len(seeds), width), np.uint64), -(-width // 2)
    rows = max(1, _CHUNK // blocks)
    for first in range(0, len(seeds), rows):
        part = slice(first, first + rows)
        source = pi.scratch("tweaked values", blocks * len(result[part])).reshape(-1, blocks, 2)
        _tweak(seeds[part], numbers[part], source)
        _untweak(seeds[part], pi.apply(source, "values").reshape(source.shape), result[part])
    return result


def _public(pi: Permutation, number: int) -> Words:
    """What both sides know and neither chose, by its number."""
    return pi.apply(np.array([[number, PUBLIC]], np.uint64), "public")[0].copy()


def _points(pi: Permutation, rho: Words, items: Words) -> Points:
    """π(s) ⊕ s of the sum s = Σ wᵢ·ρⁱ, by Horner's rule."""
    blocks = np.pad(items, ((0, 0), (0, items.shape[1] % 2)))
    points = np.zeros((len(items), 2), np.uint64)
    for first in range(0, len(items), _CHUNK):
        some = points[first : first + _CHUNK]
        for word in range(0, blocks.shape[1], 2):
            some[:] = times(some ^ blocks[first : first + _CHUNK, word : word + 2], rho)
        some ^= pi.apply(some, "points")
    return points


@kernel("void(uint64[:,::1], int32[::1], uint64[:,:,::1])")
def _tweak(seeds: Seeds, numbers: NDArray[np.int32], result: NDArray[np.uint64]) -> None:
    """s ⊕ t for the blocks of every seed, after those of lower numbers."""
    blocks = result.shape[1]
    for row in range(seeds.shape[0]):
        low, high = seeds[row, 0], seeds[row, 1] ^ np.uint64(VALUE)
        first = np.uint64(numbers[row]) * np.uint64(blocks)
        for block in range(blocks):
            result[row, block, 0] = low ^ (first + np.uint64(block))
            result[row, block, 1] = high


@kernel("void(uint64[:,::1], uint64[:,:,::1], uint64[:,::1])")
def _untweak(seeds: Seeds, source: NDArray[np.uint64], result: Words) -> None:
    """The words of the blocks ⊕ their seed; of an odd number the last block has one."""
    for row in range(seeds.shape[0]):
        for word in range(result.shape[1]):
            result[row, word] = source[row, word >> 1, word & 1] ^ seeds[row, word & 1]
