"""Disclosure without greedy: every matched slot, and only those, after the last round, slice by slice.

So copies of a record in other bins stay unknown. A pair that matched in several passes is known to be one
when its records are: until then `matches` counts it in each.

Match bits come from the engine, and who cheats there decides about them; so nobody shows all that they name
at once. Both sides know all pairs of slots that matched. In the order of A's slots, and then of B's, they
take as many pairs as name up to 16 slots of either side that were not named before, then up to 32, and so on
up to 65,536; and each shows the records of these slots that it has not shown, each with all its slots that
matched. Both records of a pair are there when its slice is; so if the fields of the rule are shown, the pair
is checked under the rule before the next slice: a partner that invents matches sees the records of one slice,
the first in which it did.

Checked of what the partner sends: that it discloses the slots that matched, all of them and no others, each
of them once (found.py), in their slices, and that the rule accepts every pair (`Task.checked_by`). Where a
side does not show all fields of the rule, matches are compared with nothing. No more records are shown than
agreed (bound.py): that is known from the bits, before the first slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.found import Found, disclose, require_hit
from accord.protocols.one_to_one import require_matches
from accord.protocols.parts.bound import require_within
from accord.protocols.parts.disclosed import Disclosed
from accord.protocols.parts.own_side import OwnSide
from accord.ranges import contained, distinct
from accord.secure.party import Party
from accord.side import Side
from accord.spill import Growing, pieces, sort_distinct

Ints = NDArray[np.int64]

FIRST, LARGEST = 16, 1 << 16
"""Slots of either side that a slice names for the first time. A part of the protocol."""


class DiscloseAtEnd:
    """Keeps the matched slots until the end."""

    def __init__(self, task: Task, mine: OwnSide, found: Found) -> None:
        self._task, self._mine, self._found = task, mine, found
        self._pairs = Growing(mine.scratch)
        """As A's slot · B's slots + B's slot: the same numbers on both sides."""
        self._matched = np.zeros(len(mine.slots.record), np.bool_), np.zeros(len(found.number_of), np.bool_)
        """Which of the own slots, and of the partner's."""
        self._first = mine.side is Side.A
        self._width = max(1, len(self._matched[1 if self._first else 0]))
        self._due = np.zeros(len(mine.records), np.bool_)
        """Own records that matched."""
        self._count = 0
        self._shown = np.zeros(len(mine.records), np.bool_)
        self.matches = 0

    def take(self, pairs: Ints) -> Party[None]:
        """Keep the matches of a round; raise if they are of more records than may be shown."""
        own, partner = pairs.T
        rows = self._mine.slots.records_of(own)
        fresh = distinct(rows[~self._due[rows]])
        records = self._mine.records.size
        require_within(self._task.most_matches, self._mine.side, records, 0, self._count + len(fresh))
        self._due[fresh] = True
        self._count += len(fresh)
        self._pairs.add(own * self._width + partner if self._first else partner * self._width + own)
        self._matched[0][own] = True
        self._matched[1][partner] = True
        self.matches += len(pairs)
        yield from ()

    def finish(self) -> Party[None]:
        """Show what matched, and see the same of the partner."""
        every = sort_distinct(pieces(self._pairs.whole()), self._mine.scratch)
        self._pairs = Growing(self._mine.scratch)
        for start, stop in pairwise([0, *cut_slices(every, self._width)]):
            yield from self._show(every[start:stop])
        # A pair that was compared in several passes is here as often, and comes out once (found.py).
        for own, partner in self._split(every):
            self._found.add(self._mine.slots.records_of(own), self._found.number_of[partner])

    def _show(self, some: Ints) -> Party[None]:
        """One slice of pairs."""
        fresh, hits = self._new(some)

        def judge(theirs: Disclosed) -> None:
            require_hit(theirs, hits)
            stray = not self._matched[1][theirs.slots].all()
            if stray or not contained(hits, np.sort(theirs.slots)).all():
                raise PeerError(problem="other records than those that matched")
            if self._task.chosen_by or self._task.checked_by:
                self._require_matches(some, theirs)

        theirs, _ = yield from self._found.exchange(self._disclosure(fresh), len(hits), judge)
        self._shown[fresh] = True
        self._found.number(theirs)

    @cached_property
    def _by_record(self) -> tuple[Ints, Ints]:
        """(record, own slot that matched), ascending. *Requires* that all rounds are over."""
        slots = np.flatnonzero(self._matched[0])
        slots = slots[np.argsort(self._mine.slots.records_of(slots), kind="stable")]
        return self._mine.slots.records_of(slots), slots

    def _disclosure(self, records: Ints) -> Disclosed:
        """These records with all their slots that matched, in the order of their ids."""
        return disclose(self._task, self._mine, *self._by_record, records)

    def _new(self, some: Ints) -> tuple[Ints, Ints]:
        """Own records that a slice names first, and slots of the partner's that it has not shown."""
        fresh, hits = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for own, partner in self._split(some):
            rows = self._mine.slots.records_of(own)
            fresh.append(distinct(rows[~self._shown[rows]]))
            hits.append(distinct(partner[self._found.number_of[partner] < 0]))
        return distinct(np.concatenate(fresh)), distinct(np.concatenate(hits))

    def _split(self, some: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Pairs as own slots and the partner's, some at a time."""
        for keys in pieces(some):
            a = keys // self._width
            b = keys - a * self._width
            yield (a, b) if self._first else (b, a)

    def _require_matches(self, some: Ints, theirs: Disclosed) -> None:
        """The rule accepts every pair of a slice, whose records are new or were shown before."""
        order = np.argsort(theirs.slots)
        slots, of = theirs.slots[order], np.repeat(np.arange(len(theirs)), theirs.slot_counts)[order]
        known = self._found.known()
        for own, partner in self._split(some):
            rows, number = self._mine.slots.records_of(own), self._found.number_of[partner].astype(np.int64)
            new = number < 0
            places = of[np.searchsorted(slots, partner[new])]
            require_matches(self._task, self._mine, known, rows[~new], number[~new])
            require_matches(self._task, self._mine, theirs.fields, rows[new], places)


def cut_slices(every: Ints, width: int) -> list[int]:
    """Where slices end, of ascending pairs: each names up to so many new slots of A, and of B; there is at
    least one. A function of the pairs alone, which both sides know."""
    seen = np.zeros(int(every[-1]) // width + 1 if len(every) else 0, np.bool_), np.zeros(width, np.bool_)
    ends: list[int] = []
    size, before, done = FIRST, np.zeros(2, np.int64), 0
    for keys in pieces(every):
        a = keys // width
        named = [_count_new(*both) for both in zip((a, keys - a * width), seen, strict=True)]
        while True:
            stop = min(int(np.searchsorted(n, b + size, "right")) for n, b in zip(named, before, strict=True))
            if stop == len(keys):
                break
            ends.append(done + stop)
            before = np.array([n[stop - 1] if stop else 0 for n in named])
            size = min(2 * size, LARGEST)
        before = before - np.array([n[-1] for n in named])
        done += len(keys)
    return [*ends, len(every)]


def _count_new(slots: Ints, seen: NDArray[np.bool_]) -> Ints:
    """How many slots up to each place are named for the first time; they are seen from now on."""
    values, places = np.unique(slots, return_index=True)
    fresh = np.zeros(len(slots), np.int64)
    fresh[places[~seen[values]]] = 1
    seen[values] = True
    return np.cumsum(fresh)
