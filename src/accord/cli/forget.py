"""`accord forget`: remove what a run stored, never what it spent."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from accord.cli.completion import complete_run
from accord.cli.options import StateOption
from accord.cli.terminal import say


def forget(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="As `accord ledger` names it.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Also the noise of a snapshot, which is then charged anew.")
    ] = False,
    state: StateOption = None,
) -> None:
    """Remove what a run stored: noise, slots, journal, receipt. Its cost stays in the ledger.

    The run can then no longer be resumed. The noise of a snapshot is that of all its runs: without it the
    next run under the name is drawn and charged anew.
    """
    from accord.errors import UsageError
    from accord.privacy.number import show
    from accord.session.ledger import Ledger
    from accord.session.state import open_state
    from accord.session.store import hold

    opened = open_state(state, os.environ, new=False)
    ledger = Ledger(opened.ledger)
    kept = [entry for entry in ledger.runs() if entry.run == run and entry.stored and entry.snapshot]
    if kept and not force:
        raise UsageError(
            problem=f"The noise of {run} is that of snapshot '{kept[0].snapshot}' of '{kept[0].dataset}'. "
            f"Without it the next link under that name is charged ε = {show(kept[0].event.cost.epsilon)} "
            "again. Add --force to forget it all the same."
        )
    with hold(opened.run(run)):
        others = ledger.forget(run)
        opened.remove_run(run)
    say(f"{run}: forgotten. What it spent stays in the ledger.")
    if others:
        say(f"These runs used the same noise and cannot be resumed any more: {', '.join(others)}.", err=True)
