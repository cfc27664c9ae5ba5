"""What the Laplace Protocol must cost, by arithmetic [MATHS §14.1].

Let η be the expected dummies in a bin, c the true bin sizes, B^S the pairs of bins that are compared. The two
parties draw independently, so without greedy a run is expected to cost

    Σ (c_A + η)(c_B + η) = real pairs + η · Σ (c_A + c_B) + |B^S| · η²,      the sums over B^S.

A record meets one bin in AB and nine in Taxi, fewer at the edge of the grid; so the middle term is at most
2·η·n and 18·η·n, and the sum a little too large. Greedy removes no dummies: with it a run costs |B^S|·η² and
more, and no more than without.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from accord.datasets.products import BRANDS
from accord.privacy.calibration import as_claimed
from reproduction.lab import PAPER
from reproduction.paper_data import abt_buy_agreement, taxi_agreement
from reproduction.sweep import Value


@dataclass(frozen=True)
class Expected:
    """Costs of one setting, with the paper's noise."""

    dummies: float
    """Pairs of dummies alone: |B^S|·η²."""
    basic: float
    """All pairs of a run without greedy."""


def expected(
    data: str, days: int, records: float, real_pairs: float, epsilon: Value, delta: Value = "1e-5"
) -> Expected:
    """The costs for so many records a side, of which the blocking brings so many pairs together."""
    pairs, met = _blocked(data)
    noise = _dummies(str(epsilon), str(delta))
    alone = days * pairs * noise**2
    return Expected(alone, real_pairs + 2 * met * noise * records + alone)


@cache
def _blocked(data: str) -> tuple[int, int]:
    """Pairs of bins in a day, and the most bins that one is compared with."""
    agreed = taxi_agreement() if data == "taxi" else abt_buy_agreement(BRANDS, 1)
    left, _ = agreed.plan.pairs()
    return len(left), int(np.bincount(left).max())


@cache
def _dummies(epsilon: str, delta: str) -> float:
    return as_claimed(PAPER, epsilon, delta).expected_dummies
