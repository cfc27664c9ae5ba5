"""Thresholds: what is expected of them follows from the spread of sums and the number of strangers."""

from __future__ import annotations

import numpy as np
import pytest

from accord.errors import UsageError
from accord.learning.threshold import ExpectedQuality, choose, curve, spread_of, spread_of_levels


def test_counted_pairs_are_expected_as_they_were_counted() -> None:
    scores = np.array([0, 5, 9])
    spread = spread_of(scores, np.array([10, 30, 60]), np.array([9_000, 900, 100]))
    points = {point.least: point for point in curve(spread, strangers=100)}
    assert min(points) == 1, "the lowest accepts every pair"
    assert points[5].recall == pytest.approx(0.9)
    assert points[5].precision == pytest.approx(0.9 / (0.9 + 100 * 0.1))
    assert points[9] == points[6].__class__(9, points[6].precision, points[6].recall)
    assert points[9].precision == pytest.approx(0.6 / (0.6 + 100 * 0.01))


def test_beyond_what_was_counted_each_bit_halves_the_strangers() -> None:
    sums = np.arange(0, 30)
    strangers = np.where(sums < 4, 1000, 0)
    matches = np.where(sums >= 3, 100, 0)
    spread = spread_of(sums, matches, strangers)
    ratio = spread.others[11:20] / spread.others[10:19]
    assert ratio == pytest.approx(0.5, abs=0.001)
    assert (np.diff(spread.others) <= 0).all()


def test_levels_add_up_as_independent_ones() -> None:
    weights = [(3, -1), (2, 0, -2)]
    shares = [((0.9, 0.1), (0.1, 0.9)), ((0.7, 0.2, 0.1), (0.05, 0.05, 0.9))]
    spread = spread_of_levels(weights, shares)
    by_hand = {s: [0.0, 0.0] for s in spread.sums.tolist()}
    for i, one in enumerate(weights[0]):
        for j, two in enumerate(weights[1]):
            for side in (0, 1):
                for least in by_hand:
                    reached = one + two >= least
                    by_hand[least][side] += shares[0][side][i] * shares[1][side][j] * reached
    assert spread.matches == pytest.approx([of[0] for of in by_hand.values()])
    assert spread.others == pytest.approx([of[1] for of in by_hand.values()])


POINTS = [
    ExpectedQuality(3, 0.5, 1.0),
    ExpectedQuality(5, 0.8, 0.9),
    ExpectedQuality(8, 0.99, 0.5),
    ExpectedQuality(9, 1.0, 0.0),
]


def test_the_best_f1_or_the_best_with_a_wished_precision() -> None:
    assert choose(POINTS).least == 5
    assert choose(POINTS, 0.95).least == 8
    with pytest.raises(UsageError, match=r"precision of 0\.999; the most is 0\.9900.*`precision=`"):
        choose(POINTS, 0.999)
    with pytest.raises(UsageError, match="No threshold"):
        choose([ExpectedQuality(9, 1.0, 0.0)])


def test_more_strangers_want_a_higher_threshold() -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(20, 5, 1000), rng.normal(-10, 5, 100_000)]).round().astype(np.int64)
    matches = np.repeat([1, 0], [1000, 100_000])
    spread = spread_of(scores, matches, 1 - matches)
    chosen = [choose(curve(spread, strangers)).least for strangers in (10, 10**4, 10**7)]
    assert chosen[0] < chosen[1] < chosen[2]
