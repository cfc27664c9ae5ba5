"""Trees: the other side rebuilds every leaf but the one on its path."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.transfer.permutation import NODE, Permutation
from accord.secure.transfer.tree import grow_trees, rebuild_trees
from tests.secure.worlds import Traced


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_all_leaves_but_one_are_rebuilt(k: int) -> None:
    random = np.random.default_rng(k)
    keys = random.integers(0, 1 << 63, (128, 2, 2), dtype=np.uint64)
    roots = random.integers(0, 1 << 63, (128 // k, 2), dtype=np.uint64)
    path = random.random(128) < 0.5
    pis = Traced(), Traced()
    leaves, sums = grow_trees(pis[0], roots, keys, k)
    own = keys[np.arange(128), (~path).astype(int)]
    rebuilt = rebuild_trees(pis[1], path, own, sums, k)
    missing = path.reshape(-1, k) @ (1 << np.arange(k)[::-1])
    expected = leaves.copy()
    expected[np.arange(128 // k), missing] = 0
    assert leaves.shape == (128 // k, 1 << k, 2)
    assert (rebuilt == expected).all()
    assert len(np.unique(leaves.reshape(-1, 2), axis=0)) == 128 // k << k
    assert not any(pi.repeated() for pi in pis)


def test_children_are_expansions_of_their_parent() -> None:
    pi, root = Permutation(), np.array([[3, 5]], np.uint64)
    leaves, sums = grow_trees(pi, root, np.zeros((1, 2, 2), np.uint64), 1)
    tweaked = np.array([[3, 5 ^ NODE], [3 ^ 1, 5 ^ NODE]], np.uint64)
    assert (leaves[0] == pi.apply(tweaked, "x") ^ root).all()
    assert (sums[0] == leaves[0]).all()


def test_other_keys_rebuild_nothing() -> None:
    random = np.random.default_rng(0)
    keys = random.integers(0, 1 << 63, (128, 2, 2), dtype=np.uint64)
    path, pi = np.zeros(128, dtype=np.bool_), Permutation()
    leaves, sums = grow_trees(pi, keys[:32, 0], keys, 4)
    rebuilt = rebuild_trees(pi, path, keys[:, 0], sums, 4)
    assert (rebuilt[:, 1:] != leaves[:, 1:]).any(axis=2).all()
