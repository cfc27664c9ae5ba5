"""Where to draw the line: what a threshold is expected to find, and the best one.

What counts is how many pairs of strangers there are for each match, and that grows with the tables: a sum at
which one in a million strangers lies is safe between two thousand records and useless between two million.
So the curve is for tables of a stated size and overlap. Shares are of all matches and of all strangers: those
that are never compared reach no sum, and a match among them is missed whatever the threshold.

Far up there are too few strangers to count, if the linkage has more of them than were looked at. From where
fewer than `_SEEN` are left, they are then taken to fall off as the last `_LAST` do: exponentially, by the
mean of what their sums have above the least of them [Hill 1975].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError
from accord.learning.patterns import Floats

Sums = NDArray[np.int64]
_SEEN = 10
_LAST = 100
_MORE = 1.1
"""By how much a linkage may have more strangers than were looked at."""
_DRAWS = 1_000
_ENDS = (2.5, 97.5)
"""Of an interval, in per cent."""


@dataclass(frozen=True)
class ExpectedQuality:
    """What a threshold is expected to do."""

    least: int
    precision: float
    recall: float
    interval: tuple[float, float] | None = None
    """Where F1 lies with 95 %, as far as it is a matter of how many pairs were counted; None if none were."""

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True)
class Reached:
    """How many of the pairs that were looked at reach each sum, and of how many."""

    matches: Floats
    of_matches: float
    others: Floats
    of_others: float


@dataclass(frozen=True)
class ScoreSpread:
    """How sums spread over matches and over other pairs: for each sum in turn, the share of pairs that reach
    it."""

    sums: Sums
    matches: Floats
    others: Floats
    tail: Floats
    """As `others`, but beyond what could be counted as it should be."""
    counted: Reached | None = None

    def reached(self, strangers: float) -> Floats:
        """Of so many others for each match, the share that reaches each sum."""
        if self.counted is None or strangers * self.counted.of_matches <= _MORE * self.counted.of_others:
            return self.others
        return self.tail


def spread_of(scores: Sums, matches: Floats, others: Floats, totals: tuple[float, float]) -> ScoreSpread:
    """The spread of pairs that were counted: by their sums, how many are matches and how many are not.

    `totals` are all matches and all others, compared or not.
    """
    sums = np.arange(scores.min(), scores.max() + 1)
    each = [np.bincount(scores - sums[0], counts, len(sums)).astype(float) for counts in (matches, others)]
    reach = [found[::-1].cumsum()[::-1] for found in each]
    shares = [found / max(total, 1) for found, total in zip(reach, totals, strict=True)]
    counted = Reached(reach[0], max(totals[0], 1), reach[1], max(totals[1], 1))
    tail = _tail(sums, each[1], reach[1]) / counted.of_others
    return ScoreSpread(sums, shares[0], shares[1], tail, counted)


def _tail(sums: Sums, others: Floats, reach: Floats) -> Floats:
    """How many strangers reach each sum, beyond where they can be counted as it is likely."""
    seen, first = (max(1, int((reach >= least).sum())) - 1 for least in (_SEEN, _LAST))
    above = float(others[first:] @ (sums[first:] - sums[first])) / max(reach[first], 1)
    # Half a point at least: sums are whole, and those of the last few may all be the same.
    beyond = reach[seen] * np.exp((sums[seen] - sums) / max(above, 0.5))
    return np.where(np.arange(len(sums)) > seen, beyond, reach)


def curve(spread: ScoreSpread, strangers: float, rng: np.random.Generator) -> tuple[ExpectedQuality, ...]:
    """What each threshold is expected to do, where there are so many strangers for each match."""
    within = _intervals(spread.counted, strangers, rng) if spread.counted else [None] * len(spread.sums)
    found = []
    each = zip(spread.sums.tolist(), spread.matches, spread.reached(strangers), within, strict=True)
    for least, recall, share, interval in each:
        wrong = strangers * share
        precision = recall / (recall + wrong) if recall + wrong else 1.0
        found.append(ExpectedQuality(least, float(precision), float(recall), interval))
    # The lowest threshold accepts every pair, which is no rule.
    return tuple(found[1:])


def _intervals(
    counted: Reached, strangers: float, rng: np.random.Generator
) -> list[tuple[float, float] | None]:
    """Where F1 lies at each sum, given so many pairs: recall is a share with Jeffreys' prior, Beta(½, ½), and
    the number of strangers a rate with the like, Gamma(½)."""
    shape = _DRAWS, len(counted.matches)
    lost = (counted.of_matches - counted.matches).clip(min=0)
    recall = rng.beta(counted.matches + 0.5, lost + 0.5, shape)
    wrong = rng.gamma(counted.others + 0.5, size=shape) * strangers / counted.of_others
    low, high = np.percentile(2 * recall / (recall + wrong + 1), _ENDS, axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def choose(
    points: Sequence[ExpectedQuality], judged: Sequence[ExpectedQuality], precision: float | None = None
) -> ExpectedQuality:
    """What is expected, as it was judged, of the threshold with the largest F1 among the points; of those
    with the wished precision, if one is wished."""
    expected = {point.least: point for point in judged if point.recall > 0}
    allowed = [at for at, of in expected.items() if precision is None or of.precision >= precision]
    useful = [point for point in points if point.least in allowed]
    if not useful:
        if precision is None:
            raise UsageError(problem="No threshold tells matches from other pairs. Compare more fields.")
        most = max((point.precision for point in expected.values()), default=0.0)
        problem = f"No threshold is expected to have a precision of {precision:g}; the most is {most:.4f}"
        raise UsageError(problem=f"{problem}. Ask for less with `precision=`, or compare more fields.")
    best = max(point.f1 for point in useful)
    alike = [point.least for point in useful if point.f1 == best]
    # Between two sums that pairs have, the middle is the farthest from both.
    return expected[alike[len(alike) // 2]]
