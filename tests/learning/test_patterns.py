"""Patterns are the levels that hold, and every pair is counted once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
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


def test_a_score_beyond_counting_is_refused() -> None:
    table, _, _ = both([ROW], [ROW])
    comparisons = (Levels((Level(Same("code"), 1),), 0),) * 63
    one = np.zeros(1, np.int64)
    with pytest.raises(UsageError, match="too many comparisons"):
        count(comparisons, table, (one, one), [], (one, one))
