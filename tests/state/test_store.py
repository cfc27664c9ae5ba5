"""The store of a state folder: a log of entries, contents by their digests, and the journal of each run.

Every change is noticed. A transaction is whole or undone. A journal keeps every answer that counted.
"""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from accord.errors import DamagedError, PeerError, StateError
from accord.state.database import Database
from accord.state.journal import TAG, FileJournal
from accord.state.log import LONG
from accord.state.register import PartnerAdded, PartnerRemoved, Register, RunBegun, RunCharged, RunForgotten
from tests.run import faults
from tests.spent import SpentError
from tests.state.damage import flip


def add_partners(folder: Path, *names: str) -> Database:
    database = Database(folder)
    with database.writing() as state:
        for name in names:
            state.add(PartnerAdded(name, "card"))
    return database


def read_register(database: Database) -> Register:
    with database.reading() as state:
        return state.register


def read_content(database: Database, digest: str) -> bytes:
    with database.reading() as state:
        return state.content(digest, "something")


CHANGES = [
    "UPDATE entries SET body = x'00' WHERE number = 2",
    "UPDATE entries SET link = zeroblob(32) WHERE number = 3",
    *("DELETE FROM entries WHERE number = 2", "DELETE FROM entries WHERE number = 3"),
    "INSERT INTO entries SELECT 4, body, link FROM entries WHERE number = 3",
    *("UPDATE head SET number = 2", "UPDATE head SET link = 'x'", "DELETE FROM head", "DROP TABLE entries"),
    *("PRAGMA user_version = 1", "PRAGMA application_id = 2"),
]


def test_every_change_of_the_database_is_noticed(tmp_path: Path) -> None:
    """Also bits of its header, another log, text, and a file that is gone though runs are here."""
    database = add_partners(tmp_path, "p1", "p2", "p3")
    path, whole = database.path, database.path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600

    def require_damaged(database: Database) -> None:
        with pytest.raises(DamagedError):
            read_register(database)

    for statement in CHANGES:
        path.write_bytes(whole)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(statement)
        require_damaged(Database(tmp_path))
    for at in (18, 19, 52, 55, 64):
        path.write_bytes(flip(whole, at, 2))
        require_damaged(Database(tmp_path))
    path.write_bytes(whole)
    read_register(database)
    path.write_bytes(add_partners(tmp_path / "other", "q1", "q2").path.read_bytes())
    require_damaged(database)
    path.write_text("hello, this is not a database, but some text of some length" * 20)
    require_damaged(database)
    with pytest.raises(StateError):
        read_register(Database(path / "folder"))
    path.unlink()
    (tmp_path / "runs").mkdir()
    for _ in range(2):
        require_damaged(database)
        path.touch()


def test_a_full_disk_and_a_lock_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restored copy forgets what was spent since."""
    database, errors = add_partners(tmp_path, "p1"), list[StateError]()
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"
    for error in (full, faults.full()):
        with pytest.raises(StateError) as caught, database.reading():
            raise error
        errors.append(caught.value)
    monkeypatch.setattr("accord.state.log.PATIENCE_SECONDS", 0.01)
    with database.writing(), pytest.raises(StateError) as caught, Database(tmp_path).writing():
        pass
    errors.append(caught.value)
    assert not any(isinstance(error, DamagedError) for error in errors)


def test_every_writer_sees_what_others_wrote(tmp_path: Path) -> None:
    """And nothing that was undone."""
    one, other = Database(tmp_path), Database(tmp_path)
    for number, database in enumerate((one, other, one, other)):
        with suppress(SpentError), database.writing() as state:
            state.add(PartnerAdded("undone", "card"))
            raise SpentError
        with database.writing() as state:
            assert len(state.register.partners) == number
            state.add(PartnerAdded(f"p{number}", "card"))
    with one.writing() as state:
        state.add(PartnerRemoved("p0"))
    assert list(read_register(one).partners) == list(read_register(other).partners) == ["p1", "p2", "p3"]


def test_a_forgotten_run_leaves_nothing_but_its_charge(tmp_path: Path) -> None:
    """Contents that another run has stay, and an undone transaction keeps and removes nothing."""
    database, long, folder = Database(tmp_path), bytes(LONG + 1), tmp_path / "contents"
    with database.writing() as state:
        assert state.content(state.keep(bytes(LONG)), "something") == bytes(LONG)
    assert not folder.exists()
    with database.writing() as state:
        shared, own, file = state.keep(b"agreement"), state.keep(b"secret"), state.keep(long)
        for run in ("r1", "r2"):
            state.add(RunBegun(run, {"done": False}, {"agreement": shared}))
        contents = {"slots": own, "looks": file}
        charge = ("r1", "event", "north", "p", "agreement", "2026-11-17", True, "key")
        state.add(RunCharged(*charge, noise=state.keep(b"noise"), contents=contents))
    first = read_register(database).runs["r1"]
    assert (first.manifest, first.release) == ({"done": False}, 0)
    assert set(first.contents) == {"agreement", "slots", "looks"}
    with suppress(SpentError), database.writing() as state:
        state.keep(long + b"left")
        state.add(RunForgotten("r1"))
        raise SpentError
    assert (read_content(database, own), read_content(database, file)) == (b"secret", long)
    (folder / file).rename(tmp_path / "elsewhere")
    (folder / file).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedError):
        read_content(database, file)
    with database.writing() as state:
        state.add(RunForgotten("r1"))
    register = read_register(database)
    assert (register.runs["r1"].kept, register.release_of("key")) == (False, None)
    assert register.runs["r2"].contents == {"agreement": shared}
    assert read_content(database, shared) == b"agreement"
    assert b"secret" not in database.path.read_bytes()
    with database.writing() as state:
        both = {state.keep(long), state.keep(long + b"other")}
    assert {path.name for path in folder.iterdir()} == both


# -- journals ------------------------------------------------------------------------------------------------

ANSWERS = [b"commitments" * 3, b"", b"\0" * 40, bytes(range(256)) * 5, b"last \0\0\0"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new journal."""
    (tmp_path / "journal").write_bytes(TAG)
    return tmp_path / "journal"


def write(path: Path, *answers: bytes) -> list[int]:
    """Add answers to a journal; where each begins, and the end."""
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
    with closing(FileJournal(path)) as journal:
        return [bytes(answer) for answer in iter(journal.recall, None)], journal.torn


@pytest.mark.parametrize("anew", [True, False])
def test_a_share_that_both_make_anew_is_dropped_and_nothing_else_is(path: Path, anew: bool) -> None:
    """An answer that is another when a step is done again is refused, however often."""
    write(path, *ANSWERS[:2])
    write(path, ANSWERS[2])
    for _ in range(1 if anew else 2):
        with closing(FileJournal(path)) as journal:
            journal.meet(2, anew=anew)
            assert journal.again == (2 if anew else 3)
            assert [journal.recall() for _ in range(3)] == [*ANSWERS[:2], None]
            if anew:
                journal.keep((b"another share",))
                continue
            with pytest.raises(PeerError):
                journal.keep((b"another share",))
    assert answers_of(path) == ([*ANSWERS[:2], b"another share"] if anew else ANSWERS[:3], 0)


def test_cut_anywhere_the_whole_answers_stay(path: Path) -> None:
    """Also where what did not reach the disk is zeros."""
    places = write(path, *ANSWERS)
    whole = path.read_bytes()
    cuts = {*range(places[0], len(whole), 97), *(place + by for place in places for by in (-1, 0, 1))}
    for cut in cuts & {*range(places[0], len(whole))}:
        kept = sum(place <= cut for place in places) - 1
        path.write_bytes(whole[:cut])
        assert answers_of(path) == (ANSWERS[:kept], cut - places[kept]), cut
        assert path.read_bytes() == whole[: places[kept]]
    path.write_bytes(whole)
    write(path, bytes(range(1, 256)) * 9)
    lost = (len(whole) // 512 + 2) * 512
    for content in (whole + bytes(30), whole + bytes(5000), path.read_bytes()[:lost] + bytes(1000)):
        path.write_bytes(content)
        assert answers_of(path) == (ANSWERS, len(content) - len(whole))


def test_every_flipped_bit_is_told_and_nothing_is_changed(path: Path) -> None:
    """Also answers in another order: neither is a torn tail."""
    places = write(path, *ANSWERS)
    whole = path.read_bytes()
    bent = [whole[: places[0]] + whole[places[1] : places[2]] + whole[places[0] : places[1]]]
    bent += [flip(whole, at, 1 << at % 8) for at in range(len(TAG), len(whole), 7)]
    for content in bent:
        path.write_bytes(content)
        with pytest.raises(DamagedError):
            answers_of(path)
        assert path.read_bytes() == content


def test_a_disk_that_takes_a_part(path: Path) -> None:
    """Near its end a disk takes some bytes of an answer and says nothing. The next write fails."""
    (_, size) = write(path, b"first")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(FileJournal(path)) as journal:
        journal.recall()
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))
        try:
            with pytest.raises(StateError) as caught:
                journal.keep((b"x" * 1000,))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not isinstance(caught.value, DamagedError)
    assert path.stat().st_size == size + 100, "the limit was not reached"
    assert answers_of(path) == ([b"first"], 100)
    write(path, b"y" * 1000)
    assert answers_of(path) == ([b"first", b"y" * 1000], 0)
