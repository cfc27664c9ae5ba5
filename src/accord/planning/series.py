"""What a series comes to: linking every so often over growing tables, against linking everything anew.

Over a whole series each pair of batches meets once (protocols/series.py). So with N records of a side in a
bin in the end and d dummies a batch, k runs compare

    Σ over pairs of bins (N_A + k·d_A)(N_B + k·d_B),

as one linkage would with k times the dummies; noise of both sides is independent, so that this is exact in
expectation. Linking anew each time compares Σ over runs of (n_A + d_A)(n_B + d_B) with the sizes n of then:
at k·ε, or, for the same ε in all, with the noise of ε/k. Records are spread as is usual (spread.py); bytes
are those of whole bins, or of a run in the middle of the time as many times: estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.errors import AccordError, UsageError
from accord.planning.costs import price_sizes
from accord.planning.spread import USUAL, Spread, from_sizes
from accord.planning.variants import blockings, tell_blocking, with_epsilon
from accord.protocols.base import Task
from accord.side import Side

Floats = NDArray[np.floating[Any]]
Kind = Literal["series", "anew", "anew, same ε"]
MOST_RUNS = 1_000


@dataclass(frozen=True)
class Habit:
    """One way to keep two growing tables linked over some time."""

    kind: Kind
    blocking: str
    bins: int
    agreed: bool
    """Whether it is the agreed blocking."""
    runs: int
    """In that time."""
    epsilon: float
    """In all, of A."""
    comparisons: float
    bytes: float
    """Of the engine."""


@dataclass(frozen=True)
class SeriesPlan:
    """All habits that were priced, the best of each kind first."""

    runs: int
    habits: tuple[Habit, ...]

    @property
    def agreed(self) -> Habit:
        """The series with the agreed blocking, as often as was asked for."""
        return next(h for h in self.habits if h.kind == "series" and h.agreed and h.runs == self.runs)

    @property
    def best(self) -> Habit:
        """The series as often as was asked for, with the bins that cost the least."""
        return min((h for h in self.habits if h.kind == "series" and h.runs == self.runs), key=_compared)

    @property
    def anew(self) -> Habit:
        """Everything anew as often as was asked for, at the agreed ε each time, with its best bins."""
        return min((h for h in self.habits if h.kind == "anew"), key=_compared)

    def why(self) -> str:
        """What to do, in words."""
        best, anew = self.best, self.anew
        seldom = min((h for h in self.habits if h.kind == "series"), key=_compared)
        lines = [
            f"A series of {self.runs:,} runs costs ε = {best.epsilon:g} in all and about "
            f"{best.comparisons:,.0f} comparisons with {best.blocking}; everything anew each time "
            f"ε = {anew.epsilon:g} and {anew.comparisons:,.0f}."
        ]
        if anew.comparisons < best.comparisons:
            lines.append("Linking everything anew is cheaper here, if its ε may be spent.")
        if best is not self.agreed and best.comparisons < self.agreed.comparisons:
            lines.append(
                f"The agreed bins ({self.agreed.bins:,}) would take {self.agreed.comparisons:,.0f}: dummies "
                "come with every batch, so fewer and larger bins are better for small batches."
            )
        if seldom.runs < self.runs and 2 * seldom.comparisons < best.comparisons:
            lines.append(
                f"{seldom.runs:,} runs in the same time would take {seldom.comparisons:,.0f}, "
                f"with {seldom.blocking}."
            )
        return " ".join(lines)


def plan_series(
    agreement: Agreement, sizes: tuple[int, int], runs: int, arrivals: tuple[Fraction, Fraction]
) -> SeriesPlan:
    """Price a series of so many runs over tables of these sizes, which grow by a share of that with each."""
    if not agreement.protocol.in_series:
        raise UsageError(problem=f"A series needs the protocol laplace, not {agreement.protocol.name}.")
    if not 2 <= runs <= MOST_RUNS:
        raise UsageError(problem=f"A series has 2 to {MOST_RUNS:,} runs.")
    habits: list[Habit] = []
    for number, one in enumerate([agreement, *blockings(agreement, sizes)]):
        try:
            habits += _habits(one, sizes, runs, arrivals, agreed=number == 0)
        except AccordError:
            # A noise that cannot be had with so many bins a record.
            if number == 0:
                raise
    return SeriesPlan(runs, tuple(sorted(habits, key=_compared)))


def _habits(
    agreement: Agreement, sizes: tuple[int, int], runs: int, arrivals: tuple[Fraction, Fraction], agreed: bool
) -> list[Habit]:
    task, name = agreement.task, tell_blocking(agreement)
    last = [round(size * (1 + (runs - 1) * share)) for size, share in zip(sizes, arrivals, strict=True)]
    spread = from_sizes(task.blocking, (last[0], last[1]), USUAL)
    noise, epsilon = _dummies(agreement, sizes), float(agreement.leakage(Side.A).epsilon or 0)
    found = []
    for often in sorted({runs, *(-(-runs // n) for n in (2, 3, 4, 6, 12))} - {1}):
        counts = spread.a + often * noise[0], spread.b + often * noise[1]
        priced = _price(agreement, task, counts)
        found.append(Habit("series", name, task.blocking.bins, agreed, often, epsilon, *priced))
    for same in (False, True):
        other = _at_share(agreement, runs) if same else agreement
        if other is None:
            continue
        drawn, whole = _dummies(other, sizes), epsilon if same else runs * epsilon
        each = [_sizes_then(spread, drawn, number, runs, arrivals) for number in range(runs)]
        made = sum(_count(task, counts) for counts in each)
        sent = runs * _price(other, task, each[runs // 2])[1]
        kind: Kind = "anew, same ε" if same else "anew"
        found.append(Habit(kind, name, task.blocking.bins, agreed, runs, whole, made, sent))
    return found


def _sizes_then(
    spread: Spread,
    noise: tuple[float, float],
    number: int,
    runs: int,
    arrivals: tuple[Fraction, Fraction],
) -> tuple[Floats, Floats]:
    """The bin sizes of one run over the whole tables of then."""
    then = [(1 + number * float(s)) / (1 + (runs - 1) * float(s)) for s in arrivals]
    return spread.a * then[0] + noise[0], spread.b * then[1] + noise[1]


def _count(task: Task, counts: tuple[Floats, Floats]) -> float:
    left, right = task.blocking.pairs()
    return float(np.dot(counts[0][left], counts[1][right]))


def _price(agreement: Agreement, task: Task, counts: tuple[Floats, Floats]) -> tuple[float, float]:
    whole = np.rint(counts[0]).astype(np.int64), np.rint(counts[1]).astype(np.int64)
    rows = task.protocol.compared(task, whole)
    assert rows is not None
    price = price_sizes(agreement, task, rows)
    return _count(task, counts), float(price.bytes)


def _dummies(agreement: Agreement, sizes: tuple[int, int]) -> tuple[float, float]:
    """Expected in each bin of A and of B."""
    found = []
    for side, size in zip(Side, sizes, strict=True):
        setting = agreement.protocol.release(agreement.task, side, size).setting
        assert setting is not None
        found.append(setting.expected_dummies)
    return found[0], found[1]


def _at_share(agreement: Agreement, runs: int) -> Agreement | None:
    """The agreement at an ε of which so many make up the agreed one."""
    agreed = agreement.protocol.guarantee(agreement.task, Side.A).epsilon
    return None if agreed is None else with_epsilon(agreement, agreed / runs)


def _compared(habit: Habit) -> float:
    return habit.comparisons
