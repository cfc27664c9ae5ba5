"""`accord forget`: remove what a run stored, never what it spent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import named_state
from accord.cli.terminal import say

if TYPE_CHECKING:
    from accord.state.folder import State
    from accord.state.ledger import Entry


def forget(
    context: typer.Context,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="As `accord ledger` names it.",
            show_default=False,
        ),
    ],
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also forget what was charged and would be again, and what is damaged.",
        ),
    ] = False,
) -> None:
    """Remove what a run stored: noise, slots, journal, receipt. Its cost stays in the ledger.

    The run can then no longer be resumed. The noise of a snapshot is that of all its runs: without it the
    next run under the name is drawn and charged anew.
    """
    from accord.errors import UsageError
    from accord.state.folder import open_state
    from accord.state.ledger import Ledger
    from accord.state.runs import hold

    opened = open_state(named_state(context), os.environ, new=False)
    ledger = Ledger(opened.store)
    if not force:
        for entry in ledger.runs():
            if entry.run == run and entry.kept and (lost := _lost(entry)):
                raise UsageError(problem=f"{lost} Add --force to forget it anyway.")
        _require_readable(opened, run)
    with hold(opened.run(run)):
        others = ledger.forget(run)
        opened.remove_run(run)
    say(f"{run}: forgotten. What it spent stays in the ledger.")
    if others:
        say(f"These runs used the same noise and cannot be resumed any more: {', '.join(others)}.", err=True)


def _lost(entry: Entry) -> str:
    """What is lost with a run that was charged; empty if nothing is."""
    from accord.privacy.events import NO_COST, is_free
    from accord.privacy.number import show

    again = f"charged ε = {show((entry.event.cost or NO_COST).epsilon)} again"
    if entry.stored and entry.snapshot:
        return (
            f"The noise of {entry.run} is that of snapshot '{entry.snapshot}' of '{entry.dataset}'. Without "
            f"it the next link under that name is {again}."
        )
    if not is_free(entry.cost):
        return f"{entry.run} was charged. Without it, it cannot be resumed, and a new run is {again}."
    return ""


def _require_readable(state: State, run: str) -> None:
    """Raise while a run is damaged: a copy may have what is missing, and only this one is in its ledger."""
    from accord.errors import StateError, UsageError
    from accord.state.runs import open_run

    with state.store.reading() as read:
        begun = read.has("part", "owner = ? AND name = ?", run, "agreement")
    try:
        if begun:
            open_run(state, run)
    except StateError as error:
        raise UsageError(
            problem=f"{run} cannot be read: {error.reason}. `accord state check` says what is damaged, and "
            "`accord state restore` may mend it from a copy; not once it is forgotten. Add --force to forget "
            "it anyway."
        ) from None
