"""Records in two halves: one to learn from, one to be judged on.

People are divided, not records: all records that true pairs join stay together, so that no true pair is cut,
and a half is what two smaller organisations would have. Which half a person falls into is decided by the seed
and the number of the turn, and by nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean, stdev

import numpy as np
from numpy.typing import NDArray

from accord.learning.patterns import persons
from reproduction.quality_data import Tables

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """How the pairs that were found compare with the true ones."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Half:
    """Which rows of either table are to be learnt from; the others are judged."""

    a: Flags
    b: Flags

    @property
    def other(self) -> Half:
        return Half(~self.a, ~self.b)

    def holds(self, left: Ints, right: Ints) -> Flags:
        """Which pairs have both records in it."""
        return self.a[left] & self.b[right]


class Truth:
    """The true pairs of two tables, as rows."""

    def __init__(self, tables: Tables) -> None:
        self.sizes = len(tables.a), len(tables.b)
        self.left, self.right = tables.rows(tables.truth)
        self._keys = np.sort(self.left * self.sizes[1] + self.right)

    def contains(self, left: Ints, right: Ints) -> Flags:
        return np.isin(left * self.sizes[1] + right, self._keys)

    def count(self, half: Half) -> int:
        """How many true pairs a half has."""
        return int(half.holds(self.left, self.right).sum())

    def halve(self, seed: int, turn: int) -> Half:
        """The half to learn from in this turn."""
        whose = np.unique(persons((self.left, self.right), self.sizes), return_inverse=True)[1]
        people = int(whose.max()) + 1
        chosen = np.zeros(people, np.bool_)
        chosen[np.random.default_rng([seed, turn]).permutation(people)[: people // 2]] = True
        return Half(chosen[whose[: self.sizes[0]]], chosen[whose[self.sizes[0] :]])


def judge(found: int, right: int, true: int) -> Judged:
    """`found` pairs, of which `right` are true, where `true` were to be found; of none, every share is 1."""
    return Judged(
        precision=right / found if found else 1.0,
        recall=right / true if true else 1.0,
        f1=2 * right / (found + true) if found + true else 1.0,
    )


def judge_scores(truth: Truth, half: Half, left: Ints, right: Ints, scores: Floats) -> Judged:
    """Scored pairs, at the threshold that is best on the half, judged on the other; those that have no score
    are not found."""
    true = truth.contains(left, right)
    learns = half.holds(left, right)
    missed = truth.count(half) - int(true[learns].sum())
    least = best_threshold(scores[learns], true[learns], missed)
    found = half.other.holds(left, right) & (scores >= least)
    return judge(int(found.sum()), int((found & true).sum()), truth.count(half.other))


def best_threshold(scores: Floats, true: Flags, missed: int) -> float:
    """The score from which on F1 is best: halfway between the two that it divides; so many true pairs have
    none."""
    order = np.argsort(-scores, kind="stable")
    ordered, right = scores[order], np.cumsum(true[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + true.sum() + missed)
    ends = np.append(ordered[1:] < ordered[:-1], True)
    last = int(np.argmax(np.where(ends, f1, -1.0)))
    below = ordered[last + 1] if last + 1 < len(ordered) else ordered[last]
    return float((ordered[last] + below) / 2)


def average(turns: list[Judged]) -> tuple[Judged, float]:
    """The mean of some turns, and the standard error of F1."""
    means = Judged(*(mean(getattr(one, name) for one in turns) for name in ("precision", "recall", "f1")))
    # The turns overlap, so that this is less than the error over fresh data.
    return means, stdev(one.f1 for one in turns) / len(turns) ** 0.5 if len(turns) > 1 else 0.0
