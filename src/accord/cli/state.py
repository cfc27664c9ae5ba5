"""`accord state`: is all of it as it was written; a copy of it; the way back."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.options import Json, example, named_state
from accord.cli.terminal import say
from accord.wording import counted, sized

app = typer.Typer(
    help="Check, copy or restore the state folder.",
    epilog=example("accord state check"),
    no_args_is_help=True,
)


@app.command(epilog=example("accord state check"))
def check(context: typer.Context, as_json: Json = False) -> None:
    """Read everything in the folder, and say what is damaged.

    Every row with its checksum, your identity, the cards of your partners, and the signatures of receipts.
    Ends with exit code 16 if anything is damaged.
    """
    from accord.run.inspection import inspect_state
    from accord.state.folder import open_state

    found = inspect_state(open_state(named_state(context), os.environ, new=False))
    if as_json:
        typer.echo(json.dumps({**asdict(found), "sound": not found.damages}, indent=2, ensure_ascii=False))
    else:
        for damage in found.damages:
            say(damage)
        read = f"{counted(found.runs, 'run')}, {sized(found.bytes)} read"
        say(f"{read}: {'damaged' if found.damages else 'everything is as it was written'}.")
    if found.damages:
        say("Leave the folder as it is: `accord state restore FILE` puts a copy in its place.", err=True)
        raise typer.Exit(16)


@app.command(epilog=example("accord state backup /mnt/safe/accord.sqlite"))
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Copy the state into one file, also while runs go on.

    The file holds your key and all noise, and is as private as the folder: readable by you alone.
    """
    from accord.state.copies import write_copy
    from accord.state.folder import open_state

    opened = open_state(named_state(context), os.environ, new=False)
    runs, octets = write_copy(opened, file, force=force)
    say(f"{file}: {counted(runs, 'run')}, {sized(octets)}.")
    say("It holds secrets, your key and all noise: keep it as safe as the folder itself.", err=True)


@app.command(epilog=example("accord state restore /mnt/safe/accord.sqlite"))
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
    """Put a copy in the place of the state.

    The file that was there is kept beside it. Refused while a run is under way, and where the copy does not
    know all that is here: what partners have seen stays seen.
    """
    from accord.state.copies import list_forgotten, restore_copy
    from accord.state.folder import open_state

    opened = open_state(named_state(context), os.environ)
    made = restore_copy(opened, file, datetime.now(UTC), force=force)
    say(f"{opened.folder}: restored, {counted(made.runs, 'run')}.")
    if made.replaced is not None:
        say(f"What was there is now {made.replaced}. It holds secrets, too.", err=True)
    if made.damage:
        say(f"What was here could not be read: {made.damage}.", err=True)
    if made.forgotten:
        say("Forgotten, though partners have seen it:", err=True)
        say("\n".join(list_forgotten(made.forgotten)), err=True)
        say("Count these costs by hand: lower the limits with `accord ledger budget`.", err=True)
