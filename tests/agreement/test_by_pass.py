"""What each pass finds, what its buckets should be, and who is in no bin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.agreement.by_pass import best_buckets, by_pass, count_unplaced
from accord.agreement.document import Agreement
from accord.side import Side
from tests.protocols import worlds

A = [(0, 0), (3, 3), (9, 9)]
B = [(0, 9), (3, 3), (8, 9)]


def agreement(*names: str, **options: Any) -> Agreement:
    return worlds.agreement(blocking=worlds.passes(*names), missing="differs", **options)


def test_recall_by_pass_and_so_far() -> None:
    agreed = agreement("x", "y")
    wanted = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2])
    found = by_pass(agreed, worlds.records(A, agreed), worlds.records(B, agreed), [wanted])
    assert [(one.name, one.bins, one.candidate_pairs) for one in found] == [
        ("pass 1", 16, 2),
        ("pass 2", 5, 3),
    ]
    assert [(one.recall, one.recall_so_far) for one in found] == [(0.5, 0.5), (0.5, 0.75)]
    assert [one.buckets for one in found] == [None, 5]


def test_of_nothing_everything_is_found() -> None:
    agreed = agreement("x")
    (one,) = by_pass(agreed, worlds.records([], agreed), worlds.records([], agreed), [])
    assert (one.recall, one.recall_so_far, one.candidate_pairs) == (1, 1, 0)


@pytest.mark.parametrize("sizes", [(100_000, 100_000), (10_000, 1_000_000)])
def test_the_best_number_of_buckets_is_that_of_the_formula(sizes: tuple[int, int]) -> None:
    agreed = agreement("x", "both")
    release = agreed.protocol.release(agreed.task, Side.A, sizes[0])
    assert release.setting is not None
    dummies = release.setting.expected_dummies

    def cost(k: float) -> float:
        a, b = sizes
        return a * b / k + (a + b) * dummies + k * dummies**2

    none, best = best_buckets(agreed, sizes)
    assert none is None
    assert best is not None
    tried = [best * share for share in (0.25, 0.5, 0.8, 1.25, 2, 4)]
    assert all(cost(best) < cost(k) for k in tried)


def test_protocols_without_noise_have_no_best() -> None:
    assert best_buckets(worlds.agreement(protocol="all-pairs"), (1000, 1000)) == []


def test_a_record_in_no_bin_of_any_pass() -> None:
    agreed = agreement("x", "y")
    rows: Any = [(0, 0), (None, 3), (None, None), (4, None)]
    held = worlds.records(rows, agreed)
    assert count_unplaced(agreed, Side.A, held) == (1, {"pass 1": 2, "pass 2": 2})
