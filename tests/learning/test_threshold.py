"""Thresholds: what is expected of them follows from the spread of sums and the number of strangers."""

from __future__ import annotations

import numpy as np
import pytest

from accord.errors import UsageError
from accord.learning.threshold import ExpectedQuality, choose, curve, spread_of


def test_counted_pairs_are_expected_as_they_were_counted() -> None:
    scores = np.array([0, 5, 9])
    spread = spread_of(scores, np.array([10.0, 30, 60]), np.array([9_000.0, 900, 100]), (100, 10_000))
    points = {point.least: point for point in curve(spread, 100, np.random.default_rng(0))}
    assert min(points) == 1, "the lowest accepts every pair"
    assert points[5].recall == pytest.approx(0.9)
    assert points[5].precision == pytest.approx(0.9 / (0.9 + 100 * 0.1))
    assert (points[9].precision, points[9].recall) == (points[6].precision, points[6].recall)
    assert points[9].precision == pytest.approx(0.6 / (0.6 + 100 * 0.01))


def test_beyond_what_was_counted_strangers_fall_off_as_the_last_do() -> None:
    sums = np.arange(0, 40)
    strangers = np.floor(10_000 * 0.5**sums)
    spread = spread_of(sums, np.full(40, 100.0), strangers, (4000, strangers.sum()))
    assert np.array_equal(spread.reached(strangers.sum() / 4000), spread.others), "as many as were looked at"
    assert not spread.others[20:].any()
    tail = spread.reached(100)
    assert np.array_equal(tail[:10], spread.others[:10])
    assert tail[15:30] / tail[14:29] == pytest.approx(0.4, abs=0.15)
    assert (np.diff(tail) <= 0).all()


POINTS = [
    ExpectedQuality(3, 0.5, 1.0),
    ExpectedQuality(5, 0.8, 0.9),
    ExpectedQuality(8, 0.99, 0.5),
    ExpectedQuality(9, 1.0, 0.0),
]


def test_the_best_f1_or_the_best_with_a_wished_precision() -> None:
    assert choose(POINTS, POINTS).least == 5
    assert choose(POINTS, POINTS, 0.95).least == 8
    with pytest.raises(UsageError, match=r"precision of 0\.999; the most is 0\.9900.*`precision=`"):
        choose(POINTS, POINTS, 0.999)
    with pytest.raises(UsageError, match="No threshold"):
        choose(POINTS[-1:], POINTS[-1:])


def test_more_strangers_want_a_higher_threshold() -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(20, 5, 1000), rng.normal(-10, 5, 100_000)]).round().astype(np.int64)
    matches = np.repeat([1, 0], [1000, 100_000])
    spread = spread_of(scores, matches * 1.0, 1.0 - matches, (1000, 100_000))
    curves = [curve(spread, strangers, rng) for strangers in (10, 10**4, 10**7)]
    chosen = [choose(points, points).least for points in curves]
    assert chosen[0] < chosen[1] < chosen[2]


def test_an_interval_holds_what_pairs_come_from() -> None:
    """Recall 0.9 and 0.02 strangers for each match, seen in 60 matches: F1 lies in an interval of 95 % as
    often as it should. Below 0.85 of 200 trials with a chance of less than 1e-6."""
    rng = np.random.default_rng(1)
    truth, held = 2 * 0.9 / (0.9 + 0.02 + 1), 0
    for _ in range(200):
        found, wrong = rng.binomial(60, 0.9), rng.poisson(0.02 * 60)
        counts = np.array([60.0 - found, found]), np.array([60_000.0 - wrong, wrong])
        spread = spread_of(np.array([0, 5]), *counts, (60, 60_000))
        interval = curve(spread, 1_000, rng)[-1].interval
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    assert held >= 170


def test_a_threshold_lies_in_the_middle_of_those_that_are_alike() -> None:
    alike = [ExpectedQuality(least, 0.9, 0.9) for least in range(4, 9)]
    assert choose([ExpectedQuality(3, 0.5, 1.0), *alike], POINTS + alike).least == 6
    # What chooses and what judges are two things.
    judged = [ExpectedQuality(3, 0.4, 0.4), ExpectedQuality(5, 0.3, 0.3)]
    assert choose(POINTS, judged) == judged[1]
