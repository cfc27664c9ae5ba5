"""Recall is exact where the agreement tells it, seen where data does, and unknown otherwise."""

from __future__ import annotations

import pytest

from accord.agreement.adjusting import adjust
from accord.datasets.starter import starter
from accord.planning.recall import recall_of, share_met
from tests.protocols.worlds import agreement, passes, records


def test_what_is_complete_finds_all() -> None:
    for agreed in (starter("products"), starter("places"), agreement(protocol="all-pairs")):
        assert recall_of(agreed, agreed.task) == 1.0


def test_what_may_miss_some_is_not_known_without_data() -> None:
    people = starter("people")
    assert recall_of(people, people.task) is None
    assert recall_of(people, people.task, 0.5) == 0.5
    pruned = adjust(starter("products"), prune=10)
    assert recall_of(pruned, pruned.task) is None


def test_reports_are_compared_as_often_as_their_file_says() -> None:
    agreed = adjust(starter("products"), protocol="local-dp", epsilon="3")
    found = recall_of(agreed, agreed.task)
    assert found == pytest.approx(agreed.protocol.expected_recall(agreed.plan.bins))  # type: ignore[union-attr]


def test_pairs_that_the_rule_accepts_are_looked_for_in_the_bins() -> None:
    agreed = agreement(blocking=passes("x"), rule="euclidean(x, y) <= 1")
    a, b = records([(1, 1), (4, 4), (9, 9)], agreed), records([(1, 2), (5, 4), (0, 0)], agreed)
    # The third pair is no match; the second is one and has another x.
    assert share_met(agreed.task, a, b) == 0.5
    assert share_met(agreed.task, a, records([(9, 9), (9, 9), (0, 0)], agreed)) is None
