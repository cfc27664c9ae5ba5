"""From counts to small whole weights.

Weights are those of a logistic regression on the patterns, which sees what comes together: people of one
household share a surname, an address and a line, and to count each as independent evidence, as Fellegi and
Sunter (JASA'69) do, is to count it too often. A ridge draws them to a `Prior`, which decides where there is
little to see: to the draft's weights, where somebody wrote them who knows the fields, or else to Fellegi and
Sunter's log(m / u) on the same pairs.

A point is about a bit: one more, and a pair is twice as likely a match. Weights are rounded to whole points
and bounded on purpose: a rule is shown to the partner, and coarse weights tell little of the records behind
them; finer ones find no more. What a missing value adds is not learnt and stays 0, whether a level asks for
it or `otherwise` includes it: a value that is not there is no evidence. Nor is, beside a draft, a level that
fewer than `FEWEST` matches have, however many others do: it weighs what it does in the draft, times the same
whole number for all. That is for quality, and no promise to these few: their pairs are learnt from like all
others, so that the number, the weights of other levels and the threshold follow from them as well. To leave
them out was tried: with few labels, where most levels are rare, it finds clearly less.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log, log2
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from accord.learning.patterns import Comparisons, Floats, PatternCounts, Weights
from accord.rules.rule import Levels, Missing, predicates

Mask = NDArray[np.bool_]

LARGEST = 24
"""Bits of one level, either way."""
FEWEST = 20
"""Matches that must have a level for its own weight to be learnt."""
_BIT = log(2)
_SMOOTHING = 0.5
"""Pairs that every level is given, so that none has a probability of 0."""
_PENALTY = 0.1
_USUAL = 4.5
"""What the largest weight of a draft is worth, in nats, as long as pairs do not say otherwise."""
_ROUNDS = 200
_LONGEST_STEP = 2.0
_NEAR = 1e-4
_BENDS_NOTHING = 1e-6


@dataclass(frozen=True)
class Start:
    """What each level weighs before pairs are seen, in nats, and which of them keep it."""

    centre: Floats
    kept: Mask


class Prior(Protocol):
    """What weights are drawn to."""

    def start(self, evidence: PatternCounts) -> Start: ...

    def points(self, evidence: PatternCounts) -> float:
        """How many points a nat is."""
        ...


@dataclass(frozen=True)
class Ratios:
    """Fellegi and Sunter's weights of the same pairs."""

    comparisons: Comparisons

    def start(self, evidence: PatternCounts) -> Start:
        found = [_ratios(each, place, evidence) for place, each in enumerate(self.comparisons)]
        neutral = neutral_levels(self.comparisons)
        return Start(np.where(neutral, 0.0, np.concatenate(found) * _BIT), neutral)

    def points(self, evidence: PatternCounts) -> float:
        return 1 / _BIT


@dataclass(frozen=True)
class Drafted:
    """The weights of a draft, in whatever unit they are, which the pairs tell."""

    comparisons: Comparisons
    kept: Mask

    def start(self, evidence: PatternCounts) -> Start:
        return Start(self._drafted * self._unit(evidence), self.kept)

    def points(self, evidence: PatternCounts) -> float:
        unit = self._unit(evidence)
        # A whole number of points for each of the draft's: what is kept needs no rounding.
        return max(1, round(unit / _BIT)) / unit

    @property
    def _drafted(self) -> Floats:
        return np.concatenate([np.array(each.weights, float) for each in self.comparisons])

    def _unit(self, evidence: PatternCounts) -> float:
        """What one point of the draft is worth, in nats."""
        largest = float(np.abs(self._drafted).max()) or 1.0
        weights = tuple(each.weights for each in self.comparisons)
        sums = evidence.scores(weights)[:, None] / largest
        worth = _regress(sums, evidence, np.array([_USUAL]), np.zeros(len(sums)))[0]
        return float(max(worth, 1.0)) / largest


def fit(comparisons: Comparisons, evidence: PatternCounts, start: Start) -> Floats:
    """What each level weighs, in nats: the weights that tell matches from other pairs best, among those that
    never rise from level to level.

    That a level further down, which agrees less, weighs more can be true of some table: where strangers of
    one household are compared, a shared line may speak against a match. It would surprise whoever reads the
    rule, and be wrong of the next table.
    """
    evidence = evidence.thin()
    marks, groups = _marks(comparisons, evidence), _groups(comparisons, start)
    found = start.centre.copy()
    last, learnt = found, None
    while True:
        free = [group for group in groups if group.fixed is None]
        fixed = [column for group in groups if group.fixed is not None for column in group.columns]
        for group in groups:
            found[group.columns] = start.centre[group.columns].mean() if group.fixed is None else group.fixed
        centre = np.array([found[group.columns[0]] for group in free])
        joined = marks @ _joining(free, len(found))
        # What was found before a level was joined to the next is near what is found after.
        near = None if learnt is None else np.append([last[g.columns].mean() for g in free], learnt[-1])
        learnt = _regress(joined, evidence, centre, marks[:, fixed] @ found[fixed], near)
        for group, nats in zip(free, learnt[:-1], strict=True):
            found[group.columns] = nats
        last = found.copy()
        rises = [this.rise(after, found) for this, after in pairwise(groups)]
        if max(rises, default=0.0) <= _NEAR:
            return np.where(start.kept, found, _bound(comparisons, found))
        worst = int(np.argmax(rises))
        groups[worst : worst + 2] = [groups[worst].join(groups[worst + 1])]


def _joining(groups: list[_Group], columns: int) -> Floats:
    """By which columns of levels become columns of groups."""
    found = np.zeros((columns, len(groups)))
    for number, group in enumerate(groups):
        found[group.columns, number] = 1
    return found


def whole(comparisons: Comparisons, nats: Floats, points: float) -> Weights:
    """The weights in points, rounded. A comparison whose levels all weigh the same decides nothing: 0."""
    ends = np.cumsum([len(each.weights) for each in comparisons])
    rounded = np.rint(nats * points).astype(int)
    parts = np.split(rounded, ends[:-1])
    return tuple(tuple((part * (len({*part.tolist()}) > 1)).tolist()) for part in parts)


def bits_of(m: float, u: float) -> int:
    """The weight, in bits, of a level that holds for the share m of matches and the share u of others."""
    if m <= 0 or u <= 0:
        return LARGEST if m > u else -LARGEST if u > m else 0
    return round(min(max(log2(m / u), -LARGEST), LARGEST))


def rare_levels(comparisons: Comparisons, evidence: PatternCounts) -> Mask:
    """Which levels have too few matches to learn from, or only ask whether a value is missing."""
    held = [
        np.bincount(evidence.patterns[:, place], evidence.matches, len(each.weights))
        for place, each in enumerate(comparisons)
    ]
    rare: Mask = np.concatenate(held) < FEWEST
    return rare | neutral_levels(comparisons)


def neutral_levels(comparisons: Comparisons) -> Mask:
    """Which levels decide what a missing value adds: those that ask only for it, or an `otherwise` of 0."""
    return np.concatenate([_is_neutral(each) for each in comparisons])


def _is_neutral(each: Levels) -> Mask:
    missing = _is_missing(each)
    missing[-1] = each.otherwise == 0 and not missing.any()
    return missing


def _is_missing(each: Levels) -> Mask:
    only = [all(isinstance(one, Missing) for one in predicates(level.when)) for level in each.levels]
    return np.array([*only, False])


@dataclass(frozen=True)
class _Group:
    """Levels of one comparison that weigh the same, and what, if that is not to be learnt."""

    comparison: int
    columns: list[int]
    fixed: float | None

    def rise(self, after: _Group, found: Floats) -> float:
        """By how much the next group weighs more, where that is not as it was drafted."""
        if self.comparison != after.comparison or (self.fixed is not None and after.fixed is not None):
            return 0.0
        return float(found[after.columns[0]] - found[self.columns[0]])

    def join(self, other: _Group) -> _Group:
        fixed = other.fixed if self.fixed is None else self.fixed
        return _Group(self.comparison, self.columns + other.columns, fixed)


def _groups(comparisons: Comparisons, start: Start) -> list[_Group]:
    """Each level by itself; those for missing values, which stand outside of the order, behind all others."""
    groups: list[_Group] = []
    outside: list[_Group] = []
    column = 0
    for number, each in enumerate(comparisons):
        for missing in _is_missing(each):
            fixed = float(start.centre[column]) if start.kept[column] else None
            (outside if missing else groups).append(_Group(-1 if missing else number, [column], fixed))
            column += 1
    return groups + outside


def _bound(comparisons: Comparisons, nats: Floats) -> Floats:
    """Not too far from 0; and a missing value, which weighs 0, speaks neither louder than agreement nor lower
    than none of it."""
    found = nats.clip(-LARGEST * _BIT, LARGEST * _BIT)
    last = np.cumsum([len(each.weights) for each in comparisons]) - 1
    first = np.append(0, last[:-1] + 1)
    found[first], found[last] = found[first].clip(min=0), found[last].clip(max=0)
    return found


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
    bits = np.where(held[0] == 0, np.minimum(bits, 0), bits)
    return bits - bits[-1] if _is_neutral(each)[-1] else bits


def _marks(comparisons: Comparisons, evidence: PatternCounts) -> Floats:
    """A row of ones and zeros for each pattern: which levels it has."""
    sizes = [len(each.levels) + 1 for each in comparisons]
    marks = np.zeros((len(evidence.patterns), sum(sizes)))
    for place, first in enumerate(np.cumsum([0, *sizes[:-1]])):
        marks[np.arange(len(marks)), first + evidence.patterns[:, place]] = 1
    return marks


def _regress(
    marks: Floats, evidence: PatternCounts, centre: Floats, known: Floats, near: Floats | None = None
) -> Floats:
    """The coefficients, in nats, beside what is known of each row, and behind them the constant; by Newton's
    method with bounded steps, from the centre or what is `near`."""
    some = evidence.matches + evidence.others > 0
    marks, known = np.column_stack([marks[some], np.ones(some.sum())]), known[some]
    matches, all_ = evidence.matches[some], (evidence.matches + evidence.others)[some]
    centre = np.append(centre, log(max(matches.sum(), 1) / max(all_.sum(), 1)))
    # The constant is free, all but a trifle that keeps the system solvable.
    penalty = np.append(np.full(marks.shape[1] - 1, _PENALTY), 1e-6)
    found = centre.copy() if near is None else near
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-np.clip(marks @ found + known, -40, 40)))
        slope = marks.T @ (matches - all_ * likely) - penalty * (found - centre)
        bends = all_ * likely * (1 - likely)
        # Most patterns are of strangers beyond doubt, who bend nothing: they are many, and left out here.
        some = bends > _BENDS_NOTHING
        bend = (marks[some] * bends[some, None]).T @ marks[some] + np.diag(penalty)
        step = np.linalg.solve(bend, slope).clip(-_LONGEST_STEP, _LONGEST_STEP)
        found += step
        if np.abs(step).max() < _NEAR:
            break
    return found
