"""Trees: the other side rebuilds every leaf but the one on its path."""

from __future__ import annotations

import numpy as np
import pytest

from accord.secure.transfer.tree import grow_trees, rebuild_trees


@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_all_leaves_but_one_are_rebuilt(k: int) -> None:
    random = np.random.default_rng(k)
    keys = random.integers(0, 256, (128, 2, 16), dtype=np.uint8)
    roots = random.integers(0, 256, (128 // k, 16), dtype=np.uint8)
    path = random.random(128) < 0.5
    leaves, sums = grow_trees(roots, keys, k)
    own = keys[np.arange(128), (~path).astype(int)]
    rebuilt = rebuild_trees(path, own, sums, k)
    missing = path.reshape(-1, k) @ (1 << np.arange(k)[::-1])
    expected = leaves.copy()
    expected[np.arange(128 // k), missing] = 0
    assert leaves.shape == (128 // k, 1 << k, 16)
    assert (rebuilt == expected).all()


def test_other_keys_rebuild_nothing() -> None:
    random = np.random.default_rng(0)
    keys = random.integers(0, 256, (128, 2, 16), dtype=np.uint8)
    path = np.zeros(128, dtype=np.bool_)
    leaves, sums = grow_trees(keys[:32, 0], keys, 4)
    rebuilt = rebuild_trees(path, keys[:, 0], sums, 4)
    assert (rebuilt[:, 1:] != leaves[:, 1:]).any(axis=2).all()
