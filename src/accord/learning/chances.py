"""How likely a pair that meets is compared, where caps leave records out.

A record over a cap finds a place with probability cap / sharers, by the sharers of its most common key. So
the pairs that a run compares are those that meet, each as often as it is likely to be compared. What is
expected of a rule is counted in these. Weights are learnt from all that meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.protocols.sharing import count_sharers
from accord.rules.blocking.base import Blocking
from accord.rules.blocking.passes import Pass
from accord.rules.evaluate import Indices, Tables
from accord.side import Side

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chances:
    """Of the pairs of two tables."""

    tables: Tables
    passes: tuple[Pass, ...]
    placed: tuple[tuple[Floats, Floats], ...]
    """By pass, how likely each record of A and of B finds a place."""

    @classmethod
    def of(
        cls,
        tables: Tables,
        sizes: tuple[int, int],
        blocking: Blocking,
        caps: Sequence[Mapping[Side, int]],
        times: tuple[float, float],
    ) -> Chances | None:
        """None where all that meet are compared. The linkage has so many `times` as many records a side."""
        if not caps:
            return None
        placed = []
        for one, cap in zip(blocking.passes, caps, strict=True):
            both = zip(Side, (tables.a, tables.b), sizes, times, strict=True)
            sharers = [1 + more * (count_sharers(one, side, own, n) - 1) for side, own, n, more in both]
            a, b = (np.minimum(1.0, cap[s] / some.clip(1)) for s, some in zip(Side, sharers, strict=True))
            placed.append((a, b))
        return cls(tables, blocking.passes, tuple(placed))

    def __call__(self, left: Indices, right: Indices) -> Floats:
        """How likely each pair is compared."""
        apart = np.ones(len(left))
        for one, (a, b) in zip(self.passes, self.placed, strict=True):
            apart *= 1 - a[left] * b[right] * one.compares(self.tables, left, right)
        return 1 - apart
