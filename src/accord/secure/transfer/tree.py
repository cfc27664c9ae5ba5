"""Seeds of which the peer knows all but one: the set-up of SoftSpoken.

From k base OTs, a tree of depth k gives 2ᵏ leaves to the one who grows it, and all leaves but one to the
other, who chose that one (Goldreich, Goldwasser, Micali; as used by Roy, SoftSpokenOT, CRYPTO'22, §5). On
each level the grower encrypts the sum of all left children and the sum of all right children under the two
keys of a base OT; the other can open the sum of the side that its path leaves, and so complete the level.
Assumption: SHA-256 as a pseudorandom generator and as a key derivation.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

SEED = 16
TAG = b"accord/ot/tree/1"

Bytes = NDArray[np.uint8]


def _grow(nodes: Bytes) -> Bytes:
    """The next level of a tree: shape (n, 16) to (2n, 16)."""
    seeds = nodes.tobytes()
    grown = [hashlib.sha256(TAG + seeds[at : at + SEED]).digest() for at in range(0, len(seeds), SEED)]
    return np.frombuffer(bytearray(b"".join(grown)), dtype=np.uint8).reshape(-1, SEED)


def _sums(level: Bytes) -> Bytes:
    """The XOR of all left and of all right children, shape (2, 16)."""
    return np.bitwise_xor.reduce(level.reshape(-1, 2, SEED), axis=0)


def grow_trees(roots: Bytes, keys: Bytes, k: int) -> tuple[Bytes, Bytes]:
    """The leaves of 128/k trees, shape (128/k, 2ᵏ, 16), and the encrypted sums, shape (128, 2, 16).

    Requires: uniform roots (128/k, 16); base OT keys (128, 2, 16) of which the peer has one each.
    """
    leaves, sums = [], np.empty_like(keys)
    for tree, root in enumerate(roots):
        level = root[None, :]
        for depth in range(k):
            level = _grow(level)
            place = tree * k + depth
            sums[place] = _sums(level) ^ keys[place]
        leaves.append(level)
    return np.stack(leaves), sums


def rebuild_trees(path: NDArray[np.bool_], keys: Bytes, sums: Bytes, k: int) -> Bytes:
    """All leaves but the one on the path of each tree, shape (128/k, 2ᵏ, 16); the unknown leaf is zero.

    Requires: base OT keys (128, 16) for the choices `~path`; `path` has the highest bit of a leaf first.
    Learns: nothing of the missing leaf, whose parent's sums stay encrypted.
    """
    leaves = []
    for tree in range(len(path) // k):
        level, missing = np.zeros((1, SEED), dtype=np.uint8), 0
        for depth in range(k):
            place = tree * k + depth
            level = _grow(level)
            level[2 * missing : 2 * missing + 2] = 0
            away = int(not path[place])
            known = sums[place, away] ^ keys[place] ^ _sums(level)[away]
            level[2 * missing + away] = known
            missing = 2 * missing + 1 - away
        leaves.append(level)
    return np.stack(leaves)
