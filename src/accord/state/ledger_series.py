"""Series in the ledger: what their runs found in the table, kept in the transaction that charges them.

    series   one row a series of an account, found by its folded name, with the key of its release
    looks    one row a run: what it found, and the noisy counts of its batch (protocols/parts/batches.py)

The first run of a series draws its first batch, and is charged for all of it; a later run draws the noise of
its own batch and is charged nothing. Both are one transaction with the row of the run, so that what a run
found and what was drawn for it are there together or not at all, and are final from then on. A series whose
noise was forgotten does not go on: who drew its batches again would release them twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field

from accord.errors import SeriesError
from accord.privacy.release import fold_name
from accord.protocols.parts.batches import Look, decode_look, encode_look

_FORGOTTEN = (
    "what its runs had stored was forgotten, and who draws it again releases it twice. Begin a new series"
)


@dataclass(frozen=True)
class SeriesLook:
    """A run that is about to go on with a series."""

    name: str
    key: bytes = field(repr=False)
    """Of the release that the whole series is."""
    after: int
    """How many looks there were when the table was looked at."""
    make: Callable[[], Look] = field(repr=False)
    """Draw what is to be drawn, and give what is kept of the look."""


@dataclass(frozen=True)
class SeriesBook:
    """A series as the ledger has it."""

    name: str
    key: bytes = field(repr=False)
    looks: tuple[Look, ...] = field(repr=False)
    runs: tuple[str, ...]
    """The run of each look."""


def find_series(db: sqlite3.Connection, account: str, name: str) -> SeriesBook | None:
    """The series of this name; raises if it cannot go on."""
    query = "SELECT series, name, key FROM series WHERE account = ? AND folded = ?"
    row = db.execute(query, (fold_name(account), fold_name(name))).fetchone()
    if row is None:
        return None
    looks = db.execute("SELECT run, content FROM looks WHERE series = ? ORDER BY look", row[:1]).fetchall()
    if any(content is None for _, content in looks):
        raise SeriesError(series=row[1], dataset=account, reason=_FORGOTTEN)
    try:
        found = tuple(decode_look(content) for _, content in looks)
    except ValueError as error:
        raise sqlite3.DatabaseError(str(error)) from None
    return SeriesBook(row[1], row[2], found, tuple(run for run, _ in looks))


def require_same(book: SeriesBook | None, account: str, key: bytes) -> None:
    """Raise unless what is to go on with a series is the release that the series is."""
    if book is not None and book.key != key:
        reason = (
            "it was begun under another agreement: other fields, bins, noise, ε, δ or declared sizes. Go on "
            "with that one, or begin a new series"
        )
        raise SeriesError(series=book.name, dataset=account, reason=reason)


def require_series(db: sqlite3.Connection, account: str, look: SeriesLook) -> SeriesBook | None:
    """The series that a run goes on with, None if it begins it; raises unless it is the one it means."""
    book = find_series(db, account, look.name)
    require_same(book, account, look.key)
    if look.after != (0 if book is None else len(book.looks)):
        raise SeriesError(
            series=look.name, dataset=account, reason="another run has just gone on with it. Link again"
        )
    return book


def keep_look(db: sqlite3.Connection, account: str, run: str, look: SeriesLook) -> Look:
    """Keep what a run found, with the series itself if it is its first. *Requires*: `require_series`."""
    row = (fold_name(account), fold_name(look.name), look.name, look.key)
    db.execute("INSERT OR IGNORE INTO series (account, folded, name, key) VALUES (?, ?, ?, ?)", row)
    found = look.make()
    number = db.execute("SELECT series FROM series WHERE account = ? AND folded = ?", row[:2]).fetchone()[0]
    kept = (number, look.after, run, encode_look(found))
    db.execute("INSERT INTO looks (series, look, run, content) VALUES (?, ?, ?, ?)", kept)
    return found


def forget_series(db: sqlite3.Connection, run: str) -> None:
    """Forget what all runs of a run's series found: with any of it the noise could be taken off."""
    db.execute(
        "UPDATE looks SET content = NULL WHERE series IN (SELECT series FROM looks WHERE run = ?)", (run,)
    )
