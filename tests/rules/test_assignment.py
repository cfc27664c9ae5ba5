"""The one-to-one set is the textbook's: the best pair whose records are free, again and again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.rules.assignment import alone, choose

Ints = NDArray[np.int64]
Worth = dict[tuple[int, int], int]
"""What each pair (record of A, record of B) is worth."""
Kept = set[tuple[int, int]]

small: st.SearchStrategy[Worth] = st.integers(1, 3).flatmap(
    lambda most: st.dictionaries(
        st.tuples(st.integers(0, 9), st.integers(0, 9)), st.integers(1, most), max_size=40
    )
)


def textbook(worth: Worth) -> Kept:
    """The definition: the pair that is worth most, the first by id among equals; then of what is left."""
    if not worth:
        return set()
    best = min(worth, key=lambda pair: (-worth[pair], pair))
    left = {(a, b): value for (a, b), value in worth.items() if a != best[0] and b != best[1]}
    return {best} | textbook(left)


def kept(worth: Worth) -> Kept:
    pairs = list(worth)
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    found = choose(left.copy(), right.copy(), np.array(list(worth.values()), np.int64))
    return {pairs[i] for i in np.flatnonzero(found)}


@given(small)
def test_it_is_the_textbooks(worth: Worth) -> None:
    assert kept(worth) == textbook(worth)


@given(small)
def test_no_record_stands_twice_and_no_pair_could_be_added(worth: Worth) -> None:
    found = kept(worth)
    one, two = {a for a, _ in found}, {b for _, b in found}
    assert len(one) == len(two) == len(found)
    assert all(a in one or b in two for a, b in worth)


def test_only_the_order_of_ids_counts() -> None:
    worth = {(0, 1): 2, (0, 2): 2, (3, 1): 2, (3, 2): 2, (4, 2): 2}
    spread = {(10 * a + 5, 7 * b): value for (a, b), value in worth.items()}
    assert kept(spread) == {(10 * a + 5, 7 * b) for a, b in kept(worth)}
    backwards = dict(reversed(worth.items()))
    assert kept(backwards) == kept(worth) == {(0, 1), (3, 2)}


def test_the_best_pair_may_displace_two() -> None:
    path = {(0, 0): 2, (0, 1): 5, (1, 1): 4}
    assert kept(path) == {(0, 1)}
    assert kept(dict.fromkeys(path, 1)) == {(0, 0), (1, 1)}


def test_pairs_that_share_nothing_are_always_kept() -> None:
    left, right = np.array([0, 1, 1, 2]), np.array([0, 1, 2, 3])
    assert alone(left, right).tolist() == [True, False, False, True]
    assert alone(left[:0], right[:0]).tolist() == choose(left[:0], right[:0], left[:0]).tolist() == []
