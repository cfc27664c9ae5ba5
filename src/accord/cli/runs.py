"""`accord runs`: the runs that are kept here, and how to go on with those that are not done."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import StateOption

if TYPE_CHECKING:
    from accord.session.store import RunFolder


def runs(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
    state: StateOption = None,
) -> None:
    """List the runs: with whom, on which data, how far, done or how to go on."""
    from accord.session.state import open_state
    from accord.session.store import list_runs

    found, broken = list_runs(open_state(state, os.environ))
    steps = {run.manifest.run: _steps(run) for run in found}
    for name in broken:
        typer.echo(f"accord: the run {name} cannot be read. `accord forget {name}` removes it.", err=True)
    if as_json:
        typer.echo(
            json.dumps([_facts(run, steps[run.manifest.run]) for run in found], indent=2, ensure_ascii=False)
        )
    elif found:
        _print_table(found, steps)
    else:
        typer.echo("No run is kept here.")


def _steps(run: RunFolder) -> int | None:
    """How many steps are kept; None if the journal cannot be read, which is told."""
    from accord.errors import StateError

    try:
        return run.steps()
    except StateError as error:
        typer.echo(f"accord: {error} `accord forget {run.manifest.run}` removes the run.", err=True)
        return None


def _facts(run: RunFolder, steps: int | None) -> dict[str, object]:
    known = run.manifest
    return {
        "run": known.run,
        "partner": known.partner,
        "dataset": known.dataset,
        "began": known.began,
        "steps": steps,
        "broken": steps is None,
        "resumes": known.resumes,
        "done": known.done,
        "wrong": known.wrong,
        "closed": known.closed,
        "out": known.out or None,
        "receipt": str(run.receipt) if known.done else None,
    }


def _print_table(found: list[RunFolder], steps: dict[str, int | None]) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    names = ("partner", "data set", "began", "steps", "resumed")
    table = Table(Column("run", no_wrap=True), *names, Column("state", min_width=len("closed")))
    for run in found:
        known = run.manifest
        began = known.began[:16].replace("T", " ")
        count = steps[known.run]
        state = "done" if known.done else "closed" if known.closed else "waits"
        state = "broken" if count is None else state
        shown = "–" if count is None else str(count)
        table.add_row(known.run, known.partner, known.dataset, began, shown, str(known.resumes), state)
    Console(highlight=False, markup=False, soft_wrap=False).print(table)
    ended = [run.manifest.done or run.manifest.closed for run in found]
    if not all(end or steps[run.manifest.run] is None for end, run in zip(ended, found, strict=True)):
        typer.echo("Go on with `accord resume RUN`, on both sides.")
