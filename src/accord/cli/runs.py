"""`accord runs`: the runs that are kept here, and how to go on with those that are not done."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import named_state
from accord.cli.table import print_table
from accord.cli.terminal import plain, say
from accord.wording import counted

if TYPE_CHECKING:
    from accord.state.runs import StoredRun


def runs(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Only this one, in full.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the runs that are kept here.

    With whom, on which data, how far, and whether they are done, waiting, closed or broken (`accord state
    check` says why), or ended for good, and by what; of one run, also what came out.
    """
    from accord.state.folder import open_state
    from accord.state.runs import list_runs, open_run

    state = open_state(named_state(context), os.environ, new=False)
    if run is not None:
        return _show_one(open_run(state, run), as_json)
    found, broken = list_runs(state)
    steps = {run.manifest.run: _steps(run) for run in found}
    for name in broken:
        say(f"accord: the run {name} cannot be read. `accord state check` says why.", err=True)
    if as_json:
        facts = [_facts(run, steps[run.manifest.run]) for run in found]
        typer.echo(json.dumps([*facts, *map(_broken_facts, broken)], indent=2, ensure_ascii=False))
    elif found or broken:
        _print_table(found, steps, broken)
    else:
        say("No run is kept here.")


def _show_one(run: StoredRun, as_json: bool) -> None:
    from accord.run.answered import answer_of, tell_end

    facts, known = _facts(run, _steps(run)), run.manifest
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    say(f"Run          {known.run}, with {known.partner}, begun {known.began[:16].replace('T', ' ')}")
    say(f"Data set     '{known.dataset}', {counted(known.records, 'record')}")
    say(f"State        {_state(run)}")
    if (answer := answer_of(known)) is not None:
        for line in answer.describe():
            say(f"Answer       {line}")
    elif known.done:
        say(f"Matches      {tell_end(known)}")
    if known.request.out:
        say(f"Output       {known.request.out}")
    if known.done:
        say(f"Receipt      {run.receipt}")


def _steps(run: StoredRun) -> int | None:
    """How many steps are kept; None if the journal cannot be read, which is told."""
    from accord.errors import StateError

    try:
        return run.steps()
    except StateError as error:
        say(f"accord: {error} `accord state check` says what else is damaged.", err=True)
        return None


def _facts(run: StoredRun, steps: int | None) -> dict[str, object]:
    known = run.manifest
    return {
        "run": known.run,
        "partner": known.partner,
        "dataset": known.dataset,
        "began": known.began,
        "charged": run.charged,
        "steps": steps,
        "broken": steps is None,
        "resumes": known.resumes,
        "done": known.done,
        "wrong": known.wrong,
        "closed": known.closed,
        "ended": known.ended or None,
        "matches": known.matches,
        "matches_found": known.matches_found,
        "answer": _answer(run),
        "out": known.request.out or None,
        "receipt": str(run.receipt) if known.done else None,
    }


def _answer(run: StoredRun) -> list[dict[str, object]] | None:
    """Each number of the answer, and within how much of the truth it is in 95 of 100 runs."""
    from accord.run.answered import answer_of

    answer = answer_of(run.manifest)
    return None if answer is None else [asdict(cell) for cell in answer.cells]


def _broken_facts(name: str) -> dict[str, object]:
    """Of a run of which nothing can be read but its name."""
    unknown = (
        "partner",
        "dataset",
        "began",
        "charged",
        "steps",
        "resumes",
        "done",
        "wrong",
        "closed",
        "ended",
    )
    more = ("matches", "matches_found", "answer", "out", "receipt")
    return {"run": name, **dict.fromkeys((*unknown, *more)), "broken": True}


def _print_table(found: list[StoredRun], steps: dict[str, int | None], broken: list[str]) -> None:
    names = ("run", "partner", "data set", "began", "steps", "resumed", "state")
    rows = [_row(run, steps[run.manifest.run]) for run in found]
    print_table("Runs", names, [*rows, *([name, *"–––––", "broken"] for name in broken)])
    if any(run.manifest.state == "waits" and steps[run.manifest.run] is not None for run in found):
        say("Continue with `accord resume RUN`, on both sides.", err=True)


def _state(run: StoredRun) -> str:
    """How far it is."""
    known = run.manifest
    words = {
        "most_matches": "ended by most_matches",
        "no_table": "closed: no table held its values",
        "cut": "closed: it was cut where it may not go on",
        "unequal": "closed: the two sides did not compute the same, or one broke off",
    }
    state = words.get(known.state, known.state)
    state += "" if run.charged else ", not charged yet"
    return state


def _row(run: StoredRun, steps: int | None) -> list[str]:
    """With what came out, where that is not in a file of pairs."""
    from accord.run.answered import tell_end

    known = run.manifest
    began, state = known.began[:16].replace("T", " "), _state(run)
    if known.done and (known.matches is None or known.matches_found is not None):
        state += f", {plain(tell_end(known))}"
    if steps is None:
        return [known.run, known.partner, known.dataset, began, "–", str(known.resumes), "broken"]
    return [known.run, known.partner, known.dataset, began, str(steps), str(known.resumes), state]
