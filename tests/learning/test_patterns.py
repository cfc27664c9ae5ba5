"""Patterns are the levels that hold, and every pair is counted once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.learning.patterns import count
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
        (np.arange(len(left)), np.arange(len(right))),
    )
    sums = found.scores(tuple(each.weights for each in rule.comparisons))
    wanted = evaluate.scores(rule.comparisons, table, *pairs)
    for counts, of in ((found.matches, true), (found.others, ~true)):
        counted: Counter[int] = Counter()
        for total, number in zip(sums.tolist(), counts.tolist(), strict=True):
            counted[total] += number
        assert +counted == Counter(wanted[of].tolist())
    assert len({tuple(row) for row in found.patterns.tolist()}) == len(found.patterns)


def test_true_pairs_count_wherever_they_are_and_others_among_some_rows() -> None:
    table, _, _ = both([ROW] * 4, [ROW] * 4)
    comparisons = (Levels((Level(Same("code"), 1),), 0),)
    true = np.array([0, 3]), np.array([0, 3])
    found = count(comparisons, table, true, (np.arange(2), np.arange(3)))
    assert (found.matches.sum(), found.others.sum()) == (2, 5)


def test_a_score_beyond_counting_is_refused() -> None:
    table, _, _ = both([ROW], [ROW])
    comparisons = (Levels((Level(Same("code"), 1),), 0),) * 63
    with pytest.raises(UsageError, match="too many comparisons"):
        count(comparisons, table, (np.arange(1), np.arange(1)), (np.arange(1), np.arange(1)))
