"""From counts to small whole weights.

A weight counts bits: one more, and a pair is twice as likely a match. Fellegi and Sunter (JASA'69) give each
level log2(m / u): how much more often it holds for matches than for others. That is right where comparisons
err independently, and they do not: people of one household share a surname, an address and a line. So the
weights are those of a logistic regression on the patterns, which sees what comes together, drawn towards
Fellegi and Sunter's by a penalty, which decides where there is little to see.

They are rounded to whole bits and bounded on purpose: a rule is shown to the partner, and coarse weights tell
little of the records behind them. A level that asks only whether a value is missing weighs 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log, log2

import numpy as np
from numpy.typing import NDArray

from accord.learning.patterns import Comparisons, PatternCounts, Weights
from accord.rules.rule import Levels, Missing, predicates

Floats = NDArray[np.float64]

LARGEST = 24
"""Bits of one level, either way."""
_BIT = log(2)
_SMOOTHING = 0.5
"""Pairs that every level is given, so that none has a probability of 0."""
_PENALTY = 0.1
_ROUNDS = 200
_LONGEST_STEP = 2.0
_NEAR = 1e-6


def fit(comparisons: Comparisons, evidence: PatternCounts) -> Weights:
    """The weights that tell matches from other pairs best, among those that never rise from level to level.

    That a level further down, which agrees less, weighs more can be true of some table: where strangers of
    one household are compared, a shared line may speak against a match. It would surprise whoever reads the
    rule, and be wrong of the next table.
    """
    centre = np.concatenate([_ratios(each, i, evidence) for i, each in enumerate(comparisons)]) * _BIT
    marks, groups = _marks(comparisons, evidence), _groups(comparisons)
    while True:
        joined = np.column_stack([marks[:, group.columns].sum(axis=1) for group in groups])
        middle = np.array([centre[group.columns].mean() for group in groups])
        found = _regress(joined, evidence, middle)[:-1]
        rises = [
            found[i + 1] - found[i] if this.comparison == after.comparison else 0.0
            for i, (this, after) in enumerate(pairwise(groups))
        ]
        if max(rises, default=0.0) <= _NEAR:
            break
        worst = int(np.argmax(rises))
        groups[worst : worst + 2] = [groups[worst].join(groups[worst + 1])]
    bits = np.zeros(marks.shape[1])
    for group, nats in zip(groups, found, strict=True):
        bits[group.columns] = nats / _BIT
    ends = np.cumsum([len(each.levels) + 1 for each in comparisons])
    return tuple(_straddle(tuple(map(round_off, part))) for part in np.split(bits, ends[:-1]))


@dataclass(frozen=True)
class _Group:
    """Levels of one comparison that weigh the same."""

    comparison: int
    columns: list[int]

    def join(self, other: _Group) -> _Group:
        return _Group(self.comparison, self.columns + other.columns)


def _groups(comparisons: Comparisons) -> list[_Group]:
    """Each level by itself, without those that only ask for missing values."""
    groups, column = [], 0
    for number, each in enumerate(comparisons):
        for missing in _is_missing(each):
            groups += [] if missing else [_Group(number, [column])]
            column += 1
    return groups


def _straddle(weights: tuple[int, ...]) -> tuple[int, ...]:
    """A missing value, which weighs 0, speaks neither louder than agreement nor lower than none of it."""
    return max(weights[0], 0), *weights[1:-1], min(weights[-1], 0)


def round_off(bits: float) -> int:
    """The whole weight nearest to this."""
    return round(min(max(float(bits), -LARGEST), LARGEST))


def bits_of(m: float, u: float) -> int:
    """The weight of a level that holds for the share m of matches and the share u of others."""
    if m <= 0 or u <= 0:
        return LARGEST if m > u else -LARGEST if u > m else 0
    return round_off(log2(m / u))


def _is_missing(each: Levels) -> NDArray[np.bool_]:
    """Which levels only ask whether a value is missing."""
    only = [all(isinstance(one, Missing) for one in predicates(level.when)) for level in each.levels]
    return np.array([*only, False])


def _ratios(each: Levels, place: int, evidence: PatternCounts) -> Floats:
    """log2(m / u) of each level, among pairs whose values are there.

    A level that no match has does not speak for one, however rare it is among others: there are so many more
    of these that half a pair would.
    """
    held = [
        np.bincount(evidence.patterns[:, place], counts, len(each.levels) + 1)
        for counts in (evidence.matches, evidence.others)
    ]
    m, u = ((of + _SMOOTHING) / (of + _SMOOTHING)[~_is_missing(each)].sum() for of in held)
    bits: Floats = np.log2(m / u).clip(-LARGEST, LARGEST)
    return np.where(held[0] == 0, np.minimum(bits, 0), bits)


def _marks(comparisons: Comparisons, evidence: PatternCounts) -> Floats:
    """A row of ones and zeros for each pattern: which levels it has."""
    sizes = [len(each.levels) + 1 for each in comparisons]
    marks = np.zeros((len(evidence.patterns), sum(sizes)))
    for place, first in enumerate(np.cumsum([0, *sizes[:-1]])):
        marks[np.arange(len(marks)), first + evidence.patterns[:, place]] = 1
    return marks


def _regress(marks: Floats, evidence: PatternCounts, centre: Floats) -> Floats:
    """The coefficients, in nats, and behind them the constant, by Newton's method with bounded steps."""
    marks = np.column_stack([marks, np.ones(len(marks))])
    matches, all_ = evidence.matches.astype(float), (evidence.matches + evidence.others).astype(float)
    centre = np.append(centre, log(max(matches.sum(), 1) / max(all_.sum(), 1)))
    # The constant is free, all but a trifle that keeps the system solvable.
    penalty = np.append(np.full(marks.shape[1] - 1, _PENALTY), _NEAR)
    found = centre.copy()
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-np.clip(marks @ found, -40, 40)))
        slope = marks.T @ (matches - all_ * likely) - penalty * (found - centre)
        bend = (marks * (all_ * likely * (1 - likely))[:, None]).T @ marks + np.diag(penalty)
        step = np.linalg.solve(bend, slope).clip(-_LONGEST_STEP, _LONGEST_STEP)
        found += step
        if np.abs(step).max() < _NEAR:
            break
    return found
