"""Which levels hold for pairs, and how often each pattern of levels comes up: all that is learnt from.

A pattern has one number for each comparison of a score: the place of the level that gives the weight, and the
number of levels where none holds. Millions of pairs have some thousand patterns, so pairs are counted by
pattern, some at a time, and no pair is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
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
Weights = tuple[tuple[int, ...], ...]
"""By comparison and level; the last of each is `otherwise`."""
_NONE = np.zeros(0, np.int64)
_MOST_PATTERNS = 1 << 62
_PAIRS = 1 << 20
"""That are looked at a time."""


@dataclass(frozen=True)
class PatternCounts:
    """Distinct patterns, and how many matches and how many other pairs have each."""

    patterns: Patterns
    matches: Indices
    others: Indices

    def scores(self, weights: Weights) -> Indices:
        """The sum of each pattern."""
        total = np.zeros(len(self.patterns), np.int64)
        for place, each in enumerate(weights):
            total += np.array(each, np.int64)[self.patterns[:, place]]
        return total


def count(
    comparisons: Comparisons, tables: Tables, true: tuple[Indices, Indices], rows: tuple[Indices, Indices]
) -> PatternCounts:
    """Count the true pairs, and all pairs between some rows of A and some of B that are not true.

    *Requires* true pairs without repetition.
    """
    sizes = [len(each.levels) + 1 for each in comparisons]
    if prod(sizes) > _MOST_PATTERNS:
        raise UsageError(problem="The score has too many comparisons and levels to learn; leave some out.")
    width = max(1, len(next(iter(tables.b.values()))))
    keys = np.sort(true[0] * width + true[1])
    matches = _tally(_codes(comparisons, tables, *true))
    others = _merge([_tally(_codes(comparisons, tables, *pairs)) for pairs in _others(keys, width, rows)])
    codes = distinct(np.concatenate([matches[0], others[0]]))
    return PatternCounts(_decode(codes, sizes), *(_spread(codes, tally) for tally in (matches, others)))


def _codes(comparisons: Comparisons, tables: Tables, left: Indices, right: Indices) -> Indices:
    """The pattern of each pair as one number: a digit for each comparison."""
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


def _decode(codes: Indices, sizes: list[int]) -> Patterns:
    found = np.empty((len(codes), len(sizes)), np.uint8)
    for place in reversed(range(len(sizes))):
        codes, found[:, place] = np.divmod(codes, sizes[place])
    return found


def _others(keys: Indices, width: int, rows: tuple[Indices, Indices]) -> Iterator[tuple[Indices, Indices]]:
    a, b = rows
    step = max(1, _PAIRS // max(1, len(b)))
    for start in range(0, len(a), step):
        some = a[start : start + step]
        left, right = np.repeat(some, len(b)), np.tile(b, len(some))
        other = ~contained(left * width + right, keys)
        yield left[other], right[other]


_Tally = tuple[Indices, Indices]
"""Distinct codes, ascending, and how many pairs have each."""


def _tally(codes: Indices) -> _Tally:
    return _merge([(codes, np.ones(len(codes), np.int64))])


def _merge(parts: list[_Tally]) -> _Tally:
    codes = np.concatenate([_NONE, *(part[0] for part in parts)])
    counts = np.concatenate([_NONE, *(part[1] for part in parts)])
    order = np.argsort(codes)
    known = distinct(codes)
    starts = np.searchsorted(codes[order], known)
    return known, np.add.reduceat(counts[order], starts) if len(known) else _NONE


def _spread(codes: Indices, tally: _Tally) -> Indices:
    """The counts of all codes, most of which may have none."""
    counts = np.zeros(len(codes), np.int64)
    counts[np.searchsorted(codes, tally[0])] = tally[1]
    return counts
