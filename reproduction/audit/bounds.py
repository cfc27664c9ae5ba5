"""From counts of an event in two worlds to a lower bound on ε, with its confidence.

A mechanism is (ε, δ) when P(S) ≤ e^ε·Q(S) + δ for every event S. Of one event that was fixed before the
trials were made, k of n trials in world P and l of m in world Q give exact binomial bounds (Clopper and
Pearson, 1934): P(S) ≥ p and Q(S) ≤ q, each wrong with probability at most α/2. So with confidence 1 − α

    ε ≥ ln((p − δ)/q)   and   δ ≥ p − e^ε·q.

A claim that is true is called false with probability at most α, whatever the event is.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_HALVINGS = 60


def at_least(hits: int, trials: int, alpha: float) -> float:
    """The largest p of which the data can still say: the true share is at least p, wrong at most α."""
    return 1.0 - at_most(trials - hits, trials, alpha)


def at_most(hits: int, trials: int, alpha: float) -> float:
    """The least p of which the data can still say: the true share is at most p, wrong at most α."""
    if hits >= trials:
        return 1.0
    ways = _log_ways(hits, trials)
    low, high = hits / trials, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(ways, trials, middle) > alpha else (low, middle)
    return high


def _log_ways(hits: int, trials: int) -> NDArray[np.float64]:
    """ln of 'trials over j', for j = 0..hits."""
    steps = np.log(np.arange(trials, trials - hits, -1)) - np.log(np.arange(1, hits + 1))
    return np.concatenate([[0.0], np.cumsum(steps)])


def _tail(ways: NDArray[np.float64], trials: int, share: float) -> float:
    """The probability of at most as many hits as `ways` lists."""
    if not 0 < share < 1:
        return 1.0 - share
    j = np.arange(len(ways))
    return float(np.exp(ways + j * math.log(share) + (trials - j) * math.log1p(-share)).sum())


def epsilon_bound(p: float, q: float, delta: float) -> float:
    """The ε that P(S) ≥ p and Q(S) ≤ q force at this δ; 0 where they force none."""
    return max(0.0, math.log((p - delta) / q)) if p > delta and q > 0 else 0.0


def delta_bound(p: float, q: float, epsilon: float) -> float:
    """The δ that P(S) ≥ p and Q(S) ≤ q force at this ε."""
    return max(0.0, p - math.exp(epsilon) * q)
