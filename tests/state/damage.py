"""Damage to a state folder, for tests: a bit, or a cell of its database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime

from accord.state.folder import State

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


def flip(content: bytes, at: int = -1) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 1
    return bytes(changed)


def change(state: State, table: str, column: str, where: str, new: Callable[[bytes], object] = flip) -> None:
    """Change one cell of the database."""
    with closing(sqlite3.connect(state.database.path)) as db, db:
        ((old,),) = db.execute(f"SELECT {column} FROM {table} {where}").fetchall()  # noqa: S608
        db.execute(f"UPDATE {table} SET {column} = ? {where}", (new(old),))  # noqa: S608
