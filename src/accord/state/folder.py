"""The state folder: where one installation keeps its identity, its ledger and what its runs need.

    <folder>/identity.pem     0600   one's own key and card                         (identity.py)
    <folder>/partners/*.pem   0600   the partners' cards                            (partners.py)
    <folder>/ledger.sqlite    0600   what was spent, and the noise of every release (ledger.py)
    <folder>/runs/<run>/      0700   what belongs to one run                        (runs.py)

The folder is named by the caller or is `accord` in the user's XDG state folder. Whoever reads it can take the
noise off what the partner saw, so nothing in it is open to others.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from accord.errors import StateError, UsageError

_PROBE = 1 << 18
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class State:
    """A state folder."""

    folder: Path

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.sqlite"

    @property
    def identity(self) -> Path:
        return self.folder / "identity.pem"

    @property
    def partners(self) -> Path:
        return self.folder / "partners"

    def require_writable(self) -> None:
        """Raise if nothing can be written here: tried, since rights alone do not tell.

        As much as the ledger needs for a small run, with the journal of its transaction.
        """
        probe = self.folder / ".probe"
        write_private(probe, b"\0" * _PROBE)
        probe.unlink(missing_ok=True)

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
    _require_private(found)
    return State(found)


def state_folder(folder: Path | None, environment: Mapping[str, str]) -> Path:
    """Where the state is or would be."""
    if folder is not None:
        return folder
    base = environment.get("XDG_STATE_HOME", "")
    # The standard says that a relative path is to be ignored.
    home = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return home / "accord"


def _require_private(folder: Path) -> None:
    """Raise unless everything in the folder is what only its owner can have put there, and can read.

    Whoever could exchange the ledger, a card or the slots of a run could undo the guarantee.
    """
    if os.name != "posix":
        return
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise _unsafe(folder, "others may write into it", f"Make it yours alone: `chmod 700 {folder}`.")
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


def make_folder(folder: Path) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(folder.parent)
    except OSError as error:
        raise StateError(path=folder, reason=error.strerror, mend="Name another with `state=`.") from None


def write_private(path: Path, content: bytes) -> None:
    """Replace a file, whole or not at all, on disk when this returns; only its owner may read it."""
    make_folder(path.parent)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        mend = "Make room there, or see that you may write; nothing in it is lost."
        raise StateError(path=path, reason=error.strerror, mend=mend) from None


def sync_folder(folder: Path) -> None:
    """Put the folder's list of names on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
