"""The state folder: closed to others, and inspected so that every damage is reported with its place."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from accord.errors import StateError, UsageError
from accord.run.inspection import inspect_state
from accord.side import Side
from accord.state.files import write_private
from accord.state.folder import State, open_state, require_private
from accord.state.inspection import Inspection, uses_of
from accord.state.log import LONG
from accord.state.register import PartnerAdded, RunChanged
from tests.run import faults
from tests.run.faults import Wire
from tests.state.damage import change, flip


def test_the_folder_is_the_one_named_or_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_state(tmp_path / "x", {}).folder == tmp_path / "x"
    assert open_state(None, {"XDG_STATE_HOME": str(tmp_path / "xdg")}).folder == tmp_path / "xdg" / "accord"
    for ignored in ({}, {"XDG_STATE_HOME": ""}, {"XDG_STATE_HOME": "relative"}):
        assert open_state(None, ignored).folder == tmp_path / "home" / ".local" / "state" / "accord"
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError):
        open_state(tmp_path / "file" / "state", {})


def test_names_that_leave_the_folder_are_refused() -> None:
    for run in ("", ".", "..", "../x", "a/b", "-x", "a" * 65, "a b", "é"):
        with pytest.raises(UsageError):
            State(Path("/nowhere")).run(run)


@pytest.fixture
def kept(tmp_path: Path) -> State:
    """A state folder with something in it."""
    state = open_state(tmp_path / "a" / "state", {})
    write_private(state.identity, b"key")
    write_private(state.create_run("r1") / "journal", b"journal")
    (state.run("r1") / "inner").mkdir(mode=0o700)
    return state


def test_folders_of_runs_are_closed_and_removed_alone(kept: State) -> None:
    folders = (kept.folder, kept.folder / "runs", kept.run("r1"), kept.create_run("r1"))
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    other = kept.create_run("r2")
    assert kept.remove_run("r1")
    assert not kept.remove_run("r1")
    assert not kept.run("r1").exists()
    assert other.exists()


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


def test_a_folder_of_others_or_that_they_may_write_into_is_not_trusted(
    kept: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.folder.chmod(0o775)
    with pytest.raises(StateError):
        open_state(kept.folder, {})
    kept.folder.chmod(0o755)
    open_state(kept.folder, {})
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    with pytest.raises(StateError):
        open_state(kept.folder, {})
    with pytest.raises(StateError):
        require_private(kept.run("r1"))


def test_links_and_pipes_are_not_trusted(kept: State) -> None:
    strange, database = kept.run("r1") / "strange", kept.folder / "state.sqlite"
    for make in (partial(strange.symlink_to, kept.identity), partial(os.mkfifo, strange)):
        make()
        with pytest.raises(StateError):
            require_private(kept.run("r1"))
        strange.rename(database)
        with pytest.raises(StateError):
            open_state(kept.folder, {})
        database.unlink()
    open_state(kept.folder, {})


def test_nothing_is_written_through_a_link(kept: State, tmp_path: Path) -> None:
    """Neither a link in the place of the file nor one in the place of what is written beside it."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (kept.folder / f".identity.pem.{os.getpid()}").symlink_to(precious)
    write_private(kept.identity, b"new")
    assert precious.read_text() == "mine"
    assert kept.identity.read_bytes() == b"new"
    assert not kept.identity.is_symlink()


def test_a_folder_that_takes_nothing_is_found_before_any_work(
    kept: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise faults.full()

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


def told(state: State) -> list[str]:
    return [str(damage) for damage in inspect(state).damages]


def done(state: State) -> Path:
    """The folder of the run that is done."""
    (found,) = (state.folder / "runs").glob("*/receipt")
    return found.parent


def files(state: State) -> dict[Path, bytes]:
    paths = [path for path in state.folder.rglob("*") if path.is_file() and path.name != "lock"]
    return {path: path.read_bytes() for path in paths}


def test_a_whole_folder_has_no_damage_and_stays_as_it_is(state: State, tmp_path: Path) -> None:
    before = files(state)
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
    assert files(state) == before
    empty = tmp_path / "empty"
    empty.mkdir()
    assert told(State(empty)) == []
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(("column", "number"), [("body", 1), ("link", 5), ("body", 0), ("link", 0)])
def test_one_entry_is_told_apart_from_all_others(state: State, column: str, number: int) -> None:
    """The others are as they were, and what they name is inspected. Entry 0 is the last."""
    with state.database.reading() as read:
        last = read.register.position.number
    at = number or last
    change(state, "entries", column, f"WHERE number = {at}")
    receipt = done(state) / "receipt"
    receipt.write_bytes(flip(receipt.read_bytes(), 70))
    found = inspect(state)
    assert not found.whole
    entries = [one.problem for one in found.damages if one.problem.startswith("entry")]
    assert entries
    assert all(f" {at:,} " in problem for problem in entries)
    assert found.entries == last - 1
    assert found.contents > 3
    assert any(str(one).startswith(f"runs/{receipt.parent.name}/receipt: ") for one in found.damages)


@pytest.mark.parametrize("name", ["slots", "looks", "noise"])
def test_a_content(state: State, name: str) -> None:
    """A content that no entry names may be the one that is missing: it stays."""
    with state.database.reading() as read:
        known, (release,) = next(iter(read.register.runs.values())), read.register.releases
    digest = release.noise or "" if name == "noise" else known.contents[name]
    runs = [path.name for path in (state.folder / "runs").iterdir()] if name == "noise" else [known.name]
    path = state.folder / "contents" / digest
    where = f"WHERE hex(digest) = '{digest.upper()}'"
    if path.exists():
        path.write_bytes(flip(path.read_bytes()))
    else:
        change(state, "contents", "content", where)
    (line,) = told(state)
    assert f"the {name} of " in line
    assert all(run in line for run in runs)
    if path.exists():
        path.unlink()
    else:
        change(state, "contents", "digest", where)
    found = inspect(state)
    assert any(f"the {name} of " in one.problem for one in found.damages)
    assert found.removed == []


def test_the_files_of_runs(state: State) -> None:
    """A journal, the folder of an unknown run, and a receipt, which is written again."""
    known = done(state)
    for path in (state.folder / "runs").glob("*/journal"):
        content, place = path.read_bytes(), f"runs/{path.parent.name}/journal: "
        for at in (0, 30, -1):
            path.write_bytes(flip(content, at))
            assert [line.startswith(place) for line in told(state)] == [True]
        path.unlink()
        assert [line.startswith(place) for line in told(state)] == [True]
        path.write_bytes(content)
    shutil.copytree(known, known.with_name("unknown"))
    (line,) = told(state)
    assert line.startswith("runs/unknown: ")
    shutil.rmtree(known.with_name("unknown"))
    receipt = known / "receipt"
    content = receipt.read_bytes()
    receipt.write_bytes(flip(content, 100))
    (line,) = told(state)
    assert line.startswith(f"runs/{known.name}/receipt: ")
    receipt.unlink()
    assert told(state) == []
    assert receipt.read_bytes() == content
    with state.database.writing() as write:
        changed = write.keep(content.replace(b'"matches": ', b'"matches": 1', 1))
        write.add(RunChanged(known.name, {}, {"receipt": changed}))
    assert any(known.name in line for line in told(state))


def test_the_file_of_the_database(state: State) -> None:
    content = state.database.path.read_bytes()
    page = bytearray(content)
    # The header of the second page: that of a table.
    page[4096 + 3 : 4096 + 5] = b"\xff\xff"
    for damaged in (b"no database" * 500, content[:4096], content[: len(content) // 2], b"", bytes(page)):
        state.database.path.write_bytes(damaged)
        assert any(line.startswith("state.sqlite: ") for line in told(state)), len(damaged)
    for statement in ("UPDATE head SET number = number + 1", "DELETE FROM entries WHERE number IN (2, 3)"):
        state.database.path.write_bytes(content)
        with closing(sqlite3.connect(state.database.path)) as db, db:
            db.execute(statement)
        lines = told(state)
        assert any(line.startswith("state.sqlite: ") for line in lines)
    assert any("2 to 3" in line for line in lines)
    state.database.path.unlink()
    lines = told(state)
    assert lines[0].startswith("state.sqlite: ")
    assert sum(line.startswith("runs/") for line in lines) == 2
    assert not state.database.path.exists()


def test_leftovers_of_a_killed_process_are_removed(state: State) -> None:
    """But nothing of a folder in which anything is damaged."""
    left = state.folder / "contents" / ("0" * 64)
    left.write_bytes(b"left")
    (state.folder / "contents" / ".half").write_bytes(b"left")
    state.create_run("empty")
    journal = done(state) / "journal"
    content = journal.read_bytes()
    journal.write_bytes(flip(content))
    assert inspect(state).removed == []
    assert left.exists()
    journal.write_bytes(content)
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
        state.identity.unlink()
        if damaged is not None:
            write_private(state.identity, damaged)
        (line,) = told(state)
        assert line.startswith("identity.pem: ")
        write_private(state.identity, content)
    with state.database.writing() as write:
        partner = write.register.partners["bob"]
        bad = partner[:200] + ("A" if partner[200] != "A" else "B") + partner[201:]
        write.add(PartnerAdded("bob", bad))
    (line,) = told(state)
    assert "bob" in line
