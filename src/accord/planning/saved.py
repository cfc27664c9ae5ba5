"""Which share of the comparisons Greedy Match & Clean leaves: it depends on the matches, so a range.

A pair is spared if one of its records matched before its turn. From counts alone: of the slots of a side a
share f belongs to records that match, and on average half of the pairs with one of them are still to come
when they do, 1 − (1 − (1 − f_A)(1 − f_B))/2 are made. At the least every record matches at once and what is
left are dummies against dummies; at the most nothing matches.

With a table the very schedule of a run is gone through, on made-up slots: a round that brings two slots of a
group (groups.py) together takes all slots of the group out. It is gone through three times: with the matches
that are expected, and with `OFTEN` times as many and as few, which are the ends of the range. Each round is
priced by itself, as an evaluation of its own, so that the short first rounds of greedy cost what they cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.planning.costs import Drawn, PriceRound, Spared, Walk
from accord.planning.figures import Range
from accord.planning.spread import Spread
from accord.protocols.base import Task
from accord.protocols.parts.schedule import BATCH, Round, fewest_rounds
from accord.ranges import distinct, ranges
from accord.secure.blocks import Blocks

Ints = NDArray[np.int64]
Placed = tuple[Ints, Ints]
"""(record, bin) of all slots of a side that are no dummies."""
Groups = tuple[Ints, Ints]
"""For each record of A and of B its group, −1 without one."""

OFTEN = 2.0
"""By which factor the matches may be more or fewer than expected, at the ends of the range."""
_MOST_ROUNDS = 2000
_PRICED = 128
"""Rounds that are priced: the first ones all, of the others so many, evenly."""
_SHORT = 32
"""Rounds after which slabs have grown to any size that is agreed."""


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
    task: Task, drawn: Drawn, placed: tuple[Placed, Placed], groups: list[Groups], price: PriceRound | None
) -> Spared | None:
    """The share that a run makes, from going through one. `groups`: as expected, then with the most and the
    fewest matches. None where it would take too long."""
    if not drawn.comparisons or drawn.comparisons > _MOST_ROUNDS * BATCH:
        return None
    expected = walk(task, drawn, (placed, groups[0]), price)
    ends = [walk(task, drawn, (placed, of), None) for of in groups[1:]]
    if expected is None:
        return None
    shares = [one.comparisons / drawn.comparisons for one in (expected, *ends) if one is not None]
    return Spared(Range.of(*shares), expected)


def walk(
    task: Task, drawn: Drawn, found: tuple[tuple[Placed, Placed], Groups] | None, price: PriceRound | None
) -> Walk | None:
    """Go through the schedule; without groups nothing matches. None where it takes too many rounds."""
    schedule = task.protocol.schedule(task, drawn.counts)
    if schedule is None:
        return None
    sides = []
    if found is not None:
        each = zip(found[0], drawn.counts, found[1], strict=True)
        sides = [_Slots.of(own, counts, group) for own, counts, group in each]
    step = max(1, fewest_rounds(drawn.comparisons) // _PRICED)
    made, sent, number = 0, 0, 0
    while (round_ := schedule.next()) is not None:
        made += round_.pairs
        if price is not None and (number < _SHORT or number % step == 0):
            sent += (1 if number < _SHORT else step) * price(_blocks(round_))
        number += 1
        if number > 2 * _MOST_ROUNDS:
            return None
        if sides:
            hit = _met(sides, (round_.a, round_.b), (round_.a_counts, round_.b_counts))
            for side, slots in enumerate(sides):
                schedule.remove(side, slots.of_groups(hit))
    return Walk(made, sent, number)


def _blocks(round_: Round) -> Blocks:
    return Blocks(round_.a, round_.a_counts, round_.b, round_.b_counts)


@dataclass(frozen=True)
class _Slots:
    """The group of each slot of a side, −1 without one, and the slots of each group."""

    group: NDArray[np.int32]
    order: Ints
    sorted_: Ints

    @classmethod
    def of(cls, placed: Placed, counts: Ints, groups: Ints) -> _Slots:
        """Slots bin after bin. Real ones are spread among the dummies, in a random order, by strata: the k-th
        of r in a bin of c slots is in the k-th of r stretches of it. So nothing is drawn for a dummy."""
        record, bins = placed
        rng = np.random.default_rng(0)
        real = np.bincount(bins, minlength=len(counts))
        if (real > counts).any():
            # Reported bins are not the true ones: anybody may stand anywhere.
            record = rng.permutation(distinct(record))[: int(counts.sum())]
            bins = np.repeat(np.arange(len(counts)), counts)[rng.permutation(counts.sum())][: len(record)]
            real = np.bincount(bins, minlength=len(counts))
        order = np.lexsort((rng.random(len(bins)), bins))
        record, bins = record[order], bins[order]
        k = np.arange(len(bins)) - (np.cumsum(real) - real)[bins]
        low, high = k * counts[bins] // real[bins], (k + 1) * counts[bins] // real[bins]
        slot = (np.cumsum(counts) - counts)[bins] + rng.integers(low, high)
        known = groups[record] >= 0
        slot, of = slot[known], groups[record[known]]
        group = np.full(int(counts.sum()), -1, np.int32)
        group[slot] = of
        order = np.argsort(of, kind="stable")
        return cls(group, slot[order], of[order])

    def of_groups(self, wanted: Ints) -> Ints:
        starts = np.searchsorted(self.sorted_, wanted)
        return self.order[ranges(starts, np.searchsorted(self.sorted_, wanted, "right"))]


def _met(sides: list[_Slots], slots: tuple[Ints, Ints], counts: tuple[Ints, Ints]) -> Ints:
    """The groups of which a unit holds slots of both sides."""
    keys = []
    for side, some, of in zip(sides, slots, counts, strict=True):
        group = side.group[some]
        real = np.flatnonzero(group >= 0)
        unit = np.searchsorted(np.cumsum(of), real, "right")
        keys.append(distinct(group[real].astype(np.int64) * len(of) + unit))
    both = np.intersect1d(keys[0], keys[1], assume_unique=True)
    return distinct(both // max(1, len(counts[0])))
