"""Trees of which the receiver lacks one leaf: the noise of silent OTs, and the seeds of groups.

Guo, Yang, Wang, Zhang, Xie, Zhang, Liu, Half-Tree: Halving the Cost of Tree Expansion in COT and DPF
(EUROCRYPT'23), §4, the correlated tree. The sender has Δ and, of d correlated OTs, rows qᵢ; the receiver has
tᵢ = qᵢ ⊕ bᵢ·Δ. The choices name the point: α is the number whose bits, highest first, are ¬b₁ … ¬b_d.

    level 1       x₀ = q₁,  x₁ = q₁ ⊕ Δ            the receiver's t₁ is the one that is not on the path
    level i + 1   left = H(x),  right = x ⊕ left
    invariant     the nodes of every level sum to Δ, since left ⊕ right = x
    sent          cᵢ = qᵢ ⊕ Lᵢ for i = 2 … d, with Lᵢ the sum of the left nodes of level i

The sum of the right nodes is Lᵢ ⊕ Δ, so cᵢ ⊕ tᵢ = Lᵢ ⊕ bᵢ·Δ is the sum of the side that the path leaves: the
receiver completes that side. Level 1 needs no message. In the end it has every leaf but number α, and in its
place the sum of the others, which is leaf α ⊕ Δ. So with e the unit vector of α

    sender's leaves = receiver's leaves ⊕ e·Δ.

The lowest bit of every leaf is then given to the choice: 0 at the sender, e at the receiver. With the lowest
bit of Δ set the equation stays as it is. The lowest bit of a leaf's upper word is cut off as well; where that
of Δ is 0 the equation stays as it is again, and ω times a leaf (`silent.py`) has the choice there instead.

Assumption: H of `permutation.py` is circular correlation robust, with one Δ in all trees of a session; no
number of a node comes back. Circular, since the node on the path is Δ ⊕ what the receiver can sum up, and its
right child is its hash ⊕ itself.
Learns: the receiver, of each level, the sum of the side that it completes, which looks uniform; nothing of Δ.
The sender nothing, since it receives nothing.

No branch depends on a secret. One address does: the receiver writes to its own node beside the path and, in
the end, to leaf α.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from accord.kernel import kernel
from accord.secure.transfer.permutation import Permutation, hash_blocks

Words = NDArray[np.uint64]
Nodes = NDArray[np.uint64]
"""Shape (trees, nodes, 2)."""
Points = NDArray[np.int64]

_CHUNK = 1 << 18
"""Leaves that are grown at once: enough that the short levels cost little, at a few megabytes."""

_WHOLE = np.uint64(0xFFFFFFFFFFFFFFFF)
CLEAR = np.uint64(0xFFFFFFFFFFFFFFFE)


def grow(pi: Permutation, rows: Nodes, delta: Words, leaves: Nodes, turned: bool = False) -> Nodes:
    """The sender's half: fills `leaves` (t, 2^d, 2) and returns what it sends, (t, d − 1, 2).

    With `turned` it adds ω times its leaves to what is there. Requires: rows (t, d, 2) of correlated OTs that
    serve nothing else.
    """
    trees, depth = rows.shape[:2]
    message = np.empty((trees, depth - 1, 2), dtype=np.uint64)
    for part in _chunks(trees, depth):
        nodes = np.stack([rows[part, 0], rows[part, 0] ^ delta], axis=1)
        for level in range(2, depth + 1):
            nodes, sums = _next_level(pi, nodes, depth, level, leaves[part], turned, turned)
            message[part, level - 2] = rows[part, level - 1] ^ sums[:, 0]
        if depth == 1:
            leaves[part] = nodes & CLEAR
    return message


def rebuild(
    pi: Permutation, rows: Nodes, points: Points, message: Nodes, leaves: Nodes, turned: bool = False
) -> None:
    """The receiver's half: adds its leaves, or ω times them, to `leaves` (t, 2^d, 2).

    Requires: rows (t, d, 2) whose choices are the points' bits, each turned round; the sender's message.
    """
    trees, depth = rows.shape[:2]
    for part in _chunks(trees, depth):
        nodes = _first_level(rows[part, 0], points[part] >> (depth - 1), depth)
        for level in range(2, depth + 1):
            nodes, sums = _next_level(pi, nodes, depth, level, leaves[part], True, turned)
            known = rows[part, level - 1] ^ message[part, level - 2]
            _mend(nodes, sums, known, points[part], depth, level, turned)
        if depth == 1:
            leaves[part] ^= nodes


def path(rows: Nodes) -> Points:
    """The point α of each tree, for a receiver that has the choices in the lowest bits of its rows."""
    away = (rows[:, :, 0] & np.uint64(1)).astype(np.int64)
    return (1 - away) @ (1 << np.arange(rows.shape[1], dtype=np.int64)[::-1])


def _chunks(trees: int, depth: int) -> Iterator[slice]:
    step = max(1, _CHUNK >> depth)
    for first in range(0, trees, step):
        yield slice(first, min(trees, first + step))


def _first_level(rows: Words, path: Points, depth: int) -> Nodes:
    """The known node beside the path, and on the path the same with the choice in its lowest bit.

    What stands on the path is of no use but as a leaf of a tree of one level. It is hashed with the rest all
    the same, so that nothing branches on the path; it differs from its neighbour, so that π does not meet an
    input twice.
    """
    on = np.arange(2) == path[:, None]
    nodes = np.repeat(rows[:, None, :], 2, axis=1)
    if depth == 1:
        nodes &= CLEAR
    nodes[:, :, 0] ^= on
    return nodes


def _next_level(
    pi: Permutation, nodes: Nodes, depth: int, level: int, leaves: Nodes, onto: bool, turned: bool
) -> tuple[Nodes, Nodes]:
    """The children of some trees' nodes and the sums of the left and of the right ones, (t, 2, 2).

    The last level is written to `leaves` or, with `onto`, added to what is there, `turned` or not.
    """
    trees, width = nodes.shape[:2]
    inner, outer = hash_blocks(pi, nodes.reshape(-1, 2))
    # Two levels lie in memory at once, in turns; the last is the result.
    grown = leaves
    if level < depth:
        grown = pi.scratch(f"nodes {level % 2}", 2 * trees * width).reshape(trees, 2 * width, 2)
    sums = np.empty((trees, 2, 2), dtype=np.uint64)
    last = level == depth
    _split(nodes, inner, outer, CLEAR if last else _WHOLE, last and onto, last and turned, grown, sums)
    return grown, sums


@kernel(
    "void(uint64[:,:,::1], uint64[:,::1], uint64[:,::1], uint64, bool_, bool_, uint64[:,:,::1], "
    "uint64[:,:,::1])"
)
def _split(
    nodes: Nodes,
    inner: Words,
    outer: Words,
    mask: np.uint64,
    onto: bool,
    turned: bool,
    grown: Nodes,
    sums: Nodes,
) -> None:
    """left = H(x) and right = x ⊕ left, with the lowest bits cut off by the mask; the sums have them."""
    width = nodes.shape[1]
    for tree in range(nodes.shape[0]):
        left0, left1, all0, all1 = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
        source, target = nodes[tree], grown[tree]
        one, two = inner[tree * width : (tree + 1) * width], outer[tree * width : (tree + 1) * width]
        for node in range(width):
            x0, x1 = source[node, 0], source[node, 1]
            h0, h1 = one[node, 0] ^ two[node, 0], one[node, 1] ^ two[node, 1]
            left0, left1, all0, all1 = left0 ^ h0, left1 ^ h1, all0 ^ x0, all1 ^ x1
            x0, x1, h0, h1 = (x0 ^ h0) & mask, (x1 ^ h1) & mask, h0 & mask, h1 & mask
            if turned:
                target[2 * node, 0] ^= h1
                target[2 * node, 1] ^= h0 ^ h1
                target[2 * node + 1, 0] ^= x1
                target[2 * node + 1, 1] ^= x0 ^ x1
            elif onto:
                target[2 * node, 0] ^= h0
                target[2 * node, 1] ^= h1
                target[2 * node + 1, 0] ^= x0
                target[2 * node + 1, 1] ^= x1
            else:
                target[2 * node, 0] = h0
                target[2 * node, 1] = h1
                target[2 * node + 1, 0] = x0
                target[2 * node + 1, 1] = x1
        sums[tree, 0, 0], sums[tree, 0, 1] = left0, left1
        sums[tree, 1, 0], sums[tree, 1, 1] = left0 ^ all0, left1 ^ all1


@kernel("void(uint64[:,:,::1], uint64[:,:,::1], uint64[:,::1], int64[::1], int64, int64, bool_)")
def _mend(
    nodes: Nodes, sums: Nodes, known: Words, points: Points, depth: int, level: int, turned: bool
) -> None:
    """Put right the node beside the path, and in the last level leaf α.

    The sum of a side has the wrong child in it, so known sum ⊕ sum found ⊕ wrong child is the right one. Leaf
    α becomes the sum of all leaves, itself left out. All is added to what is there.
    """
    last = level == depth
    mask = CLEAR if last else _WHOLE
    for tree in range(nodes.shape[0]):
        on = points[tree] >> (depth - level)
        beside = on ^ 1
        fault0 = known[tree, 0] ^ sums[tree, beside & 1, 0]
        fault1 = known[tree, 1] ^ sums[tree, beside & 1, 1]
        all0 = ((sums[tree, 0, 0] ^ sums[tree, 1, 0] ^ fault0) & mask) | np.uint64(1)
        all1 = (sums[tree, 0, 1] ^ sums[tree, 1, 1] ^ fault1) & mask
        fault0, fault1 = fault0 & mask, fault1 & mask
        if last and turned:
            fault0, fault1, all0, all1 = fault1, fault0 ^ fault1, all1, all0 ^ all1
        nodes[tree, beside, 0] ^= fault0
        nodes[tree, beside, 1] ^= fault1
        if last:
            nodes[tree, on, 0] ^= all0
            nodes[tree, on, 1] ^= all1
