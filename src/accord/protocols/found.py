"""What a side has found so far: the partner's records that were disclosed to it, and the matches with them.

The invariant: a slot of the partner belongs to at most one disclosed record, and so does an id; no more
records are taken in than its table holds, in no more bytes than fit here. All of this is known before an
answer of the partner is kept. A match that was found in several passes is one match of the outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.disclosed import Disclosed, Shape, exchange, partner_records
from accord.protocols.journal import Answer, step
from accord.protocols.mine import Mine
from accord.protocols.outcome import Outcome, Seconds
from accord.records.columns import Columns, join_columns
from accord.records.encoders import text_buffers
from accord.records.siphash import hash_texts, key
from accord.secure.party import Party

Ints = NDArray[np.int64]
T = TypeVar("T")


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
        self._seen_ids: set[bytes] = set()
        """A hash of each; who makes two ids collide has its own records refused."""
        self._room = self._shape.room
        self.number_of = np.full(slots, -1, np.int64)
        """For each slot of the partner the number of its disclosed record."""
        self.partner_ends = np.cumsum(counts)
        """Where the slots of each bin of the partner end."""

    def exchange(
        self, own: Disclosed, due: int, judge: Callable[[Disclosed], T]
    ) -> Party[tuple[Disclosed, T]]:
        """Show these records and see the partner's, of which at most so many are due, as they were judged."""
        shape = replace(self._shape, most_records=self._mine.partner_size - self._seen_count, room=self._room)

        def read(answer: Answer) -> tuple[Disclosed, T]:
            theirs = partner_records(answer, shape)
            self._require_new(theirs)
            return theirs, judge(theirs)

        # At worst the partner compares what it is shown with all its records, as this side does.
        self._mine.expect(0, len(own) * self._mine.partner_size)
        found = yield from step(self._mine.journal, exchange(own, shape, due), read)
        self._room -= found[0].columns.nbytes + found[0].ids.nbytes
        return found

    def _require_new(self, theirs: Disclosed) -> None:
        if (self.number_of[theirs.slots] >= 0).any() or not self._seen_ids.isdisjoint(self._hashed(theirs)):
            raise PeerError(problem="a record that it had disclosed before")

    def _hashed(self, theirs: Disclosed) -> list[bytes]:
        starts, octets = text_buffers(theirs.ids)
        words = np.zeros((len(theirs), 2), np.uint64)
        hash_texts(*key(self._task.salt, "ids"), starts, octets, words)
        hashes: list[bytes] = words.view("V16").reshape(-1).tolist()
        return hashes

    def number(self, theirs: Disclosed) -> int:
        """Give the partner's records their numbers; give the first."""
        first = self._seen_count
        self.number_of[theirs.slots] = first + np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        self._seen.append(theirs)
        self._seen_ids.update(self._hashed(theirs))
        self._seen_count += len(theirs)
        return first

    def keys(self, rows: Ints, numbers: Ints) -> Ints:
        """Pairs (own row, number of the partner's record) as whole numbers."""
        return rows * self._width + numbers

    def add(self, rows: Ints, numbers: Ints) -> None:
        """These pairs match."""
        self._matches.append(self.keys(rows, numbers))

    def outcome(self, comparisons: int, rounds: int, seconds: Seconds) -> Outcome:
        """Everything found, as this side's outcome; the matches are handed over and no longer kept."""
        keys = np.concatenate(self._matches)
        self._matches.clear()
        keys.sort()
        again = keys[1:] == keys[:-1]
        if again.any():
            keys = np.delete(keys, 1 + np.flatnonzero(again))
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
            partner_fields=self._fields(),
        )

    def _fields(self) -> Columns:
        """The fields of the partner's records by which pairs are chosen."""
        names = self._task.chosen_by if self._seen else ()
        return {name: join_columns([theirs.fields[name] for theirs in self._seen]) for name in names}


def order_by_id(mine: Mine, records: Ints) -> Ints:
    """The order of the table is nobody's business; that of the ids follows from what is disclosed."""
    return records[np.asarray(pc.sort_indices(mine.records.ids.take(pa.array(records))))]
