"""Disclosure without greedy: every matched slot, and only those, once, after the last round.

So copies of a record in other bins stay unknown. A pair that matched in several passes is known to be one
when its records are: until then `matches` counts it in each.

Checked of what the partner sends: that it discloses the slots that matched, all of them and no others, and
each of them once (found.py). What the records hold is compared with the rule if its fields are shown, since
pairs are chosen by them (one_to_one.py), and else with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.disclosed import Disclosed, take
from accord.protocols.found import Found, order_by_id
from accord.protocols.mine import Mine
from accord.protocols.one_to_one import require_matches
from accord.ranges import distinct, ranges
from accord.secure.party import Party
from accord.spill import Growing, pieces

Ints = NDArray[np.int64]


class DiscloseOnce:
    """Keeps the matched slots until the end."""

    def __init__(self, task: Task, mine: Mine, found: Found) -> None:
        self._task, self._mine, self._found = task, mine, found
        self._pairs = Growing(mine.scratch)
        """As own slot · the partner's slots + partner's slot."""
        self._width = max(1, len(found.number_of))
        self._matched = np.zeros(len(mine.slots.record), np.bool_), np.zeros(len(found.number_of), np.bool_)
        """Which of the own slots, and of the partner's."""
        self.matches = 0

    def take(self, pairs: Ints) -> Party[None]:
        """Keep the matches of a round."""
        own, partner = pairs.T
        self._pairs.add(own * self._width + partner)
        self._matched[0][own] = True
        self._matched[1][partner] = True
        self.matches += len(pairs)
        yield from ()

    def finish(self) -> Party[None]:
        """Show what matched, and see the same of the partner."""
        own, matched = (np.flatnonzero(slots) for slots in self._matched)

        def judge(theirs: Disclosed) -> None:
            if not np.array_equal(np.sort(theirs.slots), matched):
                raise PeerError(problem="other records than those that matched")
            if self._task.one_to_one:
                number_of = np.empty(self._width, np.int64)
                number_of[theirs.slots] = np.repeat(np.arange(len(theirs)), theirs.slot_counts)
                for rows, slots in self._rows():
                    require_matches(self._task, self._mine, theirs.fields, rows, number_of[slots])

        theirs, _ = yield from self._found.exchange(self._disclosure(own), len(matched), judge)
        self._found.number(theirs)
        # A pair that was compared in several passes is here as often, and comes out once (found.py).
        for rows, slots in self._rows():
            self._found.add(rows, self._found.number_of[slots])
        self._pairs = Growing(self._mine.scratch)

    def _rows(self) -> Iterator[tuple[Ints, Ints]]:
        """The pairs as own rows and the partner's slots, some at a time."""
        for keys in pieces(self._pairs.whole()):
            own = keys // self._width
            yield self._mine.slots.records_of(own), keys - own * self._width

    def _disclosure(self, slots: Ints) -> Disclosed:
        """The records of these slots, in the order of their ids, with these slots alone."""
        of = self._mine.slots.records_of(slots)
        slots, of = slots[np.argsort(of, kind="stable")], np.sort(of)
        records = order_by_id(self._mine, distinct(of))
        starts, stops = np.searchsorted(of, records), np.searchsorted(of, records, "right")
        shown = take(self._mine.records, records, self._task.shown_fields)
        return Disclosed(stops - starts, slots[ranges(starts, stops)], *shown)
