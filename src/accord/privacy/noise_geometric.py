"""`geometric`: the asymmetric two-sided geometric, conditioned on ≥ 0 (mechanism A).

*Distribution.* X = m + G_d − G_u conditioned on 0 ≤ X ≤ cap, with independent G_u ~ Geom(e^−s_u) and G_d ~
Geom(e^−s_d) on {0, 1, …}. Up to a constant, q(x) = e^{−s_u(m − x)} left of m and e^{−s_d(x − m)} right of
it. The slopes satisfy k'(s_u + s_d) = ε, or g·k'(s_u + s_d) = ε for g records of one person.

*Privacy of a record.* With q₀ = q(0) and q_c = q(cap), a release is exactly (ε, δ) for δ = 1 − ((1 − q₀)(1 −
q_c))^{k'}. *Proof.* An up bin has loss ln q(x)/q(x − 1) ≤ s_u for x ≥ 1 and ∞ at 0; a down bin ln q(x)/q(x +
1) ≤ s_d for x < cap and ∞ at the cap. Off the infinite losses at most k' of each add up to k'(s_u + s_d) = ε,
which contributes nothing at ε; the bins are independent, so some loss is infinite with probability δ. That
event, some up bin at 0 or some down bin at the cap, is impossible under the neighbour, so no smaller δ holds.
Swapping D and D' swaps up and down. ∎

*Privacy of a person.* If g records are replaced at once, δ = 1 − ((1 − Q)(1 − Q_c))^{k'} exactly, with Q =
Pr[X < g] and Q_c = Pr[X > cap − g]. *Proof.* A bin gains j ≤ g records or loses as many; the gains of all
bins add up to at most g·k', and so do the losses. A bin that gains j has loss at most j·s_u for x ≥ j and ∞
below, one that loses j at most j·s_d for x ≤ cap − j and ∞ above. So finite losses are at most g·k'(s_u +
s_d) = ε, and δ is the probability of an infinite one: 1 − e^−F with F = Σ φ(j) + Σ φ_c(j), φ(j) = −ln Pr[X ≥
j] and φ_c(j) = −ln Pr[X ≤ cap − j]. As q is log-concave, so are its tails: φ and φ_c are convex, and 0 at 0.
Therefore φ(j) ≤ (j/g)·φ(g), the sum over the gains is at most k'·φ(g), and it is that if all g records enter
the same k' bins. The same holds for φ_c. ∎ [MATHS §3.9] shows that these are the worst tables at every ε.

Against the paper's clamped Laplace: conditioning leaves no atom at 0, only up bins fail at the lower end, and
since a replacement always pairs a step up with a step down, a steep left side may be paid by a flat right
side. Not for neighbours that add or remove a record: there ε would be k'·max(s_u, s_d).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from accord.privacy.number import exp, precise
from accord.privacy.window import Window, reach, require_cap, window

SHARES = 500


@dataclass(frozen=True)
class Geometric:
    """m = `middle`, s_u = `up`, s_d = `down`; the right side is cut where it has fallen e^`reach` times."""

    middle: int
    up: Fraction
    down: Fraction
    reach: int

    @cached_property
    def window(self) -> Window:
        cap = require_cap(self.middle + math.ceil(self.reach / self.down))
        left = _powers(self.up, self.middle + 1)
        right = _powers(self.down, cap - self.middle + 1)
        steps = np.zeros((cap, 2), dtype=np.int64)
        steps[: self.middle, 0] = 1
        steps[self.middle :, 1] = -1
        return window(left[:0:-1] + right, self.middle, (self.up, self.down), steps)


def candidates(
    epsilon: Fraction, delta: Fraction, bins_per_record: int, records: int = 1
) -> Iterator[Geometric]:
    """Settings that should be (ε, δ) for so many records of one person, least expected noise first; floats
    choose, the accountant decides.

    s_u takes each of the shares 1/500..499/500 of ε/(g·k'); given the slopes the least middle follows from
    Pr[X < g]. For several records the cap lies further out, since all of the last g values can fail.
    """
    shares = np.arange(1, SHARES) / SHARES
    both = epsilon / (bins_per_record * records)
    slope = float(both)
    failing = -math.expm1(math.log1p(-float(delta)) / bins_per_record)
    middles = _least_middles(shares * slope, (1 - shares) * slope, failing, records)
    means = expected(middles, shares * slope, (1 - shares) * slope)
    cut = reach(delta, epsilon if records > 1 else 0)
    for extra in range(2):
        for index in np.argsort(means, kind="stable"):
            share = Fraction(int(index) + 1, SHARES) * both
            yield Geometric(int(middles[index]) + extra, share, both - share, cut)


def expected(
    middle: NDArray[np.float64], up: NDArray[np.float64], down: NDArray[np.float64]
) -> NDArray[np.float64]:
    """E[X] in closed form, without the cap."""
    a, b = np.exp(-down), np.exp(-up)
    peak = -np.expm1(-down) * -np.expm1(-up) / -np.expm1(-up - down)
    kept = 1 - peak * b ** (middle + 1) / (1 - b)
    left = b * (1 - (middle + 1) * b**middle + middle * b ** (middle + 1)) / (1 - b) ** 2
    return middle + peak * (a / (1 - a) ** 2 - left) / kept


def _least_middles(
    up: NDArray[np.float64], down: NDArray[np.float64], failing: float, records: int
) -> NDArray[np.float64]:
    """The least m ≥ g − 1 with Pr[X < g] = C·(b^m + … + b^{m−g+1}) / (1 − C·b^{m+1}/(1 − b)) ≤ failing."""
    b = np.exp(-up)
    peak = -np.expm1(-down) * -np.expm1(-up) / -np.expm1(-up - down)
    weight = sum(np.exp(i * up) for i in range(records))
    least = np.ceil(np.log(peak * (weight + failing * b / (1 - b)) / failing) / up)
    return np.maximum(records - 1, least)


def _powers(slope: Fraction, count: int) -> list[Decimal]:
    """1, e^−slope, e^−2·slope, …"""
    ratio, found = exp(-slope), [Decimal(1)]
    with localcontext(precise()):
        for _ in range(count - 1):
            found.append(found[-1] * ratio)
    return found
