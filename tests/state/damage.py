"""Damage to a state folder, for tests: a bit, or a cell of its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from accord.state.folder import State

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


def flip(content: bytes, at: int = -1, bits: int = 1) -> bytes:
    changed = bytearray(content)
    changed[at] ^= bits
    return bytes(changed)


def change(state: State, table: str, column: str, where: str, new: Callable[[bytes], object] = flip) -> None:
    """Change one cell of the database."""
    with closing(sqlite3.connect(state.store.path)) as db, db:
        ((old,),) = db.execute(f"SELECT {column} FROM {table} {where}").fetchall()  # noqa: S608
        db.execute(f"UPDATE {table} SET {column} = ? {where}", (new(old),))  # noqa: S608


def everything(folder: Path) -> dict[str, bytes]:
    """The content of every file of a folder but locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
