"""Weights of a score from pairs of which it is known whether they are true: logistic regression, rounded.

The levels of each comparison are indicators, so that the regression is on a few hundred patterns, however
many pairs there are. A ridge draws the weights to those of the draft, which somebody wrote who knows the
fields: they decide where pairs are few, and keep weights finite where one pattern tells all. Rounded to whole
numbers, since an agreement has no others, the sums are judged anew, and the threshold is the middle of those
that are best on the same pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from accord.rules.evaluate import Indices, Tables, scores
from accord.rules.rule import Level, Levels, Score

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LARGEST = 40
"""The largest weight: the finest that is still a small number."""
RIDGE = 0.1
"""How much the draft counts, in pairs as it were."""
UNIT = 1.5
"""What 1 in a draft is worth, as the logarithm of odds."""
_STEPS = 100
_CLOSE = 1e-6


def level_numbers(draft: Score, tables: Tables, left: Indices, right: Indices) -> Ints:
    """Which level of each comparison holds, for each pair, as one number: the digits of a mixed radix, from
    0 for the first level to the last for 'otherwise'."""
    found = np.zeros(len(left), np.int64)
    for each in draft.comparisons:
        levels = tuple(Level(one.when, number) for number, one in enumerate(each.levels))
        numbered = Levels(levels, len(levels))
        found = found * (len(levels) + 1) + scores((numbered,), tables, left, right)
    return found


def _digits(patterns: Ints, sizes: Sequence[int]) -> Ints:
    """A column for each comparison: the number of its level."""
    found = []
    for size in reversed(sizes):
        found.append(patterns % size)
        patterns = patterns // size
    return np.stack(found[::-1], axis=1)


@dataclass(frozen=True)
class Learnt:
    """A draft with other weights."""

    rule: Score
    _weights: tuple[Ints, ...]
    """Of all comparisons of the draft, also those that the rule leaves out."""

    def sums(self, levels: Ints) -> Ints:
        """The score of pairs by the numbers of their levels."""
        codes, which = np.unique(levels, return_inverse=True)
        digits = _digits(codes, [len(column) for column in self._weights])
        found = sum(
            (column[digits[:, place]] for place, column in enumerate(self._weights)), np.zeros(1, int)
        )
        return np.asarray(found)[which]


def learn(draft: Score, levels: Ints, true: Flags, missed: int) -> Learnt:
    """The draft with weights and a threshold learnt from pairs; `missed` true pairs are not among these."""
    sizes = [len(each.weights) for each in draft.comparisons]
    codes, which = np.unique(levels, return_inverse=True)
    patterns = _digits(codes, sizes)
    positive = np.bincount(which, true, len(patterns)).astype(np.float64)
    total = np.bincount(which, minlength=len(patterns)).astype(np.float64)
    drawn = UNIT * np.concatenate(
        [np.array(each.weights[:-1]) - each.otherwise for each in draft.comparisons]
    )
    weights = _rounded(_regress(_indicators(patterns, sizes), positive, total, drawn), sizes)
    sums = np.sum([column[patterns[:, place]] for place, column in enumerate(weights)], axis=0)
    least = math.ceil(best_threshold(sums.astype(np.float64), positive, total, missed))
    # A comparison that weighs the same at all levels decides nothing, and an agreement refuses it.
    kept = [
        _weighed(each, column.tolist())
        for each, column in zip(draft.comparisons, weights, strict=True)
        if len(set(column.tolist())) > 1
    ]
    return Learnt(replace(draft, comparisons=tuple(kept), least=least), tuple(weights))


def best_threshold(scores: Floats, positive: Floats, total: Floats, missed: int) -> float:
    """The score from which on F1 is best: halfway between the two that it divides.

    Each score stands for `total` pairs, of which `positive` are true.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    true, found = np.cumsum(positive[order]), np.cumsum(total[order])
    f1 = 2 * true / (found + positive.sum() + missed)
    ends = np.append(ordered[1:] < ordered[:-1], True)
    last = int(np.argmax(np.where(ends, f1, -1.0)))
    below = ordered[last + 1] if last + 1 < len(ordered) else ordered[last]
    return float((ordered[last] + below) / 2)


def _indicators(patterns: Ints, sizes: Sequence[int]) -> Floats:
    """A column for each level but the last of each comparison, and one of ones."""
    columns = [patterns[:, place] == level for place, size in enumerate(sizes) for level in range(size - 1)]
    return np.stack([*columns, np.ones(len(patterns), np.bool_)], axis=1).astype(np.float64)


def _regress(features: Floats, positive: Floats, total: Floats, drawn: Floats) -> Floats:
    """Newton's method for the likelihood with a ridge on all but the last coefficient, the constant."""
    ridge = np.append(np.full(len(drawn), RIDGE), 1e-9)
    centre = np.append(drawn, 0.0)
    found = centre.copy()
    found[-1] = -float(drawn.sum()) / 4
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(features @ found, -30, 30)))
        slope = features.T @ (positive - total * chance) - ridge * (found - centre)
        curve = (features * (total * chance * (1 - chance))[:, None]).T @ features + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        # Far from the optimum a whole step may overshoot.
        found = found + step * min(1.0, 3 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < _CLOSE:
            break
    return found


def _rounded(raw: Floats, sizes: Sequence[int]) -> list[Ints]:
    """The weights of each comparison as whole numbers, 'otherwise' being 0."""
    scale = LARGEST / max(float(np.abs(raw[:-1]).max()), 1e-12)
    ends = np.cumsum([size - 1 for size in sizes])
    parts = np.split(np.rint(raw[:-1] * scale).astype(np.int64), ends[:-1])
    return [np.append(part, 0) for part in parts]


def _weighed(each: Levels, weights: list[int]) -> Levels:
    levels = [Level(one.when, weight) for one, weight in zip(each.levels, weights[:-1], strict=True)]
    return Levels(tuple(levels), weights[-1])
