"""The cascade of routed: with one-to-one, records that matched take no part in later passes [MATHS §10.4]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.agreement.document import Agreement
from accord.errors import PeerError, TooManyMatchesError
from accord.protocols.naming import Naming
from accord.protocols.one_to_one import keep_best
from accord.protocols.routed_pairs import PairPasses
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.okvs.cuckoo import table_bins
from accord.secure.ot.engine import OtEngine
from accord.secure.party import Party
from accord.side import Side
from tests.protocols import worlds
from tests.protocols.test_routed import (
    Pairs,
    Points,
    agreement,
    asks,
    chosen,
    either,
    holds,
    link,
    meet,
    one_to_one,
)


def by_pass(passes: tuple[str, ...], a: Points, b: Points) -> Iterator[Pairs]:
    """M_1, M_2, …, without full keys."""
    left, right = set(range(len(a))), set(range(len(b)))
    for name in passes:
        found = [
            (i, j)
            for i in sorted(left)
            for j in sorted(right)
            if holds(a[i], b[j]) and meet(name, a[i], b[j])
        ]
        yield found
        left -= {i for i, _ in found}
        right -= {j for _, j in found}


def kept(found: Pairs) -> Pairs:
    """One-to-one, the first by ids."""
    taken: tuple[set[int], set[int]] = set(), set()
    best = []
    for i, j in sorted(found, key=lambda pair: (f"A{pair[0]}", f"B{pair[1]}")):
        if i not in taken[0] and j not in taken[1]:
            best.append((i, j))
            taken[0].add(i)
            taken[1].add(j)
    return sorted(best)


def check(
    passes: tuple[str, ...], a: Points, b: Points, asker: str | None, engine: Engine, seed: int
) -> None:
    agreed = one_to_one(agreement(*passes, cap=64, asks=asker))
    expected = list(by_pass(passes, a, b))
    assert link(agreed, a, b, seed, engine) == kept([pair for some in expected for pair in some])
    left, _, _ = worlds.link(agreed, a, b, seed, engine=IdealEngine())  # type: ignore[arg-type]
    assert left.matches_found == sum(map(len, expected))
    assert left.comparisons == sum(bins(agreed, expected, len(a), len(b)))


def bins(agreed: Agreement, found: list[Pairs], *sizes: int) -> Iterator[int]:
    """Those of each pass, of the records that are left."""
    here = dict(zip(Side, sizes, strict=True))
    for lane, some in zip(agreed.protocol.lanes(agreed.task, (sizes[0], sizes[1])), found, strict=True):
        several = agreed.task.blocking.passes[lane.number].per_record(lane.asker)
        yield table_bins(here[lane.asker] * several * lane.caps[lane.asker.other])
        for side, which in zip(Side, zip(*some, strict=True), strict=False):
            here[side] -= len(set(which))


@settings(max_examples=40)
@given(chosen, either, either, asks, st.integers(0, 9))
def test_a_pass_finds_what_those_before_left(
    passes: tuple[str, ...], a: Points, b: Points, asker: str | None, seed: int
) -> None:
    check(passes, a, b, asker, IdealEngine(), seed)


@pytest.mark.slow
@settings(max_examples=3_000)
@given(chosen, either, either, asks, st.integers(0, 99))
def test_thousands_of_tables(
    passes: tuple[str, ...], a: Points, b: Points, asker: str | None, seed: int
) -> None:
    check(passes, a, b, asker, IdealEngine(), seed)


A_ROWS: Points = [(1, 1), (3, 3), (3, 4), (9, 9), (12, 3), (7, 7)]
B_ROWS: Points = [(1, 1), (4, 4), (3, 3), (9, 8), (12, 3), (0, 15), (7, 8)]


@pytest.mark.parametrize("asker", Side)
def test_with_real_cryptography(asker: Side) -> None:
    check(("x", "y", "both"), A_ROWS, B_ROWS, asker.value, OtEngine(), 1)


def test_the_same_pairs_as_without_it_where_nobody_has_two() -> None:
    agreed = agreement("x", "y", cap=64)
    a: Points = [(n, n) for n in range(12)]
    assert link(one_to_one(agreed), a, a) == link(agreed, a, a)
    fewer, all_ = (worlds.link(one, a, a)[0].comparisons for one in (one_to_one(agreed), agreed))  # type: ignore[arg-type]
    assert fewer < all_


@pytest.mark.parametrize("output", [{"to": "A"}, {"answer": "count", "exact": True}])
def test_only_pairs_that_both_see_are_a_cascade(output: dict[str, Any]) -> None:
    plain = agreement("x", "y", cap=4)
    assert one_to_one(plain).protocol.cascades(one_to_one(plain).task)
    for changes in ({}, {"output": output}):
        other = Agreement.model_validate(plain.model_dump(mode="json") | changes)
        assert not other.protocol.cascades(other.task)


@pytest.mark.parametrize("most", [1, 2])
def test_the_bound_holds_over_all_passes(most: int) -> None:
    """Two match in the first pass, one in the second."""
    a: Points = [(1, 1), (5, 5), (9, 9)]
    b: Points = [(1, 1), (5, 6), (8, 9)]
    made = one_to_one(agreement("x", "y", cap=9)).model_dump(mode="json")
    agreed = Agreement.model_validate(made | {"most_matches": {"A": 3, "B": most + 1}})
    assert list(map(len, by_pass(("x", "y"), a, b))) == [2, 1]
    if most == 2:
        assert len(link(agreed, a, b)) == 3
        return
    with pytest.raises(TooManyMatchesError, match="2"):
        link(agreed, a, b)


def test_a_token_that_was_named_before_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would show a record twice, or another one under its name."""
    real = PairPasses.name

    def again(self: PairPasses, naming: Naming) -> Party[Any]:
        self._told = 0
        return real(self, naming)

    monkeypatch.setattr(PairPasses, "name", again)
    with pytest.raises(PeerError, match="a record that had matched before"):
        link(one_to_one(agreement("x", "y", cap=9)), [(1, 1), (5, 5)], [(1, 1), (6, 5)])


def test_a_record_that_is_shown_under_a_known_id_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a lister that shows in the next pass what it has shown, which the rule would accept."""
    real, shown = Naming._by_id, list[Any]()

    def same(self: Naming, records: Any) -> Any:
        if self._own.side is Side.B and len(records):
            shown.append(records)
            records = shown[0]
        return real(self, records)

    monkeypatch.setattr(Naming, "_by_id", same)
    with pytest.raises(PeerError, match="a record that it had disclosed before"):
        link(one_to_one(agreement("x", "y", cap=9, asks="A")), [(1, 1), (2, 1)], [(1, 1), (3, 1)])


def test_one_to_one_chooses_among_all_that_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides from the same pairs, those that it drops included."""
    found = []
    real = keep_best

    def noted(task: Any, mine: Any, outcome: Any) -> Any:
        found.append(len(outcome.pairs))
        return real(task, mine, outcome)

    monkeypatch.setattr("accord.protocols.routed_pairs.keep_best", noted)
    pairs = link(one_to_one(agreement("x", cap=9)), [(3, 3), (3, 4)], [(3, 3), (3, 4)])
    assert (found, pairs) == ([4, 4], [(0, 0), (1, 1)])
