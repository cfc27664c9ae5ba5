"""Which levels hold for pairs, and how often each pattern of levels comes up: all that is learnt from.

A pattern has one number for each comparison of a score: the place of the level that gives the weight, and the
number of levels where none holds. Millions of pairs have some thousand patterns, so pairs are counted by
pattern, some at a time, and no pair is kept.

They are counted by fold as well. A person is in one fold with all records that are theirs, so that what was
learnt without a fold never saw anybody in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from accord.errors import UsageError
from accord.ranges import contained, distinct
from accord.rules.evaluate import Indices, Tables, holds
from accord.rules.rule import Levels

Comparisons = tuple[Levels, ...]
Patterns = NDArray[np.uint8]
Floats = NDArray[np.float64]
Pairs = tuple[Indices, Indices]
"""Rows of A and of B, one each for every pair."""
Weights = tuple[tuple[int, ...], ...]
"""By comparison and level; the last of each is `otherwise`."""
FOLDS = 5
_NONE = np.zeros(0, np.int64)
_MOST_PATTERNS = 1 << 56


@dataclass(frozen=True)
class PatternCounts:
    """Distinct patterns, and how many matches and how many other pairs have each."""

    patterns: Patterns
    matches: Floats
    others: Floats

    def scores(self, weights: Weights) -> Indices:
        """The sum of each pattern."""
        total = np.zeros(len(self.patterns), np.int64)
        for place, each in enumerate(weights):
            total += np.array(each, np.int64)[self.patterns[:, place]]
        return total


@dataclass(frozen=True)
class FoldedCounts:
    """The same, by the fold of A's record and of B's: arrays of folds × folds × patterns."""

    patterns: Patterns
    matches: Floats
    others: Floats
    picked: Floats
    """Others that somebody picked out since they look like matches. Weights learn from them; how many of all
    pairs are like them they do not tell."""

    @property
    def whole(self) -> PatternCounts:
        """All pairs but those that were picked."""
        return self._of(np.ones((FOLDS, FOLDS), np.bool_), self.others)

    def within(self, fold: int) -> PatternCounts:
        """Of these, the pairs whose record of A is in the fold: each pair is in one."""
        return self._of((np.arange(FOLDS) == fold)[:, None].repeat(FOLDS, axis=1), self.others)

    def without(self, fold: int | None) -> PatternCounts:
        """To learn from: the pairs with no record in the fold."""
        left = np.arange(FOLDS) != (-1 if fold is None else fold)
        return self._of(np.outer(left, left), self.others + self.picked)

    def _of(self, cells: NDArray[np.bool_], others: Floats) -> PatternCounts:
        return PatternCounts(self.patterns, self.matches[cells].sum(axis=0), others[cells].sum(axis=0))


def deal(true: Pairs, sizes: tuple[int, int], rng: np.random.Generator) -> Pairs:
    """A fold for each record of A and each of B; records that true pairs join are in the same."""
    whose = persons(true, sizes)
    fold = rng.integers(0, FOLDS, sum(sizes))[whose]
    return fold[: sizes[0]], fold[sizes[0] :]


def persons(true: Pairs, sizes: tuple[int, int]) -> Indices:
    """For each record of A, then of B, the first of those that true pairs join it to."""
    least, right = np.arange(sum(sizes)), true[1] + sizes[0]
    while True:
        both = np.minimum(least[true[0]], least[right])
        lower = least.copy()
        np.minimum.at(lower, true[0], both)
        np.minimum.at(lower, right, both)
        if np.array_equal(lower, least):
            return least
        least = lower


def count(
    comparisons: Comparisons,
    tables: Tables,
    true: Pairs,
    others: Iterable[Pairs],
    folds: Pairs,
    picked: Pairs = (_NONE, _NONE),
) -> FoldedCounts:
    """Count the true pairs, those that were picked, and of the others those that are neither.

    *Requires* true and picked pairs without repetition, and others that come once, in batches.
    """
    width = max(1, len(folds[1]))
    known = np.sort(np.concatenate([of[0] * width + of[1] for of in (true, picked)]))

    def tally(left: Indices, right: Indices) -> _Tally:
        cells = folds[0][left] * FOLDS + folds[1][right]
        return _merge([_ones(codes_of(comparisons, tables, left, right) * FOLDS**2 + cells)])

    strangers = _merge([tally(*_without(known, width, pairs)) for pairs in others])
    found = tally(*true), strangers, tally(*picked)
    codes = distinct(np.concatenate([one[0] for one in found]) // FOLDS**2)
    return FoldedCounts(decode(comparisons, codes), *(_spread(codes, one) for one in found))


def codes_of(comparisons: Comparisons, tables: Tables, left: Indices, right: Indices) -> Indices:
    """The pattern of each pair as one number: a digit for each comparison."""
    if prod(len(each.weights) for each in comparisons) > _MOST_PATTERNS:
        raise UsageError(problem="The score has too many comparisons and levels to learn; leave some out.")
    codes = np.zeros(len(left), np.int64)
    for each in comparisons:
        codes *= len(each.levels) + 1
        open_ = np.arange(len(left))
        for number, level in enumerate(each.levels):
            held = holds(level.when, tables, left[open_], right[open_])
            codes[open_[held]] += number
            open_ = open_[~held]
        codes[open_] += len(each.levels)
    return codes


def decode(comparisons: Comparisons, codes: Indices) -> Patterns:
    """The patterns of such numbers."""
    found = np.empty((len(codes), len(comparisons)), np.uint8)
    for place in reversed(range(len(comparisons))):
        codes, found[:, place] = np.divmod(codes, len(comparisons[place].weights))
    return found


def _without(keys: Indices, width: int, pairs: Pairs) -> Pairs:
    other = ~contained(pairs[0] * width + pairs[1], keys)
    return pairs[0][other], pairs[1][other]


_Tally = tuple[Indices, Indices]
"""Distinct codes, ascending, and how many pairs have each."""


def _ones(codes: Indices) -> _Tally:
    return codes, np.ones(len(codes), np.int64)


def _merge(parts: list[_Tally]) -> _Tally:
    codes = np.concatenate([_NONE, *(part[0] for part in parts)])
    counts = np.concatenate([_NONE, *(part[1] for part in parts)])
    order = np.argsort(codes)
    known = distinct(codes)
    starts = np.searchsorted(codes[order], known)
    return known, np.add.reduceat(counts[order], starts) if len(known) else _NONE


def _spread(codes: Indices, tally: _Tally) -> Floats:
    """The counts of all codes by cell, most of which may have none."""
    counts = np.zeros((FOLDS**2, len(codes)))
    found, cells = np.divmod(tally[0], FOLDS**2)
    counts[cells, np.searchsorted(codes, found)] = tally[1]
    return counts.reshape(FOLDS, FOLDS, len(codes))
