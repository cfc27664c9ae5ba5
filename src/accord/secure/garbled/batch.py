"""One side of a batch of garbled circuits, and the labels of the evaluator's bits.

The labels need no message of their own: row j of the OT extension is t_j at the receiver and t_j ⊕ choice_j·Δ
at the sender, which is what a label and W⁰ are, with Δ that of the extension. The choices are checked
(`transfer/checked.py`) before anything is garbled with their labels: one that differs from tree to tree would
move a label by bits of Δ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from accord.secure.blocks import Limit, StripBatch
from accord.secure.garbled.boolean import source_bits
from accord.secure.garbled.tape import Tape
from accord.secure.party import Party, receive, send
from accord.secure.transfer.checked import checked_bytes, choose, offer
from accord.secure.transfer.extension import Sender, padded_count
from accord.secure.transfer.packing import bits_to_wire
from accord.secure.transfer.setup import Session
from accord.side import Side

Answer = NDArray[np.bool_]
Bits = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

K = 4
"""The field of the OT extension, which carries little here."""

WINDOW = 8
"""Batches that are under way at once."""

_CACHE = 1 << 21
"""Bytes of labels and hashes that a batch works on at once; its tables are written and not read again."""


def label_bytes(count: int, rate: int) -> int:
    """Bytes of the message that brings an evaluator so many labels."""
    return checked_bytes(count, rate) if count else 0


def take_labels(session: Session, bits: Bits) -> Party[Words]:
    """The evaluator's labels of its bits, (bits, 2). Nothing is sent for none, but a message all the same."""
    if not len(bits):
        yield from send(np.zeros(0, dtype=np.uint8))
        return np.zeros((0, 2), dtype=np.uint64)
    chosen = np.zeros(padded_count(len(bits)), dtype=np.uint8)
    chosen[: len(bits)] = bits
    words, alone = bits_to_wire(chosen).view("<u8"), np.zeros(0, np.uint64)
    return (yield from choose(session.receiver, words, len(bits), session.entropy, alone))


def give_labels(end: Sender, count: int) -> Party[Words]:
    """W⁰ of so many bits of the evaluator, (count, 2). Raises if it did not choose once for each."""
    if not count:
        yield from receive(0)
        return np.zeros((0, 2), dtype=np.uint64)
    labels, _ = yield from offer(end, count, 0)
    return labels


def batch_limit(tape: Tape) -> Limit:
    """How much goes into a batch: what fits the cache, and as many rows of one side as of the other."""
    most = max(64, min(2048, _CACHE // (16 * (tape.places + 6 * tape.widest + 1))))
    return Limit(most, longest=isqrt(most))


@dataclass(frozen=True, eq=False, repr=False)
class BatchSide:
    """One side of a batch; its tables have the numbers from `number` on."""

    session: Session
    tape: Tape
    batch: StripBatch
    inputs: Mapping[str, Ints]
    real: NDArray[np.bool_]
    number: int

    def bits(self, garbler: bool) -> Bits:
        """The own bits of the batch's rows, (bits, rows)."""
        rows = self.batch.a_rows if self.session.side is Side.A else self.batch.b_rows
        sources = self.tape.ours if garbler else self.tape.theirs
        return source_bits(sources, lambda of: self.inputs[of.name][rows], self.real[rows])

    def rows(self, side: Side) -> tuple[Ints, int]:
        """Which row of a side each pair takes, and how many rows there are."""
        if side is Side.A:
            count = len(self.batch.a_rows)
            return self.batch.of_a(np.arange(count)), count
        count = len(self.batch.b_rows)
        return self.batch.of_b(np.arange(count)), count
