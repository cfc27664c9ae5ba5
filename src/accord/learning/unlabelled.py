"""Matches among pairs of which nobody knows whether they are: expectation maximisation.

The draft says where to begin: the pairs with its largest sums, about as many as there should be matches. In
turn, levels are weighed on the pairs as they are thought to be, and pairs are thought of as their sums say.

A record has at most one partner, or as many as the agreement expects copies. That keeps this from taking
households for people: of several pairs with one record only so many can be matches, so each is one as likely
as its odds against all of them, and against none. Weights are log(m / u) at first, as if comparisons erred
independently [Winkler 1988; FS69]; on what that comes to, a few rounds of the regression learn what comes
together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from accord.learning.patterns import (
    Comparisons,
    Floats,
    Pairs,
    PatternCounts,
    Patterns,
    codes_of,
    patterns_of,
)
from accord.learning.weights import Drafted, Ratios, fit, rare_levels
from accord.rules.evaluate import Indices, Tables

_ROUNDS = 100
_REGRESSIONS = 4
_NEAR = 1e-3
_CLEAR = 0.95
"""How likely the first guess is right."""
_HALVINGS = 13
"""Until the constant is known to a hundredth of a nat."""


@dataclass(frozen=True)
class Unlabelled:
    """Pairs of rows, and the pattern of each by its place among the distinct ones."""

    left: Indices
    right: Indices
    which: Indices
    patterns: Patterns
    copies: tuple[int, int] = (1, 1)
    """The most records of A and of B that one person or thing has."""

    @classmethod
    def of(
        cls,
        comparisons: Comparisons,
        tables: Tables,
        pairs: Iterable[Pairs],
        copies: tuple[int, int] = (1, 1),
    ) -> Unlabelled:
        none = np.zeros(0, np.int64)
        found = [(*pair, patterns_of(comparisons, tables, *pair)) for pair in ((none, none), *pairs)]
        left, right, patterns = (np.concatenate(each) for each in zip(*found, strict=True))
        _, first, which = np.unique(codes_of(patterns), return_index=True, return_inverse=True)
        return cls(left, right, which.astype(np.int64), patterns[first], copies)

    def count(self, likely: Floats, chances: Floats | None = None) -> PatternCounts:
        """The patterns, by how many of each are likely matches and how many not: of all pairs, or as often as
        each is likely to be compared."""
        each = np.ones(len(self.which)) if chances is None else chances
        matches = np.bincount(self.which, each * likely, len(self.patterns)).astype(float)
        pairs = np.bincount(self.which, each, len(self.patterns)).astype(float)
        return PatternCounts(self.patterns, matches, (pairs - matches).clip(0))

    def likely(self, odds: Floats) -> Floats:
        """How likely each pair is a match, where a record has so many partners at most: from the odds of each
        pattern, in nats."""
        each = np.exp(odds.clip(-40, 40))[self.which]
        likely = each / (1 + each)
        # A record of A has as many partners as one person has records of B.
        for rows, most in zip((self.left, self.right), self.copies[::-1], strict=True):
            likely = np.minimum(likely, most * each / (1 + np.bincount(rows, each)[rows]))
        return np.asarray(likely)


def tell_apart(comparisons: Comparisons, pairs: Unlabelled, expected: float) -> Floats:
    """How likely each pair is a match, where about so many are expected."""
    likely = _begin(comparisons, pairs, expected)
    for _ in range(_ROUNDS):
        counts = pairs.count(likely)
        weights = Ratios(comparisons).start(counts).centre
        share = np.log(max(likely.sum(), 1e-9) / max((1 - likely).sum(), 1e-9))
        again = pairs.likely(_sums(comparisons, pairs.patterns, weights) + share)
        change, likely = float(np.abs(again - likely).sum()), again
        if change < _NEAR * likely.sum():
            break
    for _ in range(_REGRESSIONS):
        counts = pairs.count(likely)
        start = Drafted(comparisons, rare_levels(comparisons, counts)).start(counts)
        sums = _sums(comparisons, pairs.patterns, fit(comparisons, counts, start))
        likely = _with_as_many(pairs, sums, float(likely.sum()))
    return likely


def _begin(comparisons: Comparisons, pairs: Unlabelled, expected: float) -> Floats:
    """Those with the draft's largest sums."""
    sums = pairs.count(np.zeros(len(pairs.left))).scores(tuple(each.weights for each in comparisons))
    each = sums[pairs.which]
    place = -min(len(each), max(1, round(expected)))
    return np.where(each >= np.partition(each, place)[place], _CLEAR, 1 - _CLEAR)


def _with_as_many(pairs: Unlabelled, sums: Floats, matches: float) -> Floats:
    """How likely each pair is a match, if there are as many as before: the regression cannot tell the share
    of matches, since it knows nothing of rivals."""
    low, high = -40.0, 20.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        few = pairs.likely(sums + middle).sum() < matches
        low, high = (middle, high) if few else (low, middle)
    return pairs.likely(sums + low)


def _sums(comparisons: Comparisons, patterns: Patterns, weights: Floats) -> Floats:
    """The sum of each pattern, in nats."""
    first = np.cumsum([0, *(len(each.weights) for each in comparisons[:-1])])
    return np.asarray(weights[patterns + first].sum(axis=1))
