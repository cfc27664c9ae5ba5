"""Accounts: how their owner makes and limits them; what each has spent, with whom, and what is left.

The account pays once for a drawing, however many partners see it. What *a partner* was shown is counted
apart: every drawing it saw, also those that cost the account nothing. Both are sums of ε and δ; `tight` is
the smaller ε that exact composition proves at the budget's δ. A sum holds under the conditions of all that it
adds up: that of routed runs for records that were covered in each of them [MATHS §10.4].
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from accord.arguments import as_path_or_none, require_flag, require_text
from accord.errors import UsageError
from accord.exact import Number, short
from accord.privacy.accounting import promised, spent
from accord.privacy.budget import MOST_EPSILON, Budget, left
from accord.privacy.calibration import LEAST_DELTA
from accord.privacy.events import Cost, covered_records
from accord.state.folder import open_state
from accord.state.ledger import Entry, Ledger

Runs = int | Literal["unlimited"] | None


@dataclass(frozen=True)
class Account:
    """One data set: limits, number of runs, sums, and what each partner was shown."""

    dataset: str
    budget: Budget
    runs: int
    spent: Cost | None
    """The sums with the conditions of all runs; None where none of them promises anything."""
    left: Cost | None
    tight: float | None
    covers: int | None
    """The sums hold for each person with up to so many records: the least of all releases, if any."""
    shown: Mapping[str, Cost | None]
    """By partner, the same of what it saw."""

    @property
    def runs_left(self) -> int | None:
        """None where their number has no limit."""
        return None if self.budget.runs is None else max(0, self.budget.runs - self.runs)


def set_budget(
    dataset: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    runs: Runs = None,
    unlimited: bool = False,
    state: Path | str | None = None,
) -> Budget:
    """Make the account of a data set, or change its limits; the limits that hold from now on.

    A new account is given what all releases together may come to at most, `epsilon` with `delta`, or is
    `unlimited`; `runs` limits their number as well, or is 'unlimited' again. For an existing account, what is
    not named stays as it is; `unlimited` lifts the limit on ε and δ. What is spent stays spent.
    """

    require_text("dataset", dataset, "patients")
    require_flag("unlimited", unlimited)
    folder = as_path_or_none("state", state)

    def change(old: Budget | None) -> Budget:
        return _change(old, epsilon, delta, runs, unlimited)

    return Ledger(open_state(folder, os.environ).store).change_budget(dataset, change)


def _change(
    old: Budget | None, epsilon: Number | None, delta: Number | None, runs: Runs, unlimited: bool
) -> Budget:
    if unlimited and (epsilon is not None or delta is not None):
        raise UsageError(problem="An account is either unlimited or has `epsilon=` and `delta=`.")
    if epsilon is None and delta is None and not unlimited and (old is None or runs is None):
        also = "" if old is None else ", or `runs=`"
        raise UsageError(problem=f"Name a limit: `epsilon=` with `delta=`; or `unlimited=True`{also}.")
    if isinstance(runs, bool) or not (
        runs in (None, "unlimited") or (isinstance(runs, int) and 0 <= runs < 1 << 63)
    ):
        raise UsageError(problem="`runs=` is a whole number of at least 0, or 'unlimited'.")
    cost = None if unlimited or old is None else old.cost
    if epsilon is not None or delta is not None:
        cost = _limit(cost, epsilon, delta)
    if runs is None:
        return Budget(cost, None if old is None else old.runs)
    return Budget(cost, runs if isinstance(runs, int) else None)


def _limit(old: Cost | None, epsilon: Number | None, delta: Number | None) -> Cost:
    e, d = (epsilon, delta) if old is None else (_either(epsilon, old.epsilon), _either(delta, old.delta))
    if e is None or d is None:
        raise UsageError(problem="A budget has both parts: name `epsilon=` and `delta=`.")
    given = Cost(_read(e, "`epsilon=`"), _read(d, "`delta=`"))
    if given.epsilon < 0 or not 0 <= given.delta < 1:
        raise UsageError(problem="A budget has ε of at least 0, and δ of at least 0 and below 1.")
    if 0 < given.delta < LEAST_DELTA:
        raise UsageError(problem="A δ below 2^-128 cannot be verified. Take 0, or 2^-128 or more.")
    if given.epsilon > MOST_EPSILON:
        raise UsageError(
            problem=f"ε above {MOST_EPSILON:,} limits nothing. Say `unlimited=True` if that is meant."
        )
    return given


def _read(value: Number, what: str) -> Fraction:
    try:
        return short(value)
    except ValueError as error:
        raise UsageError(problem=f"{what} {error}.") from None


def _either(given: Number | None, old: Number) -> Number:
    return old if given is None else given


def accounts(runs: Sequence[Entry], budgets: Mapping[str, Budget]) -> tuple[Account, ...]:
    """An account for every data set that has a run or a budget, by name."""
    names = sorted({run.dataset for run in runs} | set(budgets))
    return tuple(account(name, runs, budgets) for name in names)


def account(name: str, all_runs: Sequence[Entry], budgets: Mapping[str, Budget]) -> Account:
    """The account of one data set, also of one that has neither."""
    runs = [run for run in all_runs if run.dataset == name]
    budget = budgets.get(name, Budget())
    paid = [run.event for run in runs if run.paid]
    sums = promised(paid)
    tight = None if budget.cost is None or sums is None else spent(paid, budget.cost.delta)
    partners = sorted({run.partner for run in runs})
    shown = {partner: _add_up([run for run in runs if run.partner == partner]) for partner in partners}
    covers = min((covered for covered in map(covered_records, paid) if covered is not None), default=None)
    return Account(name, budget, len(runs), sums, left(budget, paid), tight, covers, shown)


def _add_up(runs: Sequence[Entry]) -> Cost | None:
    drawn = {run.drawing: run.event for run in runs if run.drawing is not None}
    return promised([*drawn.values(), *(run.event for run in runs if run.drawing is None)])
