"""`accord ledger`: what was spent, on which data, with whom; and the limits."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import StateOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.privacy.budget import Budget
    from accord.privacy.events import Cost
    from accord.session.accounts import Account
    from accord.session.ledger import Entry, Ledger

app = typer.Typer(help="Show what was spent, and limit it.", invoke_without_command=True)


@app.callback()
def ledger(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    state: StateOption = None,
) -> None:
    """Show what was spent on every data set, and every run."""
    if context.invoked_subcommand is not None:
        context.obj = state
        return
    from accord.session.accounts import accounts

    opened = open_ledger(state)
    runs = opened.runs()
    found = accounts(runs, opened.budgets())
    if as_json:
        body = {"accounts": [_account(a) for a in found], "runs": [_run(r) for r in runs]}
        typer.echo(json.dumps(body, indent=2, ensure_ascii=False))
    elif found:
        _print_tables(found, runs)
    else:
        typer.echo("There is no account yet. `accord ledger budget NAME` makes one.")


@app.command()
def budget(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The data set.", show_default=False)],
    epsilon: Annotated[str | None, typer.Option(help="All releases together: at most this ε.")] = None,
    delta: Annotated[str | None, typer.Option(help="All releases together: at most this δ.")] = None,
    runs: Annotated[int | None, typer.Option(min=0, help="At most this many runs.")] = None,
    unlimited: Annotated[bool, typer.Option("--unlimited", help="No limit on ε and δ.")] = False,
    state: StateOption = None,
) -> None:
    """Make the account of a data set, or change what it may release.

    A new account needs --epsilon and --delta, or --unlimited. Of one that is there, what is not named stays
    as it is; what is spent stays spent.
    """
    from accord.privacy.calibration import warnings
    from accord.session.accounts import set_budget

    where = state or context.obj
    limits = set_budget(name, epsilon=epsilon, delta=delta, runs=runs, unlimited=unlimited, state=where)
    if limits.cost is not None:
        for warning in warnings(limits.cost.epsilon, limits.cost.delta, None):
            typer.echo(f"Warning: {warning}", err=True)
    typer.echo(f"{open_ledger(where).find_account(name)}: {_limits(limits)}")


def open_ledger(state: Path | None) -> Ledger:
    """The ledger in the state folder that was named, or in the usual one."""
    from accord.session.ledger import Ledger
    from accord.session.state import open_state

    return Ledger(open_state(state, os.environ).ledger)


def _print_tables(found: Sequence[Account], runs: Sequence[Entry]) -> None:
    from rich.console import Console
    from rich.table import Table

    from accord.privacy.number import show

    totals = Table("data set", "runs", "spent ε", "spent δ", "limits", "left", title="Accounts")
    seen = Table("data set", "partner", "ε", "δ", title="What each partner was shown")
    for account in found:
        spent, left = account.spent, _pair(account.left, up=False) if account.left else ""
        composed = account.tight is not None and account.tight < 0.999 * float(spent.epsilon)
        tight = f" ({account.tight:.4g} composed)" if composed else ""
        totals.add_row(
            *(account.dataset, str(account.runs), show(spent.epsilon) + tight, show(spent.delta)),
            *(_limits(account.budget), left),
        )
        for partner, cost in account.shown.items():
            seen.add_row(account.dataset, partner, show(cost.epsilon), show(cost.delta))
    head = ("run", "data set", "snapshot", "partner", "agreement", "ε", "δ", "noise", "time")
    rows = Table(*head, title="Runs")
    for run in runs:
        kept = "kept" if run.stored else ("none" if run.drawing is None else "forgotten")
        rows.add_row(
            *(run.run, run.dataset, run.snapshot or "", run.partner, run.agreement.hex()[:12]),
            *(show(run.cost.epsilon), show(run.cost.delta), kept, run.at.isoformat()),
        )
    console = Console(highlight=False, markup=False, soft_wrap=False)
    for table in (totals, seen, rows):
        if table.row_count:
            console.print(table)


def _limits(budget: Budget) -> str:
    parts = [_pair(budget.cost)] if budget.cost else []
    parts += [f"{budget.runs} runs"] if budget.runs is not None else []
    return "; ".join(parts) or "unlimited"


def _pair(cost: Cost, up: bool = True) -> str:
    from accord.privacy.number import show

    return f"ε = {show(cost.epsilon, up)}, δ = {show(cost.delta, up)}"


def _cost(cost: Cost | None, up: bool = True) -> dict[str, float] | None:
    from accord.privacy.number import round_off

    if cost is None:
        return None
    return {"epsilon": float(round_off(cost.epsilon, up)), "delta": float(round_off(cost.delta, up))}


def _account(account: Account) -> dict[str, object]:
    return {
        "dataset": account.dataset,
        "runs": account.runs,
        "spent": _cost(account.spent),
        "spent_epsilon_composed": account.tight,
        "budget": _cost(account.budget.cost),
        "budget_runs": account.budget.runs,
        "left": _cost(account.left, up=False),
        "partners": {partner: _cost(cost) for partner, cost in account.shown.items()},
    }


def _run(run: Entry) -> dict[str, object]:
    return {
        "run": run.run,
        "dataset": run.dataset,
        "snapshot": run.snapshot,
        "partner": run.partner,
        "agreement": run.agreement.hex(),
        # Which runs share a release.
        "release": run.drawing,
        "cost": _cost(run.cost),
        "noise_stored": run.stored,
        "time": run.at.isoformat(),
    }
