"""What a side has found so far: the partner's records that were disclosed to it, and the matches with them.

The invariant: a slot of the partner belongs to at most one disclosed record, and no more records are taken in
than its table holds.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.disclosed import Disclosed, Shape, exchange, partner_records
from accord.protocols.journal import step
from accord.protocols.mine import Mine
from accord.protocols.outcome import Outcome, Seconds
from accord.secure.party import Party

Ints = NDArray[np.int64]


class Found:
    """Disclosed records of the partner by number, and matches."""

    def __init__(self, task: Task, mine: Mine, counts: Ints) -> None:
        self._task, self._mine = task, mine
        size, slots = mine.partner_size, int(counts.sum())
        self._shape = Shape(task.fields, task.shown_fields, task.disclose[mine.side.other], size, slots)
        self._width = max(1, size)
        self._matches = [np.zeros(0, np.int64)]
        """As own row · width + number of the partner's record: there may be very many."""
        self._seen: list[Disclosed] = []
        self._seen_count = 0
        self.number_of = np.full(slots, -1, np.int64)
        """For each slot of the partner the number of its disclosed record."""
        self.partner_ends = np.cumsum(counts)
        """Where the slots of each bin of the partner end."""

    def exchange(self, own: Disclosed) -> Party[Disclosed]:
        """Show these records and see the partner's."""
        answer = yield from step(self._mine.journal, exchange(own, self._shape))
        return partner_records(answer, self._shape)

    def number(self, theirs: Disclosed) -> int:
        """Give the partner's records their numbers; give the first."""
        first = self._seen_count
        if (self.number_of[theirs.slots] >= 0).any():
            raise PeerError(problem="a record that it had disclosed before")
        self.number_of[theirs.slots] = first + np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        self._seen.append(theirs)
        self._seen_count += len(theirs)
        if self._seen_count > self._mine.partner_size:
            raise PeerError(problem="more disclosed records than its table holds")
        return first

    def keys(self, rows: Ints, numbers: Ints) -> Ints:
        """Pairs (own row, number of the partner's record) as whole numbers."""
        return rows * self._width + numbers

    def add(self, rows: Ints, numbers: Ints) -> None:
        """These pairs match."""
        self._matches.append(self.keys(rows, numbers))

    @property
    def batches(self) -> int:
        """How many times matches were added."""
        return len(self._matches)

    def since(self, batch: int) -> list[Ints]:
        """The matches that were added from this time on."""
        return self._matches[batch:]

    def outcome(self, comparisons: int, rounds: int, seconds: Seconds) -> Outcome:
        """Everything found, as this side's outcome; the matches are handed over and no longer kept."""
        keys = np.concatenate(self._matches)
        self._matches.clear()
        keys.sort()
        names = self._task.disclose[self._mine.side.other]
        empty = pa.table({name: pa.array([], pa.large_string()) for name in names})
        return Outcome(
            own=(keys // self._width).astype(np.int32),
            partner=(keys % self._width).astype(np.int32),
            partner_ids=pa.chunked_array([d.ids for d in self._seen], pa.large_string()).combine_chunks(),
            partner_columns=pa.concat_tables([empty, *(d.columns for d in self._seen)]),
            partner_size=self._mine.partner_size,
            partner_slots=self._shape.slots,
            comparisons=comparisons,
            rounds=rounds,
            dummies=int((self._mine.slots.record < 0).sum()),
            released=self._mine.released,
            seconds=seconds,
        )


def real_records(records: Ints) -> Ints:
    """These records, in ascending order, unless a dummy is among them: none can match."""
    if len(records) and records[0] < 0:
        raise PeerError(problem="a match with a dummy")
    return records


def order_by_id(mine: Mine, records: Ints) -> Ints:
    """The order of the table is nobody's business; that of the ids follows from what is disclosed."""
    return records[np.asarray(pc.sort_indices(mine.records.ids.take(pa.array(records))))]
