"""The 21 claims of the paper's evaluation, each checked against what was measured [MATHS §14.4].

A claim is a statement of §5 with a tolerance, which the page prints; numbers in it are those that the check
uses. A check reads the rows of the experiments and finds the claim
*held*, *held in part* or *not held*; whatever is not held needs an explanation that fits what was measured,
otherwise the claim fails and the command says so with its exit code. An explanation is tied to a condition:
a number that is off in another way than the known one is not explained. A claim that lacks a row it needs is
*not run*: no verdict rests on a part of the rows.

The paper compares LP with greedy to all pairs without. A claim about the two is *held* only like with like,
without greedy on both sides and with it on both; the paper's own comparison can hold it in part.

Some claims need the paper's size or data. Another run says 'at this size' or 'on generated tables' where that
is why, and only while its costs are what arithmetic says they must be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from accord import AccordError
from reproduction.expected import Expected, expected
from reproduction.lab import FULL, PAPER, Size
from reproduction.settings import DEFAULT, EPSILONS
from reproduction.size import GREEDY
from reproduction.sweep import MissingRow, Row, Value, number, one, only
from reproduction.variants import variant_days
from reproduction.wording import plain


class ClaimError(AccordError):
    """Claims of the paper that fail without an explanation, or lack their rows: {numbers}."""

    exit_code = 11


class Verdict(Enum):
    """How a claim came out."""

    HELD = "held"
    PART = "held in part"
    NOT = "not held"
    NOT_RUN = "not run"


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
class Range:
    """A tolerance: from `least` to `most`, both included."""

    least: float = -math.inf
    most: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most

    def __str__(self) -> str:
        if math.isinf(self.most):
            return f"at least {self.least:g}"
        return f"at most {self.most:g}" if math.isinf(self.least) else f"{self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class Gains:
    """How many times cheaper LP is than all pairs: like with like, and as the paper compares."""

    basic: float
    """Neither with greedy."""
    greedy: float
    """Both with greedy."""
    papers: float
    """LP with greedy, all pairs without."""

    def all_in(self, due: Range) -> bool:
        """Whether both fair comparisons are as they should be."""
        return self.basic in due and self.greedy in due

    def any_in(self, due: Range) -> bool:
        """Whether one comparison is, the paper's among them."""
        return any(gain in due for gain in (self.basic, self.greedy, self.papers))

    def __str__(self) -> str:
        return (
            f"{plain(self.basic)} × basic, {plain(self.greedy)} × both with GMC ({plain(self.papers)} × if "
            "LP alone has it)"
        )


@dataclass(frozen=True)
class Evidence:
    """The rows of the experiments that the claims rest on; what is missing raises MissingRow."""

    size: Size
    rows: Mapping[str, Sequence[Row]]

    def of(self, name: str) -> Sequence[Row]:
        """The rows of one experiment."""
        return self.rows.get(name, ())

    def measured(self, data: str, days: int, epsilon: Value, method: str = "laplace", prune: int = 0) -> Row:
        """LP with the paper's noise at some size."""
        return one(self.of("size"), data=data, days=days, epsilon=float(epsilon), method=method, prune=prune,
                   noise=PAPER)  # fmt: skip

    def cost(self, data: str, days: int, epsilon: Value, method: str = "laplace") -> float:
        return number(self.measured(data, days, epsilon, method), "cost")

    def baseline(self, data: str, days: int, method: str) -> float:
        """The cost of another approach."""
        return number(one(self.of("size"), data=data, days=days, method=method), "cost")

    def gains(self, data: str, days: int, epsilon: Value) -> Gains:
        """LP against all pairs, without greedy and with."""
        whole, cleaned = (self.baseline(data, days, method) for method in ("all-pairs", GREEDY))
        basic, greedy = (self.cost(data, days, epsilon, method) for method in ("basic", "laplace"))
        return Gains(whole / basic, cleaned / greedy, whole / greedy)

    def outweighed(self, data: str, days: int, epsilon: Value, due: float) -> str:
        """Why LP with greedy cannot be `due` times cheaper than all pairs with greedy: dummies stay.

        Tied to arithmetic: no explanation for a cost that is not what it must be.
        """
        expected, cost = self.expected(data, days, epsilon), self.cost(data, days, epsilon)
        share = expected.dummies / self.baseline(data, days, GREEDY)
        if share <= 1 / due or not 0.95 * expected.dummies <= cost <= 1.05 * expected.basic:
            return ""
        return (
            f"GMC removes no dummies: their pairs alone keep it at {plain(1 / share)} × with GMC on both "
            "sides, at "
            f"most ({data}, T = {days}, ε = {float(epsilon):g})."
        )

    def variant(
        self, data: str, days: int, epsilon: Value, variant: str, measure: str = "cost", noise: str = PAPER
    ) -> float:
        """A measure of one of the five variants."""
        found = one(self.of("variants"), data=data, days=days, epsilon=float(epsilon), variant=variant,
                    noise=noise)  # fmt: skip
        return number(found, measure)

    def variant_days(self, data: str) -> list[int]:
        """The numbers of days for which the variants are due."""
        return variant_days(self.size, data)

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

    def excuse(self, data: str) -> str:
        """Why a claim about the paper's tables may fail on these: they are made up, or small.

        Tied to arithmetic: no excuse for costs that are not what they must be for so many records.
        """
        real = all(str(row["source"]).startswith("real") for row in only(self.of("size"), data=data))
        here, due = self.size.per_day(data), FULL.per_day(data)
        if (real and here >= due) or not self._as_expected(data):
            return ""
        if not real:
            return "On generated tables: the paper's numbers are of its own data."
        return (
            f"At this size: {here:,} records a day instead of {due:,}, while the dummies are as many as in "
            f"the paper."
        )

    def _as_expected(self, data: str) -> bool:
        """Whether every cost with the paper's noise lies where arithmetic puts it, within 5 %."""
        return all(
            self._near(row, str(row.get("variant") or row.get("method") or DEFAULT))
            for name in ("size", "variants", "tradeoff")
            for row in only(self.of(name), data=data, noise=PAPER)
        )

    def _near(self, row: Row, variant: str) -> bool:
        due = self.expected(str(row["data"]), int(row["days"]), row["epsilon"], row.get("delta", 1e-5))
        cost = number(row, "cost")
        if row.get("prune", 0) != 0 or variant.endswith("SP"):
            return 0 < cost <= 1.05 * due.basic
        least = due.basic if variant == "basic" else due.dummies
        return 0.95 * least <= cost <= 1.05 * due.basic


@dataclass(frozen=True)
class Claim:
    """A statement of the paper."""

    number: int
    paper: str
    tolerance: str
    """When it is held, and when in part; and what an explanation must keep to, beyond the common rules."""
    check: Callable[[Evidence], Finding]


def graded(held: bool, ours: str, partly: bool = False, explanation: str = "") -> Finding:
    """Held, or in part, or not; the explanation counts only where the claim is not held."""
    if held:
        return Finding(ours, Verdict.HELD)
    return Finding(ours, Verdict.PART if partly else Verdict.NOT, explanation)


def judge(claims: Sequence[Claim], evidence: Evidence) -> list[tuple[Claim, Finding]]:
    """Every claim with its finding."""
    return [(claim, _judged(claim, evidence)) for claim in claims]


def _judged(claim: Claim, evidence: Evidence) -> Finding:
    try:
        return claim.check(evidence)
    except MissingRow as error:
        return Finding("", Verdict.NOT_RUN, f"There is {error}.")


def require_explained(findings: Sequence[tuple[Claim, Finding]]) -> None:
    """Raise ClaimError if a claim fails without an explanation or was not run."""
    open_ = [c.number for c, found in findings if found.failed or found.verdict is Verdict.NOT_RUN]
    if open_:
        raise ClaimError(numbers=", ".join(map(str, open_)))


def epsilons() -> list[float]:
    return [float(epsilon) for epsilon in EPSILONS]
