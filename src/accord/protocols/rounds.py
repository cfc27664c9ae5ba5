"""The rounds of a linkage: what the schedule brings together the engine compares, and both learn the bits.

A dummy goes through the very code of a real record and has its inputs overwritten after it, so that neither
the size of a message nor the time it takes tells one from the other. No dummy can match: an answer that says
so is refused and not kept.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.matching.rule import fields_of
from accord.protocols.base import Task
from accord.protocols.journal import Answer, step
from accord.protocols.mine import Mine, Status, Stopwatch
from accord.protocols.schedule import Round, Schedule
from accord.records.columns import rows_of
from accord.secure.blocks import Blocks, Table
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side

Ints = NDArray[np.int64]


class Disclosing(Protocol):
    """What becomes of the matches of a round: they are disclosed at once, or at the end."""

    @property
    def matches(self) -> int:
        """How many are known."""

    def take(self, pairs: Ints) -> Party[None]:
        """Both sides' matches of a round, as rows (own slot, partner's slot)."""

    def finish(self) -> Party[None]:
        """After the last round."""


class Rounds:
    """One side of all rounds, and what they came to."""

    def __init__(
        self, task: Task, mine: Mine, engine: Engine, session: object, schedule: Schedule, clock: Stopwatch
    ) -> None:
        self._task, self._mine, self._engine, self._session = task, mine, engine, session
        self._schedule, self._clock = schedule, clock
        self.comparisons = self.count = 0
        self.compare_seconds = self.disclose_seconds = 0.0

    def run(self, disclosing: Disclosing) -> Party[None]:
        """Round after round until nothing is left to compare."""
        most = self._schedule.most_comparisons
        while (round_ := self._schedule.next()) is not None:
            pairs = yield from self._compare(round_)
            self.compare_seconds += self._clock.lap()
            yield from disclosing.take(pairs)
            self.disclose_seconds += self._clock.lap()
            self._mine.watch(Status(self.comparisons, most, disclosing.matches))

    def _compare(self, round_: Round) -> Party[Ints]:
        """Both sides' match bits of a round, as pairs (own slot, partner's slot)."""
        blocks = Blocks.of_sizes(round_.a_counts, round_.b_counts)
        first = self._mine.side is Side.A
        table = self._inputs(round_.a if first else round_.b)

        def read(answer: Answer) -> Ints:
            a, b = _pairs(round_, np.frombuffer(answer[0], "<u8").astype(np.int64))
            pairs = np.stack([a, b] if first else [b, a], axis=1)
            if (self._mine.slots.record[pairs[:, 0]] < 0).any():
                raise PeerError(problem="a match with a dummy")
            return pairs

        self._mine.expect(blocks.pairs, 0)
        pairs = yield from step(self._mine.journal, self._places(blocks, table), read)
        self.comparisons += blocks.pairs
        self.count += 1
        return pairs

    def _places(self, blocks: Blocks, table: Table) -> Party[Answer]:
        """Which of the pairs match."""
        bits = yield from self._engine.evaluate(self._session, self._task.lowered.node, blocks, table)
        return (np.flatnonzero(bits).astype("<u8").tobytes(),)

    def _inputs(self, slots: Ints) -> Table:
        """The circuit's inputs of these slots; a dummy carries the zeros that every code may be.

        A dummy is encoded as the first record and then overwritten, so that it takes the time of a real one.
        """
        record = self._mine.slots.record[slots]
        real = record >= 0
        own = self._mine.records.columns
        some = record.clip(0) if len(self._mine.records) else record[:0]
        columns = {name: rows_of(own[name], some) for name in fields_of(self._task.rule)}
        inputs = self._task.lowered.inputs(self._mine.side, columns)
        if not len(some):
            inputs = {name: np.zeros((len(slots), v.shape[1]), np.int64) for name, v in inputs.items()}
        return Table({name: values * real[:, None] for name, values in inputs.items()}, real)


def _pairs(round_: Round, places: Ints) -> tuple[Ints, Ints]:
    """The slots (of A, of B) at these places of a round's answer."""
    sizes = round_.a_counts * round_.b_counts
    ends = np.cumsum(sizes)
    unit = np.searchsorted(ends, places, "right")
    within = places - (ends - sizes)[unit]
    width = round_.b_counts[unit]
    a_first, b_first = (
        np.cumsum(round_.a_counts) - round_.a_counts,
        np.cumsum(round_.b_counts) - round_.b_counts,
    )
    return round_.a[a_first[unit] + within // width], round_.b[b_first[unit] + within % width]
