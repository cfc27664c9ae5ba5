"""The names that a shell completes: partners, runs and accounts.

They come from the state folder, which is neither made nor changed here, and without whatever is slow to
import. What cannot be read has no names: somebody who types a command is shown no error halfway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from accord.errors import AccordError
from accord.state.folder import State, state_folder
from accord.state.register import KnownRun, Register

_BASH = ("_ACCORD_COMPLETE", "complete_bash")
"""How the script that bash has been given asks; bash takes an answer as it would be typed."""
_UNSAFE = re.compile(r"[^\w@%+=:,./-]")


def complete_partner(context: typer.Context) -> list[str]:
    """The partners whose cards are known."""
    return _typed(_partners(context))


def complete_run(context: typer.Context) -> list[str]:
    """The runs that are kept."""
    return _typed(run.name for run in _runs(context))


def complete_waiting_run(context: typer.Context) -> list[str]:
    """The runs that are not done."""
    return _typed(run.name for run in _runs(context) if not run.done)


def complete_finished_run(context: typer.Context) -> list[str]:
    """The runs that have a receipt."""
    return _typed(run.name for run in _runs(context) if run.done)


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
    except (AccordError, OSError, RuntimeError, ValueError):
        return []
    if os.environ.get(_BASH[0]) == _BASH[1]:
        return [_UNSAFE.sub(r"\\\g<0>", name) for name in found]
    return found


def _partners(context: typer.Context) -> Iterator[str]:
    yield from _known(context).partners


def _runs(context: typer.Context) -> Iterator[KnownRun]:
    yield from (run for run in _known(context).runs.values() if run.kept)


def _accounts(context: typer.Context) -> Iterator[str]:
    yield from (account.name for account in _known(context).accounts.values())


def _known(context: typer.Context) -> Register:
    database = _state(context).database
    if not database.path.exists():
        return Register()
    with database.reading() as state:
        return state.register
