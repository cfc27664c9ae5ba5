"""Every check on what the partner sends in Greedy Match & Clean: each lie is found out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from accord.errors import PeerError
from accord.secure.ideal import IdealEngine
from tests.protocols import worlds
from tests.protocols.liars import lie


def test_a_match_that_the_rule_denies_is_refused() -> None:
    def meddle(side: Any) -> None:
        columns = dict(side._mine.records.columns)
        true = side._disclosure

        def disclosure(records: np.ndarray) -> object:
            told = true(records)
            # Another place in the same cell, too far away to match.
            for name in ("x", "y"):
                told.fields[name].values[:] = 4 * (columns[name].values[records] // 4)
            return told

        side._disclosure = disclosure

    with pytest.raises(PeerError, match="a match that the rule denies"):
        lie(worlds.agreement(), [(3, 3)], [(3, 3)], meddle)


def test_a_record_in_other_bins_than_its_values_is_refused() -> None:
    def meddle(side: Any) -> None:
        true = side._disclosure

        def disclosure(records: np.ndarray) -> object:
            told = true(records)
            told.fields["x"].values[:] = 15
            return told

        side._disclosure = disclosure

    with pytest.raises(PeerError, match="in other bins than its values"):
        lie(worlds.agreement(), [(3, 3)], [(3, 3)], meddle)


def test_a_match_without_its_record_is_refused() -> None:
    def meddle(side: Any) -> None:
        true = side._disclosure
        side._disclosure = lambda records: true(records[:0])

    with pytest.raises(PeerError):
        lie(worlds.agreement(), [(3, 3)], [(3, 3)], meddle)


def test_another_output_is_noticed() -> None:
    def meddle(side: Any) -> None:
        side._found.add(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))

    with pytest.raises(PeerError, match="digest of an output other"):
        lie(worlds.agreement(), [(3, 3), (9, 9)], [(3, 3), (9, 9)], meddle)


class AllMatch(IdealEngine):
    """An engine whose bits a cheating partner has set: everything matches."""

    def evaluate(self, session: Any, circuit: Any, blocks: Any, table: Any) -> Any:
        bits = yield from super().evaluate(session, circuit, blocks, table)
        return np.ones_like(bits)


@pytest.mark.parametrize("greedy", [True, False])
def test_a_match_with_a_dummy_is_refused(greedy: bool) -> None:
    with pytest.raises(PeerError, match="a match with a dummy"):
        lie(worlds.agreement(greedy=greedy), [(3, 3)], [(3, 3)], lambda side: None, AllMatch())


def test_a_record_that_was_not_due_is_refused() -> None:
    """B names a record of its choice beside or instead of the one that matched, to see what it matches."""

    def named(*records: int) -> Any:
        def meddle(side: Any) -> None:
            true = side._disclosure
            side._disclosure = lambda due: true(np.array(records) if len(due) else due)

        return meddle

    for records, words in (((0, 1), "2 disclosed records where 1 can match"), ((1,), "slot did not match")):
        with pytest.raises(PeerError, match=words):
            lie(worlds.agreement(), [(3, 3), (12, 12)], [(3, 3), (12, 8)], named(*records))

    def later(side: Any) -> None:
        true, calls = side._disclosure, []

        def disclosure(records: np.ndarray) -> object:
            calls.append(1)
            return true(np.array([1]) if len(calls) == 2 else records)

        side._disclosure = disclosure

    with pytest.raises(PeerError, match="a record that matches nothing it was shown"):
        lie(worlds.agreement(), [(3, 3), (12, 12)], [(3, 3), (12, 8)], later)


def test_a_record_that_was_disclosed_before_is_refused() -> None:
    def meddle(side: Any) -> None:
        true = side._disclosure
        side._disclosure = lambda records: true(np.array([0]))

    with pytest.raises(PeerError, match=r"disclosed before|more than its table holds"):
        lie(worlds.agreement(), [(3, 3)], [(3, 3)], meddle)
