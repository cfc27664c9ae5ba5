"""A copy of the state in one file, and the way back.

A copy is a store itself (store.py), 0600, and holds secrets: the key, noise, slots. It is made at one moment,
also while runs go on.

The invariant: a copy is put in place whole or not at all, and takes nothing back that a partner has seen, as
far as that can be known here. What only a partner knows cannot be: it will refuse (witness.py).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from accord.errors import CopyOutputError, DamagedError, StateError, UnreadableError, UsageError
from accord.privacy import events
from accord.privacy.events import NO_COST, describe_cost, is_free
from accord.state.files import make_folder, sync_folder
from accord.state.folder import State
from accord.state.runs import hold
from accord.state.store import Row, Store
from accord.wording import counted


@dataclass(frozen=True)
class Restored:
    """What was put in place."""

    runs: int
    replaced: Path | None
    """Where the file is that was here."""
    forgotten: tuple[Row, ...]
    """Runs that were charged here, and not in the copy."""
    damage: str
    """Why what was here could not be read, so that nobody knows what is forgotten."""


def write_copy(state: State, path: Path, *, force: bool = False) -> tuple[int, int]:
    """Copy the state into a file, whole or not at all; its runs and its bytes."""
    _require_place(state, path, force)
    try:
        # A folder of one's own: SQLite would make its file with the mode that the user's mask allows.
        with TemporaryDirectory(prefix=".accord-copy-", dir=path.parent) as folder:
            made = Store(Path(folder))
            state.store.copy(made.path)
            made.path.chmod(0o600)
            with made.reading() as copy:
                if faults := list(copy.inspect()):
                    mend = "Nothing was copied."
                    raise DamagedError(path=state.store.path, reason="; ".join(faults), mend=mend)
                runs = sum(1 for _ in copy.rows("run", "kept"))
            octets = made.path.stat().st_size
            os.replace(made.path, path)
            sync_folder(path.parent)
            return runs, octets
    except OSError as error:
        raise CopyOutputError(path=path, reason=error.strerror or error) from error


def _require_place(state: State, path: Path, force: bool) -> None:
    if not state.store.path.exists():
        raise UsageError(problem=f"There is nothing to copy in {state.folder}.")
    if path.resolve().is_relative_to(state.folder.resolve()):
        raise UsageError(problem=f"{path} is in the state folder itself. Name a place elsewhere.")
    if path.is_dir():
        raise UsageError(problem=f"{path} is a folder. Name a file in it.")
    if path.exists() and not force:
        raise UsageError(problem=f"{path} already exists. Name another file, or replace it: `force=True`.")


def restore_copy(state: State, path: Path, now: datetime, *, force: bool = False) -> Restored:
    """Put a copy in the place of the state, which stays beside it. With `force` also if it does not know all
    that is here."""
    make_folder(state.folder)
    with TemporaryDirectory(prefix=".restore-", dir=state.folder) as folder, ExitStack() as held:
        copy = _take(path, Store(Path(folder)))
        known = _charged(copy)
        for run in sorted((state.folder / "runs").glob("*")):
            held.enter_context(hold(run))
        here, damage = dict[str, Row](), ""
        if state.store.path.exists():
            try:
                held.enter_context(state.store.writing())
                here = _charged(state.store)
            except DamagedError as error:
                damage = str(error.reason)
        forgotten = tuple(row for name, row in here.items() if name not in known)
        if (forgotten or damage) and not force:
            raise UsageError(problem=_say_forgotten(path, forgotten, damage))
        replaced = _put(copy.path, state.store.path, now)
    return Restored(len(known), replaced, forgotten, damage)


def _take(path: Path, copy: Store) -> Store:
    """The copy, beside the state, as it was made; raises if it is none or damaged."""
    try:
        shutil.copyfile(path, copy.path)
        copy.path.chmod(0o600)
    except OSError as error:
        mend = "Name a file that `accord state backup` wrote."
        raise UnreadableError(path=path, reason=error.strerror, mend=mend) from None
    try:
        if not copy.path.stat().st_size:
            # A store would be made of it.
            raise DamagedError(path=path, reason="it is empty", mend="")
        with copy.reading() as read:
            faults = list(read.inspect())
    except StateError as error:
        faults = [str(error.reason)]
    if faults:
        mend = "Nothing was changed. Take another copy."
        raise DamagedError(path=path, reason="; ".join(faults), mend=mend)
    return copy


def _charged(store: Store) -> dict[str, Row]:
    """All runs that were charged, in their order, by name."""
    with store.reading() as state:
        state.require_whole()
        found = sorted(state.rows("run", "charge IS NOT NULL"), key=lambda run: run["charge"])
    return {run["name"]: run for run in found}


def _put(made: Path, place: Path, now: datetime) -> Path | None:
    """Exchange one file for the other in one step; where the former is now."""
    former = place.with_name(f"{place.name}.{now:%Y%m%dT%H%M%S}")
    while former.exists():
        former = former.with_name(f"{former.name}-")
    try:
        if is_there := place.exists():
            os.link(place, former)
        os.replace(made, place)
        sync_folder(place.parent)
    except OSError as error:
        mend = "Make room there, or see that you may write; nothing was changed."
        raise StateError(path=place, reason=error.strerror, mend=mend) from None
    return former if is_there else None


def list_forgotten(runs: Sequence[Row]) -> list[str]:
    """What partners have seen of runs that a copy does not know."""
    return [f"  {run['name']} with {run['partner']} on '{run['account']}': {_say_cost(run)}" for run in runs]


def _say_cost(run: Row) -> str:
    cost = events.decode(run["event"].encode()).cost if run["paid"] else NO_COST
    return "nothing" if is_free(cost) else describe_cost(cost)


def _say_forgotten(path: Path, runs: Sequence[Row], damage: str) -> str:
    if damage:
        return (
            f"What is here cannot be read ({damage}), so what partners have seen since the copy cannot be "
            "told. Add `force=True` to restore it anyway."
        )
    lines = "\n".join(list_forgotten(runs))
    return (
        f"{path} does not know {counted(len(runs), 'run')} that partners have seen:\n{lines}\nTake a "
        "later copy, or add `force=True`."
    )
