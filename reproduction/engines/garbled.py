"""Yao's garbled circuits: how the Paillier engines compare shares of distances, in few rounds.

Semi-honest, κ = 128, no third party. A circuit becomes XORs and ANDs, these become a tape
(`accord/secure/garbled/`), and each batch of pairs is garbled by one side and evaluated by the other:

    evaluator → garbler   choices of the OTs that bring the labels of the evaluator's bits
    garbler → evaluator   all tables, and the lowest bits of the answers' W⁰, which decode them
    evaluator → garbler   the answers, in clear

A starts every batch and B ends it, if need be with an empty message: this keeps interleaved batches in step,
whoever garbles them. The sides take turns: garbling hashes twice as much as evaluating, so batches garbled by
A and by B alternate and, interleaved, keep both busy. Memory is bounded by the batches under way.

Learns: both sides the match bits, and nothing else; `docs/engines.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import Blocks, StripBatch, Table, batches, shapes
from accord.secure.circuit import Node, inputs
from accord.secure.garbled.batch import (
    WINDOW,
    Answer,
    BatchSide,
    K,
    batch_limit,
    give_labels,
    label_bytes,
    take_labels,
)
from accord.secure.garbled.compiler import boolean_circuit, check_supported
from accord.secure.garbled.gates import Feed, colours, evaluate, garble
from accord.secure.garbled.session import GarbledSession
from accord.secure.garbled.tape import Tape, tapes_of
from accord.secure.party import Party, interleave, receive, send
from accord.secure.transfer.packing import bits_from_wire, bits_to_wire
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import set_up
from accord.side import Side

TAG = b"accord/garbled/3 k=4"

MESSAGES = 4
"""Messages of one batch; each depends on the one before."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of the messages of one batch, in order."""

    choices: int
    tables: int
    answers: int

    @property
    def total(self) -> int:
        return self.choices + self.tables + self.answers


def batch_sizes(tape: Tape, rate: int, rows: int, pairs: int) -> Sizes:
    """The sizes for a batch with so many rows of the evaluator and pairs, and OTs of so many bits."""
    answers = -(-pairs // 8)
    choices = label_bytes(len(tape.theirs) * rows, rate)
    return Sizes(choices, 16 * tape.tables * pairs + answers, answers)


@dataclass(frozen=True)
class GarbledEngine:
    """The engine."""

    @property
    def name(self) -> str:
        return "garbled"

    def supports(self, circuit: Node) -> None:
        check_supported(circuit, self.name)
        boolean_circuit(circuit)

    def set_up(
        self, side: Side, entropy: Entropy, permutation: Permutation | None = None
    ) -> Party[GarbledSession]:
        return GarbledSession((yield from set_up(side, K, entropy, permutation, TAG)))

    def evaluate(
        self, session: GarbledSession, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        check_supported(circuit, self.name)
        tapes = session.tapes(circuit)
        rows = {of.name: table.read(of) for of in inputs(circuit, session.ot.side)}
        result = np.zeros(blocks.pairs, dtype=np.bool_)

        def work(batch: StripBatch, garbler: Side, number: int) -> Party[None]:
            own = BatchSide(session.ot, tapes[garbler is Side.B], batch, rows, table.real, number)
            bits = yield from (run_garbler if garbler is session.ot.side else run_evaluator)(own)
            batch.put(bits, result)

        def works() -> Iterator[Party[None]]:
            for place, batch in enumerate(batches(blocks, batch_limit(tapes[0]))):
                first, session.tables = session.tables, session.tables + tapes[0].tables * batch.pairs
                yield work(batch, (Side.A, Side.B)[place % 2], first)

        with session.ot.evaluating():
            yield from interleave(works(), WINDOW)
        return result


def run_garbler(own: BatchSide) -> Party[Answer]:
    """The garbler's side of a batch. Learns: the answers, when the evaluator sends them."""
    side, tape, end = own.session.side, own.tape, own.session.sender
    if side is Side.A:
        yield from send(np.zeros(0, dtype=np.uint8))
    (theirs, rows), (ours, _) = own.rows(side.other), own.rows(side)
    sizes = batch_sizes(tape, end.rate, rows, own.batch.pairs)
    labels = (yield from give_labels(end, len(tape.theirs) * rows)).reshape(-1, rows, 2)
    feed = Feed(labels, theirs, own.bits(garbler=True), ours)
    message = np.empty(sizes.tables, dtype=np.uint8)
    tables = message[: -sizes.answers].view("<u8")
    made = garble(end.pi, tape, feed, end.delta, own.number, tables)
    message[-sizes.answers :] = bits_to_wire(colours(made) ^ np.uint8(tape.inverted))
    yield from send(message)
    answers = yield from receive(sizes.answers)
    if side is Side.B:
        yield from send(np.zeros(0, dtype=np.uint8))
    return bits_from_wire(answers, own.batch.pairs)


def run_evaluator(own: BatchSide) -> Party[Answer]:
    """The evaluator's side of a batch. Learns: the answers, since it can decode the last labels."""
    side, tape, end = own.session.side, own.tape, own.session.receiver
    if side is Side.B:
        yield from receive(0)
    (theirs, rows), (ours, count) = own.rows(side), own.rows(side.other)
    sizes, known = batch_sizes(tape, end.rate, rows, own.batch.pairs), own.bits(garbler=False)
    labels = (yield from take_labels(own.session, known.reshape(-1))).reshape(-1, rows, 2)
    message = yield from receive(sizes.tables)
    decode = bits_from_wire(message[-sizes.answers :], own.batch.pairs)
    feed = Feed(labels, theirs, np.zeros((len(tape.ours), count), dtype=np.uint8), ours)
    tables = message[: -sizes.answers].view("<u8")
    answers = colours(evaluate(end.pi, tape, feed, known, own.number, tables)).astype(np.bool_) ^ decode
    yield from send(bits_to_wire(answers))
    if side is Side.A:
        yield from receive(0)
    return answers


def price(circuit: Node, blocks: Blocks) -> tuple[int, int]:
    """Bytes and rounds of an evaluation."""
    tapes = tapes_of(boolean_circuit(circuit))
    sizes = shapes(blocks, batch_limit(tapes[0]))
    # Batches garbled by A take labels for B's rows, those garbled by B for A's.
    by_b = np.arange(len(sizes.pairs)) % 2
    total = 0
    kinds = np.stack([by_b, np.where(by_b, sizes.strips, sizes.b_rows), sizes.pairs])
    kinds, counts = np.unique(kinds, axis=1, return_counts=True)
    for (other, rows, pair), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * batch_sizes(tapes[other], 128 // K, rows, pair).total
    return total, MESSAGES * -(-len(sizes.pairs) // WINDOW)
