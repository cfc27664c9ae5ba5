"""A state folder with one bit flipped, wherever: told by its place. What is whole is told as whole."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from accord.run.inspection import inspect_state
from accord.side import Side
from accord.state.database import Database
from accord.state.folder import State
from accord.state.inspection import Inspection, uses_of
from accord.state.log import LONG
from accord.state.register import PartnerAdded, RunChanged, RunForgotten
from tests.run import faults
from tests.run.faults import Wire
from tests.state.damage import change, flip


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
        uses = uses_of(read.register)
        assert uses.keys() == read.register.contents().keys()
    assert all(what and meaning for what, meaning, _ in uses.values())
    assert len(found.kept) == len(found.runs) == 2
    assert found.read > LONG
    after = {path: path.read_bytes() for path in state.folder.rglob("*") if path.is_file()}
    assert {path for path in after if path.name != "lock"} == {path for path in before if path.name != "lock"}
    assert all(after[path] == before[path] for path in before)


def test_an_empty_folder_is_whole(tmp_path: Path) -> None:
    assert told(State(tmp_path)) == []
    assert list(tmp_path.iterdir()) == [], "and none is made"


@pytest.mark.parametrize("column", ["body", "link"])
@pytest.mark.parametrize("number", [1, 5, "last"])
def test_one_entry_is_told_apart_from_all_others(state: State, column: str, number: int | str) -> None:
    """The others are as they were, and what they name is looked at."""
    with state.database.reading() as read:
        last = read.register.position.number
    at = last if number == "last" else int(number)
    change(state, "entries", column, f"WHERE number = {at}")
    found = inspect(state)
    assert not found.whole
    assert len([one for one in found.damages if one.problem.startswith(f"entry {at:,} ")]) == 1
    assert not [
        one for one in found.damages if one.problem.startswith("entry") and f" {at:,} " not in one.problem
    ]
    assert found.entries == last - 1
    assert found.contents > 3
    (done(state) / "receipt").write_bytes(flip((done(state) / "receipt").read_bytes(), 70))
    assert any(line.startswith(f"runs/{done(state).name}/receipt: ") for line in told(state))


@pytest.mark.parametrize(("column", "new"), [("number", lambda old: old + 1), ("link", flip)])
def test_a_head_that_is_another(state: State, column: str, new: Callable[[bytes], object]) -> None:
    change(state, "head", column, "", new)
    assert any(line.startswith("state.sqlite: ") for line in told(state))
    change(state, "head", column, "", (lambda old: old - 1) if column == "number" else flip)  # type: ignore[operator]
    assert told(state) == []
    with closing(sqlite3.connect(state.database.path)) as db, db:
        db.execute("DELETE FROM entries WHERE number IN (2, 3)")
    assert any("2 to 3" in line for line in told(state))


@pytest.mark.parametrize("name", ["slots", "receipt", "agreement", "looks"])
def test_a_content(state: State, name: str) -> None:
    """What no entry names may be just what is missed: it stays."""
    digest, run = digest_of(state, name), done(state).name
    path = state.folder / "contents" / digest
    where = f"WHERE hex(digest) = '{digest.upper()}'"
    if path.exists():
        path.write_bytes(flip(path.read_bytes()))
    else:
        change(state, "contents", "content", where)
    (line,) = [line for line in told(state) if f"the {name} of the run" in line]
    assert run in line
    if path.exists():
        path.unlink()
    else:
        change(state, "contents", "digest", where)
    found = inspect(state)
    assert any(f"the {name} of the run" in one.problem for one in found.damages)
    assert found.removed == []


def test_the_noise_of_a_snapshot(state: State) -> None:
    with state.database.reading() as read:
        (release,) = read.register.releases
        runs = list(read.register.runs)
    assert release.noise
    change(state, "contents", "content", f"WHERE hex(digest) = '{release.noise.upper()}'")
    (damage,) = inspect(state).damages
    assert "'first'" in str(damage)
    assert all(name in damage.meaning for name in runs)


@pytest.mark.parametrize("at", [0, 30, -1])
def test_a_journal(state: State, at: int) -> None:
    for path in (state.folder / "runs").glob("*/journal"):
        place = f"runs/{path.parent.name}/journal: "
        path.write_bytes(flip(path.read_bytes(), at))
        assert any(line.startswith(place) for line in told(state))
        path.unlink()
        assert any(line.startswith(place) for line in told(state))


def test_the_file_of_the_database(state: State) -> None:
    content = state.database.path.read_bytes()
    page = bytearray(content)
    # The header of the second page: that of a table.
    page[4096 + 3 : 4096 + 5] = b"\xff\xff"
    for damaged in (b"no database" * 500, content[:4096], content[: len(content) // 2], b"", bytes(page)):
        state.database.path.write_bytes(damaged)
        assert any(line.startswith("state.sqlite: ") for line in told(state)), len(damaged)
    state.database.path.unlink()
    lines = told(state)
    assert lines[0].startswith("state.sqlite: ")
    assert sum(line.startswith("runs/") for line in lines) == 2
    assert not state.database.path.exists()


def test_a_folder_of_a_run_that_is_not_known(state: State) -> None:
    known = done(state)
    shutil.copytree(known, known.with_name("unknown"))
    (line,) = told(state)
    assert line.startswith("runs/unknown: ")


def test_what_a_killed_process_left_is_removed_and_told(state: State) -> None:
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


def test_a_receipt(state: State) -> None:
    """Its copy is written again; one that is not signed by both is told."""
    path = done(state) / "receipt"
    content = path.read_bytes()
    path.write_bytes(flip(content, 100))
    (line,) = told(state)
    assert line.startswith(f"runs/{path.parent.name}/receipt: ")
    assert path.read_bytes() == content
    path.unlink()
    assert told(state) == []
    assert path.read_bytes() == content
    with state.database.writing() as write:
        changed = write.keep(content.replace(b'"matches": ', b'"matches": 1', 1))
        write.add(RunChanged(path.parent.name, {}, {"receipt": changed}))
    assert any(path.parent.name in line for line in told(state))


@pytest.mark.parametrize("part", ["PRIVATE KEY", "CERTIFICATE"])
def test_the_identity(state: State, part: str, tmp_path: Path) -> None:
    """A key, a card, a card of another key, or none."""
    content, card = state.identity.read_bytes(), b"-----BEGIN CERTIFICATE"
    # The last letters of the key's part are the key itself, and those of the card its signature.
    at = content.index(f"-----END {part}".encode()) - 20
    other = faults.offices(tmp_path / "other", anew=True)[Side.A].state.identity.read_bytes()
    for damaged in (
        content[:at] + (b"A" if content[at : at + 1] != b"A" else b"B") + content[at + 1 :],
        other[: other.index(card)] + content[content.index(card) :],
    ):
        state.identity.write_bytes(damaged)
        (line,) = told(state)
        assert line.startswith("identity.pem: ")
    state.identity.unlink()
    (line,) = told(state)
    assert line.startswith("identity.pem: ")


def test_the_card_of_a_partner(state: State) -> None:
    with state.database.writing() as write:
        card = write.register.partners["bob"]
        write.add(PartnerAdded("bob", card[:200] + ("A" if card[200] != "A" else "B") + card[201:]))
    (line,) = told(state)
    assert "bob" in line
