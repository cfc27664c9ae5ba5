"""Which account `accord link` charges; a person at a terminal may make it there and then."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from accord.cli.ledger import open_ledger
from accord.cli.terminal import say
from accord.cli.words import as_options

_UNLIMITED = "unlimited"


def choose_account(name: str | None, state: Path | None, asking: bool) -> str:
    """The account of that name, or the only one. One that is missing is made if a person says so."""
    from accord.errors import AccountError

    ledger = open_ledger(state)
    try:
        return ledger.find_account(name)
    except AccountError as error:
        missing = name or (None if ledger.budgets() else "")
        if missing is None or not asking or not sys.stdin.isatty():
            raise
        say(as_options(error), err=True)
        try:
            return _make(missing, state)
        except typer.Abort:
            raise KeyboardInterrupt from None


def _make(name: str, state: Path | None) -> str:
    """Ask for the limits, and make the account."""
    from accord.errors import DeclinedError
    from accord.state.accounts import set_budget

    if not name:
        name = typer.prompt("A name for the account of this table", err=True)
    if not typer.confirm(f"Make the account '{name}' now?", err=True):
        raise DeclinedError
    epsilon = typer.prompt(f"All its releases together: at most this ε, or '{_UNLIMITED}'", err=True)
    if epsilon.strip().lower() == _UNLIMITED:
        set_budget(name, unlimited=True, state=state)
    else:
        delta = typer.prompt("… and at most this δ", default="2^-30", err=True)
        set_budget(name, epsilon=epsilon, delta=delta, state=state)
    return open_ledger(state).find_account(name)
