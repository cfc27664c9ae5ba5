"""The names that a shell completes: partners, runs and accounts.

They come from the state folder, which is neither made nor changed here, and without whatever is slow to
import. What cannot be read has no names: somebody who types a command is shown no error halfway.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import typer

from accord.errors import AccordError
from accord.state.folder import State, state_folder

_BASH = ("_ACCORD_COMPLETE", "complete_bash")
"""How the script that bash has been given asks; bash takes an answer as it would be typed."""
_LONGEST = 1_000
_UNSAFE = re.compile(r"[^\w@%+=:,./-]")


def complete_partner(context: typer.Context) -> list[str]:
    """The partners whose cards are known."""
    return _typed(_partners(context))


def complete_run(context: typer.Context) -> list[str]:
    """The runs that are kept."""
    return _typed(run for run, _ in _runs(context))


def complete_waiting_run(context: typer.Context) -> list[str]:
    """The runs that are not done."""
    return _typed(run for run, manifest in _runs(context) if not manifest.get("done"))


def complete_finished_run(context: typer.Context) -> list[str]:
    """The runs that have a receipt."""
    return _typed(run for run, manifest in _runs(context) if manifest.get("done"))


def complete_account(context: typer.Context) -> list[str]:
    """The accounts in the ledger."""
    return _typed(_accounts(context))


def _state(context: typer.Context) -> State:
    """The state folder that is named on the line so far, also before a subcommand, or the usual one."""
    named = context.params.get("state")
    while named is None and context.parent is not None:
        context = context.parent  # type: ignore[assignment]
        named = context.params.get("state")
    return State(state_folder(Path(named) if named else None, os.environ))


def _typed(names: Iterable[str]) -> list[str]:
    """The names as the shell wants them; none if they cannot be read."""
    try:
        found = sorted(name for name in names if name.isprintable())
    except (AccordError, OSError, RuntimeError, ValueError, sqlite3.Error):
        return []
    if os.environ.get(_BASH[0]) == _BASH[1]:
        return [_UNSAFE.sub(r"\\\g<0>", name) for name in found]
    return found


def _partners(context: typer.Context) -> Iterator[str]:
    from accord.peer.partners import read_name

    for path in _state(context).partners.glob("*.pem"):
        with path.open("rb") as file:
            yield read_name(file.readline(_LONGEST).rstrip(b"\n"), path)


def _runs(context: typer.Context) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in _state(context).folder.glob("runs/*/run.json"):
        manifest = json.loads(path.read_bytes())
        yield path.parent.name, manifest if isinstance(manifest, dict) else {}


def _accounts(context: typer.Context) -> Iterator[str]:
    ledger = _state(context).ledger.absolute()
    # To read only: no file is made, and no lock is waited for.
    address = f"{ledger.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=0)) as db:
        yield from (str(name) for (name,) in db.execute("SELECT name FROM accounts"))
