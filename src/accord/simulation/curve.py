"""What another threshold of a score would find: precision, recall and F1 over all thresholds worth a look.

Every pair that the run compared is weighed once, and so is what it found beyond these. A pair that a full key
or a pruned bin left out is not. What is kept are two counts for each sum: all pairs and true ones. A
threshold that no pair has as its sum finds what the next higher sum does, and one below all true pairs finds
only more false ones. So the curve has a point for each sum from the least of a true pair on, and one for the
agreed threshold.

Beside it, the pairs just below the agreed threshold and those just above it. Among pairs of one sum those
come first that are on the wrong side: true ones below, false ones above.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from accord.ranges import contained
from accord.rules.evaluate import Indices, Mask, holds, scores
from accord.rules.rule import Rule, Score
from accord.simulation.known import Known, split
from accord.simulation.truth import f1, share


@dataclass(frozen=True)
class Point:
    """What a threshold finds among the pairs that are compared."""

    threshold: int
    matches: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Curve:
    """Thresholds of the agreed score, ascending."""

    agreed: int
    best: int
    """The one with the highest F1 on these tables; of several the nearest to the agreed."""
    points: tuple[Point, ...]

    def at(self, threshold: int) -> Point:
        return next(point for point in self.points if point.threshold == threshold)


def trace(known: Known, shown: int) -> tuple[Curve, Indices, Indices] | None:
    """The curve, and so many pairs just below and just above the agreed threshold, the nearest first; None
    for a rule without a score."""
    graded = split(known.agreement.rule)
    if graded is None:
        return None
    score, rest = graded
    counts = _Counts(score)
    below, above = _Nearest(shown, wanted=True), _Nearest(shown, wanted=False)
    for left, right in _weighable(known):
        keys, sums = _weigh(known, score, rest, left, right)
        true = contained(keys, known.true)
        counts.add(sums, true)
        under = sums < score.least
        below.add(keys[under], score.least - sums[under], true[under])
        above.add(keys[~under], sums[~under] - score.least, true[~under])
    points = counts.points(known.true_pairs)
    best = max(points, key=lambda point: (point.f1, -abs(point.threshold - score.least)))
    return Curve(score.least, best.threshold, points), below.keys, above.keys


def _weighable(known: Known) -> Iterator[tuple[Indices, Indices]]:
    """The pairs that were compared, and those that were found beyond them, each once."""
    yield from known.compared.pairs()
    left, right = known.rows(known.found)
    beyond = ~known.compared.has(left, right)
    yield left[beyond], right[beyond]


def _weigh(known: Known, score: Score, rest: Rule, left: Indices, right: Indices) -> tuple[Indices, Indices]:
    """The pairs that fulfil the rest of the rule, and their sums."""
    kept = holds(rest, known.tables, left, right)
    left, right = left[kept], right[kept]
    return known.keys(left, right), scores(score.comparisons, known.tables, left, right)


class _Counts:
    """How many pairs have each sum, and how many of these are true."""

    def __init__(self, score: Score) -> None:
        self._score = score
        self._all, self._true = (np.zeros(score.highest - score.lowest + 2, np.int64) for _ in range(2))

    def add(self, sums: Indices, true: Mask) -> None:
        size, sums = len(self._all), sums - self._score.lowest
        self._all += np.bincount(sums, minlength=size)
        self._true += np.bincount(sums[true], minlength=size)

    def points(self, true_pairs: int) -> tuple[Point, ...]:
        agreed = self._score.least
        lowest, last = self._score.lowest, len(self._all) - 1
        matches, hits = (np.cumsum(counts[::-1])[::-1] for counts in (self._all, self._true))
        first = next(iter(np.flatnonzero(self._true)), len(self._all))
        thresholds = sorted({agreed, *(lowest + first + np.flatnonzero(self._all[first:])).tolist()})
        places = [min(max(threshold - lowest, 0), last) for threshold in thresholds]
        return tuple(
            _point(threshold, int(matches[at]), int(hits[at]), true_pairs)
            for threshold, at in zip(thresholds, places, strict=True)
        )


def _point(threshold: int, matches: int, hits: int, true_pairs: int) -> Point:
    precision, recall = share(hits, matches), share(hits, true_pairs)
    return Point(threshold, matches, precision, recall, f1(precision, recall))


class _Nearest:
    """The pairs nearest to the threshold on one side of it, some and no more."""

    def __init__(self, most: int, wanted: bool) -> None:
        """`wanted` says whether true pairs or false ones come first."""
        self._most, self._wanted = most, wanted
        self.keys, self._order = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, keys: Indices, distance: Indices, true: Mask) -> None:
        order = 2 * distance + (true != self._wanted)
        keys, order = np.concatenate([self.keys, keys]), np.concatenate([self._order, order])
        first = np.lexsort((keys, order))[: self._most]
        self.keys, self._order = keys[first], order[first]
