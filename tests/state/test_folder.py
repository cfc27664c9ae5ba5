"""The state folder: where it is, and that nobody else can read it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from accord.errors import StateError, UsageError
from accord.state.files import write_private
from accord.state.folder import State, open_state, require_private
from tests.run import faults


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_folder_is_the_one_named_or_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert open_state(tmp_path / "x", {}).folder == tmp_path / "x"
    assert open_state(None, {"XDG_STATE_HOME": str(tmp_path / "xdg")}).folder == tmp_path / "xdg" / "accord"
    for ignored in ({}, {"XDG_STATE_HOME": ""}, {"XDG_STATE_HOME": "relative"}):
        assert open_state(None, ignored).folder == tmp_path / "home" / ".local" / "state" / "accord"


def test_folders_are_closed_to_others(tmp_path: Path) -> None:
    state = open_state(tmp_path / "a" / "state", {})
    run = state.create_run("r1")
    assert [mode(path) for path in (state.folder, run.parent, run)] == [0o700] * 3
    assert state.create_run("r1") == run


def test_a_run_is_removed_with_all_it_kept_and_no_other(tmp_path: Path) -> None:
    state = open_state(tmp_path, {})
    (state.create_run("r1") / "slots").write_bytes(b"x")
    other = state.create_run("r2")
    assert state.remove_run("r1")
    assert not state.remove_run("r1")
    assert not state.run("r1").exists()
    assert other.exists()


@pytest.mark.parametrize("run", ["", ".", "..", "../x", "a/b", "-x", "a" * 65, "a b", "é"])
def test_names_that_leave_the_folder_are_refused(run: str) -> None:
    with pytest.raises(UsageError):
        State(Path("/nowhere")).run(run)


def test_a_place_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError):
        open_state(tmp_path / "file" / "state", {})


# -- what others could have put there ----------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> State:
    """A state folder with something in it."""
    state = open_state(tmp_path / "state", {})
    write_private(state.identity, b"key")
    write_private(state.create_run("r1") / "journal", b"journal")
    (state.run("r1") / "inner").mkdir(mode=0o700)
    return state


@pytest.mark.parametrize("name", ["identity.pem", "runs", "runs/r1/journal", "runs/r1/inner"])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_what_is_open_to_others_is_not_trusted(kept: State, name: str, mode: int) -> None:
    path = kept.folder / name
    require = (
        partial(require_private, kept.run("r1")) if "/" in name else partial(open_state, kept.folder, {})
    )
    path.chmod(mode | (0o100 if path.is_dir() else 0))
    with pytest.raises(StateError, match=str(path)):
        require()
    path.chmod(path.stat().st_mode & ~0o077)
    require()


def test_a_folder_that_others_may_write_into_is_not_trusted(kept: State) -> None:
    kept.folder.chmod(0o775)
    with pytest.raises(StateError):
        open_state(kept.folder, {})
    kept.folder.chmod(0o755)
    open_state(kept.folder, {})


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_links_and_pipes_are_not_trusted(kept: State, tmp_path: Path, kind: str) -> None:
    strange = kept.folder / "runs" / "r1" / "strange"
    if kind == "link":
        (tmp_path / "elsewhere").write_text("")
        strange.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(strange)
    with pytest.raises(StateError):
        require_private(kept.run("r1"))
    strange.rename(kept.folder / "state.sqlite")
    with pytest.raises(StateError):
        open_state(kept.folder, {})


def test_a_file_of_somebody_else_is_not_trusted(kept: State, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    with pytest.raises(StateError):
        open_state(kept.folder, {})


def test_nothing_is_written_through_a_link(kept: State, tmp_path: Path) -> None:
    """Neither a link in the place of the file nor one in the place of what is written beside it."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    beside = kept.folder / f".identity.pem.{os.getpid()}"
    beside.symlink_to(precious)
    write_private(kept.identity, b"new")
    assert precious.read_text() == "mine"
    assert kept.identity.read_bytes() == b"new"
    assert not kept.identity.is_symlink()


def test_a_folder_that_takes_nothing_is_found_before_any_work(
    kept: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.require_writable()
    assert sorted(path.name for path in kept.folder.iterdir()) == ["identity.pem", "runs"]

    def full(handle: int) -> None:
        raise faults.full()

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError):
        kept.require_writable()
    assert sorted(path.name for path in kept.folder.iterdir()) == ["identity.pem", "runs"]
