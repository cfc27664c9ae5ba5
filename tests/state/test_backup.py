"""Copies of a state folder: made while runs go on, private, whole or not at all."""

from __future__ import annotations

import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from accord.errors import AccordError, DamagedError, UsageError
from accord.side import Side
from accord.state import backup
from accord.state.backup import write_copy
from accord.state.folder import State
from accord.state.journal import TAG
from tests.run import faults
from tests.run.faults import Office, Wire
from tests.state.test_inspection import change

pytestmark = pytest.mark.usefixtures("quick")

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.fixture
def both(tmp_path: Path) -> dict[Side, Office]:
    """Two organisations after one run."""
    made = faults.offices(tmp_path, "plain")
    faults.require_linked(faults.link(made))
    return made


@pytest.fixture
def office(both: dict[Side, Office]) -> Office:
    return both[Side.A]


def keep(office: Office, name: str = "copy.tar") -> Path:
    path = office.data.with_name(name)
    made = write_copy(State(office.state.folder), path, NOW)
    assert made.faults == ()
    return path


def beside(office: Office) -> set[str]:
    return {path.name for path in office.state.folder.parent.iterdir()}


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {info.name: archive.extractfile(info).read() for info in archive}  # type: ignore[union-attr]


def test_nothing_is_overwritten_and_nothing_copied_into_itself(office: Office) -> None:
    path = keep(office)
    content = path.read_bytes()
    with pytest.raises(UsageError, match="already exists"):
        keep(office)
    assert path.read_bytes() == content
    write_copy(office.state, path, NOW, force=True)
    with pytest.raises(UsageError, match="in the state folder itself"):
        write_copy(office.state, office.state.folder / "copy.tar", NOW)
    with pytest.raises(AccordError, match="No such file"):
        write_copy(office.state, path.parent / "none" / "copy.tar", NOW)
    with pytest.raises(UsageError, match="nothing to copy"):
        write_copy(State(path.with_name("none")), path.with_name("b.tar"), NOW)


def test_a_disk_that_is_full_leaves_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    names = beside(office)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup._Archive, "finish", full)
    with pytest.raises(AccordError, match="No space left"):
        keep(office)
    assert beside(office) == names


def test_of_a_run_that_was_not_charged_the_journal_is_empty(both: dict[Side, Office]) -> None:
    """What it holds by now may follow from noise that the copy does not have."""
    office = both[Side.A]
    faults.link(both, Wire(frames=2))
    with office.state.database.reading() as read:
        begun = [run.name for run in read.register.runs.values() if run.charged is None]
    for name in begun:
        with (office.state.run(name) / "journal").open("ab") as file:
            file.write(b"more")
        assert members(keep(office))[f"runs/{name}/journal"] == TAG
    assert begun


def test_a_run_that_is_forgotten_meanwhile(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is begun anew."""
    (name,) = [path.name for path in (office.state.folder / "runs").iterdir()]
    real, calls = backup._add_run, list[str]()

    def forgetting(archive: Any, state: State, register: Any, run: str) -> list[str]:
        if not calls:
            calls.append(run)
            office.ledger.forget(run)
            office.state.remove_run(run)
        return real(archive, state, register, run)

    monkeypatch.setattr(backup, "_add_run", forgetting)
    kept = members(keep(office))
    assert calls == [name]
    assert not any(name in member for member in kept)


def damage_entry(office: Office) -> None:
    change(office.state, "entries", "body", "WHERE number = 2")


def test_a_damaged_log_is_not_copied(office: Office) -> None:
    names = beside(office)
    damage_entry(office)
    with pytest.raises(DamagedError) as refused:
        keep(office)
    assert str(office.state.database.path) in str(refused.value)
    assert beside(office) == names
