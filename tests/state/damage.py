"""State folders that are not what was written: by a disk that fails, or by an owner who writes anew.

What a disk changes does not fit its digest any more (`flip_content`, `change_content`). An owner who cheats
makes a whole log of its own, in which everything fits (`forge`, `take_content`, `add_run`).
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from accord.state.folder import State
from accord.state.log import START
from accord.state.register import LogEntry, OfRun, RunChanged, RunDone, decode_entry, encode_entry


def flip(path: Path, at: int) -> None:
    """One bit of a file is another, in this byte of it."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def flip_content(state: State, run: str, name: str, at: int = -1) -> None:
    """One bit of what a run keeps under this name is another; its digest is not."""

    def change(content: bytes) -> bytes:
        found = bytearray(content)
        found[at] ^= 1
        return bytes(found)

    change_content(state, run, name, change)


def change_content(state: State, run: str, name: str, change: Callable[[bytes], bytes]) -> None:
    """What a run keeps under this name is something else, of the same digest."""
    with state.database.reading() as read:
        digest = bytes.fromhex(read.register.runs[run].contents[name])
    with closing(sqlite3.connect(state.database.path)) as db, db:
        (content,) = db.execute("SELECT content FROM contents WHERE digest = ?", (digest,)).fetchone()
        other = change(content)
        assert other != content
        db.execute("UPDATE contents SET content = ? WHERE digest = ?", (other, digest))


def forge(state: State, change: Callable[[LogEntry], LogEntry]) -> None:
    """The log of a state folder with each entry changed, and all links made anew."""
    with closing(sqlite3.connect(state.database.path)) as db, db:
        bodies = [body for (body,) in db.execute("SELECT body FROM entries ORDER BY number").fetchall()]
        db.execute("DELETE FROM entries")
        at = START
        for body in bodies:
            forged = encode_entry(change(decode_entry(body)))
            at = at.then(forged)
            db.execute("INSERT INTO entries VALUES (?, ?, ?)", (at.number, forged, at.link))
        db.execute("UPDATE head SET number = ?, link = ?", (at.number, at.link))
    # What was summed up of the former log is of no use any more.
    vars(state).pop("database")


def take_content(state: State, run: str, name: str) -> None:
    """A run never kept anything under this name."""

    def change(entry: LogEntry) -> LogEntry:
        if isinstance(entry, OfRun) and entry.run == run:
            return replace(entry, contents={n: d for n, d in entry.contents.items() if n != name})
        return entry

    forge(state, change)


def add_run(
    source: State, run: str, state: State, name: str, contents: Mapping[str, bytes], /, **changes: Any
) -> None:
    """Keep a run of a state folder in this one, under this name, with other contents or facts."""
    with source.database.reading() as read:
        known = read.register.runs[run]
        kept = {n: read.content(digest, n) for n, digest in known.contents.items()}
    with state.database.writing() as opened:
        named = {n: opened.keep(content) for n, content in (kept | dict(contents)).items()}
        kind = RunDone if known.done else RunChanged
        opened.add(kind(name, known.manifest | changes, named))
    if not state.run(name).exists():
        shutil.copytree(source.run(run), state.run(name))
