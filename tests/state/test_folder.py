"""The state folder: closed to others, inspected so that every damage has its place, and its store.

Every change is noticed. A transaction is whole or undone. A journal keeps every answer that counted.
"""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from accord.errors import DamagedError, PeerError, StateError, UsageError
from accord.run.inspection import inspect_state
from accord.side import Side
from accord.state.database import Database
from accord.state.files import write_private
from accord.state.folder import State, open_state, require_private
from accord.state.inspection import Inspection, uses_of
from accord.state.journal import TAG, FileJournal
from accord.state.log import LONG
from accord.state.register import (
    PartnerAdded,
    PartnerRemoved,
    Register,
    RunBegun,
    RunChanged,
    RunCharged,
    RunForgotten,
)
from tests.run import faults
from tests.run.faults import Wire
from tests.spent import SpentError
from tests.state.damage import change, everything, flip


def test_the_folder_is_the_one_named_or_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_state(tmp_path / "x", {}).folder == tmp_path / "x"
    assert open_state(None, {"XDG_STATE_HOME": str(tmp_path / "xdg")}).folder == tmp_path / "xdg" / "accord"
    for ignored in ({}, {"XDG_STATE_HOME": ""}, {"XDG_STATE_HOME": "relative"}):
        assert open_state(None, ignored).folder == tmp_path / ".local" / "state" / "accord"
    (tmp_path / "file").touch()
    with pytest.raises(StateError):
        open_state(tmp_path / "file" / "state", {})


@pytest.fixture
def kept(tmp_path: Path) -> State:
    """A state folder with something in it."""
    state = open_state(tmp_path / "a" / "state", {})
    write_private(state.identity, b"key")
    write_private(state.create_run("r1") / "journal", b"journal")
    (state.run("r1") / "inner").mkdir(mode=0o700)
    return state


def require_refused(state: State, run: bool = True) -> None:
    """Neither the folder of the run nor the whole one is trusted."""
    with pytest.raises(StateError):
        open_state(state.folder, {})
    if run:
        with pytest.raises(StateError):
            require_private(state.run("r1"))


def test_folders_of_runs_are_closed_and_removed_alone(kept: State) -> None:
    folders = (kept.folder, kept.folder / "runs", kept.run("r1"), kept.create_run("r1"))
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    other = kept.create_run("r2")
    assert kept.remove_run("r1")
    assert not kept.remove_run("r1")
    assert not kept.run("r1").exists()
    assert other.exists()
    for run in ("", ".", "..", "../x", "a/b", "-x", "a" * 65, "a b", "é"):
        with pytest.raises(UsageError):
            kept.run(run)


@pytest.mark.parametrize("name", ["identity.pem", "runs", "runs/r1/journal", "runs/r1/inner"])
def test_what_is_open_to_others_is_not_trusted(kept: State, name: str) -> None:
    path = kept.folder / name
    require = (
        partial(require_private, kept.run("r1")) if "/" in name else partial(open_state, kept.folder, {})
    )
    for mode in (0o640, 0o604, 0o620, 0o602):
        path.chmod(mode | (0o100 if path.is_dir() else 0))
        with pytest.raises(StateError) as caught:
            require()
        assert caught.value.facts["path"] == path
        path.chmod(path.stat().st_mode & ~0o077)
        require()


def test_folders_of_others_links_and_pipes_are_not_trusted(
    kept: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.folder.chmod(0o775)
    require_refused(kept, run=False)
    kept.folder.chmod(0o755)
    open_state(kept.folder, {})
    with monkeypatch.context() as patch:
        real = os.geteuid()
        patch.setattr(os, "geteuid", lambda: real + 1)
        require_refused(kept)
    strange, database = kept.run("r1") / "strange", kept.folder / "state.sqlite"
    for make in (Path.symlink_to, lambda path, _: os.mkfifo(path)):
        for path in (strange, database):
            make(path, kept.identity)
        require_refused(kept)
        for path in (strange, database):
            path.unlink()
    open_state(kept.folder, {})
    require_private(kept.run("r1"))


def test_nothing_is_written_through_a_link_or_into_a_full_folder(
    kept: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a link in the place of the file nor one in the place of what is written beside it."""

    def full(handle: int) -> None:
        raise faults.full()

    precious = tmp_path / "precious"
    precious.write_text("mine")
    (kept.folder / f".identity.pem.{os.getpid()}").symlink_to(precious)
    write_private(kept.identity, b"new")
    assert precious.read_text() == "mine"
    assert kept.identity.read_bytes() == b"new"
    assert not kept.identity.is_symlink()
    kept.require_writable()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError):
        kept.require_writable()
    assert sorted(path.name for path in kept.folder.iterdir()) == ["identity.pem", "runs"]


# -- inspection ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder with two runs, one of which was cut, and a long content."""
    folder = tmp_path_factory.mktemp("linked")
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        both = faults.offices(folder, "plain")
        faults.link(both)
        faults.link(both, Wire(frames=20))
    office = both[Side.A]
    with office.state.database.writing() as state:
        name = next(iter(state.register.runs))
        state.add(RunChanged(name, {}, {"looks": state.keep(bytes(LONG + 1))}))
    return office.state.folder


@pytest.fixture
def state(linked: Path, tmp_path: Path) -> State:
    """A copy to be damaged."""
    shutil.copytree(linked, tmp_path / "state")
    return State(tmp_path / "state")


def inspect(state: State) -> Inspection:
    return inspect_state(State(state.folder))


def places(state: State) -> list[str]:
    """Where there is damage."""
    return [damage.place for damage in inspect(state).damages]


def places_with(state: State, path: Path, content: bytes | None) -> list[str]:
    """Where there is damage if a file has this content, or is gone. It is put back."""
    before = path.read_bytes()
    path.unlink()
    if content is not None:
        write_private(path, content)
    found = places(state)
    write_private(path, before)
    return found


def finished(state: State) -> Path:
    """The folder of the run that is done."""
    (receipt,) = (state.folder / "runs").glob("*/receipt")
    return receipt.parent


def test_a_whole_folder_has_no_damage_and_stays_as_it_is(state: State, tmp_path: Path) -> None:
    before = everything(state.folder)
    found = inspect(state)
    assert (found.damages, found.removed, found.whole) == ([], [], True)
    with state.database.reading() as read:
        assert found.entries == read.register.position.number
        assert found.contents == len(read.register.contents())
        uses = uses_of(read.register)
        assert uses.keys() == read.register.contents().keys()
    assert all(what and meaning for what, meaning, _ in uses.values())
    assert len(found.kept) == len(found.runs) == 2
    assert found.read > LONG
    assert everything(state.folder) == before
    empty = tmp_path / "empty"
    empty.mkdir()
    assert places(State(empty)) == []
    assert list(empty.iterdir()) == []


def test_a_run_that_is_forgotten_meanwhile_is_not_told(state: State) -> None:
    found = Inspection(State(state.folder))
    shutil.rmtree(state.folder / "runs")
    (state.folder / "contents").rename(state.folder / "elsewhere")
    found.inspect()
    assert len(found.damages) == 3
    with state.database.writing() as write:
        for name in write.register.runs:
            write.add(RunForgotten(name))
    found.settle()
    assert found.damages == []


@pytest.mark.parametrize(("column", "number"), [("body", 1), ("link", 5), ("body", -1), ("link", -1)])
def test_one_entry_is_told_apart_from_all_others(state: State, column: str, number: int) -> None:
    """The others are as they were, and what they name is inspected. The last entry is -1."""
    with state.database.reading() as read:
        last = read.register.position.number
    at = last if number < 0 else number
    change(state, "entries", column, f"WHERE number = {at}")
    (finished(state) / "receipt").write_bytes(b"")
    found = inspect(state)
    assert (found.whole, found.entries) == (False, last - 1)
    assert found.contents > 3
    log, *files = found.damages
    assert f" {at:,} " in log.problem
    assert {damage.place for damage in files} >= {f"runs/{finished(state).name}/receipt"}


@pytest.mark.parametrize("name", ["slots", "looks", "noise", "agreement"])
def test_a_content(state: State, name: str) -> None:
    """A content that no entry names may be the one that is missing: it stays."""
    with state.database.reading() as read:
        run, (release,) = next(iter(read.register.runs.values())), read.register.releases
    digest = release.noise or "" if name == "noise" else run.contents[name]
    path, where = state.folder / "contents" / digest, f"WHERE hex(digest) = '{digest.upper()}'"
    long = path.exists()
    for column in ("content", "digest"):
        if not long:
            change(state, "contents", column, where)
        elif column == "content":
            path.write_bytes(flip(path.read_bytes()))
        else:
            path.unlink()
        found = inspect(state)
        assert [(damage.digest, damage.run) for damage in found.damages] == [(digest, run.name)]
        assert found.removed == []


def test_the_files_of_runs(state: State) -> None:
    """A journal, the folder of an unknown run, and a receipt, which is written again."""
    for path in (state.folder / "runs").glob("*/journal"):
        content, place = path.read_bytes(), f"runs/{path.parent.name}/journal"
        for damaged in (*(flip(content, at) for at in (0, 30, -1)), None):
            assert places_with(state, path, damaged) == [place]
    run = finished(state)
    shutil.copytree(run, run.with_name("unknown"))
    assert places(state) == ["runs/unknown"]
    shutil.rmtree(run.with_name("unknown"))
    receipt = run / "receipt"
    content = receipt.read_bytes()
    assert places_with(state, receipt, flip(content, 100)) == [f"runs/{run.name}/receipt"]
    receipt.unlink()
    assert places(state) == []
    assert receipt.read_bytes() == content
    with state.database.writing() as write:
        changed = write.keep(content.replace(b'"matches": ', b'"matches": 1', 1))
        write.add(RunChanged(run.name, {}, {"receipt": changed}))
    assert run.name in {damage.run for damage in inspect(state).damages}


def test_the_file_of_the_database(state: State) -> None:
    path = state.database.path
    content = path.read_bytes()
    # The header of the second page: that of a table.
    page = content[: 4096 + 3] + b"\xff\xff" + content[4096 + 5 :]
    for damaged in (b"no database" * 500, content[:4096], content[: len(content) // 2], b"", page):
        assert "state.sqlite" in places_with(state, path, damaged), len(damaged)
    for statement in ("UPDATE head SET number = number + 1", "DELETE FROM entries WHERE number IN (2, 3)"):
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(statement)
        first, *_ = inspect(state).damages
        assert first.place == "state.sqlite"
    assert "2 to 3" in first.problem
    path.unlink()
    first_place, *others = places(state)
    assert first_place == "state.sqlite"
    assert sum(place.startswith("runs/") for place in others) == 2
    assert not path.exists()


def test_leftovers_of_a_killed_process_are_removed(state: State) -> None:
    """But nothing of a folder in which anything is damaged."""
    left = state.folder / "contents" / ("0" * 64)
    left.write_bytes(b"left")
    (state.folder / "contents" / ".half").write_bytes(b"left")
    state.create_run("empty")
    journal = finished(state) / "journal"
    assert places_with(state, journal, flip(journal.read_bytes()))
    assert left.exists()
    found = inspect(state)
    assert found.damages == []
    assert found.removed == ["runs/empty", "contents/.half", f"contents/{left.name}"]
    assert not left.exists()


def test_the_identity_and_the_card_of_a_partner(state: State, tmp_path: Path) -> None:
    """A key, a card, a card of another key, or none."""
    content, card = state.identity.read_bytes(), b"-----BEGIN CERTIFICATE"
    other = faults.offices(tmp_path / "other", anew=True)[Side.A].state.identity.read_bytes()
    bent = [other[: other.index(card)] + content[content.index(card) :], None]
    for part in ("PRIVATE KEY", "CERTIFICATE"):
        # The last letters of the key's part are the key itself, and those of the card its signature.
        at = content.index(f"-----END {part}".encode()) - 20
        bent.append(content[:at] + (b"A" if content[at : at + 1] != b"A" else b"B") + content[at + 1 :])
    for damaged in bent:
        assert places_with(state, state.identity, damaged) == ["identity.pem"]
    with state.database.writing() as write:
        partner = write.register.partners["bob"]
        bad = partner[:200] + ("A" if partner[200] != "A" else "B") + partner[201:]
        write.add(PartnerAdded("bob", bad))
    (damage,) = inspect(state).damages
    assert "bob" in damage.problem


# -- the store: a log of entries, contents by their digests, journals ----------------------------------------


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
    long, lost = path.read_bytes(), (len(whole) // 512 + 2) * 512
    for content in (whole + bytes(30), whole + bytes(5000), long[:lost] + bytes(len(long) - lost)):
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
