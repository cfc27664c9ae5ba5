"""The curve against a slow count of all pairs, and the pairs next to its threshold."""

from __future__ import annotations

import numpy as np
import pytest

from accord.agreement.adjusting import adjust
from accord.rules.evaluate import holds, scores
from accord.simulation.curve import Curve, Point, trace
from accord.simulation.known import Known, split
from accord.simulation.truth import f1
from tests.simulation.made import SCORE, agree, know, people, run


def traced(known: Known, shown: int) -> tuple[Curve, list[int], list[int]]:
    found = trace(known, shown)
    assert found is not None
    return found[0], found[1].tolist(), found[2].tolist()


def sums_of(known: Known) -> dict[int, int]:
    """Of every pair that meets and fulfils the rest of the rule, slowly."""
    graded = split(known.agreement.rule)
    assert graded is not None
    keys = np.arange(len(known.a) * len(known.b))
    kept = keys[known.meets(keys) & holds(graded[1], known.tables, *known.rows(keys))]
    sums = scores(graded[0].comparisons, known.tables, *known.rows(kept))
    return dict(zip(kept.tolist(), sums.tolist(), strict=True))


@pytest.mark.parametrize("rule", [SCORE, f"not missing(birth) and {SCORE}"])
def test_every_point_is_what_that_threshold_finds(rule: str) -> None:
    known = know(agree(rule), people())
    sums, true = sums_of(known), set(known.true.tolist())
    curve, below, above = traced(known, 5)
    assert [point.threshold for point in curve.points] == sorted(
        {9, *(point.threshold for point in curve.points)}
    )
    for point in curve.points:
        found = {key for key, sum_ in sums.items() if sum_ >= point.threshold}
        precision, recall = len(found & true) / len(found), len(found & true) / len(true)
        assert point == Point(point.threshold, len(found), precision, recall, f1(precision, recall))
    least = min(sum_ for key, sum_ in sums.items() if key in true)
    assert {point.threshold for point in curve.points} == {9} | {s for s in sums.values() if s >= least}
    assert curve.at(curve.best).f1 == max(point.f1 for point in curve.points)
    assert below == sorted((k for k in sums if sums[k] < 9), key=lambda k: (-sums[k], k not in true, k))[:5]
    assert above == sorted((k for k in sums if sums[k] >= 9), key=lambda k: (sums[k], k in true, k))[:5]


def test_the_agreed_threshold_is_what_the_run_finds() -> None:
    agreement, made = agree(), people()
    curve, _, _ = traced(know(agreement, made), 0)
    scores_ = run(agreement, made).quality(made.truth).scores
    point = curve.at(curve.agreed)
    assert (point.precision, point.recall) == (scores_.truth_precision, scores_.truth_recall)


def test_a_better_threshold_is_named_and_of_equals_the_nearest() -> None:
    made = people()
    high, _, _ = traced(know(agree(SCORE.replace(">= 9", ">= 23")), made), 0)
    low, _, _ = traced(know(agree(), made), 0)
    assert high.best == low.best
    assert high.at(23).f1 < high.at(high.best).f1
    # Of 60 pairs without errors all true ones weigh much, and nothing else comes near.
    wide = agree("score(birth: same -> 80; email: same -> 1) >= 50")
    curve, _, _ = traced(know(wide, people(30)), 0)
    assert curve.best == 50
    assert curve.at(50).f1 == curve.at(80).f1


def test_without_a_blocking_all_pairs_are_weighed() -> None:
    known = know(adjust(agree(), protocol="all-pairs", greedy=False), people(40))
    curve, below, above = traced(known, 10_000)
    assert len(below) + len(above) == 40 * 40
    assert curve.points[0].recall == 1


def test_a_rule_without_a_score_has_none() -> None:
    assert trace(know(agree("same(birth)"), people(20)), 3) is None


def test_of_nothing_true_there_is_the_agreed_point() -> None:
    made = people(30)
    known = know(agree(), made, made.truth.slice(0, 0))
    curve, below, _ = traced(known, 2)
    assert [(point.threshold, point.recall) for point in curve.points] == [(9, 1.0)]
    assert len(below) == 2
