"""Greedy Match & Clean [HMFS17, Algorithm 3], and every check on what the partner sends in it.

After a round, each side discloses its records whose slots matched. Both look for the other matches of the
disclosed records among *all* own records, in the clear, disclose those, and so on until nobody has anything
new: the fixed point. Under a rule without an index they look only among records that share a pair of
compared bins with a disclosed one: never more pairs than the engine would compare without pruning. Every
slot of a disclosed record is cleaned from the schedule, in whichever pass it lies [MATHS §7.1].

A cheating partner could try to disclose records of its choice and see what they match. So a record of the
partner is taken in only if

    it is due        its slot matched in this round (`require_hit`), or it matches a record that it was just
                     shown (`_require_due`)
    it is itself     its slots lie in the very bins of its values (`_require_bins`)
    it is new        none of its slots was disclosed before, and its table holds so many (found.py)
    it matches       every pair that the engine called a match is one under the rule (`_require_matches`)

all of it before its answer is kept. No match is taken from a dummy of one's own (rounds.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.binned import Binned
from accord.protocols.found import Found, disclose, require_hit
from accord.protocols.parts.bound import require_within
from accord.protocols.parts.disclosed import Disclosed
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.schedule import Schedule
from accord.ranges import contained, distinct
from accord.rules.evaluate import Tables
from accord.rules.join import Index, Meetings
from accord.secure.party import Party
from accord.side import Side
from accord.spill import pieces, sort_distinct

Ints = NDArray[np.int64]

_MOST_LISTS = 64
"""Of records that may be the same ones, before they are made one."""


class GreedyClean:
    """Discloses, closes and cleans after every round that has a match."""

    def __init__(self, task: Task, options: Binned, mine: OwnSide, schedule: Schedule, found: Found) -> None:
        self._task, self._options, self._mine = task, options, mine
        self._schedule, self._found = schedule, found
        self._me = 0 if mine.side is Side.A else 1
        self._out = np.zeros(len(mine.records), np.bool_)
        own, rule = mine.records, task.rule
        self._index: Index | None = None
        if options.finds_all(task):
            self._index = Index(rule, task.fields, mine.side, own.columns, len(own))
        self.matches = 0

    def take(self, pairs: Ints) -> Party[None]:
        """Disclose what matched, find its other matches to a fixed point, clean every copy."""
        if not len(pairs):
            return
        fresh = distinct(self._mine.slots.records_of(pairs[:, 0]))
        hits = distinct(pairs[:, 1])

        def first(theirs: Disclosed) -> Ints:
            require_hit(theirs, hits)
            matches = self._matches(theirs)
            self._require_matches(pairs, theirs, matches)
            return matches

        yield from self._close(fresh, first, len(hits))

    def _close(self, fresh: Ints, judge: Callable[[Disclosed], Ints], due: int) -> Party[None]:
        """Disclose these and what follows from them, to a fixed point; `judge` is for the first answer, of at
        most so many records."""
        shown = fresh[:0]

        def later(theirs: Disclosed) -> Ints:
            matches = self._matches(theirs)
            self._require_due(shown, theirs, matches)
            return matches

        while True:
            fresh = fresh[~self._out[fresh]]
            bounds, size = self._task.most_matches, self._mine.records.size
            require_within(bounds, self._mine.side, size, int(np.count_nonzero(self._out)), len(fresh))
            own = self._disclosure(fresh)
            theirs, matches = yield from self._found.exchange(own, due, judge)
            if not len(own) and not len(theirs):
                break
            self._out[fresh] = True
            self._schedule.remove(self._me, own.slots)
            self._schedule.remove(1 - self._me, theirs.slots)
            fresh, shown = self._add(matches, self._found.number(theirs)), fresh
            judge, due = later, self._mine.partner_size

    def _add(self, matches: Ints, first: int) -> Ints:
        """Keep these matches with the partner's records from this number on; the own records among them."""
        self.matches += len(matches)
        own = [np.zeros(0, np.int64)]
        for number, row in self._split(matches):
            self._found.add(row, number + first)
            own.append(distinct(row))
            if len(own) > _MOST_LISTS:
                own = [distinct(np.concatenate(own))]
        return distinct(np.concatenate(own))

    def finish(self) -> Party[None]:
        """Everything was disclosed when it matched."""
        yield from ()

    def _disclosure(self, records: Ints) -> Disclosed:
        """These records with all their slots, in the order of their ids."""
        return disclose(self._task, self._mine, *self._mine.slots.of_record, records)

    def _matches(self, theirs: Disclosed) -> Ints:
        """The matches of these records, whose bins are right, each once and ascending: as the partner's · own
        records + own record. One exchange may bring all there are."""
        if not len(theirs):
            return np.zeros(0, np.int64)
        self._require_bins(theirs)
        width = len(self._out)
        keys = (number * width + row for number, row in self._search(theirs))
        return sort_distinct(keys, self._mine.scratch)

    def _split(self, matches: Ints) -> Iterator[tuple[Ints, Ints]]:
        """(partner's, own) records of matches, some at a time."""
        width = max(1, len(self._out))
        for keys in pieces(matches):
            number = keys // width
            yield number, keys - number * width

    def _search(self, theirs: Disclosed) -> Iterator[tuple[Ints, Ints]]:
        """(partner's, own) records that match, in no order and perhaps several times."""
        if self._index is not None:
            return self._index.each(theirs.fields, len(theirs))
        sides = self._mine.records.columns, theirs.fields
        tables = Tables(self._task.fields, *(sides if self._me == 0 else sides[::-1]))
        of = np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        return self._meetings.each(self._task.rule, tables, of, self._bins_of(theirs))

    @cached_property
    def _meetings(self) -> Meetings:
        """The own slots by bin: as padded, so that a search tries as many pairs as public numbers say."""
        slots, pairs = self._mine.slots, self._options.pairs(self._task)
        return Meetings(self._mine.side, slots.record.astype(np.int64), slots.counts, pairs)

    def _bins_of(self, theirs: Disclosed) -> Ints:
        """The bin of each slot of the partner's records."""
        return np.searchsorted(self._found.partner_ends, theirs.slots, "right")

    def _require_bins(self, theirs: Disclosed) -> None:
        """The slots of a disclosed record lie in the very bins of its values, or it has one in any bin."""
        placed = self._options.bins_of(self._task, self._mine.side.other, theirs.fields, len(theirs))
        if placed is None:
            if (theirs.slot_counts != 1).any():
                raise PeerError(problem="a disclosed record with more or less than one report")
            return
        record, bins = placed
        claimed = np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        in_bin = self._bins_of(theirs)
        expected = np.lexsort((bins, record))
        stated = np.lexsort((in_bin, claimed))
        same = len(record) == len(claimed) and (
            np.array_equal(record[expected], claimed[stated])
            and np.array_equal(bins[expected], in_bin[stated])
        )
        if not same:
            raise PeerError(problem="a disclosed record whose slots lie in other bins than its values")

    def _require_matches(self, pairs: Ints, theirs: Disclosed, matches: Ints) -> None:
        """Every pair that the engine called a match is one under the rule.

        Its two records were not disclosed before this round, or they would have been cleaned; so both are
        disclosed at once, and the pair is among those that are found in the clear.
        """
        order = np.argsort(theirs.slots)
        place = np.searchsorted(theirs.slots[order], pairs[:, 1])
        if not contained(pairs[:, 1], theirs.slots[order]).all():
            raise PeerError(problem="a match whose record it did not disclose")
        of = np.repeat(np.arange(len(theirs)), theirs.slot_counts)[order[place]]
        claimed = of * len(self._out) + self._mine.slots.records_of(pairs[:, 0])
        if not contained(claimed, matches).all():
            raise PeerError(problem="a match that the rule denies")

    def _require_due(self, shown: Ints, theirs: Disclosed, matches: Ints) -> None:
        """Each of these records matches a record that the partner was just shown."""
        marked, due = np.zeros(len(self._out), np.bool_), np.zeros(len(theirs), np.bool_)
        marked[shown] = True
        for number, row in self._split(matches):
            due[number[marked[row]]] = True
        if not due.all():
            raise PeerError(problem="a record that matches nothing it was shown")
