"""The answer of a routed linkage (routed.py), in which nobody is shown (answers.py).

      ◄──────────────── passes: shares of every cell ─────►            (routed_passes.py)
      ◄──────────────── both have kept them ──────────────►
      ◄──────────────── shares with noise ────────────────►

A pair counts if its bit holds, if what the two sides hold is a row at all (`MET`: zeros that both have), and
if it has not met in an earlier pass: the keys of earlier passes ride along, those of records that had no
place being random on either side. All passes have one circuit; keys of passes yet to come are random.

A share is made anew whenever a pass is done again. But once a share with noise may have been sent, none is:
the noise is the run's own, from the key of its slots, and with it another sum would show the difference. So
noise is sent only after both have said that their shares are kept, and a partner that has forgotten its own
by then is refused (journal.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from accord.entropy import MASKS, NOISE, Entropy, words
from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.confirm import confirm_answer
from accord.protocols.parts.answers import Question
from accord.protocols.parts.comparers import Comparer
from accord.protocols.parts.journal import Answer, step, whole
from accord.protocols.parts.lanes import Lane
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.parts.phases import Phases
from accord.protocols.parts.slots import exchange_commitments
from accord.protocols.routed_passes import Passes, held_circuit
from accord.protocols.routing import Placing
from accord.secure.circuit import Equal, Input, Node, Not, Opened
from accord.secure.engine import Engine, require_holding
from accord.secure.party import Party, receive, send
from accord.side import Side

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

CHECK = 72
"""Bits by which two rows are known to have met, or a key to be the same: of 2³² comparisons none is wrong,
but with probability 2⁻⁴⁰."""
MET = Input("met", CHECK, 1)


def find_answer(run: AnswerPasses, engine: Engine) -> Party[Outcome]:
    """One side of a linkage of which both learn an answer."""
    mine, question = run.own, run.question
    clock = mine.stopwatch
    made = whole(exchange_commitments(mine.slots, mine.side))
    yield from step(mine.journal, made, lambda answer: None)
    comparer = yield from run.gather(engine)
    set_up, share = clock.lap(), np.zeros(len(run.noise), np.int64)
    for lane in run.lanes:
        share += yield from step(mine.journal, run.one_pass(lane, comparer), run.read)
    yield from step(mine.journal, whole(_kept()), lambda answer: None)
    compared = clock.lap()
    opened = yield from step(mine.journal, whole(_open(question, share + run.noise)), _numbers)
    answer = question.answer(opened)
    mine.watch(Status(run.total, run.total, None))
    digest = yield from confirm_answer(opened.tobytes(), mine.side, mine.entropy)
    return replace(run.nobody(digest, Phases(set_up, compared, clock.lap())), answer=answer)


def answer_steps(lanes: int) -> range:
    """The steps of the journal that hold shares: behind that of the commitments."""
    return range(1, 1 + lanes)


def _kept() -> Party[bytes]:
    """Both have kept their shares."""
    yield from send(np.zeros(1, np.uint8))
    yield from receive(1)
    return b""


def _open(question: Question, noisy: Ints) -> Party[bytes]:
    """The cells with the noise of both, as both see them: numbers of the ring."""
    mask = np.int64((1 << question.bits) - 1)
    yield from send((noisy & mask).astype("<i8"))
    came = _numbers(((yield from receive(8 * len(noisy))).tobytes(),))
    if (came & ~mask).any():
        raise PeerError(problem="a share that is none")
    return ((noisy + came) & mask).astype("<i8").tobytes()


def _numbers(answer: Answer) -> Ints:
    return np.frombuffer(answer[0], "<i8").astype(np.int64)


class AnswerPasses(Passes):
    """Passes in which both sides add up shares."""

    def __init__(
        self, task: Task, lanes: Sequence[Lane], question: Question, mine: OwnSide, engine: Engine
    ) -> None:
        self.question, self.size = question, len(mine.records)
        circuit = answer_circuit(task, lanes, question, engine)
        super().__init__(task, lanes, mine, require_holding(engine), circuit)
        drawn = self.fixed.stream(NOISE)
        self.noise = np.array([one.draw(1, drawn)[0] for one in question.noise(mine.side)], np.int64)
        """Of this side, for each cell: drawn once a run."""
        self._random = mine.entropy.stream(f"{MASKS} keys")
        self._keys = [
            _keys_of(self.placings[one.number], self._several(one), self.size) for one in lanes[:-1]
        ]
        """Of all passes but the last."""
        self._made: dict[str, Ints] = {}

    def _several(self, lane: Lane) -> int:
        return self.task.blocking.passes[lane.number].per_record(self.own.side)

    def one_pass(self, lane: Lane, comparer: Comparer) -> Party[Answer]:
        """This side's share of every cell."""
        _, sums = yield from self.compare(lane, comparer)
        return (self.question.cells(sums.sum(axis=0)).astype("<i8").tobytes(),)

    def read(self, answer: Answer) -> Ints:
        return _numbers(answer)

    def matches(self, said: Ints) -> int | None:
        return None

    def input(self, one: Input, rows: Ints, lane: Lane | None) -> Ints:
        if one == MET:
            return np.zeros((len(rows), CHECK), np.int64)
        if one.name in ("index", "number", "weights"):
            if one.name not in self._made:
                make = self.question.weights if one.name == "weights" else self.question.listed
                self._made[one.name] = make(self.own.records)
            return self._made[one.name][rows]
        earlier, own, _ = _parse(one.name, self.own.side)
        if lane is not None and earlier >= lane.number:
            return _bits(*_random_words(self._random, len(rows)))
        keys, placed = self._keys[earlier]
        low, high = _random_words(self._random, len(rows))
        real = placed[rows, own]
        return _bits(np.where(real, keys[rows, own], low), np.where(real, 0, high).astype(np.uint64))


def answer_circuit(
    task: Task, lanes: Sequence[Lane], question: Question, engine: Engine | None = None
) -> Opened:
    """What the engine is asked."""
    nodes: list[Node] = [Equal(MET), *(Not(Equal(one)) for one in _earlier(task, lanes))]
    return held_circuit(task, question.asker, engine, nodes, question.tally)


def _earlier(task: Task, lanes: Sequence[Lane]) -> Iterator[Input]:
    """The keys of all passes but the last, each of A's with each of B's."""
    for lane in lanes[:-1]:
        one = task.blocking.passes[lane.number]
        for a in range(one.per_record(Side.A)):
            for b in range(one.per_record(Side.B)):
                yield Input(f"key {lane.number} {a} {b}", CHECK, 1)


def _parse(name: str, side: Side) -> tuple[int, int, int]:
    """The pass, and which of the own and of the partner's keys in it."""
    lane, a, b = map(int, name.split()[1:])
    return (lane, a, b) if side is Side.A else (lane, b, a)


def _keys_of(own: Placing, several: int, size: int) -> tuple[Words, NDArray[np.bool_]]:
    """The keys of every record, (records, several), and which of them have a place."""
    order = np.argsort(own.record, kind="stable")
    record = own.record[order]
    number = np.arange(len(record)) - np.searchsorted(record, record)
    keys, placed = np.zeros((size, several), np.uint64), np.zeros((size, several), np.bool_)
    keys[record, number], placed[record, number] = own.key[order], True
    return keys, placed


def _random_words(entropy: Entropy, count: int) -> tuple[Words, Words]:
    found = words(entropy, 2 * count)
    return found[:count], found[count:]


def _bits(low: Words, high: Words) -> Ints:
    """`CHECK` bits of each pair of words."""
    octets = np.stack([low, high], axis=1).astype("<u8").view(np.uint8)[:, : CHECK // 8]
    return np.unpackbits(np.ascontiguousarray(octets), axis=1, bitorder="little").astype(np.int64)
