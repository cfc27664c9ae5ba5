"""Thresholds as exact integers: the one place where a rule's fractions meet the fields' steps.

Values are whole multiples of a step, so |a − b| ≤ t holds exactly when the difference in steps is at most
⌊t / step⌋, and a distance is at most θ exactly when its square in steps² is at most ⌊(θ / step)²⌋.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor, isqrt, log10

import numpy as np
from numpy.typing import NDArray

from accord.fields.schema import FieldSpec, NumberField
from accord.rules.rule import Euclidean, Similar, Within

Fields = Mapping[str, FieldSpec]

_FARTHEST = 2**62
"""More than any difference or squared distance of two codes: every threshold fits a machine's integer."""


def step_of(spec: FieldSpec) -> Fraction:
    """What a difference of one code means: the step of a number, one day of a date."""
    return spec.step if isinstance(spec, NumberField) else Fraction(1)


def within_steps(rule: Within, fields: Fields) -> int:
    """Of A's field; B's has the same step (check.py). Of logarithms the amount is a share: 0.1 is 10 %."""
    spec = fields[rule.field]
    bound = Fraction(log10(1 + rule.bound)) if isinstance(spec, NumberField) and spec.is_log else rule.bound
    return min(_FARTHEST, floor(bound / step_of(spec)))


def squared_steps(rule: Euclidean, fields: Fields) -> int:
    return min(_FARTHEST, floor((rule.bound / step_of(fields[rule.fields[0]])) ** 2))


def linear_weights(rule: Similar) -> tuple[int, int]:
    """(w, v) such that Dice or Jaccard is at least the bound exactly when w·|a ∧ b| ≥ v·(|a| + |b|)."""
    p, q = rule.bound.numerator, rule.bound.denominator
    return (2 * q, p) if rule.measure == "dice" else (p + q, p)


def cosine_table(bound: Fraction, bits: int) -> NDArray[np.int64]:
    """T[i, j]: the smallest |a ∧ b| with cosine ≥ bound where |a| = i and |b| = j.

    T = ⌈bound·√(i·j)⌉, found in floats and then set right in integers; where just one filter is empty the
    similarity is 0, so T is one more than what can occur.
    """
    p, q = bound.numerator, bound.denominator
    weights = np.arange(bits + 1, dtype=np.int64)
    square = p * p * np.multiply.outer(weights, weights)
    table = np.ceil(np.sqrt(square.astype(np.float64)) / q).astype(np.int64)
    table -= (table > 0) & (q * q * (table - 1) ** 2 >= square)
    table += q * q * table**2 < square
    table[0, 1:] = table[1:, 0] = 1
    return table


def root(square: int) -> int:
    """The largest difference in one coordinate that a squared distance allows."""
    return isqrt(square)
