"""A state folder with one bit flipped, wherever: told, with what it means. What is whole is told as whole."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from accord.side import Side
from accord.state.database import Database
from accord.state.folder import State
from accord.state.inspection import Inspection, uses_of
from accord.state.log import LONG
from accord.state.register import RunChanged, RunForgotten
from tests.run import faults
from tests.run.faults import Wire


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
    found = Inspection(State(state.folder))
    found.inspect()
    found.settle()
    return found


def told(state: State) -> list[str]:
    return [str(damage) for damage in inspect(state).damages]


def flip(content: bytes, at: int = -1) -> bytes:
    changed = bytearray(content)
    changed[at] ^= 1
    return bytes(changed)


def change(state: State, table: str, column: str, where: str, new: Callable[[bytes], object] = flip) -> None:
    """Change one cell of the database."""
    with sqlite3.connect(state.database.path) as db:
        ((old,),) = db.execute(f"SELECT {column} FROM {table} {where}").fetchall()  # noqa: S608
        db.execute(f"UPDATE {table} SET {column} = ? {where}", (new(old),))  # noqa: S608
    db.close()


def digest_of(state: State, name: str) -> str:
    with state.database.reading() as read:
        return next(iter(read.register.runs.values())).contents[name]


def test_what_is_whole_is_told_as_whole(state: State) -> None:
    before = {path: path.read_bytes() for path in state.folder.rglob("*") if path.is_file()}
    found = inspect(state)
    assert (found.damages, found.removed, found.whole) == ([], [], True)
    with state.database.reading() as read:
        assert found.entries == read.register.position.number
        assert found.contents == len(read.register.contents())
    assert len(found.kept) == len(found.runs) == 2
    assert found.read > LONG
    assert {path: path.read_bytes() for path in state.folder.rglob("*") if path.is_file()} == before


def test_an_empty_folder_is_whole(tmp_path: Path) -> None:
    assert told(State(tmp_path)) == []
    assert list(tmp_path.iterdir()) == [], "and none is made"


@pytest.mark.parametrize("column", ["body", "link"])
@pytest.mark.parametrize("number", [1, 5, "last"])
def test_one_entry_is_told_apart_from_all_others(state: State, column: str, number: int | str) -> None:
    with state.database.reading() as read:
        last = read.register.position.number
    at = last if number == "last" else int(number)
    change(state, "entries", column, f"WHERE number = {at}")
    found = inspect(state)
    assert not found.whole
    entries = [one.problem for one in found.damages if one.problem.startswith("entry")]
    assert entries == [f"entry {at:,} of its log is not what was written"]
    assert found.entries == last - 1, "the others are as they were"
    assert found.contents > 3, "and what they name is looked at"


def test_a_damaged_entry_is_told_by_what_it_seems_to_say(state: State) -> None:
    with sqlite3.connect(state.database.path) as db:
        query = "SELECT number FROM entries WHERE CAST(body AS TEXT) LIKE 'RunCharged %'"
        number = db.execute(query).fetchone()[0]
    db.close()
    change(state, "entries", "body", f"WHERE number = {number}")
    (first, *_) = told(state)
    name = next(iter((state.folder / "runs").iterdir())).name
    assert "It seems to be the charge of the run" in first
    assert len(name) == 16


@pytest.mark.parametrize(("column", "new"), [("number", lambda old: old + 1), ("link", flip)])
def test_a_head_that_is_another(state: State, column: str, new: Callable[[bytes], object]) -> None:
    change(state, "head", column, "", new)
    (line,) = told(state)
    assert line.startswith("state.sqlite: its log does not end with entry")


def test_entries_that_are_missing(state: State) -> None:
    with sqlite3.connect(state.database.path) as db:
        db.execute("DELETE FROM entries WHERE number IN (2, 3)")
    db.close()
    assert any("entries 2 to 3 of its log are missing" in line for line in told(state))


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("slots", "cannot be resumed"),
        ("receipt", "ask for a copy"),
        ("agreement", "neither be shown nor resumed"),
    ],
)
def test_a_content_in_the_database(state: State, name: str, meaning: str) -> None:
    run = next(iter((state.folder / "runs").iterdir()))
    change(state, "contents", "content", f"WHERE hex(digest) = '{digest_of(state, name).upper()}'")
    (line,) = [line for line in told(state) if f"the {name} of the run" in line]
    assert "is not what was written" in line
    assert "with bob on 'table'" in line
    assert meaning in line
    assert run.is_dir()


def test_the_digest_of_a_content(state: State) -> None:
    """What no entry names may be just what is missed: it stays."""
    digest = digest_of(state, "slots")
    change(state, "contents", "digest", f"WHERE hex(digest) = '{digest.upper()}'")
    found = inspect(state)
    assert any("the slots of the run" in one.problem and "is missing" in one.problem for one in found.damages)
    assert found.removed == []
    with closing(sqlite3.connect(state.database.path)) as db:
        assert db.execute("SELECT count(*) FROM contents").fetchone()[0] == len(found.register.contents()) - 1


def test_the_noise_of_a_snapshot_by_its_name(state: State) -> None:
    with state.database.reading() as read:
        (release,) = read.register.releases
        assert release.noise
    change(state, "contents", "content", f"WHERE hex(digest) = '{release.noise.upper()}'")
    (damage,) = inspect(state).damages
    assert "the noise of the snapshot 'first' of 'table' is not what was written" in str(damage)
    assert "Nothing can be linked under that name" in damage.meaning
    with state.database.reading() as read:
        assert all(name in damage.meaning for name in read.register.runs)


def test_a_long_content(state: State) -> None:
    path = state.folder / "contents" / digest_of(state, "looks")
    path.write_bytes(flip(path.read_bytes()))
    (line,) = told(state)
    assert line.startswith(f"contents/{path.name}: the looks of the run")
    path.unlink()
    (line,) = told(state)
    assert "the looks of the run" in line
    assert "is missing" in line


@pytest.mark.parametrize("at", [0, 30, -1])
def test_a_journal(state: State, at: int) -> None:
    for path in (state.folder / "runs").glob("*/journal"):
        path.write_bytes(flip(path.read_bytes(), at))
        lines = told(state)
        run = path.parent.name
        assert any(
            line.startswith(f"runs/{run}/journal: ") and f"that of the run {run}" in line for line in lines
        )
        path.unlink()
        assert any(line.startswith(f"runs/{run}/journal: it is missing") for line in told(state))


def test_the_file_of_the_database(state: State) -> None:
    content = state.database.path.read_bytes()
    for damaged in (b"no database" * 500, content[:4096], content[: len(content) // 2], b""):
        state.database.path.write_bytes(damaged)
        assert any(line.startswith("state.sqlite: ") for line in told(state)), len(damaged)
    state.database.path.unlink()
    lines = told(state)
    assert lines[0].startswith("state.sqlite: it is missing or empty, though runs are here")
    assert sum("the database does not know this run" in line for line in lines) == 2
    assert not state.database.path.exists()


def test_a_page_that_sqlite_itself_finds_wrong(state: State) -> None:
    content = bytearray(state.database.path.read_bytes())
    # The header of the second page: that of a table.
    content[4096 + 3 : 4096 + 5] = b"\xff\xff"
    state.database.path.write_bytes(bytes(content))
    assert any(line.startswith("state.sqlite: ") for line in told(state))


def test_folders_of_runs_that_are_not_known(state: State) -> None:
    (known, _) = sorted((state.folder / "runs").iterdir())
    shutil.copytree(known, known.with_name("unknown"))
    (line,) = told(state)
    assert line.startswith("runs/unknown: the database does not know this run, which has")
    assert "count it by hand" in line


def test_what_a_killed_process_left_is_removed_and_told(state: State) -> None:
    """But nothing of a folder in which anything is damaged."""
    left = state.folder / "contents" / ("0" * 64)
    left.write_bytes(b"left")
    (state.folder / "contents" / ".half").write_bytes(b"left")
    state.create_run("empty")
    journal = next((state.folder / "runs").glob("*/journal"))
    content = journal.read_bytes()
    journal.write_bytes(flip(content))
    assert inspect(state).removed == []
    assert left.exists()
    journal.write_bytes(content)
    found = inspect(state)
    assert found.damages == []
    assert found.removed == ["runs/empty", "contents/.half", f"contents/{left.name}"]
    assert not left.exists()
    assert inspect(state).removed == []


def test_what_is_forgotten_meanwhile_is_not_told(state: State) -> None:
    found = Inspection(State(state.folder))
    shutil.rmtree(state.folder / "runs")
    found.inspect()
    assert len(found.damages) == 2
    with Database(state.folder).writing() as write:
        for name in write.register.runs:
            write.add(RunForgotten(name))
    found.settle()
    assert found.damages == []


def test_everything_that_is_named_has_words(linked: Path) -> None:
    with Database(linked).reading() as read:
        uses = uses_of(read.register)
        assert uses.keys() == read.register.contents().keys()
    assert all(what and meaning for what, meaning, _ in uses.values())
