"""What a side has found so far: the partner's records that were disclosed to it, and the matches with them.

The invariant: a slot of the partner belongs to at most one disclosed record, and so does an id; no more
records are taken in than its table holds, in no more bytes than fit here. All of this is known before an
answer of the partner is kept. A match that was found in several passes is one match of the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.fields.columns import Columns
from accord.protocols.base import Task
from accord.protocols.parts.disclosed import Disclosed, exchange, partner_records, take
from accord.protocols.parts.journal import Answer, step
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.phases import Phases
from accord.protocols.parts.slots import SomeInts, slots_among
from accord.protocols.seen import Seen
from accord.ranges import contained
from accord.secure.party import Party
from accord.side import Side
from accord.spill import Growing, pieces
from accord.table.pairs import IdOrder, SomePairs, order_pairs

Ints = NDArray[np.int64]
T = TypeVar("T")


class Found:
    """Disclosed records of the partner by number, and matches."""

    def __init__(self, task: Task, mine: OwnSide, counts: Ints) -> None:
        self._task, self._mine = task, mine
        size, slots = mine.partner_size, int(counts.sum())
        self._shape = task.shape(mine.side.other, size, slots)
        self._width = max(1, size)
        self._matches = Growing(mine.scratch)
        """As own row · width + number of the partner's record, in the order in which they were found."""
        self._seen = Seen(task, mine.side.other, mine.scratch, [*task.chosen_by, *task.checked_by])
        self._room = self._shape.room
        self.number_of = np.full(slots, -1, np.int32)
        """For each slot of the partner the number of its disclosed record."""
        self.partner_ends = np.cumsum(counts)
        """Where the slots of each bin of the partner end."""

    def exchange(
        self, own: Disclosed, due: int, judge: Callable[[Disclosed], T]
    ) -> Party[tuple[Disclosed, T]]:
        """Show these records and see the partner's, of which at most so many are due, as they were judged."""
        shape = replace(self._shape, most_records=self._mine.partner_size - len(self._seen), room=self._room)

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
        if (self.number_of[theirs.slots] >= 0).any():
            raise PeerError(problem="a record that it had disclosed before")
        self._seen.require_new(theirs)

    def number(self, theirs: Disclosed) -> int:
        """Give the partner's records their numbers; give the first."""
        first = len(self._seen)
        self.number_of[theirs.slots] = first + np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        self._seen.add(theirs)
        return first

    def known(self) -> Columns:
        """The fields of the rule of the records that have a number, where these are kept."""
        return self._seen.checked()

    def add(self, rows: Ints, numbers: NDArray[np.integer]) -> None:
        """These pairs (own row, number of the partner's record) match."""
        self._matches.add(rows * self._width + numbers)

    def outcome(self, comparisons: int, rounds: int, phases: Phases) -> Outcome:
        """Everything found, as this side's outcome; it is handed over and no longer kept."""
        ids, columns = self._seen.texts()
        side, orders = self._mine.side, (self._mine.records.by_id, IdOrder.of(ids))
        a, b = orders if side is Side.A else orders[::-1]
        pairs = order_pairs(a, b, self._pairs(), self._mine.scratch)
        self._matches = Growing(self._mine.scratch)
        return Outcome(
            side=side,
            pairs=pairs,
            partner_ids=ids,
            partner_columns=columns,
            partner_size=self._mine.partner_size,
            partner_slots=self._shape.slots,
            comparisons=comparisons,
            rounds=rounds,
            dummies=int((self._mine.slots.record < 0).sum()),
            released=self._mine.released,
            phases=phases,
            partner_fields=self._seen.fields(),
        )

    def _pairs(self) -> Iterator[SomePairs]:
        """What was found, A's rows first."""
        for keys in pieces(self._matches.whole()):
            own = keys // self._width
            partner = keys - own * self._width
            yield (own, partner) if self._mine.side is Side.A else (partner, own)


def disclose(task: Task, mine: OwnSide, of: SomeInts, slots: SomeInts, records: Ints) -> Disclosed:
    """These own records in the order of their ids, each with its slots; `of` has the record of each of the
    slots, ascending."""
    records = order_by_id(mine, records)
    shown = take(mine.records, records, task.shown_fields)
    return Disclosed(*slots_among(of, slots, records), *shown)


def require_hit(theirs: Disclosed, slots: Ints) -> None:
    """Every record has one of these slots: those that matched, and are due."""
    of = np.repeat(np.arange(len(theirs)), theirs.slot_counts)
    hit = np.bincount(of[contained(theirs.slots, slots)], minlength=len(theirs)) > 0
    if not hit.all():
        raise PeerError(problem="a record whose slot did not match")


def order_by_id(mine: OwnSide, records: Ints) -> Ints:
    """The order of the table is nobody's business; that of the ids follows from what is disclosed."""
    by_id = mine.records.by_id
    return by_id.rows[np.sort(by_id.places[records])].astype(np.int64)
