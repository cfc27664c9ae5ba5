"""The log: a chain that shows every change, contents that are what their names say, whole transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from accord.errors import DamagedError, StateError
from accord.state.log import LONG, START, Log, Position, Transaction

BODIES = [b"one", b"two", b"three"]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    made = Log(tmp_path)
    with made.writing() as transaction:
        at = START
        for body in BODIES:
            at = transaction.add(at, body)
    return made


def read(log: Log, after: Position = START) -> list[bytes]:
    with log.reading() as transaction:
        return [body for _, _, body in transaction.entries(after)]


@contextmanager
def failing(log: Log) -> Iterator[Transaction]:
    """A transaction at whose end something is raised."""
    with suppress(ZeroDivisionError), log.writing() as transaction:
        yield transaction
        raise ZeroDivisionError


def none() -> set[str]:
    return set()


def change(log: Log, statement: str) -> None:
    db = sqlite3.connect(log.path)
    with db:
        db.execute(statement)
    db.close()


def test_entries_are_read_in_their_order_from_any_place(log: Log) -> None:
    assert read(log) == BODIES
    assert read(log, START.then(b"one")) == BODIES[1:]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = x'00' WHERE number = 2",
        "UPDATE entries SET body = 'two' WHERE number = 2",
        "UPDATE entries SET link = zeroblob(32) WHERE number = 3",
        "UPDATE entries SET number = 9 WHERE number = 3",
        "DELETE FROM entries WHERE number = 2",
        "DELETE FROM entries WHERE number = 3",
        "INSERT INTO entries SELECT 4, body, link FROM entries WHERE number = 3",
        "UPDATE head SET number = 2",
        "UPDATE head SET link = zeroblob(32)",
        "UPDATE head SET link = 'x'",
        "DELETE FROM head",
        "DROP TABLE entries",
        "DROP TABLE head",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 2",
    ],
)
def test_every_change_is_noticed(log: Log, statement: str) -> None:
    change(log, statement)
    with pytest.raises(DamagedError):
        read(log)


def test_a_log_that_was_exchanged_is_noticed_by_who_read_it_before(log: Log, tmp_path: Path) -> None:
    other = Log(tmp_path / "other")
    (tmp_path / "other").mkdir()
    with other.writing() as transaction:
        transaction.add(transaction.add(START, b"uno"), b"due")
    with pytest.raises(DamagedError):
        read(other, START.then(b"one"))


@pytest.mark.parametrize("size", [0, 100, LONG, LONG + 1])
def test_a_content_is_what_its_name_says(log: Log, size: int) -> None:
    with log.writing() as transaction:
        digest = transaction.keep(bytes(size), none)
        assert transaction.keep(bytes(size), lambda: {digest}) == digest
    path = log.path.parent / "contents" / digest
    assert path.exists() == (size > LONG)
    with log.reading() as transaction:
        assert transaction.content(digest, "something") == bytes(size)
    if size > LONG:
        path.write_bytes(bytes(size - 1) + b"x")
    else:
        change(log, "UPDATE contents SET content = x'01'")
    with log.reading() as transaction, pytest.raises(DamagedError, match="something is not what was written"):
        transaction.content(digest, "something")
    if size > LONG:
        path.unlink()
    else:
        change(log, "DELETE FROM contents")
    with log.reading() as transaction, pytest.raises(DamagedError, match="something is missing"):
        transaction.content(digest, "something")


def test_a_file_that_no_entry_names_is_swept_away_and_others_are_not(log: Log) -> None:
    folder = log.path.parent / "contents"
    with failing(log) as transaction:
        left = transaction.keep(b"l" * (LONG + 1), none)
    assert (folder / left).exists()
    with log.writing() as transaction:
        first = transaction.keep(b"f" * (LONG + 1), none)
        transaction.keep(b"s" * (LONG + 1), lambda: {first})
    assert len(list(folder.iterdir())) == 2
    assert (folder / first).exists()


def test_what_is_dropped_is_gone_once_that_is_certain(log: Log) -> None:
    with log.writing() as transaction:
        names = [transaction.keep(content, none) for content in (b"s" * 77, b"l" * (LONG + 1))]
    with failing(log) as transaction:
        for name in names:
            transaction.drop(name)
    with log.reading() as transaction:
        assert [transaction.content(name, "")[:1] for name in names] == [b"s", b"l"]
    with log.writing() as transaction:
        for name in names:
            transaction.drop(name)
    assert not list((log.path.parent / "contents").iterdir())
    assert b"s" * 77 not in log.path.read_bytes()


def test_what_is_raised_undoes_everything(log: Log) -> None:
    with failing(log) as transaction:
        transaction.add(transaction.head, b"four")
    assert read(log) == BODIES


def test_who_writes_waits_for_nobody_for_ever(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.state.log.PATIENCE_SECONDS", 0.01)
    with log.writing(), pytest.raises(StateError, match="Wait for the other run"), log.writing():
        pass


def test_a_full_disk_is_no_damage_and_no_reason_for_an_old_copy(log: Log) -> None:
    """Who restores a copy forgets what was spent since."""
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"
    for error in (full, OSError(28, "No space left on device")):
        with pytest.raises(StateError, match="Make room") as caught, log.reading():
            raise error
        assert not isinstance(caught.value, DamagedError)


def test_a_folder_that_turned_read_only_can_be_read_and_is_told(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite3.connect

    def connect(path: Path, **given: Any) -> sqlite3.Connection:
        return real(f"{path.as_uri()}?mode=ro", uri=True, **given)

    monkeypatch.setattr(sqlite3, "connect", connect)
    assert read(log) == BODIES
    with pytest.raises(StateError, match="readonly database") as caught, log.writing() as transaction:
        transaction.add(transaction.head, b"four")
    assert not isinstance(caught.value, DamagedError)


def test_only_its_owner_reads_it(log: Log) -> None:
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").write_text("hello, this is not a database, but some text of some length" * 20)
    with pytest.raises(DamagedError):
        read(Log(tmp_path))
    with pytest.raises(StateError):
        read(Log(tmp_path / "state.sqlite" / "folder"))


@pytest.mark.parametrize("at", [18, 19, 52, 55, 64])
def test_a_header_that_would_be_noticed_late_is_noticed_at_once(log: Log, at: int) -> None:
    content = bytearray(log.path.read_bytes())
    content[at] ^= 2
    log.path.write_bytes(content)
    with pytest.raises(DamagedError, match="header"):
        read(log)


def test_a_content_that_is_a_link_or_a_folder_is_not_used(log: Log, tmp_path: Path) -> None:
    with log.writing() as transaction:
        digest = transaction.keep(bytes(LONG + 1), none)
    path = log.path.parent / "contents" / digest
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with log.reading() as transaction, pytest.raises(DamagedError, match="something cannot be read"):
        transaction.content(digest, "something")
    path.unlink()
    path.mkdir()
    with log.reading() as transaction, pytest.raises(DamagedError, match="something cannot be read"):
        transaction.content(digest, "something")


def test_a_database_that_is_gone_is_not_begun_anew(log: Log) -> None:
    log.path.unlink()
    (log.path.parent / "runs").mkdir()
    for _ in range(2):
        with pytest.raises(DamagedError, match="it is missing, though runs are here"):
            read(log)
        log.path.touch()
