"""What was found comes out the same however little memory there is: pairs, order, digest, on both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import spill
from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.protocols import greedy
from accord.protocols.base import OneToOne
from accord.protocols.parts.outcome import Outcome
from accord.secure.ideal import IdealEngine
from accord.secure.party import run_pair
from accord.side import Side
from accord.spill import Scratch
from tests.protocols import worlds

points = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=25)
KINDS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "candidates": {"rule": worlds.WITHOUT_INDEX},
    "plain": {"greedy": False},
    "passes": {"greedy": False, "blocking": worlds.passes("x", "y", "grid")},
    "greedy passes": {"blocking": worlds.passes("x", "y", "both", "around")},
    "psi": {"protocol": "psi", "rule": "same(x) and same(y)"},
}


def agreed(kind: str, one_to_one: OneToOne) -> Agreement:
    return worlds.agreement(**KINDS[kind]).model_copy(update={"one_to_one": one_to_one})


def link(agreement: Agreement, a: worlds.Rows, b: worlds.Rows, scratch: Scratch) -> tuple[Outcome, Outcome]:
    entropy, engine = Seeded(1), IdealEngine()
    sides = [
        replace(worlds.side(agreement, side, rows, entropy, partner=other), scratch=scratch)
        for side, rows, other in ((Side.A, a, len(b)), (Side.B, b, len(a)))
    ]
    left, right = (worlds.run(agreement.task, mine, engine) for mine in sides)
    return run_pair(left, right)


def ids(outcome: Outcome) -> list[tuple[str, str]]:
    """The pairs in their order, A's first, as names."""
    partner = np.array(outcome.partner_ids.to_pylist(), object)
    own = np.array([f"{outcome.side.value}{i}" for i in range(1 + max(outcome.own, default=0))], object)
    pairs = list(zip(own[outcome.own], partner[outcome.partner] if len(partner) else [], strict=True))
    return pairs if outcome.side is Side.A else [(theirs, mine) for mine, theirs in pairs]


@pytest.mark.parametrize("one_to_one", [False, pytest.param("pairs", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
@given(points, points, st.integers(0, 6))
def test_little_memory_changes_nothing(
    kind: str, one_to_one: OneToOne, a: worlds.Rows, b: worlds.Rows, most: int
) -> None:
    agreement = agreed(kind, one_to_one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spill, "PIECE", 3)
        patch.setattr(greedy, "_MOST_LISTS", 2)
        left, right = link(agreement, a, b, Scratch(most=most))
    usual, _ = link(agreement, a, b, Scratch())
    assert ids(left) == ids(right) == ids(usual) == sorted(ids(usual))
    assert left.digest == right.digest == usual.digest
    assert left.matches_found == right.matches_found == usual.matches_found
    for some, expected in ((left, usual), (right, _)):
        assert some.partner_ids.equals(expected.partner_ids)
        assert some.partner_columns.equals(expected.partner_columns)


@pytest.mark.parametrize("kind", ["greedy", "plain", "passes", "greedy passes"])
def test_many_matches_are_in_files_and_each_is_there_once(kind: str) -> None:
    rows = [(i % 3, i % 2) for i in range(40)]
    left, right = link(agreed(kind, one_to_one=False), rows, rows, Scratch(most=50))
    expected = sorted((f"A{i}", f"B{j}") for i, j in worlds.textbook(rows, rows))
    assert len(expected) > 500
    assert ids(left) == ids(right) == expected
    assert isinstance(left.pairs.keys.base, np.memmap)


def test_nothing_found() -> None:
    left, right = link(agreed("plain", one_to_one=False), [(0, 0)], [(15, 15)], Scratch(most=0))
    assert ids(left) == ids(right) == []
    assert left.digest == right.digest
