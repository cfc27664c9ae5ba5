"""Weights are what pairs say, or the draft where there are few; thresholds divide nothing that is equal."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from accord import parse_agreement
from accord.fields.load import load_records
from accord.rules.check import rule_faults
from accord.rules.evaluate import Tables, scores
from accord.rules.rule import Score
from reproduction.weights import LARGEST, best_threshold, learn, level_numbers

AGREEMENT = """
version = 1
salt = "00112233"
rule = '''score(
    x: same -> 3, missing -> 1, otherwise -> -1;
    y: same -> 2, otherwise -> 0;
) >= 3'''
engine = "ot"
parties = { A = "one", B = "other" }
protocol = { name = "all-pairs", greedy = false }
[fields]
x = { type = "text", encoder = "hash", missing = "differs" }
y = { type = "text", encoder = "hash" }
"""
AGREED = parse_agreement(AGREEMENT, "here")
assert isinstance(AGREED.rule, Score)
DRAFT = AGREED.rule


def world(rows: int, seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    sides = []
    for letter in "ab":
        x = [None if cell == 0 else str(cell) for cell in rng.integers(0, 4, rows).tolist()]
        y = rng.integers(0, 2, rows).astype(str).tolist()
        table = pa.table({"id": [f"{letter}{i}" for i in range(rows)], "x": pa.array(x, pa.string()), "y": y})
        sides.append(load_records(table, AGREED.fields, AGREED.salt).columns)
    return Tables(AGREED.fields, sides[0], sides[1])


def test_levels_are_the_first_that_hold() -> None:
    tables = world(30, 1)
    left, right = (side.ravel() for side in np.mgrid[:30, :30])
    levels = level_numbers(DRAFT, tables, left, right)
    assert set(levels.tolist()) == set(range(6))
    weights = np.array([3, 1, -1])[levels // 2] + np.array([2, 0])[levels % 2]
    assert np.array_equal(weights, scores(DRAFT.comparisons, tables, left, right))


def test_pairs_decide_where_there_are_many() -> None:
    # y tells all, whatever the draft says of x.
    levels = np.repeat(np.arange(6), 1_000)
    true = levels % 2 == 0
    learnt = learn(DRAFT, levels, true, missed=0)
    found = learnt.rule
    assert rule_faults(found, AGREED.fields) == []
    assert max(abs(weight) for each in found.comparisons for weight in each.weights) == LARGEST
    y = found.comparisons[-1]
    assert y.weights == (LARGEST, 0)
    tables = world(30, 2)
    left, right = (side.ravel() for side in np.mgrid[:30, :30])
    sums, numbers = scores(found.comparisons, tables, left, right), level_numbers(DRAFT, tables, left, right)
    assert np.array_equal(sums >= found.least, numbers % 2 == 0)
    assert np.array_equal(sums, learnt.sums(numbers))


def test_the_draft_decides_where_there_are_few() -> None:
    found = learn(DRAFT, np.array([0, 5]), np.array([True, False]), missed=0).rule
    x, y = found.comparisons
    assert x.weights[0] > x.weights[1] > x.weights[2] == 0
    assert y.weights[0] > y.weights[1] == 0


def test_what_weighs_nothing_is_left_out() -> None:
    # Of ten pairs at each level nine are as x says, and y says nothing.
    levels = np.repeat(np.arange(6), 100_000)
    true = (levels // 2 == 0) ^ (np.arange(len(levels)) % 10 == 0)
    learnt = learn(DRAFT, levels, true, missed=0)
    found = learnt.rule
    assert learnt.sums(np.array([0, 1, 5])).tolist() == [LARGEST, LARGEST, 0]
    assert [str(each)[:7] for each in found.comparisons] == ["same(x)"]
    assert rule_faults(found, AGREED.fields) == []


def test_a_threshold_lies_between_scores_and_equal_ones_stay_together() -> None:
    every = np.ones(4)
    assert best_threshold(np.array([9.0, 7, 3, 1]), np.array([1.0, 1, 0, 0]), every, 0) == 5
    # The true pair at 3 is as good as the two false ones beside it.
    tied = best_threshold(np.array([9.0, 3, 3, 3]), np.array([1.0, 1, 0, 0]), every, 0)
    assert tied in (6, 3)
    assert best_threshold(np.array([9.0, 3, 3, 3]), np.array([1.0, 0, 0, 0]), every, 0) == 6
    # Where nothing lies below, the last itself.
    assert best_threshold(np.array([2.0]), np.array([1.0]), np.ones(1), 0) == 2


def test_pairs_that_were_missed_make_a_threshold_more_lenient() -> None:
    scored, true = np.array([3.0, 2, 1]), np.array([1.0, 0, 1])
    total = np.array([1.0, 2, 1])
    # 2·1/(1 + 2 + missed) against 2·2/(4 + 2 + missed).
    assert best_threshold(scored, true, total, 0) == 2.5
    assert best_threshold(scored, true, total, 1) == 1
