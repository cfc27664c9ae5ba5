"""A round cut into shares, one a worker, by rows of A: a pure function of the sizes of its blocks.

Both sides cut alike without a word, since the sizes are public. A share is a stretch of the round in the
order of its pairs (secure/blocks.py), so its rows are a stretch of A's rows and one of B's, and place p of
its answer is place `first` + p of the round's.

Rows that an engine takes together stay together: it groups 1, 2, 4 or 6 neighbouring rows of A, counted from
the first of their block, and how many of them depends on the rows of the block if these are few. So a block
is cut after multiples of `WHOLE` rows alone, and no part has fewer. Then the groups of the shares are those
of the round, and no work is done that one worker would not have done.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from accord.secure.blocks import Blocks, Table

Ints = NDArray[np.int64]

WHOLE = 12
"""Rows of A that are never torn apart: a multiple of every size of a group."""


@dataclass(frozen=True)
class Share:
    """What one worker compares of a round."""

    worker: int
    first: int
    """The place of its first pair in the round."""
    a: slice
    """Its rows among those of the round."""
    b: slice
    a_counts: Ints
    b_counts: Ints

    @property
    def blocks(self) -> Blocks:
        return Blocks.of_sizes(self.a_counts, self.b_counts)

    def rows(self, table: Table, of_a: bool) -> Table:
        """The share of one side's rows of the round."""
        rows = self.a if of_a else self.b
        return Table({name: values[rows] for name, values in table.inputs.items()}, table.real[rows])


def cut(a_counts: Ints, b_counts: Ints, workers: int) -> tuple[Share, ...]:
    """Blocks of these sizes, in stretches of about as many pairs each; a worker may have none."""
    pieces = np.maximum(1, a_counts // WHOLE)
    unit = np.repeat(np.arange(len(pieces)), pieces)
    within = np.arange(len(unit)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start = within * WHOLE
    stop = np.where(within + 1 == pieces[unit], a_counts[unit], start + WHOLE)
    before = np.concatenate([[0], np.cumsum((stop - start) * b_counts[unit])])
    bounds = _nearest(before, workers)
    a_first, b_last = np.cumsum(a_counts) - a_counts, np.cumsum(b_counts)
    shares = []
    for worker, (low, high) in enumerate(pairwise(bounds)):
        if before[low] == before[high]:
            continue
        head, tail = unit[low], unit[high - 1]
        counts = a_counts[head : tail + 1].copy()
        counts[0] -= start[low]
        counts[-1] -= a_counts[tail] - stop[high - 1]
        rows_a = slice(int(a_first[head] + start[low]), int(a_first[tail] + stop[high - 1]))
        rows_b = slice(int(b_last[head] - b_counts[head]), int(b_last[tail]))
        shares.append(
            Share(worker, int(before[low]), rows_a, rows_b, counts, b_counts[head : tail + 1].copy())
        )
    return tuple(shares)


def _nearest(before: Ints, workers: int) -> list[int]:
    """Where to cut so that shares are nearly equal: `before` has the pairs before each possible cut."""
    marks = np.array([int(before[-1]) * i // workers for i in range(workers + 1)])
    above = np.searchsorted(before, marks)
    below = np.maximum(above - 1, 0)
    found: list[int] = np.where(marks - before[below] < before[above] - marks, below, above).tolist()
    # All that has no pair, at either end, belongs to the outermost shares.
    return [0, *found[1:-1], len(before) - 1]
