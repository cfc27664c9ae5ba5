"""Noise on answers: the two-sided geometric, exact and without an end.

*Distribution.* Pr[X = x] ∝ e^{−|x|/scale} for every whole number x. Of an answer that a record can change by
at most Δ, in all its parts together, each part with noise of scale Δ/ε is (ε, 0): for two answers x and y the
probabilities of any released value differ by a factor of at most e^{|x − y|₁·ε/Δ} ≤ e^ε.

*Sampling* is exact, after Canonne, Kamath and Steinke (NeurIPS'20, algorithms 1 and 2): with scale = t/s, a
number U below t is kept with probability e^{−U/t}; V counts how often e^{−1} succeeds; then ⌊(U + t·V)/s⌋ is
geometric with ratio e^{−s/t}, and takes a sign, of which one of the two zeros is drawn again. A trial of
e^−γ, 0 ≤ γ ≤ 1, is the parity of the first k at which a trial of γ/k fails. All of it is arithmetic of
integers.

*Both sides* add such noise, each with a scale of its own, and each knows its own: so one's noise is all that
hides one's records, and what both see is the answer less or more two of them. Of their sum X + Y with ratios
r ≠ q, partial fractions of the two generating functions give Pr[|X + Y| > x] from the tails of each; for r =
q, Pr[X + Y = x] = ((1 − r)/(1 + r))²·r^|x|·(|x| + (1 + r²)/(1 − r²)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log

from accord.entropy import Entropy

USUAL = 0.95
"""How often an answer lies as near to the truth as is told."""
_ALIKE = 1e-4
"""Ratios that differ by less are taken for equal: partial fractions would lose their digits."""


@dataclass(frozen=True)
class TwoSided:
    """Noise of this scale on each number; none where it is 0."""

    scale: Fraction

    def draw(self, count: int, entropy: Entropy) -> list[int]:
        """So many, independent and fresh."""
        if not self.scale:
            return [0] * count
        source = _Bits(entropy)
        return [_two_sided(self.scale, source) for _ in range(count)]

    @property
    def ratio(self) -> float:
        """Of the probabilities of two neighbours."""
        return exp(-1 / self.scale) if self.scale else 0.0

    def beyond(self, chance: float) -> int:
        """What its size passes with no more than this chance: of one number, for the width of a ring."""
        return 0 if not self.scale else int(-log(chance) * float(self.scale)) + 1


class _Bits:
    """Uniform numbers below a bound, from random bytes."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def below(self, bound: int) -> int:
        octets = (bound.bit_length() + 7) // 8
        mask = (1 << bound.bit_length()) - 1
        while (found := int.from_bytes(self._entropy.bytes(octets), "little") & mask) >= bound:
            pass
        return found


def _two_sided(scale: Fraction, source: _Bits) -> int:
    t, s = scale.numerator, scale.denominator
    while True:
        start = source.below(t)
        if not _succeeds(Fraction(start, t), source):
            continue
        more = 0
        while _succeeds(Fraction(1), source):
            more += 1
        found, negative = (start + t * more) // s, source.below(2)
        if found or not negative:
            return -found if negative else found


def _succeeds(gamma: Fraction, source: _Bits) -> bool:
    """A trial that succeeds with probability e^−γ. *Requires* 0 ≤ γ ≤ 1."""
    k = 1
    while source.below(gamma.denominator * k) < gamma.numerator:
        k += 1
    return k % 2 == 1


def within(a: TwoSided, b: TwoSided, chance: float = USUAL) -> int:
    """The least x for which the noise of both is within ± x with this chance."""
    beyond = _tail(a.ratio, b.ratio)
    low, high = -1, 1
    while beyond(high) > 1 - chance:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) > 1 - chance else (low, middle)
    return high


def _tail(r: float, q: float) -> Callable[[int], float]:
    """Pr[|X + Y| > x] as a function of x."""
    r, q = max(r, q), min(r, q)
    if not q:
        return lambda x: _single(r, x)
    if log(q) - log(r) > _ALIKE * log(r):
        return lambda x: _alike(r, x)
    # The generating functions are k/(a − cos θ) with k = (1 − r)²/2r and a = (1 + r²)/2r of each.
    k, m = (expm1(log(p)) ** 2 / (2 * p) for p in (r, q))
    apart = (r - q) * (1 - r * q) / (2 * r * q)
    return lambda x: m / apart * _single(r, x) - k / apart * _single(q, x)


def _single(r: float, x: int) -> float:
    return 2 * r ** (x + 1) / (1 + r) if x >= 0 else 1.0


def _alike(r: float, x: int) -> float:
    if x < 0:
        return 1.0
    off = -expm1(log(r))
    first, second = (off / (1 + r)) ** 2, (1 + r * r) / (off * (1 + r))
    return 2 * first * r ** (x + 1) * (((x + 1) * off + r) / off**2 + second / off)
