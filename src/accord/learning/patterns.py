"""Which levels hold for pairs, and how often each pattern of levels comes up: all that is learnt from.

A pattern has one number for each comparison of a score: the place of the level that gives the weight, and the
number of levels where none holds. Millions of pairs have some thousand patterns, so pairs are counted by
pattern, some at a time, and no pair is kept. Under a rule with many fields nearly every pair has a pattern of
its own. Then a sample of the strangers' patterns is counted, rather those that look like matches, each as
often as it stands for [Duffield, Lund, Thorup 2007: threshold sampling, which keeps every sum unbiased].
Patterns are told apart by 64 bits of a hash, so two are confused with probability 2⁻⁶⁴.

They are counted by fold as well. A person is in one fold with all records that are theirs, so that what was
learnt without a fold never saw anybody in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.ranges import contained, mix
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
MOST_PATTERNS = 1 << 15
"""Of strangers, beyond which they are sampled."""
_AT_ONCE = 8
"""So many times as many are kept until all are counted."""
_SMOOTHING = 0.5
_WORD = 8
"""Octets."""


@dataclass(frozen=True)
class PatternCounts:
    """Distinct patterns, and how many matches and how many other pairs have each."""

    patterns: Patterns
    matches: Floats
    others: Floats

    def thin(self) -> PatternCounts:
        """Not too many of them, each as often as it stands for."""
        if len(self.patterns) <= MOST_PATTERNS + self.matches.sum():
            return self
        matches, both = (self.patterns, self.matches), (self.patterns, self.matches + self.others)
        kept, times = _sample(matches, both, MOST_PATTERNS)
        return PatternCounts(self.patterns[kept], self.matches[kept] * times, self.others[kept] * times)

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
    chances: Callable[[Indices, Indices], Floats] | None = None,
) -> FoldedCounts:
    """Count the true pairs, those that were picked, and of the others those that are neither: each once, or
    as often as it is likely to be compared.

    *Requires* true and picked pairs without repetition, and others that come once, in batches.
    """
    width = max(1, len(folds[1]))
    known = np.sort(np.concatenate([of[0] * width + of[1] for of in (true, picked)]))

    def tally(left: Indices, right: Indices) -> _Tally:
        cells = folds[0][left] * FOLDS + folds[1][right]
        patterns = patterns_of(comparisons, tables, left, right)
        rows = np.column_stack([patterns, cells.astype(np.uint8)])
        return _Tally.of(rows, None if chances is None else chances(left, right))

    matches, strangers = tally(*true), tally(_NONE, _NONE)
    for pairs in others:
        strangers = strangers.merge(tally(*_without(known, width, pairs)))
        strangers = _thin(strangers, matches, _AT_ONCE * MOST_PATTERNS)
    found = matches, _thin(strangers, matches, MOST_PATTERNS), tally(*picked)
    every = _Tally.of(np.concatenate([one.rows[:, :-1] for one in found]))
    return FoldedCounts(every.rows, *(_spread(every, one) for one in found))


def patterns_of(comparisons: Comparisons, tables: Tables, left: Indices, right: Indices) -> Patterns:
    """The pattern of each pair."""
    found = np.empty((len(left), len(comparisons)), np.uint8)
    for place, each in enumerate(comparisons):
        found[:, place], open_ = len(each.levels), np.arange(len(left))
        for number, level in enumerate(each.levels):
            held = holds(level.when, tables, left[open_], right[open_])
            found[open_[held], place] = number
            open_ = open_[~held]
    return found


def codes_of(rows: Patterns) -> NDArray[np.uint64]:
    """A number for each of the rows, the same for equal ones."""
    padded = np.zeros((len(rows), -(-rows.shape[1] // _WORD) * _WORD), np.uint8)
    padded[:, : rows.shape[1]] = rows
    codes = np.zeros(len(rows), np.uint64)
    for word in padded.view(np.uint64).T:
        codes = mix(codes, word)
    return codes


def _sample(
    matches: tuple[Patterns, Floats], others: tuple[Patterns, Floats], most: int
) -> tuple[Indices, Floats]:
    """About so many places of the others, and how many each stands for. Half of them follow from how many
    pairs they are, half rather look like matches, as if comparisons erred independently."""
    patterns, counts = others
    lean = np.zeros(len(patterns))
    for place in range(patterns.shape[1]):
        size = 1 + max(int(rows[:, place].max(initial=0)) for rows, _ in (matches, others))
        m, u = (np.bincount(rows[:, place], of, size) + _SMOOTHING for rows, of in (matches, others))
        lean += np.log(m / m.sum() / (u / u.sum()))[patterns[:, place]]
    alike = np.exp(lean / 2)
    worth = counts * (1 + alike / np.average(alike, weights=counts))
    ordered = np.sort(worth)[::-1]
    # So many are sure, and what is left of the worth is shared out to the others.
    below = ordered[::-1].cumsum()[::-1][:most] / (most - np.arange(most))
    limit = below[int(np.argmax(ordered[:most] <= below))]
    chance = np.minimum(1.0, worth / limit)
    kept = np.flatnonzero(np.random.default_rng(0).random(len(worth)) < chance)
    return kept, 1 / chance[kept]


def _thin(strangers: _Tally, true: _Tally, most: int) -> _Tally:
    """About so many, if they are more."""
    if len(strangers.rows) <= most:
        return strangers
    matches, others = ((one.rows[:, :-1], one.counts) for one in (true, strangers))
    kept, times = _sample(matches, others, most)
    return _Tally(strangers.rows[kept], strangers.counts[kept] * times)


def _without(keys: Indices, width: int, pairs: Pairs) -> Pairs:
    other = ~contained(pairs[0] * width + pairs[1], keys)
    return pairs[0][other], pairs[1][other]


@dataclass(frozen=True)
class _Tally:
    """Distinct rows, in the order of their codes, and how often each comes."""

    rows: Patterns
    counts: Floats

    @classmethod
    def of(cls, rows: Patterns, counts: Floats | None = None) -> _Tally:
        codes, first, which = np.unique(codes_of(rows), return_index=True, return_inverse=True)
        return cls(rows[first], np.bincount(which, counts, len(codes)).astype(np.float64))

    def merge(self, other: _Tally) -> _Tally:
        rows, counts = np.concatenate([self.rows, other.rows]), np.concatenate([self.counts, other.counts])
        return self.of(rows, counts)


def _spread(every: _Tally, tally: _Tally) -> Floats:
    """The counts of all patterns by cell, most of which may have none."""
    counts = np.zeros((FOLDS**2, len(every.rows)))
    places = np.searchsorted(codes_of(every.rows), codes_of(tally.rows[:, :-1]))
    counts[tally.rows[:, -1], places] = tally.counts
    return counts.reshape(FOLDS, FOLDS, len(every.rows))
