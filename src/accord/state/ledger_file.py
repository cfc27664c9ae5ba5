"""The ledger's file: an SQLite database that only its owner may read, and the transactions in it.

A transaction is synced with its folder before it returns (synchronous = EXTRA), so that neither a kill nor a
power cut loses what was answered. Forgotten noise is overwritten.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from accord.errors import LedgerError
from accord.state.folder import sync_folder
from accord.state.ledger_migration import migrate
from accord.state.ledger_schema import APPLICATION, SCHEMA, SERIES, VERSION

PATIENCE_SECONDS = 30.0


class LedgerFile:
    """The file, made if it is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.guard():
            _create_file(path)
        with self.writing() as db:
            _prepare(db, path)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """What SQLite or the disk does not allow, with what to do about it."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(path=self.path, reason=str(error), mend=_mend(error)) from error

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with (
            self.guard(),
            closing(sqlite3.connect(self.path, timeout=PATIENCE_SECONDS, isolation_level=None)) as db,
        ):
            db.execute("PRAGMA synchronous = EXTRA")
            # On macOS only this reaches the disk itself; elsewhere it changes nothing.
            db.execute("PRAGMA fullfsync = ON")
            db.execute("PRAGMA foreign_keys = ON")
            # Forgotten noise is overwritten, not only unlinked.
            db.execute("PRAGMA secure_delete = ON")
            yield db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its beginning; undone if anything is raised in it."""
        with self._connect() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                # SQLite has already rolled back by itself where the disk was full.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees one moment."""
        with self._connect() as db:
            db.execute("BEGIN")
            yield db


def _mend(error: sqlite3.Error | OSError) -> str:
    """What to do. An old copy would forget what was spent since, so it is the last thing to name, and only
    where the file itself is damaged."""
    if "locked" in str(error):
        return "Wait for the other run."
    damaged = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
    if isinstance(error, OSError) or not getattr(error, "sqlite_errorname", "SQLITE_CORRUPT").startswith(
        damaged
    ):
        return (
            "Nothing in it is lost. Make room on its disk, and see that you may write there; then run again."
        )
    return "Restore it from the latest copy: what was spent since is then to be counted by hand."


def _create_file(path: Path) -> None:
    """An empty file that only its owner may read; SQLite gives its journal the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    sync_folder(path.parent)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables of an empty file; refuse a file that is not a ledger of this version."""
    version, application = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")
    )
    if (version, application) == (VERSION, APPLICATION):
        return
    if application == APPLICATION and version in (1, 2):
        if version == 1:
            migrate(db)
        _add_series(db)
        return
    if (version, application) != (0, 0) or db.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise LedgerError(
            path=path, reason="it is not a ledger of this version", mend="Use the version that made it."
        )
    for statement in SCHEMA:
        db.execute(statement)
    _add_series(db)
    db.execute(f"PRAGMA application_id = {APPLICATION}")


def _add_series(db: sqlite3.Connection) -> None:
    """Make a ledger of version 2 one of version 3."""
    for statement in SERIES:
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")
