"""The ledger's rows seen as accounts: what each data set has spent, with whom, and what is left.

The account pays once for a drawing, however many partners see it. What *a partner* was shown is counted
apart: every drawing it saw, also those that cost the account nothing. Both are sums of ε and δ; `tight` is
the smaller ε that exact composition proves at the budget's δ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accord.privacy.accounting import basic, spent
from accord.privacy.budget import Budget, left
from accord.privacy.events import Cost
from accord.session.ledger import Entry


@dataclass(frozen=True)
class Account:
    """One data set: limits, number of runs, sums, and what each partner was shown."""

    dataset: str
    budget: Budget
    runs: int
    spent: Cost
    left: Cost | None
    tight: float | None
    shown: Mapping[str, Cost]


def accounts(runs: Sequence[Entry], budgets: Mapping[str, Budget]) -> tuple[Account, ...]:
    """An account for every data set that has a run or a budget, by name."""
    names = sorted({run.dataset for run in runs} | set(budgets))
    return tuple(account(name, runs, budgets) for name in names)


def account(name: str, all_runs: Sequence[Entry], budgets: Mapping[str, Budget]) -> Account:
    """The account of one data set, also of one that has neither."""
    runs = [run for run in all_runs if run.dataset == name]
    budget = budgets.get(name, Budget())
    paid = [run.event for run in runs if run.paid]
    tight = None if budget.cost is None else spent(paid, budget.cost.delta)
    partners = sorted({run.partner for run in runs})
    shown = {partner: _shown([run for run in runs if run.partner == partner]) for partner in partners}
    return Account(name, budget, len(runs), basic(paid), left(budget, paid), tight, shown)


def _shown(runs: Sequence[Entry]) -> Cost:
    seen = {run.drawing: run.event for run in runs if run.drawing is not None}
    return basic(list(seen.values()))
