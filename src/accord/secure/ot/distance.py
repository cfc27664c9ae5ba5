"""Shares of a distance for all pairs of a batch: correlated OTs that are amortised over rows of B.

For each strip (one row of A against a stretch of B's rows) and each term i of the form there is *one* OT, in
which A chooses by its bit. Its two rows expand to one ring element for each row of the stretch, r⁰ and r¹
(additive correlated OT: Asharov, Lindell, Schneider, Zohner, CCS'13; products after Gilboa, CRYPTO'99):

    B sends     c = r⁰ − r¹ + factorᵢ(b)                     in ℓ − shiftᵢ bits, for each pair and term
    B's share   own_b(b) − Σᵢ 2^shiftᵢ · r⁰
    A's share   own_a(a) + Σᵢ 2^shiftᵢ · (r^bit + bit·c)     so that the two add up to the value mod 2^ℓ

Assumption: H of `transfer/permutation.py` is correlation robust; the tweaks are (number of the OT, block).
Learns: B nothing; A, for each pair and term, one ring element that is uniform to it. A row that occurs in
several strips gets OTs of its own in each, so that copies of a record cannot be linked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.kernel import Kernel, kernel
from accord.secure.blocks import Batch
from accord.secure.ot.program import Share
from accord.secure.transfer.packing import LANES, groups, pack, packed_words, unpack
from accord.secure.transfer.permutation import ROW, Permutation

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

_ELEMENTS = 1 << 19
"""Bytes of ring elements that are worked on at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Keys:
    """The OTs of one share in a batch: rows of shape (sets · terms · strips, 2) and the number of the first.

    A has one set (its chosen rows), B two (q, then q ⊕ Δ).
    """

    rows: Words
    number: int


def term_widths(share: Share) -> Ints:
    """Bits that a correction of each term takes."""
    return np.maximum(share.bits - np.array(share.form.shifts, dtype=np.int64), 0)


def correction_bytes(share: Share, pairs: int) -> int:
    """Bytes of all corrections of a batch, up to whole words so that what follows is aligned."""
    return -(-packed_words(pairs, share.lane, term_widths(share)) * share.lane // 64) * 8


def _shifts(share: Share) -> Ints:
    # A shift of 63 already moves everything out of a ring of at most 62 bits.
    return np.minimum(np.array(share.form.shifts, dtype=np.int64), 63)


StripPlaces = tuple[Ints, Ints, Ints, Ints]
"""Of each strip of a batch: its first ring element, pair and row of B, and how many these are."""
_PLACES = "UniTuple(int64[::1], 4)"


class _Placement:
    """How one share of a batch lies in memory: whole hashes a strip, some terms at a time."""

    def __init__(self, share: Share, batch: Batch) -> None:
        self.share, self.batch, self.lane = share, batch, share.lane
        self.dtype = np.dtype(f"u{share.lane // 8}")
        self.hashes = -(-batch.width * share.lane // 128)
        element = (np.cumsum(self.hashes) - self.hashes) * (128 // share.lane)
        self.places = element, batch.start, batch.b_start, batch.width
        self.shifts, self.widths = _shifts(share), term_widths(share)
        self.size = groups(batch.pairs, share.lane) * share.lane

    def parts(self) -> Iterator[tuple[slice, slice, slice]]:
        """Terms that are worked on together, their OTs, and their words in the corrections."""
        strips, terms = len(self.batch.width), len(self.shifts)
        step = max(1, _ELEMENTS // max(1, self.size * self.lane // 8))
        done = 0
        for first in range(0, terms, step):
            part = slice(first, min(terms, first + step))
            words = packed_words(self.batch.pairs, self.lane, self.widths[part])
            yield part, slice(part.start * strips, part.stop * strips), slice(done, done + words)
            done += words

    def elements(self, pi: Permutation, inner: Words, number: int, name: str) -> NDArray[Any]:
        """The ring elements of some rows, shape (terms, lanes)."""
        terms = len(inner) // len(self.hashes)
        source = pi.scratch("streams", terms * int(self.hashes.sum()))
        _spread(inner, np.uint64(number), np.uint64(ROW), self.hashes, source)
        result = pi.apply(source, name)
        _feed(inner, self.hashes, result)
        return result.reshape(terms, -1).view(self.dtype)

    def values(self, pi: Permutation, terms: int) -> NDArray[Any]:
        """Room for one value a term and pair, padded with zeros."""
        flat = pi.scratch("values", -(-terms * self.size * self.lane // 128))
        result = flat.reshape(-1).view(self.dtype)[: terms * self.size].reshape(terms, self.size)
        result[:, self.batch.pairs :] = 0
        return result

    def reduced(self, result: NDArray[Any]) -> NDArray[Any]:
        """Shares mod 2^ℓ."""
        result &= self.dtype.type((1 << self.share.bits) - 1)
        return result


def send_distance(
    pi: Permutation,
    share: Share,
    keys: Keys,
    batch: Batch,
    factors: Ints,
    own: Ints,
    corrections: NDArray[Any],
) -> NDArray[Any]:
    """B's shares, one a pair; fills the corrections. `factors` is (terms, rows of B), `own` one a pair."""
    placed, half = _Placement(share, batch), len(keys.rows) // 2
    inner = pi.apply(keys.rows, "inner").copy()
    result, factor = own.astype(placed.dtype), factors.astype(placed.dtype, order="C")
    used = 0
    for part, of, words in placed.parts():
        number, used = keys.number + of.start, words.stop
        zero = placed.elements(pi, inner[:half][of], number, "zero")
        one = placed.elements(pi, inner[half:][of], number, "one")
        sent = placed.values(pi, len(zero))
        _CORRECT[placed.lane](zero, one, placed.places, factor[part], placed.shifts[part], sent, result)
        pack(sent, placed.widths[part], corrections[words])
    corrections[used:] = 0
    return placed.reduced(result)


def receive_distance(
    pi: Permutation,
    share: Share,
    keys: Keys,
    batch: Batch,
    bits: NDArray[np.uint8],
    own: Ints,
    corrections: NDArray[Any],
) -> NDArray[Any]:
    """A's shares, one a pair. `bits` is (terms, strips), `own` a number a pair."""
    placed = _Placement(share, batch)
    inner = pi.apply(keys.rows, "inner").copy()
    result = own.astype(placed.dtype)
    used = 0
    for part, of, words in placed.parts():
        number, used = keys.number + of.start, words.stop
        chosen = placed.elements(pi, inner[of], number, "zero")
        got = placed.values(pi, len(chosen))
        unpack(corrections[words], placed.widths[part], batch.pairs, got)
        _COLLECT[placed.lane](chosen, placed.places, bits[part], placed.shifts[part], got, result)
    if corrections[used:].any():
        raise PeerError(problem="padding that is not zero")
    return placed.reduced(result)


@kernel("void(uint64[:,::1], uint64, uint64, int64[::1], uint64[:,::1])")
def _spread(inner: Words, number: np.uint64, domain: np.uint64, hashes: Ints, result: Words) -> None:
    """π(x) ⊕ t for each row and each of its hashes."""
    strips, place = hashes.shape[0], 0
    for row in range(inner.shape[0]):
        low, high = inner[row, 0] ^ (number + np.uint64(row)), inner[row, 1] ^ domain
        count = hashes[row % strips]
        target = result[place : place + count]
        for block in range(count):
            target[block, 0] = low
            target[block, 1] = high ^ np.uint64(block)
        place += count


@kernel("void(uint64[:,::1], int64[::1], uint64[:,::1])")
def _feed(inner: Words, hashes: Ints, result: Words) -> None:
    """result ⊕= π(x), the last step of the hash."""
    strips, place = hashes.shape[0], 0
    for row in range(inner.shape[0]):
        low, high, count = inner[row, 0], inner[row, 1], hashes[row % strips]
        target = result[place : place + count]
        for block in range(count):
            target[block, 0] ^= low
            target[block, 1] ^= high
        place += count


def _correct(
    zero: Any, one: Any, places: StripPlaces, factors: Any, shifts: Ints, sent: Any, result: Any
) -> None:
    """For each term and pair: sent = r⁰ − r¹ + factor, and result −= 2^shift · r⁰, mod 2^lane.

    The inner loop runs over slices of one length that it indexes alike, so that the compiler takes many pairs
    at once; what a strip's pairs have in common is found once a strip.
    """
    element, pair, b_row, width = places
    for term in range(zero.shape[0]):
        shift = np.uint64(shifts[term])
        for strip in range(width.shape[0]):
            n = width[strip]
            r0 = zero[term, element[strip] : element[strip] + n]
            r1 = one[term, element[strip] : element[strip] + n]
            factor = factors[term, b_row[strip] : b_row[strip] + n]
            c = sent[term, pair[strip] : pair[strip] + n]
            share = result[pair[strip] : pair[strip] + n]
            for i in range(n):
                c[i] = r0[i] - r1[i] + factor[i]
                share[i] -= r0[i] << shift


def _collect(chosen: Any, places: StripPlaces, bits: Any, shifts: Ints, got: Any, result: Any) -> None:
    """For each term and pair: result += 2^shift · (r + bit · c), mod 2^lane; no branch on the secret bit."""
    element, pair, _, width = places
    for term in range(chosen.shape[0]):
        shift = np.uint64(shifts[term])
        for strip in range(width.shape[0]):
            n = width[strip]
            r = chosen[term, element[strip] : element[strip] + n]
            c = got[term, pair[strip] : pair[strip] + n]
            share = result[pair[strip] : pair[strip] + n]
            bit = bits[term, strip]
            for i in range(n):
                share[i] += (r[i] + c[i] * bit) << shift


# One kernel a lane: ring elements of 8, 16, 32 or 64 bits are added and shifted as they lie.
_CORRECT: dict[int, Kernel[..., None]] = {
    w: kernel(
        f"void(uint{w}[:,::1], uint{w}[:,::1], {_PLACES}, uint{w}[:,::1], int64[::1], uint{w}[:,::1], "
        f"uint{w}[::1])"
    )(_correct)
    for w in LANES
}
_COLLECT: dict[int, Kernel[..., None]] = {
    w: kernel(f"void(uint{w}[:,::1], {_PLACES}, uint8[:,::1], int64[::1], uint{w}[:,::1], uint{w}[::1])")(
        _collect
    )
    for w in LANES
}
