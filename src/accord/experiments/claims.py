"""The 21 claims of the paper's evaluation, each checked against what was measured [MATHS §2.3].

A claim is a statement of §5 with a tolerance. A check reads the rows of the experiments and finds the claim
*held*, *held in part* or *not held*; whatever is not held needs an explanation that fits what was measured,
otherwise the claim fails and the command says so with its exit code. An explanation is tied to a condition:
a number that is off in another way than the known one is not explained.

Some claims need the paper's size. A smaller run says 'at this size' where that alone is why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from accord.experiments.cells import Row, number, one, only
from accord.experiments.lab import FULL, PAPER, Size
from accord.experiments.settings import EPSILONS, VARIANTS


class Verdict(Enum):
    """How a claim came out."""

    HELD = "held"
    PART = "held in part"
    NOT = "not held"


@dataclass(frozen=True)
class Finding:
    """What was measured, and what it says about the claim."""

    ours: str
    verdict: Verdict
    explanation: str = ""

    @property
    def failed(self) -> bool:
        """Not held, and nobody knows why."""
        return self.verdict is not Verdict.HELD and not self.explanation


@dataclass(frozen=True)
class Evidence:
    """The rows of the experiments that the claims rest on."""

    size: Size
    rows: Mapping[str, Sequence[Row]]

    @property
    def days(self) -> int:
        """The most days of AB."""
        return self.size.ab_days[-1]

    def cost(
        self, data: str, days: int, epsilon: float | str, method: str = "laplace", prune: int = 0
    ) -> float:
        """LP with the paper's noise at some size."""
        found = one(
            self.rows["size"], data=data, days=days, epsilon=float(epsilon), method=method, prune=prune,
            noise=PAPER,
        )  # fmt: skip
        return number(found, "cost")

    def baseline(self, data: str, days: int, method: str) -> float:
        return number(one(self.rows["size"], data=data, days=days, method=method), "cost")

    def variant(
        self, data: str, days: int, epsilon: float | str, variant: str, measure: str = "cost"
    ) -> float:
        found = one(self.rows["variants"], data=data, days=days, epsilon=float(epsilon), variant=variant,
                    noise=PAPER)  # fmt: skip
        return number(found, measure)

    def variant_days(
        self,
        data: str,
        variants: Sequence[str] = tuple(VARIANTS),
        epsilons: Sequence[float] = (0.1, 0.4, 1.6),
    ) -> list[int]:
        """The numbers of days for which all of these were run."""
        here = only(self.rows["variants"], data=data, noise=PAPER)
        run = {(row["days"], row["variant"], row["epsilon"]) for row in here}
        days = sorted({int(row["days"]) for row in here})
        return [d for d in days if all((d, v, e) in run for v in variants for e in epsilons)]

    def ratio(self, data: str, epsilon: float | str, delta: float | str = 1e-5) -> float:
        """Cost against all pairs at recall 1, from the trade-off."""
        return number(self.tradeoff(data, epsilon, delta, 0), "ratio")

    def tradeoff(self, data: str, epsilon: float | str, delta: float | str, prune: int) -> Row:
        return one(self.rows["tradeoff"], data=data, epsilon=float(epsilon), delta=float(delta), prune=prune,
                   noise=PAPER)  # fmt: skip

    def excuse(self, data: str) -> str:
        """Why a claim about this set-up may fail here: its tables are made up, or small."""
        sources = {row["source"] for row in only(self.rows["size"], data=data)}
        if sources != {"real"}:
            return "On generated tables: the paper's numbers are of its own data."
        here, due = self.size.per_day(data), FULL.per_day(data)
        if here >= due:
            return ""
        return (
            f"At this size: {here:,} records a day instead of {due:,}, while the dummies are as many as in "
            f"the paper."
        )


@dataclass(frozen=True)
class Claim:
    """A statement of the paper."""

    number: int
    paper: str
    check: Callable[[Evidence], Finding]


def graded(held: bool, ours: str, partly: bool = False, explanation: str = "") -> Finding:
    """Held, or in part, or not; the explanation counts only where the claim is not held."""
    if held:
        return Finding(ours, Verdict.HELD)
    return Finding(ours, Verdict.PART if partly else Verdict.NOT, explanation)


def judge(claims: Sequence[Claim], evidence: Evidence) -> list[tuple[Claim, Finding]]:
    """Every claim with its finding."""
    return [(claim, claim.check(evidence)) for claim in claims]


def epsilons() -> list[float]:
    return [float(epsilon) for epsilon in EPSILONS]
