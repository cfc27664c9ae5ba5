"""Which share of the comparisons Greedy Match & Clean leaves: it depends on the matches, so a range.

A pair is spared if one of its records matched before its turn. From counts alone: of the slots of a side a
share f belongs to records that match, and on average half of the pairs with one of them are still to come
when they do, 1 − (1 − (1 − f_A)(1 − f_B))/2 are made. At the least every record matches at once and what is
left are dummies against dummies; at the most nothing matches.

With a table the very schedule of a run is gone through, on made-up slots. Records that match are those that
the partner has, too; where nobody said how many these are, also whoever matches another record of one's own
table: of a partner alike, some record would match it. What matches is disclosed to a fixed point, so all that
hangs together goes at once: a *group*. A round that brings two slots of a group together takes all its slots
out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.matching.join import Index, has_index
from accord.planning.costs import Drawn
from accord.planning.figures import Range
from accord.planning.spread import Alike, Spread
from accord.protocols.base import Task
from accord.ranges import distinct, ranges
from accord.records.columns import Records, rows_of
from accord.side import Side

Ints = NDArray[np.int64]
Placed = tuple[Ints, Ints]
"""(record, bin) of all slots of a side that are no dummies."""

MOST_ROUNDS = 4000
_MOST_LINKS = 1 << 22
_TRIED = 1 << 26
"""Pairs of rows that may be tried one by one, where the rule has no index."""
_SAMPLED = 512

ALL = Range(1.0, 1.0, 1.0)
"""Without greedy."""


def from_counts(drawn: Drawn, spread: Spread, sizes: tuple[int, int], overlap: float) -> Range:
    """The share of the comparisons that are made."""
    real = [
        min(1.0, float(true.sum()) / max(1, int(seen.sum())))
        for true, seen in zip(spread.counts, drawn.counts, strict=True)
    ]
    matching = overlap * min(sizes)
    some = [share * matching / max(1, size) for share, size in zip(real, sizes, strict=True)]
    touched = 1 - (1 - some[0]) * (1 - some[1])
    # However all match: a row of each side is compared before anything is known.
    least = max((1 - real[0]) * (1 - real[1]), max(sizes) / max(1, drawn.comparisons))
    return Range(min(1.0, least), 1 - touched / 2, 1.0)


def from_table(
    task: Task, drawn: Drawn, placed: tuple[Placed, Placed], groups: tuple[Ints, Ints]
) -> Range | None:
    """The share that a run makes, from going through one; None where that would take too long."""
    schedule = task.protocol.schedule(task, drawn.counts)
    if schedule is None or not drawn.comparisons:
        return None
    sides = [
        _Slots.of(own, counts, group) for own, counts, group in zip(placed, drawn.counts, groups, strict=True)
    ]
    made = 0
    for _ in range(MOST_ROUNDS):
        round_ = schedule.next()
        if round_ is None:
            return _around(made / drawn.comparisons)
        made += round_.pairs
        hit = _met(sides, (round_.a, round_.b), (round_.a_counts, round_.b_counts))
        for side, slots in enumerate(sides):
            schedule.remove(side, slots.of_groups(hit))
    return None


def _around(share: float) -> Range:
    """A partner whose records match more or fewer of one's own; at most three times apart."""
    spared = (1 - share) / 2
    return Range(max(0.65 * share, share - spared), share, min(1.0, 1.9 * share, share + spared))


@dataclass(frozen=True)
class _Slots:
    """The group of each slot of a side, −1 without one, and the slots of each group."""

    group: Ints
    order: Ints
    sorted_: Ints

    @classmethod
    def of(cls, placed: Placed, counts: Ints, groups: Ints) -> _Slots:
        """Slots bin after bin, real ones and dummies in a random order."""
        record, bins = placed
        spare = counts - np.bincount(bins, minlength=len(counts))
        if (spare < 0).any():
            # Reported bins are not the true ones: anybody may stand anywhere.
            record = np.random.default_rng(0).permutation(distinct(record))[: int(counts.sum())]
            bins = np.repeat(np.arange(len(counts)), counts)[
                np.random.default_rng(1).permutation(counts.sum())
            ]
            bins, spare = (
                bins[: len(record)],
                counts - np.bincount(bins[: len(record)], minlength=len(counts)),
            )
        every = np.concatenate([bins, np.repeat(np.arange(len(counts)), spare)])
        group = np.concatenate([groups[record], np.full(len(every) - len(record), -1)])
        order = np.lexsort((np.random.default_rng(0).random(len(every)), every))
        group = group[order]
        known = np.flatnonzero(group >= 0)
        by_group = known[np.argsort(group[known], kind="stable")]
        return cls(group, by_group, group[by_group])

    def of_groups(self, wanted: Ints) -> Ints:
        starts = np.searchsorted(self.sorted_, wanted)
        return self.order[ranges(starts, np.searchsorted(self.sorted_, wanted, "right"))]


def _met(sides: list[_Slots], slots: tuple[Ints, Ints], counts: tuple[Ints, Ints]) -> Ints:
    """The groups of which a unit holds slots of both sides."""
    keys = []
    for side, some, of in zip(sides, slots, counts, strict=True):
        group, unit = side.group[some], np.repeat(np.arange(len(of)), of)
        real = group >= 0
        keys.append(distinct(group[real] * len(of) + unit[real]))
    both = np.intersect1d(keys[0], keys[1], assume_unique=True)
    return distinct(both // max(1, len(counts[0])))


def find_groups(task: Task, side: Side, records: Records, alike: Alike, guess: bool) -> tuple[Ints, Ints]:
    """For each record of A and of B its group; −1 for one that matches nothing. `guess`: how many match
    is not known."""
    size, theirs = len(records), np.arange(len(alike.rows))
    links = _links(task, records)
    if links is None:
        return _crowded(task, side, records, alike)
    left, right = links
    matching = theirs < alike.matching
    starts, stops = (np.searchsorted(left, alike.rows, way) for way in ("left", "right"))
    asked = matching | (stops > starts) if guess else matching
    stops = np.where(asked, stops, starts)
    mine = np.concatenate([alike.rows[matching], right[ranges(starts, stops)]])
    partner = np.concatenate([theirs[matching], np.repeat(theirs, stops - starts)])
    label = _components(size + len(theirs), mine, size + partner)
    linked = np.zeros(len(label), np.bool_)
    linked[mine], linked[size + partner] = True, True
    label = np.where(linked, label, -1)
    own, other = label[:size], label[size:]
    return (own, other) if side is Side.A else (other, own)


def _links(task: Task, records: Records) -> tuple[Ints, Ints] | None:
    """The pairs of different records of one's own table that the rule accepts, both ways round; none where
    they cannot be looked up, and None where they are too many to list."""
    size, none = len(records), np.zeros(0, np.int64)
    if not size or (not has_index(task.rule, task.fields) and size * size > _TRIED):
        return none, none
    index = Index(task.rule, task.fields, Side.B, records.columns, size)
    some = np.random.default_rng(0).permutation(size)[:_SAMPLED]
    columns = {name: rows_of(column, some) for name, column in records.columns.items()}
    if len(index.matches(columns, len(some))[0]) / len(some) * size > _MOST_LINKS:
        return None
    left, right = index.matches(records.columns, size)
    apart = left != right
    return left[apart], right[apart]


def _components(nodes: int, left: Ints, right: Ints) -> Ints:
    """What hangs together: each node gets the least number in its component."""
    label = np.arange(nodes)
    while True:
        # Each takes the least label that it is linked to, and then that one's: a few times through.
        before = label.copy()
        np.minimum.at(label, left, label[right])
        np.minimum.at(label, right, label[left])
        label = label[label]
        if np.array_equal(before, label):
            return label


def _crowded(task: Task, side: Side, records: Records, alike: Alike) -> tuple[Ints, Ints]:
    """Where every record matches many, those of a bin hang together; of the partner's, as many as match."""
    record, bins = task.blocking.place(Side.A, records.columns, len(records))
    own = np.full(len(records), -1, np.int64)
    own[record] = bins
    theirs = np.where(np.arange(len(alike.rows)) < alike.matching, own[alike.rows], -1)
    return (own, theirs) if side is Side.A else (theirs, own)
