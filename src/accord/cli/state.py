"""`accord state`: is all of it as it was written; a copy of it; the way back."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import Json, example, named_state
from accord.cli.terminal import progress, say
from accord.wording import counted, sized

if TYPE_CHECKING:
    from accord.state.inspection import Inspection
    from accord.state.restore import Restored

app = typer.Typer(
    help="Check, copy or restore the state folder.",
    epilog=example("accord state check"),
    no_args_is_help=True,
)


@app.command(epilog=example("accord state check"))
def check(context: typer.Context, as_json: Json = False) -> None:
    """Read everything in the folder, and say what is damaged.

    Every entry of the log, every content, journal and receipt, your identity and the cards of your
    partners. Ends with exit code 16 if anything is damaged. What a killed process left is removed.
    """
    from accord.run.inspection import inspect_state
    from accord.state.folder import open_state

    opened = open_state(named_state(context), os.environ, new=False)
    with progress("Reading the state folder") as advance:
        found = inspect_state(opened, advance)
    for damage in found.damages if not as_json else ():
        say(str(damage))
    if as_json:
        typer.echo(json.dumps(_facts(found), indent=2, ensure_ascii=False))
    else:
        _say_removed(found.removed)
        say(_summary(found))
    if found.damages:
        say("Leave the folder as it is: `accord state restore FILE` puts a copy in its place.", err=True)
        raise typer.Exit(16)


def _summary(found: Inspection) -> str:
    read = ", ".join(
        [
            counted(found.entries, "entry", "entries"),
            counted(len(found.kept), "run"),
            counted(found.contents, "content"),
            f"{sized(found.read)} read",
        ]
    )
    if not found.damages:
        return f"{read}: everything is as it was written."
    count = len(found.damages)
    return f"{read}: {counted(count, 'thing is', 'things are')} damaged."


def _say_removed(removed: list[str]) -> None:
    for name in removed:
        say(f"Removed {name}: nothing names it; a process was killed before it did.", err=True)


def _facts(found: Inspection) -> dict[str, object]:
    return {
        "entries": found.entries,
        "runs": len(found.kept),
        "contents": found.contents,
        "bytes": found.read,
        "sound": not found.damages,
        "damages": [
            {"place": one.place, "problem": one.problem, "meaning": one.meaning, "run": one.run}
            for one in found.damages
        ],
        "removed": found.removed,
    }


@app.command(epilog=example("accord state backup /mnt/safe/accord.tar"))
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Copy the folder into one file, also while runs go on.

    The file holds your key and all noise, and is as private as the folder: readable by you alone.
    """
    from accord.state.backup import write_copy
    from accord.state.folder import open_state

    opened = open_state(named_state(context), os.environ, new=False)
    with progress("Copying the state folder") as advance:
        made = write_copy(opened, file, datetime.now(UTC), force=force, advance=advance)
    counts = f"{counted(made.entries, 'entry', 'entries')}, {counted(made.runs, 'run')}, {sized(made.octets)}"
    say(f"{file}: {counts}.")
    say("It holds secrets, your key and all noise: keep it as safe as the folder itself.", err=True)
    for fault in made.faults:
        say(f"Damaged here, and so in the copy: {fault}.", err=True)
    if made.faults:
        raise typer.Exit(16)


@app.command(epilog=example("accord state restore /mnt/safe/accord.tar"))
def restore(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What `accord state backup` wrote.", show_default=False)
    ],
    force: Annotated[
        bool,
        typer.Option("--force", help="Also where runs would be forgotten that partners have seen."),
    ] = False,
) -> None:
    """Put a copy in the place of the folder.

    The folder that was there is kept beside it. Refused while a run is under way, and where the copy does
    not know all that is here: what partners have seen stays seen.
    """
    from accord.state.folder import open_state, state_folder
    from accord.state.restore import restore_copy

    folder = state_folder(named_state(context), os.environ)
    if folder.exists():
        open_state(folder, os.environ)
    with progress("Restoring the state folder") as advance:
        made = restore_copy(folder, file, datetime.now(UTC), force=force, advance=advance)
    counts = f"{counted(made.entries, 'entry', 'entries')}, {counted(made.runs, 'run')}"
    say(f"{folder}: restored as it was at {made.made}: {counts}.")
    _say_restored(made)


def _say_restored(made: Restored) -> None:
    from accord.state.restore import list_forgotten

    if made.replaced is not None:
        say(f"The folder that was there is now {made.replaced}. It holds secrets, too.", err=True)
    for run in made.gone_on:
        say(f"The journal of the run {run} was further here than in the copy, and was kept.", err=True)
    for fault in made.faults:
        say(f"Damaged in the copy already: {fault}", err=True)
    if made.forgotten.damage:
        say(f"What was here could not be read to its end: {made.forgotten.damage}.", err=True)
    if made.forgotten:
        lines = "\n".join(list_forgotten(made.forgotten))
        say(f"Forgotten, though partners have seen it:\n{lines}", err=True)
        say("Count these costs by hand: lower the limits with `accord ledger budget`.", err=True)
    say(
        "Runs since the copy that only a partner knows of cannot be seen here. Ask your partners for the "
        "receipts of all runs since then, and compare them with `accord ledger`.",
        err=True,
    )
