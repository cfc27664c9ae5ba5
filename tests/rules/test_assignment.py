"""The best one-to-one set is the textbook's, whatever the library answers; above 5,000 records best first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from accord.rules import assignment
from accord.rules.assignment import MOST_RECORDS, alone, choose

Ints = NDArray[np.int64]
Worth = dict[tuple[int, int], int]
"""What each pair (record of A, record of B) is worth."""
Kept = set[tuple[int, int]]

_NONE = 1 << 30

small: st.SearchStrategy[Worth] = st.integers(1, 3).flatmap(
    lambda most: st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(1, most), max_size=14
    )
)


def textbook(worth: Worth) -> Kept:
    """The definition: every set is tried, by sum, then by the list of what A's records have."""
    records = sorted({a for a, _ in worth})

    def sets(at: int, used: frozenset[int]) -> list[tuple[int, tuple[int, ...]]]:
        if at == len(records):
            return [(0, ())]
        free = [b for a, b in worth if a == records[at] and b not in used]
        found = [(total, (_NONE, *rest)) for total, rest in sets(at + 1, used)]
        for b in free:
            gain = worth[records[at], b]
            found += [(gain + total, (b, *rest)) for total, rest in sets(at + 1, used | {b})]
        return found

    _, has = min(sets(0, frozenset()), key=lambda one: (-one[0], one[1]))
    return {(a, b) for a, b in zip(records, has, strict=True) if b != _NONE}


def arrays(worth: Worth) -> tuple[Ints, Ints, Ints]:
    left, right = np.array(list(worth), np.int64).reshape(-1, 2).T
    return left.copy(), right.copy(), np.array(list(worth.values()), np.int64)


def kept(worth: Worth) -> Kept:
    pairs = list(worth)
    return {pairs[i] for i in np.flatnonzero(choose(*arrays(worth)))}


@settings(max_examples=300, deadline=None)
@given(small)
def test_it_is_the_first_by_id_of_those_with_the_largest_sum(worth: Worth) -> None:
    assert kept(worth) == textbook(worth)


@given(st.sets(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=60))
def test_of_pairs_that_are_worth_the_same_as_many_as_possible_are_kept(pairs: Kept) -> None:
    found = kept(dict.fromkeys(pairs, 1))
    linked = np.zeros((20, 20), np.int8)
    for a, b in pairs:
        linked[a, b] = 1
    assert len(found) == (maximum_bipartite_matching(csr_array(linked)) >= 0).sum()
    assert len({a for a, _ in found}) == len({b for _, b in found}) == len(found)


@settings(max_examples=100, deadline=None)
@given(small, st.randoms(use_true_random=False))
def test_another_library_leads_to_the_same_set(worth: Worth, chance: object) -> None:
    expected, shuffle = kept(worth), chance.shuffle  # type: ignore[attr-defined]
    true = assignment._assign

    def other(a: Ints, b: Ints, worth: Ints, n: int, m: int) -> Ints:
        """One that sees the records in another order, and so takes another of the best sets."""
        rows, columns = list(range(n)), list(range(m))
        shuffle(rows)
        shuffle(columns)
        mate = true(np.array(rows)[a], np.array(columns)[b], worth, n, m)[rows]
        back = np.argsort(columns)
        return np.where(mate >= 0, back[mate], -1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assignment, "_assign", other)
        assert kept(worth) == expected


TIES = {(a, b): 1 for a in range(4) for b in range(4)}


def test_the_other_library_of_the_test_takes_other_sets() -> None:
    """Or the test above could not fail: without the last step the answers differ."""
    plain = assignment._assign(*arrays(TIES), 4, 4)
    turned = 3 - assignment._assign(3 - arrays(TIES)[0], arrays(TIES)[1], arrays(TIES)[2], 4, 4)
    assert plain.tolist() != turned.tolist()


@pytest.mark.parametrize(
    "mate", [[1, 0], [0, -1], [-1, -1]], ids=["a smaller sum", "one pair too few", "none"]
)
def test_a_library_that_is_wrong_is_found_out(mate: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "_assign", lambda *_: np.array(mate))
    with pytest.raises(RuntimeError, match="not the best one"):
        kept({(0, 0): 3, (0, 1): 2, (1, 0): 2, (1, 1): 3})


def test_only_the_order_of_ids_counts() -> None:
    worth = {(0, 1): 2, (0, 2): 2, (3, 1): 2, (3, 2): 2, (4, 2): 2}
    spread = {(10 * a + 5, 7 * b): value for (a, b), value in worth.items()}
    assert kept(spread) == {(10 * a + 5, 7 * b) for a, b in kept(worth)}
    backwards = dict(reversed(worth.items()))
    assert kept(backwards) == kept(worth) == {(0, 1), (3, 2)}


def test_more_pairs_may_be_worth_less() -> None:
    path = {(0, 0): 2, (0, 1): 5, (1, 1): 2}
    assert kept(path) == {(0, 1)}
    assert kept(dict.fromkeys(path, 1)) == {(0, 0), (1, 1)}


def test_pairs_that_share_nothing_are_in_every_set() -> None:
    left, right = np.array([0, 1, 1, 2]), np.array([0, 1, 2, 3])
    assert alone(left, right).tolist() == [True, False, False, True]
    assert alone(left[:0], right[:0]).tolist() == choose(left[:0], right[:0], left[:0]).tolist() == []


@pytest.mark.parametrize(
    ("records", "expected"),
    [(MOST_RECORDS, {(0, 0), (1, 1)}), (MOST_RECORDS + 1, {(0, 1)})],
    ids=["the best set", "best first"],
)
def test_above_5000_records_the_best_pairs_come_first(records: int, expected: Kept) -> None:
    """A path on which the best pair stands in the way of two that are worth more together."""
    path = {(0, 0): 4, (0, 1): 5, (1, 1): 4}
    others = {(2, b): 1 for b in range(2, records - 3)}
    found = kept(path | {(2, 1): 1} | others)
    assert MOST_RECORDS == 5000
    assert found == expected | {(2, 2)}


def test_best_first_takes_the_first_by_id_among_equals() -> None:
    """A ring of 5,002 records: whoever comes first by id takes the first that is free."""
    half = 2501
    ring = {(a, (a + step) % half): 1 for a in range(half) for step in (0, 1)}
    assert kept(ring) == {(a, a) for a in range(half)}
    del ring[0, 0]
    assert kept(ring) == {(a, (a + 1) % half) for a in range(half)}
