"""Shares of a distance for all pairs of a batch: correlated OTs that are amortised over rows of B.

For each run (one row of A against a stretch of B's rows) and each term i of the form there is *one* OT, in
which A chooses by its bit. Its two rows expand to one ring element for each row of the stretch, r⁰ and r¹
(additive correlated OT: Asharov, Lindell, Schneider, Zohner, CCS'13; products after Gilboa, CRYPTO'99):

    B sends     c = r⁰ − r¹ + factorᵢ(b)                     in ℓ − shiftᵢ bits, for each pair and term
    B's share   own_b(b) − Σᵢ 2^shiftᵢ · r⁰
    A's share   own_a(a) + Σᵢ 2^shiftᵢ · (r^bit + bit·c)     so that the two add up to the value mod 2^ℓ

Assumption: H of `ot_permutation.py` is correlation robust; the tweaks are (number of the OT, block).
Learns: B nothing; A, for each pair and term, one ring element that is uniform to it. A row that occurs in
several runs gets OTs of its own in each, so that copies of a record cannot be linked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.kernel import Kernel, kernel
from accord.secure.blocks import Batch
from accord.secure.ot_packing import LANES, groups, pack, packed_words, unpack
from accord.secure.ot_permutation import ROW, Permutation
from accord.secure.program import Share

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]

_ELEMENTS = 1 << 19
"""Bytes of ring elements that are worked on at once."""


@dataclass(frozen=True)
class Keys:
    """The OTs of one share in a batch: rows of shape (sets · terms · runs, 2) and the number of the first.

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


@dataclass(frozen=True)
class _Layout:
    """Where the elements of each run lie in the expansion of a term: whole blocks a run."""

    first: Ints
    blocks: Ints
    total: int


def _layout(batch: Batch, lane: int) -> _Layout:
    blocks = -(-batch.width * lane // 128)
    return _Layout(np.cumsum(blocks) - blocks, blocks, int(blocks.sum()))


def _slices(share: Share, batch: Batch) -> list[slice]:
    """Terms that are worked on together."""
    step = max(1, _ELEMENTS // max(1, batch.pairs * share.lane // 8))
    terms = len(share.form.shifts)
    return [slice(first, min(terms, first + step)) for first in range(0, terms, step)]


def _elements(pi: Permutation, inner: Words, first: int, terms: int, layout: _Layout, name: str) -> Words:
    """The expansion of each row, shape (terms, words)."""
    source = pi.scratch("streams", terms * layout.total)
    _spread(inner, np.uint64(first), np.uint64(ROW), layout.first, layout.blocks, source)
    result = pi.apply(source, name)
    _feed(inner, layout.first, layout.blocks, result)
    return result.reshape(terms, -1)


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
    lane, runs, terms = share.lane, len(batch.width), len(share.form.shifts)
    dtype = np.dtype(f"u{lane // 8}")
    layout, shifts = _layout(batch, lane), _shifts(share)
    widths, size = term_widths(share), groups(batch.pairs, lane)
    inner = pi.apply(keys.rows, "inner").copy()
    result, values = own.astype(dtype), factors.astype(dtype, order="C")
    done = 0
    for part in _slices(share, batch):
        of = slice(part.start * runs, part.stop * runs)
        count, number = part.stop - part.start, keys.number + part.start * runs
        zero = _elements(pi, inner[: terms * runs][of], number, count, layout, "zero").view(dtype)
        one = _elements(pi, inner[terms * runs :][of], number, count, layout, "one").view(dtype)
        sent = np.zeros((count, size * lane), dtype=dtype)
        first = layout.first * (128 // lane)
        _CORRECT[lane](
            zero,
            one,
            first,
            batch.start,
            batch.width,
            batch.b_start,
            values[part],
            shifts[part],
            sent,
            result,
        )
        words = packed_words(batch.pairs, lane, widths[part])
        pack(sent, widths[part], corrections[done : done + words])
        done += words
    corrections[done:] = 0
    return result & dtype.type((1 << share.bits) - 1)


def receive_distance(
    pi: Permutation,
    share: Share,
    keys: Keys,
    batch: Batch,
    bits: NDArray[np.uint8],
    own: Ints,
    corrections: NDArray[Any],
) -> NDArray[Any]:
    """A's shares, one a pair. `bits` is (terms, runs), `own` a number a pair."""
    lane, runs = share.lane, len(batch.width)
    dtype = np.dtype(f"u{lane // 8}")
    layout, shifts = _layout(batch, lane), _shifts(share)
    widths, size = term_widths(share), groups(batch.pairs, lane)
    inner = pi.apply(keys.rows, "inner").copy()
    result = own.astype(dtype)
    done = 0
    for part in _slices(share, batch):
        of = slice(part.start * runs, part.stop * runs)
        count, number = part.stop - part.start, keys.number + part.start * runs
        chosen = _elements(pi, inner[of], number, count, layout, "zero").view(dtype)
        got = np.empty((count, size * lane), dtype=dtype)
        words = packed_words(batch.pairs, lane, widths[part])
        unpack(corrections[done : done + words], widths[part], batch.pairs, got)
        done += words
        first = layout.first * (128 // lane)
        _COLLECT[lane](chosen, first, batch.start, batch.width, bits[part], shifts[part], got, result)
    if corrections[done:].any():
        raise PeerError(problem="padding that is not zero")
    return result & dtype.type((1 << share.bits) - 1)


@kernel("void(uint64[:,::1], uint64, uint64, int64[::1], int64[::1], uint64[:,::1])")
def _spread(
    inner: Words, number: np.uint64, domain: np.uint64, first: Ints, blocks: Ints, result: Words
) -> None:
    """π(x) ⊕ t for each row and each of its blocks."""
    runs = first.shape[0]
    total = first[runs - 1] + blocks[runs - 1]
    for row in range(inner.shape[0]):
        base = (row // runs) * total + first[row % runs]
        low, high = inner[row, 0] ^ (number + np.uint64(row)), inner[row, 1] ^ domain
        for block in range(blocks[row % runs]):
            result[base + block, 0] = low
            result[base + block, 1] = high ^ np.uint64(block)


@kernel("void(uint64[:,::1], int64[::1], int64[::1], uint64[:,::1])")
def _feed(inner: Words, first: Ints, blocks: Ints, result: Words) -> None:
    """result ⊕= π(x), the last step of the hash."""
    runs = first.shape[0]
    total = first[runs - 1] + blocks[runs - 1]
    for row in range(inner.shape[0]):
        base = (row // runs) * total + first[row % runs]
        for block in range(blocks[row % runs]):
            result[base + block, 0] ^= inner[row, 0]
            result[base + block, 1] ^= inner[row, 1]


def _correct(
    zero: Any,
    one: Any,
    first: Any,
    start: Any,
    width: Any,
    b_start: Any,
    factors: Any,
    shifts: Any,
    sent: Any,
    result: Any,
) -> None:
    for term in range(zero.shape[0]):
        shift = np.uint64(shifts[term])
        for run in range(first.shape[0]):
            n = width[run]
            r0 = zero[term, first[run] : first[run] + n]
            r1 = one[term, first[run] : first[run] + n]
            factor = factors[term, b_start[run] : b_start[run] + n]
            c = sent[term, start[run] : start[run] + n]
            share = result[start[run] : start[run] + n]
            for i in range(n):
                c[i] = r0[i] - r1[i] + factor[i]
                share[i] -= r0[i] << shift


def _collect(
    chosen: Any, first: Any, start: Any, width: Any, bits: Any, shifts: Any, got: Any, result: Any
) -> None:
    for term in range(chosen.shape[0]):
        shift = np.uint64(shifts[term])
        for run in range(first.shape[0]):
            n = width[run]
            r = chosen[term, first[run] : first[run] + n]
            c = got[term, start[run] : start[run] + n]
            share = result[start[run] : start[run] + n]
            bit = bits[term, run]
            for i in range(n):
                share[i] += (r[i] + c[i] * bit) << shift


_CORRECT: dict[int, Kernel[..., None]] = {
    w: kernel(
        f"void(uint{w}[:,::1], uint{w}[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], "
        f"uint{w}[:,::1], int64[::1], uint{w}[:,::1], uint{w}[::1])"
    )(_correct)
    for w in LANES
}
_COLLECT: dict[int, Kernel[..., None]] = {
    w: kernel(
        f"void(uint{w}[:,::1], int64[::1], int64[::1], int64[::1], uint8[:,::1], int64[::1], "
        f"uint{w}[:,::1], uint{w}[::1])"
    )(_collect)
    for w in LANES
}
