"""Files that only their owner may read, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from accord.errors import StateError


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
