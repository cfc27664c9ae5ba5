"""How a claim of the paper is judged by what was measured over several seeds [MATHS §14.4].

A claim has *parts*. A part is a number that each seed gives, and the range in which it is due. Where the
range comes from is one rule for all claims:

    the paper names a number        within 10 % of it; *near* within half an order of magnitude
    k orders of magnitude           at least 10^(k − ½); 'over' k orders, at least 10^k
    a slope                         within 0.1
    more, less, above, at most      that bound, and nothing around it

Of the seeds' numbers the mean is taken, and its 95 % interval by Student's t. A part is *held* if the whole
interval is in its range, *near* if it is in the wider one, *missed* if all of it is outside; where the
interval reaches across an end, the part is *open*. A claim is

    held            if all parts are held
    held in part    if some part is held or near, and some is not held
    not held        if every part is missed
    not decided     if open parts could make it another of these
    not here        if the run is smaller than what the claim is about, or on tables that were made up
    not run         if a row that it needs is not there

Whatever is held in part or not at all needs an explanation, tied to a condition that is checked on the means,
and about the very parts that are off: a number that is off in another way than the known one is not
explained, and the claim *fails*.

The paper compares LP with greedy to all pairs without. A claim about the two has parts for like with like,
without greedy on both sides and with it on both, beside the paper's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import fmean, stdev

from accord import AccordError
from reproduction.expected import Expected, expected
from reproduction.lab import FULL, PAPER, Size
from reproduction.settings import DEFAULT, EPSILONS
from reproduction.size import GREEDY
from reproduction.sweep import MissingRow, Row, Value, number, one
from reproduction.variants import variant_days
from reproduction.wording import plain, power

SURE = 0.95
FEWEST = 3
"""Seeds: of fewer there is no interval worth its name."""
HALF = math.sqrt(10)
"""Half an order of magnitude."""
_MANY = 1e5
"""From here on with a power of ten."""


class ClaimError(AccordError):
    """Claims of the paper that fail unexplained, are not decided, or lack their rows: {numbers}."""

    exit_code = 11


class Verdict(Enum):
    """How a claim came out."""

    HELD = "held"
    PART = "held in part"
    NOT = "not held"
    OPEN = "not decided"
    BEYOND = "not here"
    NOT_RUN = "not run"


class Outcome(Enum):
    """How a part came out; the value is its mark on the page."""

    HELD = "✓"
    NEAR = "≈"
    MISSED = "✗"
    OPEN = "?"


@dataclass(frozen=True)
class Range:
    """From `least` to `most`, both included."""

    least: float = -math.inf
    most: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.most):
            return f"at least {_end(self.least)}"
        return _end(self.most) if self.least == self.most else f"{_end(self.least)} to {_end(self.most)}"


def _end(value: float) -> str:
    return power(value) if value >= _MANY else f"{value:.3g}"


@dataclass(frozen=True)
class Interval:
    """A mean over seeds, and how far it may be off."""

    mean: float
    off: float
    seeds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """*Requires* two values or more, or one that chance does not touch."""
        if len(set(values)) == 1:
            return cls(values[0], 0.0, len(values))
        from scipy.stats import t

        off = float(t.ppf((1 + SURE) / 2, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
        return cls(fmean(values), off, len(values))

    def inside(self, due: Range) -> bool:
        return due.least <= self.mean - self.off and self.mean + self.off <= due.most

    def outside(self, due: Range) -> bool:
        return self.mean + self.off < due.least or self.mean - self.off > due.most

    def __str__(self) -> str:
        if self.off == 0:
            return plain(self.mean)
        if abs(self.mean) >= _MANY:
            return f"{power(self.mean)} ± {power(self.off)}"
        # Two digits of what it may be off decide how many of the mean mean something.
        digits = max(0, 1 - math.floor(math.log10(self.off)))
        return f"{self.mean:,.{digits}f} ± {self.off:,.{digits}f}"


@dataclass(frozen=True)
class Part:
    """A number of every seed, where it is due, and where it is at least near."""

    name: str
    due: Range
    of: Callable[[Evidence], float]
    near: Range | None = None

    def judge(self, found: Interval) -> Outcome:
        if found.inside(self.due):
            return Outcome.HELD
        if not found.outside(self.due):
            return Outcome.OPEN
        if self.near is None or found.outside(self.near):
            return Outcome.MISSED
        return Outcome.NEAR if found.inside(self.near) else Outcome.OPEN


def as_named(name: str, paper: float, of: Callable[[Evidence], float]) -> Part:
    """A part for which the paper names a number."""
    return Part(name, Range(0.9 * paper, 1.1 * paper), of, Range(paper / HALF, paper * HALF))


def orders(name: str, k: int, of: Callable[[Evidence], float], over: bool = False) -> Part:
    """So many orders of magnitude, or more than that."""
    return Part(name, Range(10**k if over else 10**k / HALF), of)


Means = Mapping[str, float]
"""The mean of each part, by its name, and of what is measured beside the parts."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper."""

    number: int
    paper: str
    parts: tuple[Part, ...]
    explain: Callable[[Means], str] = lambda _: ""
    """Why it is not held, if the means are off in the way that is known; otherwise nothing."""
    explained: tuple[str, ...] = ()
    """The parts that the explanation is about, where it is not about all: another that is off is not
    explained by it."""
    beside: tuple[Part, ...] = ()
    """What the explanation is checked by, beyond the parts."""
    about: tuple[str, ...] = ("ab", "taxi")
    """The sets whose size and source it is about; none where it is arithmetic."""
    days: bool = False
    """Whether it is about the largest number of days."""

    @property
    def due(self) -> str:
        """Its parts with their ranges, in words."""
        return "; ".join(f"{part.name}: {part.due}" for part in self.parts)


@dataclass(frozen=True)
class Finding:
    """What was measured, and what it says about the claim."""

    ours: str
    verdict: Verdict
    explanation: str = ""

    @property
    def failed(self) -> bool:
        """Not held, and nobody knows why."""
        return self.verdict in (Verdict.PART, Verdict.NOT) and not self.explanation


@dataclass(frozen=True)
class Evidence:
    """The rows of one seed; what is missing raises MissingRow."""

    size: Size
    rows: Mapping[str, Sequence[Row]]

    def of(self, name: str) -> Sequence[Row]:
        """The rows of one experiment."""
        return self.rows.get(name, ())

    def cost(self, data: str, days: int, epsilon: Value, variant: str = DEFAULT) -> float:
        """Comparisons of LP with the paper's noise."""
        if days in variant_days(self.size, data):
            return self.variant(data, days, epsilon, variant)
        method = {"basic": "basic", DEFAULT: "laplace"}[variant]
        found = one(self.of("size"), data=data, days=days, epsilon=float(epsilon), method=method, prune=0,
                    noise=PAPER)  # fmt: skip
        return number(found, "cost")

    def variant(self, data: str, days: int, epsilon: Value, variant: str, measure: str = "cost") -> float:
        """A measure of one of the variants, with the paper's noise."""
        found = one(self.of("variants"), data=data, days=days, epsilon=float(epsilon), variant=variant,
                    noise=PAPER)  # fmt: skip
        return number(found, measure)

    def baseline(self, data: str, days: int, method: str) -> float:
        """The cost of another approach."""
        return number(one(self.of("size"), data=data, days=days, method=method), "cost")

    def basic(self, data: str, days: int, epsilon: Value) -> float:
        """How many times cheaper LP is than all pairs, neither with greedy."""
        return self.baseline(data, days, "all-pairs") / self.cost(data, days, epsilon, "basic")

    def greedy(self, data: str, days: int, epsilon: Value) -> float:
        """The same, both with greedy."""
        return self.baseline(data, days, GREEDY) / self.cost(data, days, epsilon)

    def papers(self, data: str, days: int, epsilon: Value) -> float:
        """The same as the paper compares: LP with greedy, all pairs without."""
        return self.baseline(data, days, "all-pairs") / self.cost(data, days, epsilon)

    def dummies(self, data: str, days: int, epsilon: Value, than: str = GREEDY) -> float:
        """How many times cheaper LP with greedy could be at most: the pairs of dummies stay."""
        return self.baseline(data, days, than) / self.expected(data, days, epsilon).dummies

    def tradeoff(self, data: str, epsilon: Value, delta: Value = 1e-5, prune: int = 0) -> Row:
        """The default LP on one day, stopped at some percentile."""
        return one(self.of("tradeoff"), data=data, epsilon=float(epsilon), delta=float(delta), prune=prune,
                   noise=PAPER)  # fmt: skip

    def ratio(self, data: str, epsilon: Value, delta: Value = 1e-5) -> float:
        """Cost against all pairs at recall 1, from the trade-off."""
        return number(self.tradeoff(data, epsilon, delta), "ratio")

    def expected(self, data: str, days: int, epsilon: Value, delta: Value = 1e-5) -> Expected:
        """What LP must cost by arithmetic."""
        real = one(self.of("size"), data=data, days=days, method="non-private")
        return expected(data, days, number(real, "n"), number(real, "cost"), epsilon, delta)


def judge(claims: Sequence[Claim], seeds: Sequence[Evidence]) -> list[tuple[Claim, Finding]]:
    """Every claim with its finding."""
    return [(claim, _judged(claim, seeds)) for claim in claims]


def _judged(claim: Claim, seeds: Sequence[Evidence]) -> Finding:
    beyond = _beyond(claim, seeds)
    try:
        parts, beside = (
            [(part, _mean(part, seeds)) for part in each] for each in (claim.parts, claim.beside)
        )
    except MissingRow as error:
        return (
            Finding("", Verdict.BEYOND, beyond)
            if beyond
            else Finding("", Verdict.NOT_RUN, f"There is {error}.")
        )
    outcomes = [part.judge(found) for part, found in parts]
    ours = "; ".join(
        f"{part.name}: {found} {outcome.value} ({part.due})"
        for (part, found), outcome in zip(parts, outcomes, strict=True)
    )
    verdict = Verdict.BEYOND if beyond else summed(outcomes)
    means = {part.name: found.mean for part, found in (*parts, *beside)}
    off = {
        part.name
        for (part, _), outcome in zip(parts, outcomes, strict=True)
        if outcome in (Outcome.NEAR, Outcome.MISSED)
    }
    return Finding(ours, verdict, beyond or _reason(claim, verdict, means, off))


def _reason(claim: Claim, verdict: Verdict, means: Means, off: set[str]) -> str:
    if verdict is Verdict.OPEN:
        return "Intervals reach across an end of their range (?): more seeds would decide."
    if verdict is Verdict.HELD or (claim.explained and not off <= set(claim.explained)):
        return ""
    return claim.explain(means)


def _mean(part: Part, seeds: Sequence[Evidence]) -> Interval:
    """Over the seeds that have the rows; raises MissingRow if they are too few."""
    values, lacking = [], MissingRow(f"no result of {FEWEST} seeds")
    for evidence in seeds:
        try:
            values.append(part.of(evidence))
        except MissingRow as error:
            lacking = error
    if len(values) < FEWEST:
        raise lacking
    return Interval.of(values)


def summed(outcomes: Sequence[Outcome]) -> Verdict:
    """The verdict of these parts."""
    kinds = set(outcomes)
    if kinds == {Outcome.HELD}:
        return Verdict.HELD
    some = bool(kinds & {Outcome.HELD, Outcome.NEAR})
    # Whatever becomes of open parts: some part holds, and some does not.
    if some and kinds & {Outcome.NEAR, Outcome.MISSED}:
        return Verdict.PART
    if Outcome.OPEN in kinds:
        return Verdict.OPEN
    return Verdict.NOT


def _beyond(claim: Claim, seeds: Sequence[Evidence]) -> str:
    """Why a run says nothing about a claim: it is smaller than the claim is about, or on other tables."""
    size = seeds[0].size
    for data in claim.about:
        made_up = [row for row in seeds[0].of("size") if row["data"] == data and row["source"] == "generated"]
        if made_up:
            return f"On generated tables: it is about the paper's ({data})."
        if size.per_day(data) < FULL.per_day(data):
            return f"At this size: {size.per_day(data):,} records a day ({data}), not {FULL.per_day(data):,}."
        if claim.days and size.days(data)[-1] < FULL.days(data)[-1]:
            return f"At this size: {size.days(data)[-1]} days ({data}), not {FULL.days(data)[-1]}."
    return ""


def require_explained(findings: Sequence[tuple[Claim, Finding]], quick: bool) -> None:
    """Raise ClaimError if a claim fails without an explanation, was not run, or needs more seeds.

    A quick run has few seeds, and may leave claims open.
    """
    unsettled = (Verdict.NOT_RUN,) if quick else (Verdict.NOT_RUN, Verdict.OPEN)
    open_ = [claim.number for claim, found in findings if found.failed or found.verdict in unsettled]
    if open_:
        raise ClaimError(numbers=", ".join(map(str, open_)))


def epsilons() -> list[float]:
    return [float(epsilon) for epsilon in EPSILONS]
