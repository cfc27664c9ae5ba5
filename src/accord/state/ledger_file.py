"""The ledger's file: an SQLite database that only its owner may read, its tables, and the transactions in it.

A transaction is synced with its folder before it returns (synchronous = EXTRA), so that neither a kill nor a
power cut loses what was answered. Forgotten noise is overwritten. Stored noise is a tag with a version, the
number of bins, then four bytes a bin.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accord.errors import LedgerError
from accord.state.folder import sync_folder

PATIENCE_SECONDS = 30.0
_MOST_BINS = 1 << 26
_NOISE = b"accord noise v1\0"
_HEAD = len(_NOISE) + 8

_VERSION = 1
_APPLICATION = 0x41434C47
_SCHEMA = (
    # `account` is the folded name, `name` the one that its owner gave.
    "CREATE TABLE accounts (account TEXT PRIMARY KEY, name TEXT NOT NULL, epsilon TEXT, delta TEXT, "
    "runs INTEGER)",
    "CREATE TABLE snapshots (place BLOB PRIMARY KEY, content BLOB NOT NULL)",
    "CREATE TABLE drawings (drawing INTEGER PRIMARY KEY AUTOINCREMENT, key BLOB NOT NULL, noise BLOB)",
    "CREATE UNIQUE INDEX one_noise_a_key ON drawings (key) WHERE noise IS NOT NULL",
    # `key` is NULL where no noise was drawn.
    "CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL UNIQUE, "
    "account TEXT NOT NULL REFERENCES accounts, snapshot TEXT, partner TEXT NOT NULL, "
    "agreement BLOB NOT NULL, key BLOB, drawing INTEGER REFERENCES drawings, event BLOB NOT NULL, "
    "paid INTEGER NOT NULL, at TEXT NOT NULL)",
    "CREATE INDEX runs_of_account ON runs (account)",
    "CREATE TABLE series (series INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL REFERENCES "
    "accounts, folded TEXT NOT NULL, name TEXT NOT NULL, key BLOB NOT NULL, UNIQUE (account, folded))",
    # `content` is NULL once it was forgotten.
    "CREATE TABLE looks (series INTEGER NOT NULL REFERENCES series, look INTEGER NOT NULL, "
    "run TEXT NOT NULL UNIQUE, content BLOB, PRIMARY KEY (series, look))",
)


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
    if (version, application) == (_VERSION, _APPLICATION):
        return
    if (version, application) != (0, 0) or db.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise LedgerError(
            path=path, reason="it is not a ledger of this version", mend="Use the version that made it."
        )
    for statement in _SCHEMA:
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {_APPLICATION}")
    db.execute(f"PRAGMA user_version = {_VERSION}")


def encode_noise(noise: NDArray[np.int64]) -> bytes:
    """The noise of each bin, in order."""
    if noise.ndim != 1 or len(noise) > _MOST_BINS:
        raise ValueError("noise is one list of at most 2^26 bins")
    if len(noise) and not 0 <= noise.min() <= noise.max() < 1 << 32:
        raise ValueError("noise is never negative and fits in four bytes")
    return _NOISE + len(noise).to_bytes(8, "little") + noise.astype("<u4").tobytes()


def decode_noise(data: bytes) -> NDArray[np.int64]:
    """What `encode_noise` was given; anything else is refused."""
    bins = int.from_bytes(data[len(_NOISE) : _HEAD], "little")
    if data[: len(_NOISE)] != _NOISE or bins > _MOST_BINS or len(data) != _HEAD + 4 * bins:
        raise ValueError("not stored noise of version 1")
    return np.frombuffer(data, dtype="<u4", offset=_HEAD).astype(np.int64)
