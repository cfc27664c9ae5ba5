"""The oblivious function of `oblivious.py` for questions that stand in bins: one value a bin, whoever asks.

Where every question x has a bin β of its own, the bins take the place of the store: one element of the VOLE,
c_β = b_β ⊕ Δ·a_β, serves each bin.

    asker    has a, c        d_β = x_β ⊕ a_β, x_β the question of the bin, or something random  →
    lister   has Δ, b        k_β = b_β ⊕ Δ·d_β = c_β ⊕ Δ·x_β
    values   F(y, β) = h(k_β ⊕ Δ·y, y)  at the lister,  h(c_β, x_β)  at the asker

For y = x_β the two are equal. Whatever the asker sends, d_β names one x_β, and at any other y it lacks
Δ·(x_β ⊕ y): so it has one value a bin at the most, where a store of as many cells would give it more
(Kolesnikov, Kumaresan, Rosulek, Trieu, CCS'16, with the field for their code). [MATHS §10.1] bounds its
advantage, and how much a session may hash.

One VOLE serves many sets of bins; a point of one set must be none of another. *Learns*: the lister nothing,
since d is uniform by the assumption of the VOLE; the asker the value at the one question of each bin.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.entropy import KEY, Derived, Entropy, words
from accord.secure.okvs.sizes import PART
from accord.secure.party import Party, receive, send
from accord.secure.prf.oblivious import BLOCK, FIELD, HELLO, Keyed, Meeting, Points, Seeds
from accord.secure.transfer import setup
from accord.secure.transfer.field import times
from accord.secure.transfer.vole import USUAL, Sizes, VoleReceiver, VoleSender, vole_bytes
from accord.side import Side

Bins = NDArray[np.int32]
MOST_HASHED = 1 << 34
"""Blocks that one session hashes at the most, two for each value."""
_CHUNK = 1 << 14


class BinnedFunction(Meeting, Protocol):
    """A function for several sets of bins."""

    def ask(self, points: Points, at: Bins, bins: int) -> Party[Seeds]:
        """The values of points that stand in these bins of so many, one in a bin."""

    def answer(self, bins: int, points: Points, at: Bins) -> Party[Seeds]:
        """Serve so many bins; the values of one's own points, each in its bin, of any number in one."""


class Binned(Keyed):
    """The function over a key that nobody but the lister has, for so many bins in all."""

    def __init__(self, side: Side, entropy: Entropy, bins: int, sizes: Sizes = USUAL) -> None:
        super().__init__(side, entropy, sizes)
        self._bins = bins
        self._receiver: VoleReceiver | None = None
        self._sender: VoleSender | None = None

    def ask(self, points: Points, at: Bins, bins: int) -> Party[Seeds]:
        if self._receiver is None:
            end = self.take_session().receiver
            self._receiver = VoleReceiver(end, self._entropy, self._bins, self._sizes)
        asked = words(Derived(self._entropy.bytes(KEY)), 2 * bins).reshape(-1, 2)
        asked[at] = points
        keys = np.empty((bins, 2), np.uint64)
        for first in range(0, bins, PART):
            part = slice(first, min(first + PART, bins))
            a, keys[part] = yield from self._receiver.take(part.stop - first)
            yield from send(asked[part] ^ a)
        return self.hash(keys.take(at, axis=0), points)

    def answer(self, bins: int, points: Points, at: Bins) -> Party[Seeds]:
        if self._sender is None:
            self._sender = VoleSender(self.take_session().sender, self._bins, self._sizes)
        delta, keys = self._sender.delta, np.empty((bins, 2), np.uint64)
        for first in range(0, bins, PART):
            part = slice(first, min(first + PART, bins))
            (b,) = yield from self._sender.take(part.stop - first)
            came = yield from receive(BLOCK * len(b))
            keys[part] = b ^ times(came.view("<u8").reshape(-1, 2), delta)
        seeds = np.empty((len(points), 2), np.uint64)
        for first in range(0, len(points), _CHUNK):
            some = slice(first, first + _CHUNK)
            own = points[some]
            seeds[some] = self.hash(keys.take(at[some], axis=0) ^ times(own, delta), own)
        return seeds


def binned_bytes(bins: int) -> int:
    """Bytes in both directions for so many bins in all."""
    return setup.set_up_bytes(len(HELLO), FIELD) + vole_bytes(bins, 128 // FIELD) + BLOCK * bins
