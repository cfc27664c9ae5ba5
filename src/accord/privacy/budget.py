"""The rules of spending: what a data set may still release. Pure; the ledger applies them under its lock.

All releases about a named data set compose, whatever its content was and whoever the partner: two partners
may pool what they saw. A run is allowed when some accountant proves that everything released so far and the
new release stay within the budget together, and when the cap on runs has room. Runs that cost nothing count
as runs: a partner learns a result from each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from accord.errors import BudgetError
from accord.privacy.accounting import basic, exact
from accord.privacy.events import Cost, Event, PluggedEvent, describe_cost, is_free
from accord.wording import counted

UNCOVERED = Fraction(1, 100)
"""The share of one's own records that a conditional promise may leave uncovered, by default."""
MOST_EPSILON = 1_000
"""A larger limit limits nothing, and says so less plainly than none."""


@dataclass(frozen=True, repr=False)
class Budget:
    """The most that all releases about a data set may come to; None is no limit."""

    cost: Cost | None = None
    runs: int | None = None

    def __repr__(self) -> str:
        cost = "no limit on ε and δ"
        if self.cost is not None:
            cost = self.cost.describe()
        return f"<Budget: {cost}; {'any number of runs' if self.runs is None else counted(self.runs, 'run')}>"


def check(dataset: str, budget: Budget, past: Sequence[Event], runs: int, asked: Event) -> None:
    """Raise unless `asked` fits into the budget beside `past`, the events of the `runs` runs so far."""
    if budget.runs is not None and runs + 1 > budget.runs:
        raise _refusal(dataset, budget, past, runs, asked, _say_used(budget.runs))
    if isinstance(asked, PluggedEvent) and asked.refusal and budget.cost is not None:
        raise _refusal(dataset, budget, past, runs, asked, asked.refusal)
    if not _fits(budget, past, asked):
        raise _refusal(dataset, budget, past, runs, asked, "it would overspend.")


def _say_used(runs: int) -> str:
    return "its one run is used." if runs == 1 else f"all {runs:,} runs are used."


def left(budget: Budget, past: Sequence[Event]) -> Cost | None:
    """What remains by the sums of ε and δ, never below 0; exact composition may allow more."""
    if budget.cost is None:
        return None
    used = basic(past)
    zero = Fraction(0)
    return Cost(max(zero, budget.cost.epsilon - used.epsilon), max(zero, budget.cost.delta - used.delta))


def _fits(budget: Budget, past: Sequence[Event], asked: Event) -> bool:
    if budget.cost is None or asked.cost is None or is_free(asked.cost):
        return True
    together = basic([*past, asked])
    if together.epsilon <= budget.cost.epsilon and together.delta <= budget.cost.delta:
        return True
    # A release that alone promises more ε than the whole budget, and no less δ, is not worth a convolution.
    # Its true δ may lie a little below the promised one, so the exact accountant might just have allowed it:
    # this errs on the safe side.
    if asked.cost.epsilon > budget.cost.epsilon and asked.cost.delta >= budget.cost.delta:
        return False
    return Fraction(exact([*past, asked]).delta(budget.cost.epsilon)) <= budget.cost.delta


def _refusal(
    dataset: str, budget: Budget, past: Sequence[Event], runs: int, asked: Event, reason: str
) -> BudgetError:
    rest = left(budget, past)
    parts = [] if rest is None else [rest.describe(up=False)]
    parts += [] if budget.runs is None else [f"{max(0, budget.runs - runs)} of {counted(budget.runs, 'run')}"]
    return BudgetError(
        dataset=dataset,
        reason=reason,
        asked=describe_cost(asked.cost),
        left="; ".join(parts),
    )
