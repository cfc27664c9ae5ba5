"""What can be said of an agreement's privacy without a run: by proof, not by experiment.

For each side: the promise, the δ that is true of it, the dummies it takes, what ten more releases would come
to, and what it adds to all that was released about a data set before. Two accountants bound a composition
(`privacy/accounting.py`): the sums, and the exact one at the summed δ; both hold. A release of the same
snapshot under the same setting is the same noise again and adds nothing; so what composes are releases of
other snapshots, and of runs without one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from accord.agreement.document import Agreement
from accord.errors import BudgetError
from accord.privacy.accounting import basic, promised, spent
from accord.privacy.budget import Budget, check
from accord.privacy.calibration import Setting, warnings
from accord.privacy.events import Cost, Event, describe_cost, tell_unless
from accord.privacy.noise import losses
from accord.protocols.parts.people import whom
from accord.side import Side
from accord.simulation.pair import release_of

AGAIN = 10
"""Releases that a steward should think of before the first."""


@dataclass(frozen=True)
class Composed:
    """Several releases together: the sums of ε and δ, and the ε that exact composition proves at that δ."""

    releases: int
    sums: Cost | None
    """None where nothing is promised by any of them."""
    epsilon: float

    def tell(self) -> str:
        """In words; the exact one only where it is smaller."""
        if self.sums is None:
            return describe_cost(None)
        numbers = replace(self.sums, unless="").describe()
        tighter = self.epsilon < 0.999 * float(self.sums.epsilon)
        exact = f"; ε = {self.epsilon:.4g} by exact composition" if tighter else ""
        unless = f" (unless, in one of the runs, {self.sums.unless})" if self.sums.unless else ""
        return f"{numbers} by the sums{exact}{unless}"


@dataclass(frozen=True)
class SideFacts:
    """One side's guarantee. Without noisy counts there is no noise; without a guarantee no cost."""

    side: Side
    cost: Cost | None
    records_per_person: int
    """Of whom the cost is for."""
    whom: str
    """The same in words."""
    exact: bool
    """Whether an exact answer is asked for."""
    noise: Setting | None
    beyond: float
    """The probability that a partner learns more than ε allows, for the worst two tables: at least δ, which
    weighs by how much more."""
    dummies: float
    """Expected, in all bins."""
    again: Composed | None
    warnings: tuple[str, ...]

    def tell_suspicion(self) -> str:
        """What ε means, in words; rounded up. *Requires* a cost."""
        assert self.cost is not None
        such = "record" if self.records_per_person == 1 else "person"
        most = suspicion(self.cost.epsilon)
        further = f"further only with probability {self.beyond:.2g}" if self.beyond else "not further"
        unless = tell_unless(self.cost.unless)
        return f"a suspicion of 50 % about such a {such} can rise to {most:g} %, {further}{unless}"

    def tell_nothing(self) -> str:
        """Why nothing is promised. *Requires* that there is no cost."""
        return (
            "an exact answer promises nothing"
            if self.exact
            else "this protocol promises nothing for any record"
        )


def suspicion(epsilon: Fraction) -> float:
    """To how many per cent ε lets a suspicion of 50 % rise, rounded up."""
    return math.ceil(1000 / (1 + math.exp(-float(epsilon)))) / 10


@dataclass(frozen=True)
class Afterwards:
    """The account of a data set once this agreement has been run on it."""

    dataset: str
    before: Composed
    after: Composed
    limited: bool
    """Whether the data set has a budget at all."""
    refusal: str
    """Why the budget does not allow the run; empty where it does."""

    @property
    def verdict(self) -> str:
        allowed = "the budget allows it"
        return self.refusal or (
            allowed if self.limited else "it has no limit; `accord ledger budget` sets one"
        )


def side_facts(agreement: Agreement, side: Side, records: int | None) -> SideFacts:
    """The facts of one side, whose table has so many records if that may be known."""
    release = release_of(agreement, side, records or 0)
    found, event = release.setting, release.event
    cost = event.cost if event is not None else None
    several = agreement.protocol.records_per_person(agreement.task, side) or 1
    return SideFacts(
        side=side,
        cost=cost,
        records_per_person=several,
        whom=f"for {whom(several, agreement.output.answers)}",
        exact=agreement.output.exact,
        noise=found,
        beyond=_beyond(found) if found else 0.0,
        dummies=found.expected_dummies * agreement.plan.bins if found else 0.0,
        again=composed([event] * AGAIN) if event is not None and cost is not None else None,
        warnings=warnings(cost.epsilon, cost.delta, records) if cost is not None else (),
    )


def _beyond(found: Setting) -> float:
    changed = found.bins_per_record, found.records_per_person
    return losses(found.noise, *changed).beyond(found.epsilon)


def afterwards(
    agreement: Agreement, side: Side, records: int | None, dataset: str, past: Sequence[Event],
    runs: int, budget: Budget,
) -> Afterwards | None:  # fmt: skip
    """What a run adds to the events that the data set has paid for; None where nothing is promised."""
    event = release_of(agreement, side, records or 0).event
    if event is None:
        return None
    try:
        check(dataset, budget, past, runs, event)
        refusal = ""
    except BudgetError as error:
        refusal = f"no new release: {error.reason}"
    limited = budget != Budget()
    return Afterwards(dataset, composed(past), composed([*past, event]), limited, refusal)


def composed(events: Sequence[Event]) -> Composed:
    """These releases together."""
    return Composed(len(events), promised(events), spent(events, basic(events).delta))
