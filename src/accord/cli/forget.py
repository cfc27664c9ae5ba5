"""`accord forget`: remove what a run stored, never what it spent."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.completion import complete_run
from accord.cli.options import named_state
from accord.cli.terminal import say

if TYPE_CHECKING:
    from accord.state.folder import State


def forget(
    context: typer.Context,
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
        bool,
        typer.Option(
            "--force",
            help="Also forget the noise of a snapshot, which is then charged again, a run of a series, "
            "which then cannot continue, and what a replay needs.",
        ),
    ] = False,
) -> None:
    """Remove what a run stored: noise, slots, journal, receipt. Its cost stays in the ledger.

    The run can then no longer be resumed, nor replayed if it is accountable. The noise of a snapshot is that
    of all its runs: without it the next run under the name is drawn and charged anew.
    """
    from accord.errors import UsageError
    from accord.privacy.number import show
    from accord.state.folder import open_state
    from accord.state.ledger import Ledger
    from accord.state.runs import hold

    opened = open_state(named_state(context), os.environ, new=False)
    ledger = Ledger(opened.ledger)
    kept = [entry for entry in ledger.runs() if entry.run == run and entry.stored and entry.snapshot]
    if kept and not force:
        raise UsageError(
            problem=f"The noise of {run} is that of snapshot '{kept[0].snapshot}' of '{kept[0].dataset}'. "
            f"Without it the next link under that name is charged ε = {show(kept[0].event.cost.epsilon)} "
            "again. Add --force to forget it anyway."
        )
    series = [entry for entry in ledger.runs() if entry.run == run and entry.stored and entry.series]
    if series and not force:
        raise UsageError(
            problem=f"{run} is a run of the series '{series[0].series}' of '{series[0].dataset}'. Without it "
            "the series cannot go on, and a new one is charged ε = "
            f"{show(series[0].event.cost.epsilon)} again. Add --force to forget it anyway."
        )
    if not force:
        _require_past(opened, run)
    with hold(opened.run(run)):
        others = ledger.forget(run)
        opened.remove_run(run)
    say(f"{run}: forgotten. What it spent stays in the ledger.")
    if others:
        say(f"These runs used the same noise and cannot be resumed any more: {', '.join(others)}.", err=True)


def _require_past(state: State, run: str) -> None:
    """Raise while the agreement of an accountable run has its owner keep it."""
    from accord.agreement.file import parse_agreement
    from accord.errors import AccordError, UsageError
    from accord.state.runs import open_run

    try:
        known = open_run(state, run).manifest
        agreement = parse_agreement(known.agreement, "The agreement of the run")
    except AccordError:
        # What cannot be read cannot be replayed either.
        return
    until = datetime.fromisoformat(known.began) + timedelta(days=agreement.keep_days)
    if agreement.accountable and datetime.now(UTC) < until:
        raise UsageError(
            problem=f"{run} is accountable: by the agreement you can be asked to replay it until "
            f"{until:%Y-%m-%d}, and whoever cannot is in breach of it. Add --force to forget it anyway."
        )
