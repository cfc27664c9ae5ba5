"""`accord ledger`: what was spent, on which data, with whom; and the limits."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import example, named_state
from accord.cli.table import print_table
from accord.cli.terminal import say
from accord.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.privacy.budget import Budget
    from accord.privacy.events import Cost
    from accord.state.accounts import Account, Runs
    from accord.state.ledger import Entry, Ledger

_SHOWN = 50
_MARK = " *"
"""Of a promise with a condition."""

app = typer.Typer(
    help="Show what was spent, and limit it.",
    epilog=example("accord ledger"),
    invoke_without_command=True,
)


@app.callback()
def ledger(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what was spent on every data set, and every run."""
    if context.invoked_subcommand is not None:
        return
    from accord.state.accounts import accounts

    opened = open_ledger(named_state(context), new=False)
    runs = opened.runs()
    found = accounts(runs, opened.budgets())
    if as_json:
        body = {"accounts": [_account(a) for a in found], "runs": [_run(r) for r in runs]}
        typer.echo(json.dumps(body, indent=2, ensure_ascii=False))
    elif found:
        _print_tables(found, runs)
    else:
        say("There is no account yet. `accord ledger budget NAME` creates one.")


@app.command(epilog=example("accord ledger budget patients --epsilon 5 --delta 2^-30"))
def budget(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The data set.", show_default=False),
    ],
    epsilon: Annotated[
        str | None, typer.Option(help="All releases together: at most this ε; or 'unlimited'.")
    ] = None,
    delta: Annotated[str | None, typer.Option(help="All releases together: at most this δ.")] = None,
    runs: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="At most this many runs; or 'unlimited'.")
    ] = None,
) -> None:
    """Create an account, or change what it may release.

    A new account needs --epsilon and --delta, or --epsilon unlimited. For an existing one, what is not named
    stays as it is; what is spent stays spent.
    """
    from accord.privacy.calibration import warnings
    from accord.state.accounts import set_budget

    where, most = named_state(context), _read_runs(runs)
    unlimited = epsilon == "unlimited"
    limits = set_budget(
        name.strip(),
        epsilon=None if unlimited else epsilon,
        delta=delta,
        runs=most,
        unlimited=unlimited,
        state=where,
    )
    if limits.cost is not None:
        for warning in warnings(limits.cost.epsilon, limits.cost.delta, None):
            say(f"Warning: {warning}", err=True)
    _warn_of_spent(open_ledger(where), name)
    say(f"{open_ledger(where).find_account(name)}: {_limits(limits)}")


@app.command(epilog=example("accord ledger remove patiens"))
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The data set.", show_default=False)],
) -> None:
    """Remove an account that was created by mistake.

    It must be one to which no run was ever charged.
    """
    removed = open_ledger(named_state(context), new=False).remove_account(name.strip())
    say(f"{removed}: removed.")


def _read_runs(given: str | None) -> Runs:
    if given is None or given == "unlimited":
        return given  # type: ignore[return-value]
    try:
        return int(given)
    except ValueError:
        return -1


def _warn_of_spent(ledger: Ledger, name: str) -> None:
    """Say so if no further release fits under the new limits."""
    from accord.state.accounts import account

    found = account(ledger.find_account(name), ledger.runs(), ledger.budgets())
    limit, spent = found.budget.cost, found.spent
    if limit and spent and (spent.epsilon > limit.epsilon or spent.delta > limit.delta):
        say(
            f"Warning: more than that is spent already ({spent.describe()}): only snapshots that were paid "
            "for can be linked again.",
            err=True,
        )


def open_ledger(state: Path | None, *, new: bool = True) -> Ledger:
    """The ledger in the state folder that was named, or in the usual one; made if it may be new."""
    from accord.state.folder import open_state
    from accord.state.ledger import Ledger

    return Ledger(open_state(state, os.environ, new=new).store)


def _print_tables(found: Sequence[Account], runs: Sequence[Entry]) -> None:
    seen = [
        (account.dataset, partner, *_columns(cost))
        for account in found
        for partner, cost in account.shown.items()
    ]
    totals = ("data set", "runs", "spent ε", "spent δ", "protects", "limits", "left")
    print_table("Accounts", totals, [_total_row(account) for account in found])
    if seen:
        print_table("\nWhat each partner was shown", ("data set", "partner", "ε", "δ"), seen)
    if runs:
        names = ("run", "data set", "snapshot", "partner", "ε", "δ", "not covered", "noise", "time")
        print_table("\nRuns", names, [_run_row(run) for run in runs[-_SHOWN:]])
        if len(runs) > _SHOWN:
            say(f"The last {_SHOWN} of {len(runs):,}; `accord ledger --json` has all.", err=True)
    for account in found:
        if account.spent is not None and account.spent.unless:
            say(f"\n* '{account.dataset}': unless, in one of the runs, {account.spent.unless}.")


def _columns(cost: Cost | None, tight: str = "") -> tuple[str, str]:
    """ε and δ, with a mark where they have a condition."""
    from accord.privacy.number import show

    if cost is None:
        return "none", "none"
    return f"{show(cost.epsilon)}{tight}{_MARK * bool(cost.unless)}", show(cost.delta)


def _total_row(account: Account) -> list[str]:
    spent = account.spent
    composed = account.tight is not None and spent and account.tight < 0.999 * float(spent.epsilon)
    tight = f" ({account.tight:.4g} composed)" if composed else ""
    return [
        *(account.dataset, str(account.runs), *_columns(spent, tight)),
        *(_covers(account.covers), _limits(account.budget), _left(account)),
    ]


def _run_row(run: Entry) -> list[str]:
    kept = "kept" if run.stored else ("none" if run.drawing is None else "forgotten")
    return [
        *(run.run, run.dataset, run.snapshot or "", run.partner, *_columns(run.cost)),
        *(f"{run.uncovered:,}" if run.uncovered else "", kept, f"{run.at:%Y-%m-%d %H:%M}"),
    ]


def _covers(records: int | None) -> str:
    """For whom the sums hold."""
    if records is None:
        return ""
    return "a record" if records == 1 else f"a person, {records} records"


def _limits(budget: Budget) -> str:
    if budget.runs is None:
        return budget.cost.describe(up=False) if budget.cost else "unlimited"
    limits = budget.cost.describe(up=False) if budget.cost else "ε and δ unlimited"
    return f"{limits}; {counted(budget.runs, 'run')}"


def _left(account: Account) -> str:
    parts = [account.left.describe(up=False)] if account.left else []
    if account.runs_left is not None:
        parts.append(counted(account.runs_left, "run"))
    return "; ".join(parts)


def _limit(cost: Cost | None) -> dict[str, float] | None:
    from accord.privacy.number import round_off

    if cost is None:
        return None
    return {
        "epsilon": float(round_off(cost.epsilon, up=False)),
        "delta": float(round_off(cost.delta, up=False)),
    }


def _promise(cost: Cost | None) -> dict[str, float | str] | None:
    """With its condition; None where nothing is promised."""
    from accord.privacy.number import round_off

    if cost is None:
        return None
    epsilon, delta = (float(round_off(number)) for number in (cost.epsilon, cost.delta))
    return {"epsilon": epsilon, "delta": delta, "unless": cost.unless}


def _account(account: Account) -> dict[str, object]:
    return {
        "dataset": account.dataset,
        "runs": account.runs,
        "spent": _promise(account.spent),
        # No ε is proved at the budget's δ where more δ than that was spent.
        "spent_epsilon_composed": None if account.tight == math.inf else account.tight,
        "records_per_person": account.covers,
        "budget": _limit(account.budget.cost),
        "budget_runs": account.budget.runs,
        "left": _limit(account.left),
        "partners": {partner: _promise(cost) for partner, cost in account.shown.items()},
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
        "cost": _promise(run.cost),
        "uncovered": run.uncovered,
        "noise_stored": run.stored,
        "time": run.at.isoformat(),
    }
