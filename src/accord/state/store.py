"""Everything that lasts of an installation, in one SQLite file of nine plain tables.

    head        the sum over all rows
    account     limits of a data set, by folded name
    snapshot    what the name of a snapshot stands for, by its place
    release     noise that was drawn, numbered, under its key
    run         a run: what it was charged, how far it is
    part        contents by owner and name: of a run, of a release, of the installation itself
    step        answers of a run's partner, in their order
    partner     names with the card that each stands for
    standing    what a partner last stated of its runs (witness.py)

The invariant: nothing is believed that is not what was written. Every row has a checksum over its table and
its columns, judged whenever the row is read. `head` has the sum of all checksums modulo 2^256, changed by the
same transaction: a row that was lost, or exchanged for an older one, does not fit it. The sum is compared
before a run begins or goes on, and by `check`. Neither resists somebody who can write the file.

A transaction holds SQLite's write lock from its beginning (BEGIN IMMEDIATE), so two processes cannot both
pass a check that only one may pass. It is synced with its folder (synchronous = EXTRA) before it returns: a
kill or a power cut loses nothing that was answered. What is dropped is overwritten (secure_delete).
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from accord.errors import DamagedError, StateError
from accord.secure.party import Buffer
from accord.state.files import make_folder, sync_folder
from accord.wording import counted

PATIENCE_SECONDS = 60.0
PIECE = 8 << 20
"""Bytes of a content or an answer in one row."""
RESTORE = "`accord state check` lists the damage. `accord state restore` puts a copy in its place."
_NAMED = 5
_VERSION, _APPLICATION = 4, 0x41434344
_TABLES = {
    "account": ("name TEXT", "shown TEXT", "epsilon TEXT", "delta TEXT", "runs INTEGER"),
    "snapshot": ("place TEXT", "content TEXT"),
    "release": ("number INTEGER", "key TEXT", "stored INTEGER"),
    "run": (
        *("name TEXT", "number INTEGER", "charge INTEGER", "account TEXT", "partner TEXT", "own TEXT"),
        *("agreement TEXT", "event TEXT", "at TEXT", "paid INTEGER", "release INTEGER", "key TEXT"),
        *("snapshot TEXT", "uncovered INTEGER", "done INTEGER", "kept INTEGER"),
    ),
    "part": ("owner TEXT", "name TEXT", "piece INTEGER", "pieces INTEGER", "content BLOB"),
    "step": ("run TEXT", "number INTEGER", "piece INTEGER", "pieces INTEGER", "content BLOB"),
    "partner": ("name TEXT", "card TEXT", "lost INTEGER"),
    "standing": ("partner TEXT", "own TEXT", "runs INTEGER", "link TEXT"),
}
"""Columns, those of the key first; a long one is the last, behind the checksum, which is found without it."""
_KEYS = {"part": 3, "step": 3, "standing": 2}
_COLUMNS = {table: tuple(one.split()[0] for one in columns) for table, columns in _TABLES.items()}

Row = dict[str, Any]


def _schema() -> Iterator[str]:
    for table, columns in _TABLES.items():
        key = ", ".join(_COLUMNS[table][: _KEYS.get(table, 1)])
        yield f"CREATE TABLE {table} (sum BLOB NOT NULL, {', '.join(columns)}, PRIMARY KEY ({key})) STRICT"
    yield "CREATE TABLE head (only INTEGER PRIMARY KEY, total BLOB NOT NULL) STRICT"
    yield "INSERT INTO head VALUES (0, zeroblob(32))"
    yield "CREATE INDEX run_of_account ON run (account)"
    yield f"PRAGMA application_id = {_APPLICATION}"
    yield f"PRAGMA user_version = {_VERSION}"


def _sum(table: str, values: tuple[Any, ...]) -> bytes:
    """The checksum of a row."""
    plain = [None if isinstance(value, bytes) else value for value in values]
    digest = hashlib.sha256(json.dumps([table, *plain]).encode())
    if isinstance(values[-1], bytes):
        digest.update(values[-1])
    return digest.digest()


class Store:
    """The file in a state folder, made if it is missing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.sqlite"

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """What is there at one moment."""
        with self._connect() as db:
            db.execute("BEGIN")
            yield Transaction(db, self.path)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """What is there, to be changed by nobody else meanwhile; as it was if anything is raised."""
        with self._connect() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield (transaction := Transaction(db, self.path))
                transaction.settle()
                db.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back by itself where the disk was full.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def copy(self, path: Path) -> None:
        """The whole at one moment, as another file."""
        with self._connect() as db:
            db.execute("VACUUM INTO ?", (str(path),))

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        try:
            self._create()
            _require_header(self.path)
            with closing(sqlite3.connect(self.path, timeout=PATIENCE_SECONDS, isolation_level=None)) as db:
                # On macOS only `fullfsync` reaches the disk itself; elsewhere it changes nothing.
                for setting in ("synchronous = EXTRA", "fullfsync = ON", "secure_delete = ON"):
                    db.execute(f"PRAGMA {setting}")
                _prepare(db, self.path)
                yield db
        except UnicodeDecodeError as error:
            # SQLite cites the statement that made a table, in which a byte is another.
            reason = "what SQLite says of it is no text"
            raise DamagedError(path=self.path, reason=reason, mend=RESTORE) from error
        except (sqlite3.Error, OSError) as error:
            if _is_damage(error):
                raise DamagedError(path=self.path, reason=str(error), mend=RESTORE) from error
            raise StateError(path=self.path, reason=str(error), mend=_mend(error)) from error

    def _create(self) -> None:
        """An empty file that only its owner may read, unless there is one; SQLite gives its journal the same
        mode. Not where runs were: it was there, and a new one would have forgotten what was spent."""
        if self.path.exists() and self.path.stat().st_size:
            return
        if (self.path.parent / "runs").is_dir():
            raise DamagedError(path=self.path, reason="it is missing, though runs are here", mend=RESTORE)
        make_folder(self.path.parent)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_folder(self.path.parent)


class Transaction:
    """One transaction in the file."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self.path, self._added = db, path, 0

    def rows(self, table: str, where: str = "1", *values: Any) -> Iterator[Row]:
        """The rows for which a condition holds, each as it was written, by their key."""
        names = _COLUMNS[table]
        key = ", ".join(names[: _KEYS.get(table, 1)])
        found = self._db.execute(
            f"SELECT sum, {', '.join(names)} FROM {table} WHERE {where} ORDER BY {key}", values
        )
        # Closed, or it would hold the file for as long as somebody holds what is raised.
        with closing(found):
            for checksum, *row in found:
                if _sum(table, tuple(row)) != checksum:
                    raise self.damaged(f"a row of its table '{table}' is not what was written")
                yield dict(zip(names, row, strict=True))

    def row(self, table: str, where: str, *values: Any) -> Row | None:
        """The one row for which it holds, if there is one."""
        return next(iter(self.rows(table, where, *values)), None)

    def has(self, table: str, where: str, *values: Any) -> bool:
        """Whether there is a row for which it holds; none is judged."""
        return self._db.execute(f"SELECT 1 FROM {table} WHERE {where}", values).fetchone() is not None

    def count(self, table: str) -> int:
        """How many rows there are."""
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

    def next(self, table: str, column: str) -> int:
        """The next number there, from 1 on."""
        (last,) = self._db.execute(f"SELECT max({column}) FROM {table}").fetchone()
        return 1 + (last or 0)

    def steps(self, run: str) -> int:
        """How many steps of a run are kept."""
        (last,) = self._db.execute("SELECT max(number) FROM step WHERE run = ?", (run,)).fetchone()
        return 0 if last is None else 1 + int(last)

    def put(self, table: str, **row: Any) -> None:
        """Insert a row, or replace the one of its key."""
        names = _COLUMNS[table]
        whole = tuple(row.get(name) for name in names)
        key = names[: _KEYS.get(table, 1)]
        self._forget(table, " AND ".join(f"{name} = ?" for name in key), whole[: len(key)])
        checksum = _sum(table, whole)
        self._added += int.from_bytes(checksum)
        places = ", ".join("?" * (1 + len(names)))
        self._db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({places})", (checksum, *whole))

    def drop(self, table: str, where: str, *values: Any) -> None:
        """Remove the rows for which it holds."""
        self._forget(table, where, values)
        self._db.execute(f"DELETE FROM {table} WHERE {where}", values)

    def _forget(self, table: str, where: str, values: tuple[Any, ...]) -> None:
        for (checksum,) in self._db.execute(f"SELECT sum FROM {table} WHERE {where}", values):
            self._added -= int.from_bytes(checksum)

    # -- contents, in pieces ---------------------------------------------------------------------------------

    def keep(self, table: str, owner: str, name: str | int, content: tuple[Buffer, ...]) -> None:
        """Keep a content as a part, or as a step."""
        of, what = _COLUMNS[table][:2]
        self.drop(table, f"{of} = ? AND {what} = ?", owner, name)
        pieces = list(_cut(content))
        for number, piece in enumerate(pieces):
            more = {of: owner, what: name, "piece": number, "pieces": len(pieces), "content": piece}
            self.put(table, **more)

    def content(self, table: str, owner: str, name: str | int) -> bytearray | None:
        """What was kept; None if nothing was."""
        of, what = _COLUMNS[table][:2]
        found, whole, count = bytearray(), 0, 0
        for row in self.rows(table, f"{of} = ? AND {what} = ?", owner, name):
            whole, count = row["pieces"], count + 1
            found += row["content"]
        if count != whole:
            raise self.damaged(f"a row of its table '{table}' is missing")
        return found if count else None

    # -- the whole -------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring the sum up to what was changed."""
        if not self._added:
            return
        total = (self._total + self._added) % (1 << 256)
        self._db.execute("UPDATE head SET total = ?", (total.to_bytes(32),))
        self._added = 0

    def require_whole(self) -> None:
        """Raise unless the checksums of all rows have the sum that was kept with them."""
        total = 0
        for table in _TABLES:
            total += sum(int.from_bytes(one) for (one,) in self._db.execute(f"SELECT sum FROM {table}"))
        if total % (1 << 256) != self._total:
            raise self.damaged("a row is missing, or is an older one")

    def inspect(self) -> Iterator[str]:
        """What is wrong with the file, in words."""
        found = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check")]
        yield from (one for one in found if one != "ok")
        for table in _TABLES:
            wrong = list[str]()
            for checksum, *row in self._db.execute(f"SELECT sum, {', '.join(_COLUMNS[table])} FROM {table}"):
                if _sum(table, tuple(row)) != checksum:
                    wrong.append(repr(tuple(row[: _KEYS.get(table, 1)])))
            if wrong:
                more = ", …" if len(wrong) > _NAMED else ""
                yield f"{counted(len(wrong), 'row')} of '{table}' damaged: {', '.join(wrong[:_NAMED])}{more}"
        try:
            self.require_whole()
        except DamagedError as error:
            yield str(error.reason)

    @property
    def _total(self) -> int:
        found = self._db.execute("SELECT total FROM head").fetchall()
        if len(found) != 1 or not isinstance(found[0][0], bytes):
            raise self.damaged("it does not say what its rows sum up to")
        return int.from_bytes(found[0][0])

    def damaged(self, what: str) -> DamagedError:
        """What to raise of this file."""
        return DamagedError(path=self.path, reason=what, mend=RESTORE)


def _cut(content: tuple[Buffer, ...]) -> Iterator[bytes]:
    """Pieces of what may be in several parts; one at least."""
    whole = content[0] if len(content) == 1 else b"".join(content)
    yield from (bytes(whole[at : at + PIECE]) for at in range(0, max(1, len(whole)), PIECE))


def _require_header(path: Path) -> None:
    """Raise where the file's header is not as SQLite writes it for us. A bit of these bytes would make it
    refuse to write, or write in another way, only when it comes to that."""
    with path.open("rb") as file:
        header = file.read(100)
    fixed = header[18:20], header[52:56], header[64:68]
    if header and fixed != (b"\1\1", bytes(4), bytes(4)):
        raise DamagedError(path=path, reason="its header is not what was written", mend=RESTORE)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables of an empty file; refuse a file that is not a database of this version."""
    if _marks(db) == (_VERSION, _APPLICATION):
        return
    db.execute("BEGIN IMMEDIATE")
    if _marks(db) == (0, 0) and db.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        for statement in _schema():
            db.execute(statement)
    db.execute("COMMIT")
    if _marks(db) != (_VERSION, _APPLICATION):
        what = "it is not a database of this version of Accord"
        raise DamagedError(path=path, reason=what, mend="Use the version that made it, or restore a copy.")


def _marks(db: sqlite3.Connection) -> tuple[int, int]:
    version, application = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")
    )
    return version, application


def _is_damage(error: sqlite3.Error | OSError) -> bool:
    name = getattr(error, "sqlite_errorname", None)
    if isinstance(error, OSError):
        return False
    # Without a name it is Python that could not take what SQLite gave; without a table, or with a type that
    # no column has, the file is not what was written.
    return name is None or name.startswith(
        ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_MISMATCH", "SQLITE_CONSTRAINT")
    )


def _mend(error: sqlite3.Error | OSError) -> str:
    if "locked" in str(error):
        return "Wait for the other run."
    if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_DBMOVED":
        return "The folder was exchanged meanwhile. Run again."
    return "Nothing in it is lost. Make room on its disk, and see that you may write there; then run again."
