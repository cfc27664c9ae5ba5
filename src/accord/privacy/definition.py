"""δ(ε) straight from its definition, by listing every outcome: slow, short, and the measure of all else.

    δ(ε) = Σ_o max(0, P(o) − e^ε·Q(o))

over the noises of k' up bins and k' down bins, for any distribution whatever. No lattice, no closed form, no
floats: probabilities are fractions and e^ε is rounded down, so that the sum is never too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

from accord.privacy.number import exp


def enumerated_delta(probabilities: Sequence[Fraction], bins_per_record: int, epsilon: Fraction) -> Fraction:
    """δ(ε) of counts hidden by independent noise with these probabilities on 0, 1, 2, …"""
    factor = Fraction(exp(epsilon)) * (1 - Fraction(1, 10**100))
    size = len(probabilities)
    at = [Fraction(0), *probabilities, Fraction(0)]
    pairs_up = [(at[x + 1], at[x]) for x in range(size)]
    pairs_down = [(at[x + 1], at[x + 2]) for x in range(size)]
    total = Fraction(0)
    for outcome in product(*[pairs_up] * bins_per_record, *[pairs_down] * bins_per_record):
        here, there = prod(p for p, _ in outcome), prod(q for _, q in outcome)
        total += max(Fraction(0), here - factor * there)
    return total
