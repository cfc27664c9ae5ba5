"""The one database of a state folder: a log to which entries are added, and the contents that they name.

    entries    number, body, link    from 1 on; link = SHA-256(tag, link before, number, body)
    head       number, link          of the last entry
    contents   digest, content       named by SHA-256; a long one is the file `contents/DIGEST` beside it

The invariant: nothing is believed that is not what was written. An entry that was changed, lost or exchanged
breaks the chain from there on, one that was lost at the end is not the one that the head names, and a content
is what its name says. Nothing is changed in place but the head: what is true is what the entries add up to
(register.py), and there is no second copy of it to disagree.

A transaction holds SQLite's write lock from its beginning (BEGIN IMMEDIATE), so two processes cannot both
pass a check that only one may pass; it is synced with its folder (synchronous = EXTRA) before it returns, so
neither a kill nor a power cut loses what was answered, and what was not answered is there whole or not at
all. Long contents are written and synced within it: a file that no entry names was left by one that was cut,
and the next that writes one takes it away. What is forgotten is overwritten.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from accord.errors import DamagedError, StateError
from accord.state.files import make_folder, sync_folder, write_private

PATIENCE_SECONDS = 60.0
LONG = 1 << 20
"""Contents of more bytes than this are files."""
_VERSION = 3
_APPLICATION = 0x41434344
_TAG = b"accord log 1\n"
_DIGEST = re.compile("[0-9a-f]{64}")
_SCHEMA = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body BLOB NOT NULL, link BLOB NOT NULL)",
    "CREATE TABLE head (only INTEGER PRIMARY KEY, number INTEGER NOT NULL, link BLOB NOT NULL)",
    "CREATE TABLE contents (digest BLOB PRIMARY KEY, content BLOB NOT NULL)",
)
_RESTORE = "`accord state check` says what else is; `accord state restore` takes a copy in its place."


class Position(NamedTuple):
    """A place in the log: behind entry `number`, whose link this is."""

    number: int
    link: bytes

    def then(self, body: bytes) -> Position:
        """The place behind the next entry."""
        return Position(self.number + 1, _link(self.link, self.number + 1, body))


START = Position(0, bytes(32))


def _link(before: bytes, number: int, body: bytes) -> bytes:
    return hashlib.sha256(_TAG + before + number.to_bytes(8, "little") + body).digest()


class Log:
    """The database in a folder, made if it is missing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.sqlite"
        self._contents = folder / "contents"

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that sees one moment."""
        with self._connect() as db:
            db.execute("BEGIN")
            yield Transaction(db, self.path, self._contents)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that nobody else writes beside; undone if anything is raised in it."""
        with self._connect() as db:
            db.execute("BEGIN IMMEDIATE")
            transaction = Transaction(db, self.path, self._contents)
            try:
                yield transaction
                db.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back by itself where the disk was full.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            transaction.remove_dropped()

    def copy(self, path: Path) -> None:
        """A copy of the database as it is at one moment, in a file of its own."""
        with self._connect() as db, closing(sqlite3.connect(path)) as made:
            db.backup(made)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with self._told():
            self._create()
            _require_header(self.path)
            with closing(sqlite3.connect(self.path, timeout=PATIENCE_SECONDS, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = EXTRA")
                # On macOS only this reaches the disk itself; elsewhere it changes nothing.
                db.execute("PRAGMA fullfsync = ON")
                # What is forgotten is overwritten, not only unlinked.
                db.execute("PRAGMA secure_delete = ON")
                _prepare(db, self.path)
                yield db

    def _create(self) -> None:
        """An empty file that only its owner may read, unless there is one; SQLite gives its journal the same
        mode. Not where there are runs: it was there, and whoever began anew would forget what was spent."""
        if self.path.exists() and self.path.stat().st_size:
            return
        # Both are made within a transaction, and stay.
        if any((self.path.parent / name).is_dir() for name in ("runs", "contents")):
            raise DamagedError(path=self.path, reason="it is missing, though runs are here", mend=_RESTORE)
        make_folder(self.path.parent)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            sync_folder(self.path.parent)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What SQLite or the disk does not allow, with what to do about it."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if _is_damage(error):
                raise DamagedError(path=self.path, reason=str(error), mend=_RESTORE) from error
            raise StateError(path=self.path, reason=str(error), mend=_mend(error)) from error


class Transaction:
    """One transaction in the database."""

    def __init__(self, db: sqlite3.Connection, path: Path, contents: Path) -> None:
        self._db, self._path, self._files = db, path, contents
        self._dropped: list[str] = []

    @property
    def head(self) -> Position:
        """The place behind the last entry, by what is written apart from the entries."""
        found = self._db.execute("SELECT number, link FROM head").fetchall()
        if len(found) != 1 or not isinstance(found[0][0], int) or not isinstance(found[0][1], bytes):
            raise self._damaged("it does not say where its log ends")
        return Position(*found[0])

    def entries(self, after: Position) -> Iterator[tuple[int, bytes, bytes]]:
        """Every entry behind a place: its number, link and body; raises where one is not what was written, or
        is not there."""
        last, before = after
        query = "SELECT number, link, body FROM entries WHERE number > ? ORDER BY number"
        # Closed, or it would hold the database for as long as somebody holds what is raised.
        with closing(self._db.execute(query, (last,))) as rows:
            for row in rows:
                number, link, body = row
                last += 1
                if number != last or type(body) is not bytes or _link(before, last, body) != link:
                    raise self._damaged(f"entry {last:,} of its log is not what was written")
                before = link
                yield row
        if (last, before) != self.head:
            raise self._damaged(f"its log does not end with entry {last:,}")

    def has(self, link: bytes) -> bool:
        """Whether an entry has this link."""
        return self._db.execute("SELECT 1 FROM entries WHERE link = ?", (link,)).fetchone() is not None

    def add(self, after: Position, body: bytes) -> Position:
        """Add an entry behind the last one, which is `after`; the place behind it."""
        made = after.then(body)
        self._db.execute("INSERT INTO entries VALUES (?, ?, ?)", (made.number, body, made.link))
        self._db.execute("UPDATE head SET number = ?, link = ?", (made.number, made.link))
        return made

    def keep(self, content: bytes, named: Callable[[], Collection[str]]) -> str:
        """Keep a content, and give its digest. *Requires*: `named` gives all digests that entries name, and
        those that were kept for entries to come."""
        digest = hashlib.sha256(content)
        if len(content) <= LONG:
            row = (digest.digest(), content)
            self._db.execute("INSERT OR REPLACE INTO contents VALUES (?, ?)", row)
            return digest.hexdigest()
        self._sweep(named())
        write_private(self._files / digest.hexdigest(), content)
        return digest.hexdigest()

    def content(self, digest: str, what: str) -> bytes:
        """The content of this digest; `what` it is, in words, for whoever hears that it is damaged."""
        if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            raise self._damaged(f"{what} has no name")
        row = self._db.execute(
            "SELECT content FROM contents WHERE digest = ?", (bytes.fromhex(digest),)
        ).fetchone()
        path = self._path if row else self._files / digest
        try:
            found = row[0] if row else _read_file(path)
        except FileNotFoundError:
            raise self._damaged(f"{what} is missing") from None
        except OSError as error:
            reason = f"{what} cannot be read: {error.strerror}"
            raise DamagedError(path=path, reason=reason, mend=_RESTORE) from None
        if not isinstance(found, bytes) or hashlib.sha256(found).hexdigest() != digest:
            raise DamagedError(path=path, reason=f"{what} is not what was written", mend=_RESTORE)
        return found

    def drop(self, digest: str) -> None:
        """Forget a content, once the transaction is done."""
        self._db.execute("DELETE FROM contents WHERE digest = ?", (bytes.fromhex(digest),))
        self._dropped.append(digest)

    def remove_dropped(self) -> None:
        """Remove the files of what was dropped. *Requires*: no entry names them any more, for certain."""
        for digest in self._dropped:
            (self._files / digest).unlink(missing_ok=True)

    def list_contents(self) -> tuple[set[str], set[str]]:
        """The digests of all contents in the database, and of all that are files."""
        rows = self._db.execute("SELECT digest FROM contents").fetchall()
        files = {path.name for path in self._files.glob("[0-9a-f]*")}
        return {bytes(digest).hex() for (digest,) in rows}, files

    def inspect(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        found = [str(row[0]) for row in self._db.execute("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def _sweep(self, named: Collection[str]) -> None:
        for path in self._files.glob("*"):
            if path.name not in named:
                path.unlink(missing_ok=True)

    def _damaged(self, what: str) -> DamagedError:
        return DamagedError(path=self._path, reason=what, mend=_RESTORE)


def _read_file(path: Path) -> bytes:
    """A file, through no link."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read()


def _require_header(path: Path) -> None:
    """Raise where the file's header is not as SQLite writes it for us. A bit of these bytes would make it
    refuse to write, or write in another way, only when it comes to that."""
    with path.open("rb") as file:
        header = file.read(100)
    fixed = header[18:20], header[52:56], header[64:68]
    if header and fixed != (b"\1\1", bytes(4), bytes(4)):
        raise DamagedError(path=path, reason="its header is not what was written", mend=_RESTORE)


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables of an empty file; refuse a file that is not a database of this version."""
    if _marks(db) == (_VERSION, _APPLICATION):
        return
    db.execute("BEGIN IMMEDIATE")
    if _marks(db) == (0, 0) and db.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO head VALUES (0, ?, ?)", (START.number, START.link))
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {_VERSION}")
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
        ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_MISMATCH")
    )


def _mend(error: sqlite3.Error | OSError) -> str:
    if "locked" in str(error):
        return "Wait for the other run."
    if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_DBMOVED":
        return "The folder was exchanged meanwhile. Run again."
    return "Nothing in it is lost. Make room on its disk, and see that you may write there; then run again."
