"""Disclosure without greedy: every matched slot, and only those, once, after the last round.

So copies of a record in other bins stay unknown. A pair that matched in several passes is known to be one
when its records are: until then `matches` counts it in each.

Checked of what the partner sends: that it discloses the slots that matched, all of them and no others, and
each of them once (found.py). What the records hold is compared with the rule if its fields are shown, since
pairs are chosen by them (one_to_one.py), and else with nothing.
"""

from __future__ import annotations

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

Ints = NDArray[np.int64]


class DiscloseOnce:
    """Keeps the matched slots until the end."""

    def __init__(self, task: Task, mine: Mine, found: Found) -> None:
        self._task, self._mine, self._found = task, mine, found
        self._pairs = [np.zeros((0, 2), np.int64)]
        """(own slot, partner's slot)"""
        self.matches = 0

    def take(self, pairs: Ints) -> Party[None]:
        """Keep the matches of a round."""
        self._pairs.append(pairs)
        self.matches += len(pairs)
        yield from ()

    def finish(self) -> Party[None]:
        """Show what matched, and see the same of the partner."""
        pairs = np.concatenate(self._pairs)
        matched, rows = distinct(pairs[:, 1]), self._mine.slots.record[pairs[:, 0]]

        def judge(theirs: Disclosed) -> None:
            if not np.array_equal(np.sort(theirs.slots), matched):
                raise PeerError(problem="other records than those that matched")
            if self._task.one_to_one:
                of = np.repeat(np.arange(len(theirs)), theirs.slot_counts)[np.argsort(theirs.slots)]
                numbers = of[np.searchsorted(matched, pairs[:, 1])]
                require_matches(self._task, self._mine, theirs.fields, rows, numbers)

        own = self._disclosure(distinct(pairs[:, 0]))
        theirs, _ = yield from self._found.exchange(own, len(matched), judge)
        self._found.number(theirs)
        # A pair that was compared in several passes is here as often, and comes out once (found.py).
        self._found.add(rows, self._found.number_of[pairs[:, 1]])

    def _disclosure(self, slots: Ints) -> Disclosed:
        """The records of these slots, in the order of their ids, with these slots alone."""
        of = self._mine.slots.record[slots]
        slots, of = slots[np.argsort(of, kind="stable")], np.sort(of)
        records = order_by_id(self._mine, distinct(of))
        starts, stops = np.searchsorted(of, records), np.searchsorted(of, records, "right")
        shown = take(self._mine.records, records, self._task.shown_fields)
        return Disclosed(stops - starts, slots[ranges(starts, stops)], *shown)
