"""The rounds of a linkage: what the schedule brings together the engine compares, and both learn the bits.

Where nothing is cleaned after a round, several are under way at once, so that nobody who compares waits for
this side; they end in their order. A round whose answer is known from before a cut is asked of nobody.

A dummy goes through the very code of a real record and has its inputs overwritten after it, so that neither
the size of a message nor the time it takes tells one from the other. No dummy can match: an answer that says
so is refused and not kept.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.fields.columns import rows_of
from accord.protocols.base import Task
from accord.protocols.parts.comparers import Comparer
from accord.protocols.parts.journal import Answer, unfit
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.parts.phases import Lap, Stopwatch
from accord.protocols.parts.schedule import Round, Schedule
from accord.rules.rule import fields_of
from accord.secure.blocks import Blocks, Table
from accord.secure.party import Buffer, Party
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


@dataclass(frozen=True)
class _Begun:
    """A round that is under way, or whose answer is known."""

    round: Round
    known: Buffer | None


class Rounds:
    """One side of all rounds, and what they came to."""

    def __init__(
        self, task: Task, mine: OwnSide, comparer: Comparer, schedule: Schedule, clock: Stopwatch
    ) -> None:
        self._task, self._mine, self._comparer = task, mine, comparer
        self._schedule, self._clock = schedule, clock
        self._decoys = mine.entropy.stream("decoys")
        self._ahead: deque[Round] = deque()
        """Taken from the schedule, and not begun."""
        self._asked = 0
        """Begun, and not kept."""
        self.comparisons = self.count = 0
        self.compared = self.disclosed = Lap()

    def run(self, disclosing: Disclosing, at_once: int) -> Party[None]:
        """Round after round until nothing is left to compare; up to so many are under way at once."""
        most = self._schedule.most_comparisons
        begun: deque[_Begun] = deque()
        while True:
            while len(begun) < at_once and (round_ := self._next_round()) is not None:
                begun.append(self._begin(round_))
            if not begun:
                return
            pairs = yield from self._end(begun.popleft())
            self.compared += self._clock.lap()
            yield from disclosing.take(pairs)
            self.disclosed += self._clock.lap()
            self._mine.watch(Status(self.comparisons, most, disclosing.matches))

    def _next_round(self) -> Round | None:
        return self._ahead.popleft() if self._ahead else self._schedule.next()

    def _require_rounds(self) -> None:
        """Raise unless all that is done again are rounds: who has kept what follows the last of them knows
        that the partner has kept them all."""
        while len(self._ahead) < self._mine.journal.again - self._asked - 1:
            round_ = self._schedule.next()
            if round_ is None:
                raise unfit()
            self._ahead.append(round_)

    def _begin(self, round_: Round) -> _Begun:
        """Ask about a round, unless its answer is known; after one that is not known none is."""
        known = self._mine.journal.recall()
        if known is None:
            self._require_rounds()
            self._asked += 1
            self._mine.expect(round_.pairs, 0)
            own = round_.a if self._mine.side is Side.A else round_.b
            self._comparer.ask(Blocks.of_sizes(round_.a_counts, round_.b_counts), self._inputs(own))
        return _Begun(round_, known)

    def _end(self, begun: _Begun) -> Party[Ints]:
        """Both sides' match bits of a round, as pairs (own slot, partner's slot)."""
        self.comparisons += begun.round.pairs
        self.count += 1
        if begun.known is not None:
            return self._read(begun.round, (begun.known,))
        places = yield from self._comparer.answer()
        answer = (places.astype("<u8").tobytes(),)
        pairs = self._read(begun.round, answer)
        # Only now, as in `journal.step`: a wrong answer is never kept.
        self._mine.journal.keep(answer)
        self._asked -= 1
        return pairs

    def _read(self, round_: Round, answer: Answer) -> Ints:
        """The pairs in an answer, which must not name a dummy of this side."""
        a, b = _pairs(round_, np.frombuffer(answer[0], "<u8").astype(np.int64))
        pairs = np.stack([a, b] if self._mine.side is Side.A else [b, a], axis=1)
        if (self._mine.slots.record[pairs[:, 0]] < 0).any():
            raise PeerError(problem="a match with a dummy")
        return pairs

    def _inputs(self, slots: Ints) -> Table:
        """The circuit's inputs of these slots; a dummy carries the zeros that every code may be.

        A dummy is encoded as some record, any, and then overwritten, so that it takes the time of a real one;
        were it always the same, it would lie in the cache where a real one may have to come from a disk.
        """
        record = self._mine.slots.records_of(slots)
        real = record >= 0
        own, size = self._mine.records.columns, len(self._mine.records)
        others = np.frombuffer(self._decoys.bytes(4 * len(record)), "<u4").astype(np.int64)
        some = np.where(real, record, others % size) if size else record[:0]
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
