"""A row of A that nobody has: what of it the two sides hold in shares, and how they compare with it.

A number of `forms.py` takes bits of A's row, an own part of it, and factors of B's row. So a *payload* of
these bits and own parts is all that a program reads of A's row. B holds s and A holds w, random numbers with

    bit = s ⊕ w,   own part = s + w mod 2^ℓ

and since bit·factor = s·factor + w·(1 − 2s)·factor, B adds Σ 2^shift·s·factor by itself and goes on with the
factors (1 − 2s)·factor as if w were A's row: not a message more. In an exclusive share s·factor is XORed and
the factor stays. This is why B is the side that has its row whole: of A's row a bit takes a bit, where of B's
a factor would take a ring element. What a formula reads of A's row is a share of its own (`compiler.py`).

Equal bits of a row have one place in its payload, and one OT for two of their products (`program.Choices`).
A field of a payload lies within a word, so that one subtraction a word makes shares of all fields. The last
words of a payload are what the answer opens (`opening.py`), if it is not tallied (`tally.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.kernel import Kernel, kernel
from accord.secure.circuit import Bilinear, Both, Equal, Hamming
from accord.secure.forms import Added, Nearby
from accord.secure.ot.program import NumberShare, Own, Program
from accord.secure.ot.rows import OwnRows, Seen
from accord.secure.transfer.packing import LANES
from accord.side import Side

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Bits = NDArray[np.uint8]

_AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False)
class Layout:
    """Where a payload has the bits and the own part of each share."""

    words: int
    """Of a payload, what opens included."""
    bits: tuple[Ints, ...]
    """The places of the bits of A's row, a share after the other; equal bits have one."""
    own: tuple[int | None, ...]
    """Where the own part of each share begins; None where that of every row is 0."""
    tops: Words
    """Of each word the highest bits of its fields."""


@lru_cache(maxsize=64)
def layout_of(program: Program) -> Layout:
    """Own parts first, each within a word; bits wherever there is room."""
    own, end, choices = list[int | None](), 0, program.choices
    for share in program.shares:
        if not _has_own(share):
            own.append(None)
            continue
        if end % 64 + share.bits > 64:
            end += -end % 64
        own.append(end)
        end += share.bits
    fields = [(at, share.bits) for at, share in zip(own, program.shares, strict=True) if at is not None]
    room = 64 * -(-(sum(bits for _, bits in fields) + choices.count + 64) // 64) + 64 * len(fields)
    free = np.ones(room, np.bool_)
    for at, bits in fields:
        free[at : at + bits] = False
    places = np.flatnonzero(free)[: choices.count]
    last = max([int(at) for at in places[-1:]] + [at + bits - 1 for at, bits in fields], default=-1)
    words = last // 64 + 1
    # What no field takes is a field of one bit.
    tops = free[: 64 * words].copy()
    for at, bits in fields:
        tops[at + bits - 1] = True
    packed = np.packbits(tops, bitorder="little").view("<u8").astype(np.uint64)
    full = np.full(program.opens, np.iinfo(np.uint64).max, np.uint64)
    bits_of = tuple(places[numbers] for numbers in choices.bits)
    return Layout(words + program.opens, bits_of, tuple(own), np.concatenate([packed, full]))


def _has_own(share: NumberShare) -> bool:
    """Whether the own part of A's row can be anything but 0."""
    match share.form.of:
        case Hamming() | Equal() | Nearby() | Both() | Added() | Bilinear(_, None):
            return share.penalty != 0
        case _:
            return True


def payloads(program: Program, rows: OwnRows) -> Words:
    """The payload of each row of A, (rows, words), with room for what opens."""
    layout, count = layout_of(program), len(rows.real)
    words = layout.words - program.opens
    result = np.zeros((count, layout.words), np.uint64)
    for first in range(0, count, _AT_ONCE):
        some = np.arange(first, min(first + _AT_ONCE, count))
        bits = np.zeros((len(some), 64 * words), np.uint8)
        fields = result[some[0] : some[-1] + 1]
        for number, share in enumerate(program.shares):
            if len(layout.bits[number]):
                bits[:, layout.bits[number]] = rows.choice_bits(program, number, some).T
            at = layout.own[number]
            if at is not None:
                mask = np.uint64((1 << share.bits) - 1)
                own = rows.own_part(program, number, some, Side.A).astype(np.uint64) & mask
                fields[:, at // 64] |= own << np.uint64(at % 64)
        if bits.shape[1]:
            fields[:, :words] |= np.packbits(bits, axis=1, bitorder="little").view("<u8")
    return result


class HeldRows:
    """A side's shares of rows of A; at B also its own rows, which they meet."""

    def __init__(self, held: Words, own: OwnRows | None = None) -> None:
        self.held = held
        self._own = own
        self._moved: dict[int, Ints] = {}

    def choice_bits(self, program: Program, number: int, rows: Ints, seen: Seen | None = None) -> Bits:
        return _bits(self.held, layout_of(program), number, rows)

    def factors(self, program: Program, number: int, rows: Ints, seen: Seen | None = None) -> NDArray[Any]:
        """(1 − 2s)·factor; what s·factor adds is kept for `own_part`."""
        assert self._own is not None
        share = program.shares[number]
        made, bits = self._own.make_factors(share, rows, seen), self.choice_bits(program, number, rows)
        moved = np.zeros(len(rows), dtype=made.dtype)
        _TURN[share.lane](made, bits, np.array(share.form.shifts, np.uint64), share.exclusive, moved)
        self._moved[number] = moved.astype(np.int64)
        return made

    def own_part(
        self, program: Program, number: int, rows: Ints, side: Side, seen: Seen | None = None
    ) -> Ints:
        held = _own_field(self.held, program, number, rows)
        if self._own is None:
            return held
        own, moved = self._own.own_part(program, number, rows, side, seen), self._moved.pop(number)
        return own ^ moved ^ held if program.shares[number].exclusive else own + moved + held

    def own_bit(self, wire: Own, rows: Ints, side: Side) -> NDArray[np.bool_]:
        raise TypeError("a program for rows that are held in shares reads no bit of a row as it is")


def _bits(held: Words, layout: Layout, number: int, rows: Ints) -> Bits:
    """The held bits of a share, (terms, rows)."""
    result = np.empty((len(layout.bits[number]), len(rows)), np.uint8)
    _spread(held, rows, layout.bits[number], result)
    return result


def _own_field(held: Words, program: Program, number: int, rows: Ints) -> Ints:
    at, bits = layout_of(program).own[number], program.shares[number].bits
    if at is None:
        return np.zeros(len(rows), np.int64)
    field = (held[rows, at // 64] >> np.uint64(at % 64)) & np.uint64((1 << bits) - 1)
    return field.astype(np.int64)


@kernel("void(uint64[:,::1], int64[::1], int64[::1], uint8[:,::1])")
def _spread(held: Words, rows: Ints, places: Ints, result: Bits) -> None:
    for term in range(places.shape[0]):
        word, bit = places[term] >> 6, np.uint64(places[term] & 63)
        target = result[term]
        for row in range(rows.shape[0]):
            target[row] = (held[rows[row], word] >> bit) & np.uint64(1)


def _turn(factors: Any, bits: Bits, shifts: Words, exclusive: bool, moved: Any) -> None:
    """moved += 2^shift·s·factor and factor = (1 − 2s)·factor; or moved ⊕= s·factor."""
    for term in range(factors.shape[0]):
        line, chosen, shift = factors[term], bits[term], shifts[term]
        for row in range(line.shape[0]):
            factor, s = np.uint64(line[row]), np.uint64(chosen[row])
            if exclusive:
                moved[row] ^= s * factor
            else:
                moved[row] += (s * factor) << shift
                line[row] = factor - ((s * factor) << np.uint64(1))


_TURN: dict[int, Kernel[..., None]] = {
    w: kernel(f"void(uint{w}[:,::1], uint8[:,::1], uint64[::1], boolean, uint{w}[::1])")(_turn) for w in LANES
}
