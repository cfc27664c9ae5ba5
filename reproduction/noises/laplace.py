"""`paper`, `paper-2017`, `negligible`: the paper's clamped discrete Laplace, three ways to shift it.

*Distribution.* X = max(η, 0) with Pr[η = x] ∝ e^{−s|x − m|}, s = ε/(2k'), m an integer; conditioned on ≤
cap. So q(x) ∝ e^{−s|x − m|} for x ≥ 1, and the atom q(0) ∝ Σ_{j ≤ 0} e^{−s(m − j)} = e^{−sm}/(1 − e^−s).

*Privacy.* Off the atom every loss is ±s, and 2k' of them come to ε. The paper (lemma 'ratio') lets only η <
0 fail. But an up bin at the atom, η ≤ 0, is impossible under the neighbour; and a down bin at the atom has
loss −ln(e^s − 1), which exceeds s when e^s is below the golden ratio. A proven bound is δ ≤ k'·e^{−sm}: up
bins fail on η ≤ 0, probability T₀ = e^{−sm}·e^s/(e^s + 1); a down bin with η ≥ 0 has at the neighbour noise
η + 1 ≥ 1 of probability at least e^−s that of η, so it fails only on η < 0, probability e^−s·T₀; k'·T₀·(1 +
e^−s) = k'·e^{−sm}. ∎ The exact δ(ε) is smaller and is computed on the lattice of s and t = −ln(e^s − 1).

    paper       an m whose exact δ is at most δ, found by halving; never above ⌈(2k'/ε)·ln(k'/δ)⌉, by the
                bound. It is the least if δ falls as m grows, which was computed widely and is not proved
                [MATHS §3.2]: only that no dummy is wasted rests on it, not the promise
    paper-2017  m = ⌈η⁰⌉ as published; for ε = 0.1 its exact δ exceeds the claimed one
    negligible  m = ⌈2k'·ln²n/ε⌉ (theorem 'neglap'): δ falls faster than any power of n
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np

from accord.errors import UsageError
from accord.privacy.calibration import NoiseKind, Verify
from accord.privacy.number import decimal, exp, log, precise
from accord.privacy.window import Window, reach, require_cap, window


@dataclass(frozen=True)
class Laplace:
    """m = `middle`, s = `slope`; the right side is cut where it has fallen e^`reach` times."""

    middle: int
    slope: Fraction
    reach: int

    @cached_property
    def window(self) -> Window:
        cap = require_cap(self.middle + math.ceil(self.reach / self.slope))
        ratio, atom = exp(-self.slope), exp(-self.slope * self.middle)
        with localcontext(precise()):
            weights, rising = [atom / (1 - ratio)], atom / ratio
            for x in range(1, cap + 1):
                weights.append(rising if x <= self.middle else weights[-1] * ratio)
                rising /= ratio
            if self.middle == 0:
                weights[1:] = [ratio**x for x in range(1, cap + 1)]
        return window(weights, self.middle, (self.slope, _atom_unit(self.slope)), self._steps(cap))

    def _steps(self, cap: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        steps = np.zeros((cap, 2), dtype=np.int64)
        steps[: self.middle, 0] = 1
        steps[self.middle :, 0] = -1
        # q(1)/q(0) is e^s − 1 right of the atom, and e^−2s of that where the atom is the middle itself.
        steps[0] = (0, -1) if self.middle else (-2, -1)
        return steps


def shift_bounds(epsilon: Fraction, delta: Fraction, bins_per_record: int) -> tuple[int, int]:
    """A shift below which no δ can hold (up bins alone fail too often), and one that is proven."""
    slope = epsilon / (2 * bins_per_record)
    with localcontext(precise()):
        s, ratio = decimal(slope), exp(slope)
        failing = 1 - (1 - decimal(delta)) ** (Decimal(1) / bins_per_record)
        low = (ratio / (ratio + 1) / failing).ln() / s
        high = log(bins_per_record / delta) / s
        return max(0, math.floor(low) - 1), max(0, math.ceil(high))


def published_shift(epsilon: Fraction, delta: Fraction, bins_per_record: int) -> Decimal:
    """η⁰ as the paper defines it: −(ΔB/ε)·ln((e^{ε/ΔB} + 1)·(1 − (1 − δ)^{1/ΔB})), ΔB = 2k'."""
    slope = epsilon / (2 * bins_per_record)
    with localcontext(precise()):
        failing = 1 - (1 - decimal(delta)) ** (Decimal(1) / (2 * bins_per_record))
        return -((exp(slope) + 1) * failing).ln() / decimal(slope)


def published(epsilon: Fraction, delta: Fraction, bins_per_record: int) -> Laplace:
    """`paper-2017`. Rounding the shift up is the only reading whose Pr[η < 0] stays within the target."""
    shift = math.ceil(published_shift(epsilon, delta, bins_per_record))
    return Laplace(max(0, shift), epsilon / (2 * bins_per_record), reach(delta))


def negligible(epsilon: Fraction, records: int, bins_per_record: int) -> Laplace:
    """`negligible`, for a table of `records` rows."""
    slope = epsilon / (2 * bins_per_record)
    with localcontext(precise()):
        power = log(Fraction(max(2, records))) ** 2
        return Laplace(math.ceil(power / decimal(slope)), slope, max(64, math.ceil(power) + 20))


def _atom_unit(slope: Fraction) -> Fraction:
    """t = −ln(e^s − 1), within 10^−100: no loss that involves it can lie on ε by more than chance."""
    with localcontext(precise()):
        return Fraction(-(exp(slope) - 1).ln())


# -- what an agreement may name -----------------------------------------------------------------------------


def _paper(
    e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None, verify: Verify
) -> Laplace:
    """A shift that verifies, or the proven one; the least, if the exact δ falls as the shift grows.

    That it does is computed and not proved [MATHS §3.2]. Only minimality rests on it: whatever the halving
    ends at was verified, or is measured like every other setting before it is used.
    """
    bins = changed[0]
    cut, slope = reach(d), e / (2 * bins)
    low, high = shift_bounds(e, d, bins)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if verify(Laplace(middle, slope, cut)) else (middle + 1, high)
    return Laplace(high, slope, cut)


def _published(
    e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None, verify: Verify
) -> Laplace:
    return published(e, d, changed[0])


def _negligible(
    e: Fraction, d: Fraction, changed: tuple[int, int], records: int | None, verify: Verify
) -> Laplace:
    if not records:
        raise UsageError(problem="The noise 'negligible' depends on the number of records. Name it.")
    return negligible(e, records, changed[0])


KINDS = {
    "paper": NoiseKind(_paper),
    "paper-2017": NoiseKind(
        _published,
        "The noise 'paper-2017' is for audit and reproduction only. Use 'paper': the same noise with a shift "
        "that keeps the promised δ.",
    ),
    "negligible": NoiseKind(_negligible),
}
