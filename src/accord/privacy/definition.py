"""δ(ε) straight from its definition, by listing every outcome: slow, short, and the measure of all else.

    δ(ε) = Σ_o max(0, P(o) − e^ε·Q(o))

over the noises of the bins that gain or lose records, for any distribution whatever. No lattice, no closed
form, no floats: probabilities are fractions and e^ε is rounded down, so that the sum is never too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

from accord.privacy.number import exp


def enumerated_delta(probabilities: Sequence[Fraction], bins_per_record: int, epsilon: Fraction) -> Fraction:
    """δ(ε) of counts hidden by independent noise with these probabilities on 0, 1, 2, …: one record replaced,
    k' bins up and k' bins down."""
    return moved_delta(probabilities, [1] * bins_per_record + [-1] * bins_per_record, epsilon)


def moved_delta(probabilities: Sequence[Fraction], moves: Sequence[int], epsilon: Fraction) -> Fraction:
    """The same if each of some bins gains that many records, or loses them where the number is below 0."""
    factor = Fraction(exp(epsilon)) * (1 - Fraction(1, 10**100))
    size = len(probabilities)

    def pairs(by: int) -> list[tuple[Fraction, Fraction]]:
        other = (x - by for x in range(size))
        seen = (probabilities[x] if 0 <= x < size else Fraction(0) for x in other)
        return list(zip(probabilities, seen, strict=True))

    total = Fraction(0)
    for outcome in product(*map(pairs, moves)):
        here, there = prod(p for p, _ in outcome), prod(q for _, q in outcome)
        total += max(Fraction(0), here - factor * there)
    return total
