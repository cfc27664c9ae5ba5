"""How answers that stay shared are counted and summed, and nothing else of them comes out.

Of a pair and a row of sums the two hold c_A ⊕ c_B, a bit, and B has weights u of its row (`circuit.Tally`).
Since (c_A ⊕ c_B)·u = c_B·u + c_A·(1 − 2·c_B)·u, B adds c_B·u by itself, and the rest is a correlated OT in
which A chooses c_A (Asharov, Lindell, Schneider, Zohner, CCS'13), over the ring of numbers mod 2^bits. With
r₀ and r₁ for what the two keys of an OT expand to, a number a weight, of which A has r at c_A,

    B sends     d = (1 − 2·c_B)·u + r₀ − r₁      as many bits as the ring has
    B's share   Σ c_B·u − r₀
    A's share   Σ r + c_A·d                      where c_A = 0 that is r₀; else r₁ + d, which is r₀ more than
                                                 (1 − 2·c_B)·u

summed over the pairs as they come. An OT serves all weights of its pair and bit, and nothing else.

Assumption: H of `transfer/permutation.py` is correlation robust; t is the block.
*Learns*: B nothing, as an OT hides its choice. A nothing: the r which it lacks is in d, with the ring's full
width, and in nothing else, so that d is uniform to it. Each side's share is uniform by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.kernel import Kernel, kernel
from accord.secure.circuit import Tally
from accord.secure.ot.program import lane_of
from accord.secure.transfer.extension import TILE, Receiver, Sender, collect, correction_words, padded_count
from accord.secure.transfer.packing import LANES, groups, pack, packed_words, unpack
from accord.secure.transfer.permutation import Permutation, mix_rows
from accord.secure.transfer.silent import SilentReceiver, SilentSender

Words = NDArray[np.uint64]
Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]


def choice_bytes(tally: Tally, pairs: int, rate: int) -> int:
    """Of what A sends, with OTs of so many bits a choice."""
    return 8 * correction_words(tally.rows * pairs, rate)


def correction_bytes(tally: Tally, pairs: int) -> int:
    """Of what B sends."""
    lane = lane_of(tally.bits)
    return packed_words(pairs, lane, _widths(tally)) * lane // 8


def held_bytes(tally: Tally) -> int:
    """About what a pair takes while it is tallied: an OT for each row of sums, and corrections."""
    return 16 * tally.rows + tally.cells * (lane_of(tally.bits) + tally.bits) // 8


def choose(end: Receiver | SilentReceiver, bits: Bits) -> tuple[Words, Words]:
    """A's half before the corrections: its rows of the OTs, and what it sends. Bits are (sums, pairs)."""
    choices = np.zeros(padded_count(bits.size) // 8, np.uint8)
    packed = np.packbits(bits.reshape(-1), bitorder="little")
    choices[: len(packed)] = packed
    sent = np.empty(correction_words(bits.size, end.rate), "<u8")
    rows = collect(end.extend(choices.view("<u8"), sent, bits.size))
    return rows[: bits.size], sent


def correct(
    end: Sender | SilentSender, tally: Tally, bits: Bits, weights: Ints, choices: Words
) -> tuple[Words, NDArray[Any]]:
    """B's share of the sums, (cells,), and what it sends; its weights are (pairs, weights)."""
    lane, others = lane_of(tally.bits), end.mixed[:2]
    dtype = np.dtype(f"u{lane // 8}")
    factors = np.ascontiguousarray(weights.T.astype(dtype))
    values, sums = _room(tally, len(weights)), np.zeros(tally.cells, np.uint64)
    for tile in end.extend(choices, bits.size, both=False):
        rows = tile.rows[: bits.size - tile.first]
        for first, inner, outer in _expand(end.pi, rows, others, tally):
            _CORRECT[lane](
                inner.view(dtype), outer.view(dtype), tile.first, first, bits, factors, values, sums
            )
    sent = np.empty(packed_words(len(weights), lane, _widths(tally)), dtype)
    pack(values, _widths(tally), sent)
    return sums, sent


def add_up(pi: Permutation, tally: Tally, bits: Bits, rows: Words, corrections: NDArray[np.uint8]) -> Words:
    """A's share of the sums, from its rows and what B sent."""
    lane = lane_of(tally.bits)
    dtype = np.dtype(f"u{lane // 8}")
    values, sums = _room(tally, bits.shape[1]), np.zeros(tally.cells, np.uint64)
    unpack(corrections.view(f"<u{lane // 8}"), _widths(tally), bits.shape[1], values)
    for start in range(0, len(rows), TILE):
        for first, inner, outer in _expand(
            pi, rows[start : start + TILE], np.zeros((1, 2), np.uint64), tally
        ):
            _COLLECT[lane](inner.view(dtype), outer.view(dtype), start, first, bits, values, sums)
    return sums


def _widths(tally: Tally) -> Ints:
    return np.full(tally.cells, tally.bits, np.int64)


def _room(tally: Tally, pairs: int) -> NDArray[Any]:
    """A value a cell and pair, padded with zeros."""
    lane = lane_of(tally.bits)
    return np.zeros((tally.cells, groups(pairs, lane) * lane), f"u{lane // 8}")


def _expand(pi: Permutation, rows: Words, others: Words, tally: Tally) -> Any:
    """Two parts whose XOR is H of the rows and of what differs from them by some, which are given as σ of it:
    block after block, each with the number of its first weight, (others, rows, 2)."""
    per = 128 // lane_of(tally.bits)
    for first in range(0, tally.weights.length, per):
        inner = pi.scratch("inner", len(others) * len(rows)).reshape(len(others), -1, 2)
        # The number of the block stays in the inner part: what both sides add to r alike is no harm.
        mix_rows(rows, np.uint64(first // per), inner[0])
        np.bitwise_xor(inner[0], others[1:, None], out=inner[1:])
        yield first, inner, pi.apply(inner, "outer").reshape(inner.shape)


def _correct(
    inner: Any, outer: Any, start: int, first: int, bits: Bits, weights: Any, values: Any, sums: Words
) -> None:
    """d of each pair, and B's share, for OTs from `start` and weights from `first` on."""
    pairs, count, row = weights.shape[1], weights.shape[0], 0
    while row < inner.shape[1]:
        line, pair = (start + row) // pairs, (start + row) % pairs
        n = min(inner.shape[1] - row, pairs - pair)
        chosen = bits[line, pair : pair + n]
        for e in range(min(inner.shape[2], count - first)):
            cell, total = line * count + first + e, np.uint64(0)
            value, u = values[cell, pair : pair + n], weights[first + e, pair : pair + n]
            x0, y0 = inner[0, row : row + n], outer[0, row : row + n]
            x1, y1 = inner[1, row : row + n], outer[1, row : row + n]
            for i in range(n):
                zero, one = np.uint64(x0[i, e] ^ y0[i, e]), np.uint64(x1[i, e] ^ y1[i, e])
                weight = np.uint64(u[i])
                own = weight * np.uint64(chosen[i])
                value[i] = weight - own - own + zero - one
                total += own - zero
            sums[cell] += total
        row += n


def _collect(inner: Any, outer: Any, start: int, first: int, bits: Bits, values: Any, sums: Words) -> None:
    """A's share, for OTs from `start` and weights from `first` on."""
    pairs, count, row = bits.shape[1], values.shape[0] // bits.shape[0], 0
    while row < inner.shape[1]:
        line, pair = (start + row) // pairs, (start + row) % pairs
        n = min(inner.shape[1] - row, pairs - pair)
        chosen, x, y = bits[line, pair : pair + n], inner[0, row : row + n], outer[0, row : row + n]
        for e in range(min(inner.shape[2], count - first)):
            cell, total = line * count + first + e, np.uint64(0)
            value = values[cell, pair : pair + n]
            for i in range(n):
                total += np.uint64(x[i, e] ^ y[i, e]) + np.uint64(chosen[i]) * np.uint64(value[i])
            sums[cell] += total
        row += n


_LANES = "uint{0}[:,:,::1], uint{0}[:,:,::1], int64, int64, uint8[:,::1]"
_CORRECT: dict[int, Kernel[..., None]] = {
    w: kernel(f"void({_LANES.format(w)}, uint{w}[:,::1], uint{w}[:,::1], uint64[::1])")(_correct)
    for w in LANES
}
_COLLECT: dict[int, Kernel[..., None]] = {
    w: kernel(f"void({_LANES.format(w)}, uint{w}[:,::1], uint64[::1])")(_collect) for w in LANES
}
