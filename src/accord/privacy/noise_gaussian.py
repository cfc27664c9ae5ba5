"""`gaussian`: the discrete Gaussian around m, truncated to 0..cap. For records in three bins or more.

*Distribution.* q(x) ∝ e^{−(x − m)²/(2σ²)} for 0 ≤ x ≤ cap, σ² rational.

*Privacy.* With z = x − m, ln q(x)/q(x − 1) = (1 − 2z)/(2σ²) in an up bin and ln q(x)/q(x + 1) = (1 +
2z)/(2σ²) in a down bin, so a replacement has loss (k' − S)/σ² with S = Σ_up z − Σ_down z: an integer over
σ². The distribution of S is a convolution of k' reflected and k' plain copies of q on that lattice, and
δ(ε) is the sum of `losses.py` over it, plus the probability that an up bin sits at 0 or a down bin at the
cap. *Proof.* Independence of the bins, and the definition of δ(ε); no inequality is used. ∎

*Privacy of a person.* q is log-concave, so of all ways to replace g records at once the worst, at every ε, is
that all leave the same k' bins and enter the same k' others [MATHS §3.9]. A bin that gains g records has loss
ln q(x)/q(x − g) = (g² − 2gz)/(2σ²) and one that loses g (g² + 2gz)/(2σ²), so the loss is (k'g² − g·S)/σ²: the
same sum with another unit, and as exact. The infinite losses are up bins below g and down bins above cap − g.

Why it wins for large k': the worst case of the geometric is that all 2k' losses are the largest at once, and
ε must pay for it; here losses average out, so σ grows like √k' and not like k'.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np

from accord.privacy.number import exp, precise
from accord.privacy.window import Window, reach, require_cap, window

# Middles over deviations that can be best: from a δ near 1 down to 2^−128.
_RATIOS = tuple(1.0 * 1.008**i for i in range(360))
_STRIDE = 15
_TRIES = 64
_FEW = 60
_MANY = 1000
_NEAR = tuple(1 + i / 200 for i in sorted(range(-16, 17), key=abs))
# Its losses are convolved term by term, in time that grows with the square of the window.
_LONGEST = 1 << 15


@dataclass(frozen=True)
class Gaussian:
    """m = `middle`, σ² = `variance`; the right side is cut where it has fallen e^`reach` times."""

    middle: int
    variance: Fraction
    reach: int

    @cached_property
    def window(self) -> Window:
        cap = require_cap(self.middle + math.isqrt(math.ceil(2 * self.reach * self.variance)) + 1, _LONGEST)
        half = _half(self.variance, max(self.middle, cap - self.middle) + 1)
        weights = half[self.middle : 0 : -1] + half[: cap - self.middle + 1]
        # −z on units of 1/σ², and the 1 of 1 − 2z on 1/(2σ²), where the up and down bins cancel.
        steps = np.ones((cap, 2), dtype=np.int64)
        steps[:, 0] = self.middle - np.arange(1, cap + 1)
        return window(weights, self.middle, (1 / self.variance, 1 / (2 * self.variance)), steps)


def candidates(
    epsilon: Fraction, delta: Fraction, bins_per_record: int, records: int = 1
) -> Iterator[Gaussian]:
    """Settings that should be (ε, δ) for so many records of one person, least middle first, each with the σ
    that suits it best.

    The search treats the bins as continuous and the two ways to fail as disjoint; it starts a little below
    what that gives, so that the accountant's first 'yes' is at the least middle; among a thousand dummies one
    more is not worth the time to rule it out.
    """

    def best(middle: int) -> tuple[float, float]:
        return _best(middle, float(epsilon), bins_per_record, records)

    def enough(middle: int) -> bool:
        return best(middle)[0] <= float(delta)

    high = 1
    while not enough(high):
        high = require_cap(2 * high, _LONGEST)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    early = 2 if high < _FEW else int(high < _MANY)
    cut = reach(delta, epsilon if records > 1 else 0)
    for middle in range(max(1, high - early), high + _TRIES):
        deviation = best(middle)[1]
        # On few integers δ is no smooth function of σ, and the continuous optimum can miss the true one.
        for share in _NEAR if middle < _FEW else (1.0,):
            yield Gaussian(middle, Fraction(f"{(share * deviation) ** 2:.5g}"), cut)


def _best(middle: int, epsilon: float, bins_per_record: int, records: int) -> tuple[float, float]:
    """The least δ that any σ gives with this middle, about, and that σ.

    δ falls and then rises with the ratio, so around the best of some is the best of all.
    """

    def at(place: int) -> tuple[float, float]:
        deviation = middle / _RATIOS[place]
        return _estimate(middle, deviation, epsilon, bins_per_record, records), deviation

    near = min(range(0, len(_RATIOS), _STRIDE), key=at)
    return min(map(at, range(max(0, near - _STRIDE), min(len(_RATIOS), near + _STRIDE + 1))))


def _estimate(middle: int, deviation: float, epsilon: float, bins_per_record: int, records: int) -> float:
    mu = records * math.sqrt(2 * bins_per_record) / deviation
    finite = _tail(epsilon / mu - mu / 2) - math.exp(epsilon) * _tail(epsilon / mu + mu / 2)
    edges = sum(math.exp(-(((middle - x) / deviation) ** 2) / 2) for x in range(records))
    edge = edges / (deviation * math.sqrt(2 * math.pi))
    return max(finite, 0.0) + bins_per_record * edge / (1 - _tail(middle / deviation))


def _tail(z: float) -> float:
    """Pr[N(0, 1) > z]."""
    return math.erfc(z / math.sqrt(2)) / 2


def _half(variance: Fraction, count: int) -> list[Decimal]:
    """e^{−z²/(2σ²)} for z = 0, 1, …: each step multiplies by e^{−(2z + 1)/(2σ²)}."""
    factor, squared, found = exp(-1 / (2 * variance)), exp(-1 / variance), [Decimal(1)]
    with localcontext(precise()):
        for _ in range(count - 1):
            found.append(found[-1] * factor)
            factor *= squared
    return found
