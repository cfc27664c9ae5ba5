"""Where to draw the line: what a threshold is expected to find, and the best one.

What counts is how many pairs of strangers there are for each match, and that grows with the tables: a sum at
which one in a million strangers lies is safe between two thousand records and useless between two million.
So the curve is for tables of a stated size and overlap.

Far up there are too few strangers to count. From where fewer than `_SEEN` are left, their number follows the
matches': a sum of s bits means that matches are 2^s times as likely to have it as strangers, up to a constant
factor, which is taken from where they can be counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError

Floats = NDArray[np.float64]
Sums = NDArray[np.int64]
_SEEN = 10


@dataclass(frozen=True)
class ExpectedQuality:
    """What a threshold is expected to do."""

    least: int
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True)
class ScoreSpread:
    """How sums spread over matches and over other pairs: for each sum in turn, the share of pairs that reach
    it."""

    sums: Sums
    matches: Floats
    others: Floats


def spread_of(scores: Sums, matches: NDArray[np.int64], others: NDArray[np.int64]) -> ScoreSpread:
    """The spread of pairs that were counted: by their sums, how many are matches and how many are not."""
    sums = np.arange(scores.min(), scores.max() + 1)
    each = [np.bincount(scores - sums[0], counts, len(sums)).astype(float) for counts in (matches, others)]
    reach = [found[::-1].cumsum()[::-1] for found in each]
    shares = [found / max(found[0], 1) for found in reach]
    seen = int((reach[1] >= _SEEN).sum())
    if 0 < seen < len(sums):
        tail = _tail(sums, each[0])
        shares[1][seen:] = shares[1][seen - 1] * tail[seen:] / max(tail[seen - 1], np.finfo(float).tiny)
    return ScoreSpread(sums, *shares)


def _tail(sums: Sums, matches: Floats) -> Floats:
    """What of strangers reaches each sum, but for a factor, if matches are 2^s times as likely to have s."""
    return (matches * 2.0 ** (sums[0] - sums))[::-1].cumsum()[::-1]


def spread_of_levels(
    weights: Sequence[Sequence[int]], shares: Sequence[tuple[Sequence[float], Sequence[float]]]
) -> ScoreSpread:
    """The spread of sums of comparisons that err independently: of each its weights, and how often its levels
    hold for matches and for others."""
    low = sum(min(each) for each in weights)
    totals = [np.ones(1), np.ones(1)]
    for each, of in zip(weights, shares, strict=True):
        width = max(each) - min(each) + 1
        steps = [np.bincount(np.array(each) - min(each), share, width) for share in of]
        totals = [np.convolve(total, step) for total, step in zip(totals, steps, strict=True)]
    reach = [total[::-1].cumsum()[::-1] for total in totals]
    return ScoreSpread(np.arange(low, low + len(totals[0])), *reach)


def curve(spread: ScoreSpread, strangers: float) -> tuple[ExpectedQuality, ...]:
    """What each threshold is expected to do, where there are so many strangers for each match."""
    found = []
    for least, recall, share in zip(spread.sums.tolist(), spread.matches, spread.others, strict=True):
        wrong = strangers * share
        precision = recall / (recall + wrong) if recall + wrong else 1.0
        found.append(ExpectedQuality(least, float(precision), float(recall)))
    # The lowest threshold accepts every pair, which is no rule.
    return tuple(found[1:])


def choose(points: Sequence[ExpectedQuality], precision: float | None = None) -> ExpectedQuality:
    """The threshold with the largest F1; of those with the wished precision, if one is wished."""
    allowed = [point for point in points if precision is None or point.precision >= precision]
    useful = [point for point in allowed if point.recall > 0]
    if not useful:
        if precision is None:
            raise UsageError(problem="No threshold tells matches from other pairs. Compare more fields.")
        most = max((point.precision for point in points if point.recall > 0), default=0.0)
        problem = f"No threshold is expected to have a precision of {precision:g}; the most is {most:.4f}"
        raise UsageError(problem=f"{problem}. Ask for less with `precision=`, or compare more fields.")
    return max(useful, key=lambda point: (point.f1, point.least))
