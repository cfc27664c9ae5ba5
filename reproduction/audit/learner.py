"""Learning an event that tells two worlds apart.

By Neyman and Pearson the best events are {likelihood ratio ≥ t}. The ratio is unknown, so several estimates
of it are made from the fitting part:

    single    a histogram of one number of the view, for each of the most telling ones
    summed    the sum of those logarithms, as if the numbers were independent
    weighted  the same with weights by logistic regression, which does not count twice what is said twice
    joint     histograms of pairs and triples, for what shows only in combination; pairs and one more

Each estimate is a score; an event is a score, a threshold and a direction. The one that promises the largest
ε on the choosing part is taken, by bounds that grow with the doubt, so that rare events do not win by luck.
Nothing here has to be right: an event that was learnt badly makes the audit weak, never wrong, since the
trials that judge it are others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TELLING = 16
"""So many numbers of a view are combined at most."""
_SUMMED = (2, 3, 4, 6, 8, 12, 16)
_JOINED = 5
"""Of so many the pairs and triples are looked at."""
_SEARCHED = 32
"""Of so many that take few values, all pairs are looked at."""
_BUCKETS = (24, 8)
"""Fine ones see an edge, coarse ones need fewer trials."""
_COARSE = 6
_THRESHOLDS = 40
_ALIKE = 0.98
_STEPS = 8


@dataclass(frozen=True)
class Histogram:
    """The log-likelihood ratio of P over Q by the bucket that some numbers of a view fall into."""

    columns: tuple[int, ...]
    cuts: tuple[Floats, ...]
    ratio: Floats

    def score(self, rows: Floats) -> Floats:
        return self.ratio[_codes(rows, self.columns, self.cuts)]


@dataclass(frozen=True)
class Sum:
    """A weighted sum of histograms."""

    parts: tuple[Histogram, ...]
    weights: Floats

    def score(self, rows: Floats) -> Floats:
        return _scores(self.parts, rows) @ self.weights


Score = Histogram | Sum


@dataclass(frozen=True)
class Event:
    """The views whose score is at least (or, turned, at most) the threshold; then P and Q change places."""

    of: Score
    threshold: float
    turned: bool

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        score = self.of.score(rows)
        return score <= self.threshold if self.turned else score >= self.threshold

    @property
    def columns(self) -> tuple[int, ...]:
        """The numbers of a view that it looks at, the most telling first."""
        if isinstance(self.of, Histogram):
            return self.of.columns
        return tuple(dict.fromkeys(column for part in self.of.parts for column in part.columns))


def learn(fit: tuple[Floats, Floats], choose: tuple[Floats, Floats], delta: float, doubt: float) -> Event:
    """The event to test, from rows of both worlds; `doubt` is a normal quantile of the confidence asked."""
    best = Event(Histogram((), (), np.zeros(1)), 0.0, False)
    promise = -np.inf
    for score in _estimates(*fit):
        event, value = _threshold(score, *choose, delta, doubt)
        if value > promise:
            best, promise = event, value
    return best


def _estimates(p: Floats, q: Floats) -> Iterator[Score]:
    for buckets in _BUCKETS:
        singles = _telling(p, q, buckets)
        yield from singles
        for count in _SUMMED:
            if count <= len(singles):
                yield Sum(tuple(singles[:count]), np.ones(count))
        if len(singles) > 1:
            yield Sum(tuple(singles), _weights(_scores(singles, p), _scores(singles, q)))
    leading = [single.columns[0] for single in singles[:_JOINED]]
    yield from _joint(p, q, leading, 2, 2 * _COARSE)
    yield from _joint(p, q, leading, 3, _COARSE)
    for pair in _pairs(p, q):
        yield pair
        others = [single for single in singles[:_JOINED] if single.columns[0] not in pair.columns]
        yield from (Sum((pair, other), np.ones(2)) for other in others)


def _pairs(p: Floats, q: Floats) -> list[Histogram]:
    """The most telling pairs of numbers that take few values, though neither may tell anything alone.

    Of too many, the first are taken: counts stand before bytes.
    """
    columns = varying(p, q)
    both = np.sort(np.concatenate([p, q])[:, columns], axis=0)
    values = 1 + (np.diff(both, axis=0) > 0).sum(axis=0)
    few = columns[values <= max(2, len(both) // 4)][:_SEARCHED].tolist()
    found = list(_joint(p, q, few, 2, 2 * _COARSE))
    return sorted(found, key=lambda h: -_difference(h, p, q))[:_JOINED]


def varying(p: Floats, q: Floats) -> Ints:
    """The numbers that are not the same in all views."""
    return np.flatnonzero((p != p[0]).any(axis=0) | (q != p[0]).any(axis=0))


def _telling(p: Floats, q: Floats, buckets: int) -> list[Histogram]:
    """Histograms of the numbers that differ most between the worlds, none of which says what another said."""
    found = list(_joint(p, q, varying(p, q).tolist(), 1, buckets))
    order = np.argsort([-_difference(h, p, q) for h in found], kind="stable")
    kept: list[Histogram] = []
    seen: list[Floats] = []
    both = np.concatenate([p, q])
    for place in order[: 8 * _TELLING]:
        score = _standard(found[place].score(both))
        if all(abs(np.mean(score * other)) < _ALIKE for other in seen):
            kept.append(found[place])
            seen.append(score)
        if len(kept) == _TELLING:
            break
    return kept


def _standard(values: Floats) -> Floats:
    spread = values.std()
    return (values - values.mean()) / spread if spread else np.zeros_like(values)


def _difference(histogram: Histogram, p: Floats, q: Floats) -> float:
    """χ² of equal distributions, less what chance gives, in its standard deviations."""
    size = len(histogram.ratio)
    counts = [
        np.bincount(_codes(r, histogram.columns, histogram.cuts), minlength=size) / len(r) for r in (p, q)
    ]
    total = counts[0] + counts[1]
    seen = total > 0
    chi = len(p) * ((counts[0] - counts[1])[seen] ** 2 / total[seen]).sum()
    freedom = max(1, int(seen.sum()) - 1)
    return float((chi - freedom) / np.sqrt(2 * freedom))


def _histogram(p: Floats, q: Floats, columns: tuple[int, ...], cuts: tuple[Floats, ...]) -> Histogram:
    size = math.prod(len(cut) + 1 for cut in cuts)
    counts = [np.bincount(_codes(rows, columns, cuts), minlength=size) for rows in (p, q)]
    # Half a trial everywhere: what was never seen is not impossible.
    logs = [np.log((count + 0.5) / (count.sum() + 0.5 * size)) for count in counts]
    return Histogram(columns, cuts, logs[0] - logs[1])


def _joint(p: Floats, q: Floats, columns: Iterable[int], size: int, buckets: int) -> Iterator[Histogram]:
    """Histograms of all sets of so many of these numbers."""
    both = np.concatenate([p, q])
    cuts = {column: _cuts(both[:, column], buckets) for column in columns}
    for chosen in combinations(cuts, size):
        yield _histogram(p, q, chosen, tuple(cuts[column] for column in chosen))


def _cuts(values: Floats, buckets: int) -> Floats:
    """Borders between buckets: between all values if they are few, else at quantiles."""
    distinct = np.unique(values)
    if len(distinct) <= buckets:
        return distinct[1:]
    return np.unique(np.quantile(values, np.arange(1, buckets) / buckets))


def _codes(rows: Floats, columns: tuple[int, ...], cuts: tuple[Floats, ...]) -> Ints:
    code = np.zeros(len(rows), np.int64)
    for column, cut in zip(columns, cuts, strict=True):
        code = code * (len(cut) + 1) + np.searchsorted(cut, rows[:, column], "right")
    return code


def _scores(parts: list[Histogram] | tuple[Histogram, ...], rows: Floats) -> Floats:
    return np.stack([part.score(rows) for part in parts], axis=1)


def _weights(p: Floats, q: Floats) -> Floats:
    """Logistic regression of the world on the scores, with a ridge; the constant does not order anything."""
    x = np.concatenate([p, q])
    x = np.column_stack([x, np.ones(len(x))])
    y = np.repeat([1.0, 0.0], [len(p), len(q)])
    w = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        guess = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        curve = (x * (guess * (1 - guess))[:, None]).T @ x + np.eye(len(w))
        w += np.linalg.solve(curve, x.T @ (y - guess) - w)
    return w[:-1]


def _threshold(score: Score, p: Floats, q: Floats, delta: float, doubt: float) -> tuple[Event, float]:
    """The threshold and direction that promise most on these rows, and how much."""
    of_p, of_q = np.sort(score.score(p)), np.sort(score.score(q))
    values = np.unique(np.concatenate([of_p, of_q]))
    if len(values) > _THRESHOLDS:
        values = values[np.linspace(0, len(values) - 1, _THRESHOLDS).astype(np.int64)]
    above = [1 - np.searchsorted(s, values, "left") / len(s) for s in (of_p, of_q)]
    below = [np.searchsorted(s, values, "right") / len(s) for s in (of_p, of_q)]
    forth = _promise(above[0], above[1], len(p), delta, doubt)
    back = _promise(below[1], below[0], len(p), delta, doubt)
    turned = bool(back.max() > forth.max())
    chosen = back if turned else forth
    return Event(score, float(values[chosen.argmax()]), turned), float(chosen.max())


def _promise(p: Floats, q: Floats, trials: int, delta: float, doubt: float) -> Floats:
    """The bound on ε, by Wilson's intervals: close to the exact ones, and for all thresholds at once."""
    share = doubt**2 / trials
    low = (p + share / 2 - np.sqrt(share * (p * (1 - p) + share / 4))) / (1 + share)
    high = (q + share / 2 + np.sqrt(share * (q * (1 - q) + share / 4))) / (1 + share)
    return np.log(np.maximum(low - delta, 1e-300) / high)
