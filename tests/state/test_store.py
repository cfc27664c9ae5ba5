"""The store of a state folder: a log of entries, contents by their digests, and the journal of each run.

Every change is noticed. A transaction is whole or undone. A journal keeps every answer that counted.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from accord.errors import AccordError, DamagedError, PeerError, StateError
from accord.state.database import Database
from accord.state.journal import TAG, FileJournal
from accord.state.log import LONG, START, Log, Position, Transaction
from accord.state.register import (
    AccountSet,
    PartnerAdded,
    PartnerRemoved,
    Register,
    RunBegun,
    RunChanged,
    RunCharged,
    RunForgotten,
)
from tests.spent import SpentError

# -- the log -------------------------------------------------------------------------------------------------

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
    with closing(sqlite3.connect(log.path)) as db, db:
        db.execute(statement)


def test_entries_are_read_from_any_place_and_what_is_raised_undoes_everything(log: Log) -> None:
    with failing(log) as transaction:
        transaction.add(transaction.head, b"four")
    assert read(log) == BODIES
    assert read(log, START.then(b"one")) == BODIES[1:]
    assert log.path.stat().st_mode & 0o777 == 0o600


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


@pytest.mark.parametrize("at", [18, 19, 52, 55, 64])
def test_a_header_that_would_be_noticed_late_is_noticed_at_once(log: Log, at: int) -> None:
    content = bytearray(log.path.read_bytes())
    content[at] ^= 2
    log.path.write_bytes(content)
    with pytest.raises(DamagedError):
        read(log)


def test_what_is_no_log_or_another_is_refused(log: Log, tmp_path: Path) -> None:
    """And a log that is gone is not begun anew."""
    other = tmp_path / "other"
    other.mkdir()
    with Log(other).writing() as transaction:
        transaction.add(transaction.add(START, b"uno"), b"due")
    with pytest.raises(DamagedError):
        read(Log(other), START.then(b"one"))
    (other / "state.sqlite").write_text("hello, this is not a database, but some text of some length" * 20)
    with pytest.raises(DamagedError):
        read(Log(other))
    with pytest.raises(StateError):
        read(Log(other / "state.sqlite" / "folder"))
    log.path.unlink()
    (log.path.parent / "runs").mkdir()
    for _ in range(2):
        with pytest.raises(DamagedError):
            read(log)
        log.path.touch()


@pytest.mark.parametrize("size", [0, 100, LONG, LONG + 1])
def test_a_content_is_what_its_name_says(log: Log, size: int, tmp_path: Path) -> None:
    with log.writing() as transaction:
        digest = transaction.keep(bytes(size), none)
        assert transaction.keep(bytes(size), lambda: {digest}) == digest
    path = log.path.parent / "contents" / digest
    assert path.exists() == (size > LONG)

    def content() -> bytes:
        with log.reading() as transaction:
            return transaction.content(digest, "something")

    assert content() == bytes(size)
    if size > LONG:
        path.rename(tmp_path / "elsewhere")
        for strange in (lambda: path.symlink_to(tmp_path / "elsewhere"), path.mkdir):
            strange()
            with pytest.raises(DamagedError):
                content()
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_bytes(bytes(size - 1) + b"x")
    else:
        change(log, "UPDATE contents SET content = x'01'")
    with pytest.raises(DamagedError):
        content()
    if size > LONG:
        path.unlink()
    else:
        change(log, "DELETE FROM contents")
    with pytest.raises(DamagedError):
        content()


def test_files_that_no_entry_names_are_swept_and_what_is_dropped_is_gone(log: Log) -> None:
    """Once that is certain, and not before."""
    folder = log.path.parent / "contents"
    with failing(log) as transaction:
        left = transaction.keep(b"l" * (LONG + 1), none)
    assert (folder / left).exists()
    with log.writing() as transaction:
        first = transaction.keep(b"f" * (LONG + 1), none)
        short = transaction.keep(b"s" * 77, lambda: {first})
    assert [path.name for path in folder.iterdir()] == [first]
    with failing(log) as transaction:
        for name in (first, short):
            transaction.drop(name)
    with log.reading() as transaction:
        assert [transaction.content(name, "")[:1] for name in (first, short)] == [b"f", b"s"]
    with log.writing() as transaction:
        for name in (first, short):
            transaction.drop(name)
    assert not list(folder.iterdir())
    assert b"s" * 77 not in log.path.read_bytes()


def test_what_waits_is_full_or_is_read_only_is_no_damage(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who restores a copy forgets what was spent since."""
    full, real, errors = (
        sqlite3.OperationalError("database or disk is full"),
        sqlite3.connect,
        list[AccordError](),
    )
    full.sqlite_errorname = "SQLITE_FULL"
    for error in (full, OSError(28, "No space left on device")):
        with pytest.raises(StateError) as caught, log.reading():
            raise error
        errors.append(caught.value)
    with monkeypatch.context() as patch:
        patch.setattr("accord.state.log.PATIENCE_SECONDS", 0.01)
        with log.writing(), pytest.raises(StateError) as caught, log.writing():
            pass
        errors.append(caught.value)

    def connect(path: Path, **given: Any) -> sqlite3.Connection:
        return real(f"{path.as_uri()}?mode=ro", uri=True, **given)

    monkeypatch.setattr(sqlite3, "connect", connect)
    assert read(log) == BODIES
    with pytest.raises(StateError) as caught, log.writing() as transaction:
        transaction.add(transaction.head, b"four")
    assert not any(isinstance(error, DamagedError) for error in (*errors, caught.value))


# -- what the log adds up to ---------------------------------------------------------------------------------

ACCOUNT = AccountSet("North", "5", "1/8", None)


def charged(run: str, **more: Any) -> RunCharged:
    return RunCharged(run, "event", "north", "p", "agreement", "2026-11-17", True, "key", **more)


def known(database: Database) -> Register:
    with database.reading() as state:
        return state.register


def test_every_writer_sees_what_others_wrote(tmp_path: Path) -> None:
    one, other = Database(tmp_path), Database(tmp_path)
    for number, database in enumerate((one, other, one, other)):
        with database.writing() as state:
            assert len(state.register.partners) == number
            state.add(PartnerAdded(f"p{number}", "card"))
    with one.writing() as state:
        state.add(PartnerRemoved("p0"))
    assert list(known(one).partners) == list(known(other).partners) == ["p1", "p2", "p3"]


def test_what_was_cut_short_or_undone_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database(tmp_path).writing() as state:
        for run in ("r1", "r2"):
            state.add(charged(run))
    database, take = Database(tmp_path), Register.take

    def stop(register: Register, body: bytes) -> None:
        take(register, body)
        if len(register.runs) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Register, "take", stop)
        with pytest.raises(KeyboardInterrupt):
            known(database)
    found = known(database)
    assert (list(found.runs), len(found.releases)) == (["r1", "r2"], 1)
    with suppress(SpentError), database.writing() as state:
        state.add(ACCOUNT)
        raise SpentError
    assert not known(database).accounts
    with database.writing() as state:
        state.add(ACCOUNT)
    assert known(database).accounts == known(Database(tmp_path)).accounts == {"north": ACCOUNT}


def test_a_run_is_begun_charged_changed_and_forgotten(tmp_path: Path) -> None:
    database = Database(tmp_path)
    with database.writing() as state:
        shared, own = state.keep(b"agreement"), state.keep(b"secret")
        for run in ("r1", "r2"):
            state.add(RunBegun(run, {"done": False}, {"agreement": shared}))
        state.add(charged("r1", noise=state.keep(b"noise"), contents={"slots": own}))
        state.add(RunChanged("r1", {"done": True}))
    run = known(database).runs["r1"]
    assert (run.manifest, set(run.contents), run.release) == ({"done": True}, {"agreement", "slots"}, 0)
    assert len(set(known(database).contents().values())) == 3
    with database.writing() as state:
        state.add(RunForgotten("r1"))
    found = known(database)
    assert (found.runs["r1"].kept, found.release_of("key")) == (False, None)
    assert found.runs["r2"].contents == {"agreement": shared}
    with database.reading() as state:
        assert state.content(shared, "the agreement") == b"agreement", "another run has it, too"
    assert b"secret" not in database.path.read_bytes()


# -- journals ------------------------------------------------------------------------------------------------

ANSWERS = [b"commitments" * 3, b"", b"\0" * 40, bytes(range(256)) * 5, b"last \0\0\0"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def write(path: Path, answers: list[bytes], first: int = 0) -> list[int]:
    """A journal with these answers, behind those that it has; where each begins, and the end."""
    if not first:
        path.write_bytes(TAG)
    journal, places = FileJournal(path), [path.stat().st_size]
    while journal.recall() is not None:
        pass
    for answer in answers:
        journal.keep((answer[:3], answer[3:]))
        places.append(path.stat().st_size)
    journal.close()
    return places


def answers_of(path: Path) -> tuple[list[bytes], int]:
    """The answers of a journal, and how many bytes were dropped."""
    journal = FileJournal(path)
    try:
        return [bytes(answer) for answer in iter(journal.recall, None)], journal.torn
    finally:
        journal.close()


def test_answers_are_read_and_added(path: Path) -> None:
    write(path, ANSWERS[:3])
    assert answers_of(path) == (ANSWERS[:3], 0)
    write(path, ANSWERS[3:], first=3)
    assert answers_of(path) == (ANSWERS, 0)


@pytest.mark.parametrize("anew", [True, False])
def test_a_share_that_both_make_anew_is_dropped_and_nothing_else_is(path: Path, anew: bool) -> None:
    """An answer that is another when a step is done again is refused, however often."""
    write(path, ANSWERS[:3])
    for _ in range(2):
        journal = FileJournal(path)
        journal.meet(2, anew=anew)
        assert journal.again == (2 if anew else 3)
        assert [journal.recall() for _ in range(3)] == [*ANSWERS[:2], None]
        if anew:
            journal.keep((b"another share",))
            journal.close()
            break
        with pytest.raises(PeerError):
            journal.keep((b"another share",))
        journal.close()
    assert answers_of(path) == ([*ANSWERS[:2], b"another share"] if anew else ANSWERS[:3], 0)


@pytest.mark.parametrize("every", [31, pytest.param(1, marks=pytest.mark.slow)])
def test_cut_anywhere_the_whole_answers_stay(path: Path, every: int) -> None:
    """However much of the last one reached the disk, and also where what did not is zeros."""
    places = write(path, ANSWERS)
    whole = path.read_bytes()
    near = {place + by for place in places for by in (-1, 0, 1)}
    for cut in sorted({*range(places[0], len(whole), every), *near} & {*range(places[0], len(whole))}):
        kept = sum(place <= cut for place in places) - 1
        path.write_bytes(whole[:cut])
        assert answers_of(path) == (ANSWERS[:kept], cut - places[kept]), cut
        assert path.read_bytes() == whole[: places[kept]]
    for zeros in (1, 30, 600, 5000):
        path.write_bytes(whole + bytes(zeros))
        assert answers_of(path) == (ANSWERS, zeros)
    path.write_bytes(whole)
    write(path, [bytes(range(1, 256)) * 9], first=len(ANSWERS))
    long = path.read_bytes()
    lost = (len(whole) // 512 + 2) * 512
    path.write_bytes(long[:lost] + bytes(len(long) - lost))
    assert answers_of(path) == (ANSWERS, len(long) - len(whole))


@pytest.mark.parametrize("every", [97, pytest.param(7, marks=pytest.mark.slow)])
def test_every_flipped_bit_is_told_and_nothing_is_changed(path: Path, every: int) -> None:
    """Also a length in the middle, and answers in another order: none of these is a torn tail."""
    places = write(path, ANSWERS)
    whole = path.read_bytes()
    bent = [whole[:place] + number.to_bytes(8, "little") + whole[place + 8 :]
            for place in places[:-1] for number in (3, 7, 1 << 20, 1 << 40, (1 << 64) - 1)]  # fmt: skip
    bent.append(whole[: places[0]] + whole[places[1] : places[2]] + whole[places[0] : places[1]])
    for bit in range(len(TAG) * 8, len(whole) * 8, every):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        bent.append(bytes(damaged))
    for content in bent:
        path.write_bytes(content)
        with pytest.raises(DamagedError):
            answers_of(path)
        assert path.read_bytes() == content


LIMITED = """
import resource, sys
from pathlib import Path
from accord.errors import StateError
from accord.state.journal import FileJournal
path = Path(sys.argv[1])
journal = FileJournal(path)
journal.recall()
room = path.stat().st_size + 100
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
try:
    journal.keep((b"x" * 1000,))
except StateError as error:
    print(error.exit_code)
"""


def test_a_disk_that_takes_a_part(path: Path) -> None:
    """Near its end a disk takes some bytes of an answer and says nothing; the next write fails."""
    (_, size) = write(path, [b"first"])
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True)
    assert done.stdout == "6\n", done.stderr
    assert path.stat().st_size == size + 100, "the limit was not reached"
    assert answers_of(path) == ([b"first"], 100)
    write(path, [b"y" * 1000], first=1)
    assert answers_of(path) == ([b"first", b"y" * 1000], 0)
