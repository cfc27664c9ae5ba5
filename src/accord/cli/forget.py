"""`accord forget`: remove what a run stored, never what it spent."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from accord.cli.options import StateOption


def forget(
    run: Annotated[str, typer.Argument(help="The run, as `accord ledger` names it.", show_default=False)],
    state: StateOption = None,
) -> None:
    """Remove what a run stored: noise, slots, journal, receipt. Its cost stays in the ledger.

    The run can then no longer be resumed, and the same release is drawn and charged anew.
    """
    from accord.session.ledger import Ledger
    from accord.session.state import open_state
    from accord.session.store import hold

    opened = open_state(state, os.environ)
    with hold(opened.run(run)):
        others = Ledger(opened.ledger).forget(run)
        opened.remove_run(run)
    typer.echo(f"{run}: forgotten. What it spent stays in the ledger.")
    if others:
        typer.echo(
            f"These runs used the same noise and cannot be resumed either: {', '.join(others)}.", err=True
        )
