"""The plain interpreter of circuits: the definition of right.

It sees both tables, so it may serve tests and `simulate`, never a linkage. It is written for the reader:
each case is the formula of the node in `circuit.py`, on whole arrays of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Both,
    Equal,
    Hamming,
    Node,
    Not,
    Or,
    SquaredEuclidean,
    Value,
)

Rows = Mapping[str, NDArray[np.int64]]
"""For each input of the circuit one array of shape (rows, length)."""


def evaluate(
    node: Node, a: Rows, b: Rows, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """The circuit's answer for each pair (row left[i] of A, row right[i] of B)."""
    match node:
        case And(parts):
            holds = np.ones(len(left), dtype=np.bool_)
            for part in parts:
                holds &= evaluate(part, a, b, left, right)
            return holds
        case Or(parts):
            holds = np.zeros(len(left), dtype=np.bool_)
            for part in parts:
                holds |= evaluate(part, a, b, left, right)
            return holds
        case Not(part):
            return ~evaluate(part, a, b, left, right)
        case AtMost(value, bound):
            return _value(value, a, b, left, right) <= bound
        case Equal(of):
            return np.all(a[of.name][left] == b[of.name][right], axis=1)
        case Both(of):
            return (a[of.name][left, 0] & b[of.name][right, 0]).astype(np.bool_)


def _value(
    value: Value, a: Rows, b: Rows, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    match value:
        case Hamming(of):
            return np.sum(a[of.name][left] ^ b[of.name][right], axis=1)
        case SquaredEuclidean(of):
            return np.sum((a[of.name][left] - b[of.name][right]) ** 2, axis=1)
        case Bilinear(products, offset, weight_a, weight_b):
            total = np.zeros(len(left), dtype=np.int64)
            for p in products:
                total += p.weight * np.sum(a[p.left.name][left] * b[p.right.name][right], axis=1)
            if offset is not None:
                total += weight_a * a[offset.name][left, 0] + weight_b * b[offset.name][right, 0]
            return total
