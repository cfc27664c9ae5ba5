"""Which share of the comparisons matches leave, with Greedy Match & Clean or a cascade: a range.

A pair is spared if one of its records matched before its turn. Pairs of slots that match nothing are all
made, and on average half of the others. At the least every record matches at once and what is left are
dummies against dummies; at the most nothing matches.

Each round is an evaluation of its own, so that the short first rounds of greedy cost more than their pairs.

In a cascade (routed_pairs.py) the sizes of a pass follow from how many records have matched before. At the
least all of the smaller side match in the first pass, as expected those of which synthetic pairs meet in it
(recall.py), and at the most nothing matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from accord.planning.costs import Drawn, PriceRound, Spared
from accord.planning.figures import Range
from accord.planning.spread import Spread
from accord.protocols.base import Task
from accord.protocols.parts.lanes import Lane
from accord.protocols.parts.schedule import fewest_rounds
from accord.secure.blocks import Blocks
from accord.side import Side

_MOST_ROUNDS = 4000
_PRICED = 128
"""Rounds that are priced: the first ones all, of the others so many, evenly."""
_SHORT = 32
"""Rounds after which slabs have grown to their full size."""


def share_made(task: Task, drawn: Drawn, spread: Spread, sizes: tuple[int, int], overlap: float) -> Range:
    """The share of the comparisons that are made."""

    def left(*matched: float) -> float:
        """The share among slots that do not match, if such shares of the records of A and B do."""
        each = zip(drawn.counts, spread.counts, matched, strict=True)
        a, b = (np.maximum(seen - np.rint(share * true).astype(np.int64), 0) for seen, true, share in each)
        return task.protocol.price(task, sizes, (a, b)) / max(1, drawn.comparisons)

    matching = overlap * min(sizes)
    some = left(*(min(1.0, matching / max(1, size)) for size in sizes))
    # However all match: a row of each side is compared before anything is known.
    least = max(left(1.0, 1.0), max(sizes) / max(1, drawn.comparisons))
    return Range(min(1.0, least), (1 + some) / 2, 1.0)


def price_schedule(task: Task, drawn: Drawn, price: PriceRound) -> float | None:
    """The bytes of a comparison, over the rounds of a run in which nothing matches. None where it takes too
    many rounds."""
    schedule = task.protocol.schedule(task, drawn.counts)
    if schedule is None:
        return None
    step = max(1, fewest_rounds(drawn.comparisons) // _PRICED)
    made, sent, number = 0, 0, 0
    while (round_ := schedule.next()) is not None:
        made += round_.pairs
        if number < _SHORT or number % step == 0:
            blocks = Blocks(round_.a, round_.a_counts, round_.b, round_.b_counts)
            sent += (1 if number < _SHORT else step) * price(blocks)
        number += 1
        if number > _MOST_ROUNDS:
            return None
    return sent / max(1, made)


def cascade(task: Task, sizes: tuple[int, int], matches: float, met: NDArray[np.float64] | None) -> Spared:
    """What a cascade spares if so many records of each side match, of which these shares first meet in each
    pass; nothing is expected where they are not known."""
    lanes, most = task.protocol.lanes(task, sizes), min(sizes)
    none = np.zeros(len(lanes))
    at_once = np.where(np.arange(len(lanes)) == 0, most, none)
    expected = none if met is None else np.minimum(matches * met, most)
    left = tuple(_remain(lanes, sizes, matched) for matched in (at_once, expected, none))
    low, middle, high = (sum(lane.bins for lane in some) for some in left)
    return Spared(Range(low / high, middle / high, 1.0), lanes=left)


def _remain(lanes: Sequence[Lane], sizes: tuple[int, int], matched: NDArray[np.float64]) -> list[Lane]:
    """The lanes without the records that match in earlier passes, of each side so many in each pass."""
    before = np.cumsum(matched) - matched
    shares = [{s: 1 - gone / max(1, n) for s, n in zip(Side, sizes, strict=True)} for gone in before]
    return [
        replace(lane, entries={side: round(share[side] * lane.entries[side]) for side in Side})
        for lane, share in zip(lanes, shares, strict=True)
    ]
