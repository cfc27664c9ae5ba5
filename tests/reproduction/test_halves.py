"""Halves cut no true pair, are the seed's, and what is judged decides nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from reproduction.halves import Half, Judged, Truth, average, judge, judge_scores
from reproduction.quality_data import Tables


def tables(pairs: list[tuple[int, int]], a: int = 40, b: int = 40) -> Tables:
    left, right = zip(*pairs, strict=True)
    return Tables(
        pa.table({"id": [f"a{row}" for row in range(a)]}),
        pa.table({"id": [f"b{row}" for row in range(b)]}),
        pa.table({"id_a": [f"a{row}" for row in left], "id_b": [f"b{row}" for row in right]}),
    )


CHAIN = [(0, 0), (1, 0), (1, 1), (2, 1), (5, 9), (6, 8)]
"""a0, b0, a1, b1 and a2 are one person."""


@pytest.mark.parametrize("turn", range(10))
def test_people_stay_together_and_halves_are_halves(turn: int) -> None:
    truth = Truth(tables(CHAIN))
    half = truth.halve(7, turn)
    assert np.array_equal(half.a[truth.left], half.b[truth.right])
    assert truth.count(half) + truth.count(half.other) == len(CHAIN)
    # 80 records less six that share a person: 37 of 74 people, each of one record to five.
    assert 30 <= half.a.sum() + half.b.sum() <= 50


def test_halves_are_those_of_the_seed_and_the_turn() -> None:
    truth = Truth(tables(CHAIN))

    def bits(seed: int, turn: int) -> str:
        half = truth.halve(seed, turn)
        return "".join(map(str, np.concatenate([half.a, half.b]).astype(int)))

    assert bits(1, 2) == bits(1, 2)
    assert len({bits(seed, turn) for seed in range(3) for turn in range(5)}) == 15


def test_shares_are_of_what_was_found_and_of_what_is_true() -> None:
    assert judge(4, 3, 6) == Judged(0.75, 0.5, 0.6)
    assert judge(0, 0, 5) == Judged(1.0, 0.0, 0.0)
    assert judge(0, 0, 0) == Judged(1.0, 1.0, 1.0)


def test_what_is_judged_does_not_move_the_threshold() -> None:
    truth = Truth(tables([(row, row) for row in range(40)]))
    learns = np.arange(40) < 20
    half = Half(learns, learns)
    left = np.concatenate([np.arange(40), np.arange(40)])
    right = np.concatenate([np.arange(40), (np.arange(40) + 1) % 40])
    true = left == right
    scores = np.where(true, 10.0, 0.0)
    assert judge_scores(truth, half, left, right, scores) == Judged(1.0, 1.0, 1.0)
    # On the half that is judged all scores are lower: learnt from it, the threshold would be, too.
    scores[(left >= 20) & true] = 4.0
    assert judge_scores(truth, half, left, right, scores).recall == 0
    scores[(left >= 20) & ~true] = 7.0
    assert judge_scores(truth, half, left, right, scores) == Judged(0.0, 0.0, 0.0)


def test_a_pair_without_a_score_is_not_found() -> None:
    truth = Truth(tables([(row, row) for row in range(40)]))
    half = truth.halve(0, 0)
    rows = np.arange(0, 40, 2)
    found = judge_scores(truth, half, rows, rows, np.ones(len(rows)))
    assert found.precision == 1
    assert found.recall == pytest.approx((~half.a[rows]).sum() / (~half.a).sum())


def test_means_and_errors() -> None:
    mean, error = average([Judged(1.0, 0.5, 0.6), Judged(0.5, 0.5, 0.8)])
    assert (mean.precision, mean.recall) == (0.75, 0.5)
    assert mean.f1 == pytest.approx(0.7)
    assert error == pytest.approx(0.1)
    assert average([Judged(1.0, 1.0, 1.0)])[1] == 0
