"""Greedy Match & Clean over a series: what both have disclosed stays disclosed, and is known in later runs.

A disclosed record is known to the partner with its fields, and its slots are out of all later comparisons:
in a later run they are not there at all, so the bins of both sides are smaller by what both know. Before the
first round of a run

    1  each side names those of its disclosed records that are gone or changed; nobody matches them any more
    2  each side looks for matches of its new records, in the clear, with everything that the partner has
       disclosed and not named; what it finds is disclosed, and so on to a fixed point (greedy.py)

Were 1 left out, a record would be matched after it had gone, which its owner was not asked about; and whether
it still matches would tell whether it is still there.

*Learns*: of disclosed records, whether they are still there unchanged. Of all others nothing: a record that
matches nothing is never in any of this. A record that comes in 2 matches one that was shown (`_require_due`),
and the first of them are of new batches: what is older was compared with all that was shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.binned import Binned
from accord.protocols.found import Found
from accord.protocols.greedy import GreedyClean
from accord.protocols.parts.disclosed import Disclosed
from accord.protocols.parts.journal import Answer, step
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.schedule import Schedule
from accord.protocols.parts.shown import Shown, joined, padded, without_slots
from accord.protocols.parts.standing import Disclosures
from accord.ranges import distinct
from accord.secure.party import Party, Send, receive

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_COUNT = 8


class SeriesGreedy(GreedyClean):
    """Greedy in a run of a series."""

    def __init__(
        self,
        task: Task,
        options: Binned,
        mine: OwnSide,
        schedule: Schedule,
        found: Found,
        before: Disclosures,
    ) -> None:
        super().__init__(task, options, mine, schedule, found)
        self._before, self._member = before.shown, before.rows.member
        self._new: Bools = before.rows.batch >= mine.standing.meeting.of(mine.side)[0]
        """Which rows the partner has never met."""
        shown = before.shown
        self._bins = task.blocking.bins
        self._own = [shown.own]
        self._theirs = [shown.partner]
        self._own_ends = np.cumsum(mine.slots.counts)
        sizes = len(self._own_ends), len(found.partner_ends)
        self._removed = padded(shown.removed[0], sizes[0]), padded(shown.removed[1], sizes[1])

    def begin(self) -> Party[None]:
        """Name what is gone; match what is new with what is known."""
        here = np.isin(self._before.own, self._member)
        theirs = yield from step(
            self._mine.journal,
            _exchange_gone(np.flatnonzero(~here), len(self._before.partner)),
            lambda answer: _read_gone(answer, len(self._before.partner)),
        )
        self._own = [self._before.own[here]]
        kept = np.ones(len(self._before.partner), np.bool_)
        kept[theirs] = False
        known = without_slots(self._before.partner, np.flatnonzero(kept))
        self._theirs = [known]
        self._out[self._before.rows(self._member)] = True
        self._found.number(known)
        fresh = self._match_new(known)
        shown = np.flatnonzero(self._out)

        def judge(came: Disclosed) -> Ints:
            self._require_new_batches(came)
            matches = self._matches(came)
            self._require_due(shown, came, matches)
            return matches

        yield from self._close(fresh, judge, self._mine.partner_size)

    def _require_new_batches(self, came: Disclosed) -> None:
        """These records are of batches that have not met: older ones have met all that is known by now."""
        # The partner's batches that have met are those that something could be out of.
        met = len(self._before.removed[1])
        if (np.searchsorted(self._found.partner_ends, came.slots, "right") < met).any():
            raise PeerError(problem="a record of an earlier batch where one of a new batch was due")

    def _match_new(self, known: Disclosed) -> Ints:
        """The own new rows that match one of these, which were the first to get a number; kept as matches."""
        assert self._index is not None
        rows = [np.zeros(0, np.int64)]
        if len(known):
            for number, row in self._index.each(known.fields, len(known)):
                keys = distinct((number * len(self._out) + row)[self._new[row]])
                number, row = np.divmod(keys, len(self._out))
                self._found.add(row, number)
                self.matches += len(row)
                rows.append(distinct(row))
        return distinct(np.concatenate(rows))

    def _note(self, rows: Ints, own: Disclosed, theirs: Disclosed) -> None:
        self._own.append(self._member[rows])
        self._theirs.append(without_slots(theirs, np.arange(len(theirs))))
        for out, slots, ends in (
            (self._removed[0], own.slots, self._own_ends),
            (self._removed[1], theirs.slots, self._found.partner_ends),
        ):
            np.add.at(out, np.searchsorted(ends, slots, "right"), 1)

    def _bins_of(self, theirs: Disclosed) -> Ints:
        """The bin of each slot of the partner's records, which must be of one batch for each."""
        places = super()._bins_of(theirs)
        batch = places // self._bins
        starts = np.cumsum(theirs.slot_counts) - theirs.slot_counts
        first = np.repeat(starts, theirs.slot_counts)
        if (batch != batch[first]).any():
            raise PeerError(problem="a disclosed record in two batches")
        return places % self._bins

    def shown(self) -> Shown:
        return Shown(np.concatenate(self._own), self._removed, joined(self._theirs))


def _exchange_gone(places: Ints, known: int) -> Party[Answer]:
    """Name own disclosed records that are gone, by their places; those of the partner, of which so many are
    known."""
    yield Send(len(places).to_bytes(_COUNT, "little"))
    count = int.from_bytes((yield from receive(_COUNT)).tobytes(), "little")
    if count > known:
        raise PeerError(problem="more records that are gone than it has disclosed")
    yield Send(places.astype("<u8").tobytes())
    return ((yield from receive(8 * count)).tobytes(),)


def _read_gone(answer: Answer, known: int) -> Ints:
    places = np.frombuffer(answer[0], "<u8")
    if (places >= known).any() or (places[1:] <= places[:-1]).any():
        raise PeerError(problem="records that are gone and that it has not disclosed")
    return places.astype(np.int64)
