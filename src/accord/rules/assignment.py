"""Of pairs that share records, a set in which no record stands twice: best first.

Every pair is worth a whole number of at least 1. The pair that is worth most is kept, the first by id among
equals: by A's id, then by B's. Then comes the next pair whose records are both free, and so on. So no pair
could be added, and the set follows from the pairs, their worth and the order of ids alone, on any machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def alone(left: Ints, right: Ints) -> Mask:
    """Which pairs share no record with another pair: they are always kept."""
    if not len(left):
        return np.zeros(0, np.bool_)
    return (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)


def choose(left: Ints, right: Ints, worth: Ints) -> Mask:
    """Which of these pairs are kept.

    *Requires* distinct pairs, and records numbered in the order of their ids.
    """
    kept = np.zeros(len(left), np.bool_)
    if len(left):
        used = np.zeros(left.max() + 1, np.bool_), np.zeros(right.max() + 1, np.bool_)
        _take_best_first(np.lexsort((right, left, -worth)), left, right, *used, kept)
    return kept


@kernel("void(int64[::1], int64[::1], int64[::1], boolean[::1], boolean[::1], boolean[::1])")
def _take_best_first(order: Ints, a: Ints, b: Ints, used_a: Mask, used_b: Mask, kept: Mask) -> None:
    """Mark the pairs, in this order, whose records are both free."""
    for pair in order:
        if not used_a[a[pair]] and not used_b[b[pair]]:
            kept[pair] = used_a[a[pair]] = used_b[b[pair]] = True
