"""One batch of the `dual` engine: both sides garble it, and both evaluate what the other garbled.

    both   all tables, and the lowest bits of the answers' W⁰

Nobody decodes the answer v of a pair, but z = v ⊕ m_A ⊕ m_B, with a random bit of each side: the garbler's
own mask costs nothing, since its wire has W⁰ = m·Δ and the label 0; the evaluator's is one OT more, whose row
is the label. So z tells nothing to whoever lacks a mask, and whoever garbles or evaluates something else has
other labels of z, or another z, than the other expects (`equality.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.dual.labels import Bits, Labels, Words, times
from accord.secure.garbled.batch import BatchSide
from accord.secure.garbled.gates import Feed, colours, evaluate, garble
from accord.secure.garbled.tape import Tape
from accord.secure.party import Party, receive, send
from accord.secure.transfer.packing import bits_from_wire, bits_to_wire
from accord.side import Side


def batch_bytes(tape: Tape, pairs: int) -> int:
    """Bytes that who garbles so many pairs sends."""
    return 16 * tape.tables * pairs + -(-pairs // 8)


@dataclass(frozen=True, eq=False, repr=False)
class Masked:
    """What one side has of a batch in the end."""

    bits: Bits
    """z of each pair, as this side decoded it."""
    labels: dict[Side, Words]
    """Of that z, in what each side garbled, (pairs, 2)."""


def run_batch(garbling: BatchSide, evaluating: BatchSide, labels: Labels, pairs: slice) -> Party[Masked]:
    """One side of a batch, of which the masks are those of some pairs. Learns: z, and so nothing."""
    session = garbling.session
    zero, message = _garble(garbling, labels, pairs)
    yield from send(message)
    said = yield from receive(batch_bytes(evaluating.tape, evaluating.batch.pairs))
    found, bits = _evaluate(evaluating, labels, pairs, said)
    own = zero ^ times(bits, session.sender.delta)
    return Masked(bits, {session.side: own, session.side.other: found})


def _garble(own: BatchSide, labels: Labels, pairs: slice) -> tuple[Words, NDArray[np.uint8]]:
    """W⁰ of z, and the message with the tables and what decodes z."""
    side, tape, end, count = own.session.side, own.tape, own.session.sender, own.batch.pairs
    (theirs, _), (ours, _) = own.rows(side.other), own.rows(side)
    message = np.empty(batch_bytes(tape, count), dtype=np.uint8)
    tables, decode = np.split(message, [16 * tape.tables * count])
    given = np.take(labels.given_inputs, _rows(own, side.other), axis=1)
    feed = Feed(given, theirs, own.bits(garbler=True), ours)
    zero = garble(end.pi, tape, feed, end.delta, own.number, tables.view("<u8"))
    zero ^= labels.given_masks[pairs]
    zero ^= times(labels.masks[pairs] ^ np.uint8(tape.inverted), end.delta)
    decode[:] = bits_to_wire(colours(zero))
    return zero, message


def _evaluate(own: BatchSide, labels: Labels, pairs: slice, message: NDArray[np.uint8]) -> tuple[Words, Bits]:
    """The labels of z, and z. Wrong tables give wrong labels, and show by nothing else."""
    side, tape, end = own.session.side, own.tape, own.session.receiver
    (theirs, _), (ours, count) = own.rows(side), own.rows(side.other)
    tables, decode = np.split(message, [16 * tape.tables * own.batch.pairs])
    taken = np.take(labels.taken_inputs, _rows(own, side), axis=1)
    feed = Feed(taken, theirs, np.zeros((len(tape.ours), count), dtype=np.uint8), ours)
    known = own.bits(garbler=False)
    found = evaluate(end.pi, tape, feed, known, own.number, tables.view("<u8"))
    found ^= labels.taken_masks[pairs]
    return found, colours(found) ^ bits_from_wire(decode, own.batch.pairs)


def _rows(own: BatchSide, side: Side) -> NDArray[np.int64]:
    return own.batch.a_rows if side is Side.A else own.batch.b_rows
