"""Seeds of which the peer knows all but one: the set-up of SoftSpoken.

From k base OTs, a tree of depth k gives 2ᵏ leaves to the one who grows it, and all leaves but one to the
other, who chose that one (Goldreich, Goldwasser, Micali; as used by Roy, SoftSpokenOT, CRYPTO'22, §5). On
each level the grower encrypts the sum of all left children and the sum of all right children under the two
keys of a base OT; the other can open the sum of the side that its path leaves, and so complete the level.
The children of a node are its expansion by the session's permutation (`permutation.py`), which is all that
is assumed. All trees grow at once, level by level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.secure.transfer.permutation import NODE, Permutation, counter_blocks

SEED = 16

Words = NDArray[np.uint64]


def grow_trees(pi: Permutation, roots: Words, keys: Words, k: int) -> tuple[Words, Words]:
    """The leaves of 128/k trees, shape (128/k, 2ᵏ, 2), and the encrypted sums, shape (128, 2, 2).

    Requires: uniform roots (128/k, 2); base OT keys (128, 2, 2) of which the peer has one each.
    """
    level, sums = roots[:, None], keys.reshape(len(roots), k, 2, 2).copy()
    for depth in range(k):
        children = _children(pi, level)
        sums[:, depth] ^= np.bitwise_xor.reduce(children, axis=1)
        level = children.reshape(len(roots), -1, 2)
    return level, sums.reshape(-1, 2, 2)


def rebuild_trees(pi: Permutation, path: NDArray[np.bool_], keys: Words, sums: Words, k: int) -> Words:
    """All leaves but the one on the path of each tree, shape (128/k, 2ᵏ, 2); the unknown leaf is zero.

    Requires: base OT keys (128, 2) for the choices `~path`; `path` has the highest bit of a leaf first.
    Learns: nothing of the missing leaf, whose parent's sums stay encrypted.
    """
    trees = np.arange(len(path) // k)
    level, missing = np.zeros((len(trees), 1, 2), np.uint64), np.zeros(len(trees), np.int64)
    for depth in range(k):
        known = np.ones(level.shape[:2], np.bool_)
        known[trees, missing] = False
        children = np.zeros((*level.shape[:2], 2, 2), np.uint64)
        children[known] = _children(pi, level[known][None])[0]
        away = (~path[depth::k]).astype(np.int64)
        opened = sums[depth::k][trees, away] ^ keys[depth::k]
        children[trees, missing, away] = opened ^ np.bitwise_xor.reduce(children, axis=1)[trees, away]
        level, missing = children.reshape(len(trees), -1, 2), 2 * missing + 1 - away
    return level


def _children(pi: Permutation, level: Words) -> NDArray[np.uint64]:
    """Both children of every node: shape (trees, nodes, 2) to (trees, nodes, 2, 2)."""
    nodes = np.ascontiguousarray(level).reshape(-1, 2)
    source = pi.scratch("nodes", 2 * len(nodes)).reshape(-1, 2, 2)
    counter_blocks(nodes, np.uint64(0), np.uint64(NODE), source)
    return (pi.apply(source, "children").reshape(source.shape) ^ nodes[:, None]).reshape(
        *level.shape[:2], 2, 2
    )
