"""The state folder: where one installation keeps its identity, its ledger and its runs.

    <folder>/state.sqlite     0600   everything that lasts                                 (store.py)
    <folder>/runs/<run>/      0700   the lock of a run, and its receipt to be handed on    (runs.py)

The folder is named by the caller or is `accord` in the user's XDG state folder. Whoever reads it can take the
noise off what the partner saw, so nothing in it is open to others.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from accord.errors import StateError, UsageError
from accord.state.files import make_folder
from accord.state.store import Store

_PROBE = 1 << 18
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class State:
    """A state folder."""

    folder: Path

    @cached_property
    def store(self) -> Store:
        """Everything that lasts."""
        return Store(self.folder)

    def require_writable(self) -> None:
        """Raise if nothing can be written here: tried, since rights alone do not tell.

        As much as the database needs for a small run, with the journal of its transaction; in a file without
        a name, of which a kill leaves nothing.
        """
        try:
            with tempfile.TemporaryFile(dir=self.folder) as probe:
                probe.write(b"\0" * _PROBE)
                probe.flush()
                os.fsync(probe.fileno())
        except OSError as error:
            mend = "Make room there, or see that you may write; nothing in it is lost."
            raise StateError(path=self.folder, reason=error.strerror, mend=mend) from None

    def require_whole(self) -> None:
        """Raise if a row is missing, or is an older one."""
        with self.store.reading() as state:
            state.require_whole()

    def run(self, run: str) -> Path:
        """The folder of a run; it need not exist."""
        return self.folder / "runs" / require_run_name(run)

    def create_run(self, run: str) -> Path:
        """The folder of a run, made if it is missing."""
        folder = self.run(run)
        make_folder(self.folder)
        make_folder(folder.parent)
        make_folder(folder)
        return folder

    def remove_run(self, run: str) -> bool:
        """Remove what a run kept; whether there was anything."""
        folder = self.run(run)
        if not folder.exists():
            return False
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise StateError(path=folder, reason=error.strerror, mend="Remove it by hand.") from None
        return True


def open_state(folder: Path | None, environment: Mapping[str, str], *, new: bool = True) -> State:
    """The state in `folder`, or in the user's own place, made if it is missing; one that was named and that
    need not be `new` must be there."""
    found = state_folder(folder, environment)
    if folder is not None and not new and not os.path.isdir(folder):
        raise UsageError(problem=f"There is no state folder {folder}, and none was made. Check `state=`.")
    make_folder(found)
    _require_own(found)
    return State(found)


def state_folder(folder: Path | None, environment: Mapping[str, str]) -> Path:
    """Where the state is or would be."""
    if folder is not None:
        return folder
    base = environment.get("XDG_STATE_HOME", "")
    # The standard says that a relative path is to be ignored.
    home = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return home / "accord"


def _require_own(folder: Path) -> None:
    """Raise unless nobody but its owner can have put anything into the folder, or read what is in it.

    Whoever could exchange the database could undo the guarantee. Folders in it are closed to others, so what
    is in them need not be looked at each time: there may be thousands of runs.
    """
    if os.name != "posix":
        return
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise _unsafe(folder, "others may write into it", f"Make it yours alone: `chmod 700 {folder}`.")
    for path in folder.iterdir():
        _inspect(path)


def require_private(folder: Path) -> None:
    """Raise unless everything in a folder, however deep, is a file or folder of its owner's alone."""
    if os.name != "posix":
        return
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _inspect(Path(where) / name)


def _inspect(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        # Another process has just taken it away.
        return
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise _unsafe(path, "it is a link or not a file", "Nothing of that kind belongs there: take it away.")
    if found.st_uid != os.geteuid():
        raise _unsafe(path, "it belongs to somebody else", "Find out who put it there before you continue.")
    if found.st_mode & 0o077:
        mend = f"Find out who may have read or changed it; then `chmod go= {path}`."
        raise _unsafe(path, "it is open to others", mend)


def _unsafe(path: Path, reason: str, mend: str) -> StateError:
    return StateError(path=path, reason=reason, mend=mend)


def require_run_name(run: str) -> str:
    """The name of a run, if it can also name a folder."""
    if not _RUN.fullmatch(run):
        raise UsageError(problem="A run is named by up to 64 letters, digits, dots, dashes and underscores.")
    return run
