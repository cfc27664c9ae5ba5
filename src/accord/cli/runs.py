"""`accord runs`: the runs that are kept here, and how to go on with those that are not done."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import named_state
from accord.cli.table import print_table
from accord.cli.terminal import say
from accord.wording import tell_kept

if TYPE_CHECKING:
    from accord.state.runs import RunFolder


def runs(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the runs that are kept here.

    With whom, on which data, how far, and whether they are done.
    """
    from accord.state.folder import open_state
    from accord.state.runs import list_runs

    found, broken = list_runs(open_state(named_state(context), os.environ, new=False))
    steps = {run.manifest.run: _steps(run) for run in found}
    for name in broken:
        say(f"accord: the run {name} cannot be read. `accord forget {name}` removes it.", err=True)
    if as_json:
        typer.echo(
            json.dumps([_facts(run, steps[run.manifest.run]) for run in found], indent=2, ensure_ascii=False)
        )
    elif found:
        _print_table(found, steps)
    else:
        say("No run is kept here.")


def _steps(run: RunFolder) -> int | None:
    """How many steps are kept; None if the journal cannot be read, which is told."""
    from accord.errors import StateError

    try:
        return run.steps()
    except StateError as error:
        say(f"accord: {error} `accord forget {run.manifest.run}` removes the run.", err=True)
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
        "ended": known.ended or None,
        "matches": known.matches,
        "matches_found": known.matches_found,
        "series": known.series or None,
        "series_run": known.series_run or None,
        "out": known.request.out or None,
        "receipt": str(run.receipt) if known.done else None,
    }


def _print_table(found: list[RunFolder], steps: dict[str, int | None]) -> None:
    names = ("run", "partner", "data set", "began", "steps", "resumed", "state")
    print_table("Runs", names, [_row(run, steps[run.manifest.run]) for run in found])
    if any(run.manifest.state == "waits" and steps[run.manifest.run] is not None for run in found):
        say("Continue with `accord resume RUN`, on both sides.", err=True)


def _row(run: RunFolder, steps: int | None) -> list[str]:
    known = run.manifest
    began = known.began[:16].replace("T", " ")
    state = "ended by most_matches" if known.state == "most_matches" else str(known.state)
    if known.matches is not None and known.matches_found is not None:
        state += f", {tell_kept(known.matches, known.matches_found)}"
    if known.series:
        state += f"; run {known.series_run:,} of the series '{known.series}'"
    if steps is None:
        return [known.run, known.partner, known.dataset, began, "–", str(known.resumes), "broken"]
    return [known.run, known.partner, known.dataset, began, str(steps), str(known.resumes), state]
