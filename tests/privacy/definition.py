"""δ(ε) straight from its definition, by listing every outcome: slow, short, and the measure of all else.

    δ(ε) = Σ_o max(0, P(o) − e^ε·Q(o))

over everything that is shown of two tables, in independent parts of any distribution whatever: such as the
noisy counts of bins that gain or lose records. No lattice, no closed form, no floats: probabilities are
fractions and e^ε is rounded down, so that the sum is never too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import lcm, prod

from accord.privacy.number import exp

Pairs = Sequence[tuple[Fraction, Fraction]]
"""The probability of each outcome of a part, under the one table and under the other."""


def enumerated_delta(probabilities: Sequence[Fraction], bins_per_record: int, epsilon: Fraction) -> Fraction:
    """δ(ε) of counts hidden by independent noise with these probabilities on 0, 1, 2, …: one record replaced,
    k' bins up and k' bins down."""
    return moved_delta(probabilities, [1] * bins_per_record + [-1] * bins_per_record, epsilon)


def moved_delta(probabilities: Sequence[Fraction], moves: Sequence[int], epsilon: Fraction) -> Fraction:
    """The same if each of some bins gains that many records, or loses them where the number is below 0."""
    size = len(probabilities)

    def pairs(by: int) -> Pairs:
        other = (x - by for x in range(size))
        seen = (probabilities[x] if 0 <= x < size else Fraction(0) for x in other)
        return list(zip(probabilities, seen, strict=True))

    return excess([pairs(by) for by in moves], epsilon)


def excess(parts: Sequence[Pairs], epsilon: Fraction) -> Fraction:
    """δ(ε) between two tables of which independent parts are shown, each given by the probabilities of its
    outcomes under the one and the other. What the first lack to 1 counts in full."""
    factor = Fraction(exp(epsilon)) * (1 - Fraction(1, 10**100))
    scales = [lcm(*(chance.denominator for pair in part for chance in pair)) for part in parts]
    whole = [
        [(int(p * scale), int(q * scale)) for p, q in part] for part, scale in zip(parts, scales, strict=True)
    ]
    over = seen = 0
    for outcome in product(*whole):
        here, there = prod(p for p, _ in outcome), prod(q for _, q in outcome)
        over += max(0, here * factor.denominator - factor.numerator * there)
        seen += here
    total = prod(scales)
    return Fraction(over, total * factor.denominator) + max(Fraction(0), 1 - Fraction(seen, total))
