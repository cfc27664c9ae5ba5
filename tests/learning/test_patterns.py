"""Patterns are the levels that hold, and every pair is counted once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.learning import patterns
from accord.learning.patterns import FOLDS, count, deal, persons
from accord.rules import evaluate
from accord.rules.rule import Level, Levels, Rule, Same, Score
from tests.rules.worlds import ROW, Row, both, scores, tables


@given(scores, tables, tables, st.randoms())
def test_patterns_give_the_scores_of_all_pairs(
    rule: Rule, a: list[Row], b: list[Row], random: object
) -> None:
    assert isinstance(rule, Score)
    table, left, right = both(a, b)
    pairs = np.repeat(np.arange(len(left)), len(right)), np.tile(np.arange(len(right)), len(left))
    rng = np.random.default_rng(len(a) + 10 * len(b))
    true = rng.random(len(pairs[0])) < 0.3
    found = count(
        rule.comparisons,
        table,
        (pairs[0][true], pairs[1][true]),
        [(pairs[0][::2], pairs[1][::2]), (pairs[0][1::2], pairs[1][1::2])],
        (rng.integers(0, FOLDS, len(left)), rng.integers(0, FOLDS, len(right))),
    ).whole
    sums = found.scores(tuple(each.weights for each in rule.comparisons))
    wanted = evaluate.scores(rule.comparisons, table, *pairs)
    for counts, of in ((found.matches, true), (found.others, ~true)):
        counted: Counter[int] = Counter()
        for total, number in zip(sums.tolist(), counts.tolist(), strict=True):
            counted[total] += number
        assert +counted == Counter(wanted[of].tolist())
    assert len({tuple(row) for row in found.patterns.tolist()}) == len(found.patterns)


def test_every_pair_is_judged_once_by_what_never_saw_its_people() -> None:
    table, _, _ = both([ROW] * 40, [ROW] * 40)
    comparisons = (Levels((Level(Same("code"), 1),), 0),)
    true = np.arange(0, 40, 2), np.arange(0, 40, 2)
    picked = np.array([1, 3]), np.array([3, 1])
    folds = deal(true, (40, 40), np.random.default_rng(0))
    assert np.array_equal(folds[0][true[0]], folds[1][true[1]])
    left, right = np.divmod(np.arange(1600), 40)
    found = count(comparisons, table, true, [(left, right)], folds, picked)
    assert (found.whole.matches.sum(), found.whole.others.sum()) == (20, 1600 - 20 - 2)
    parts = [found.within(fold) for fold in range(FOLDS)]
    assert sum(part.others.sum() for part in parts) == found.whole.others.sum()
    for fold, part in enumerate(parts):
        assert part.matches.sum() == (folds[0][true[0]] == fold).sum()
        outside = (folds[0][left] != fold) & (folds[1][right] != fold)
        learnt = found.without(fold)
        assert learnt.matches.sum() + learnt.others.sum() == outside.sum(), "with those that were picked"


def test_records_that_true_pairs_join_are_one_person() -> None:
    true = np.array([0, 1, 1, 2, 5]), np.array([0, 0, 1, 1, 3])
    assert persons(true, (6, 4)).tolist() == [0, 0, 0, 3, 4, 5, 0, 0, 8, 5]


def test_a_score_of_many_comparisons_is_counted() -> None:
    table, _, _ = both([ROW], [ROW])
    comparisons = (Levels((Level(Same("code"), 1),), 0),) * 70
    one = np.zeros(1, np.int64)
    found = count(comparisons, table, (one, one), [], (one, one)).whole
    assert found.patterns.tolist() == [[0] * 70]
    assert found.matches.tolist() == [1]


def test_many_patterns_are_sampled_and_all_sums_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    comparisons = (Levels((Level(Same("code"), 1),), 0),) * 12
    agrees = rng.random((2000 * 40, 12)) < 0.3
    agrees[:40] = rng.random((40, 12)) < 0.9
    rows = (~agrees).astype(np.uint8)
    monkeypatch.setattr(patterns, "patterns_of", lambda *given: rows[given[2] * 2000 + given[3]])
    every = np.divmod(np.arange(2000 * 40), 2000)
    folds = np.zeros(40, np.int64), np.zeros(2000, np.int64)
    table, _, _ = both([ROW], [ROW])
    true = np.zeros(40, np.int64), np.arange(40)
    exact = count(comparisons, table, true, [every], folds).whole
    monkeypatch.setattr(patterns, "MOST_PATTERNS", 500)
    some = count(comparisons, table, true, [every], folds).whole
    assert len(exact.patterns) > 3000
    assert len(some.patterns) < 800
    assert some.matches.sum() == exact.matches.sum()
    for place in range(12):
        shares = [of.others[of.patterns[:, place] == 0].sum() / 80_000 for of in (exact, some)]
        assert shares[1] == pytest.approx(shares[0], abs=0.1)
    weights = ((1, 0),) * 12
    for least in (6, 8, 10):
        reach = [of.others[of.scores(weights) >= least].sum() for of in (exact, some)]
        assert reach[1] == pytest.approx(reach[0], rel=0.1)
