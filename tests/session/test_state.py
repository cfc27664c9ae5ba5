"""The state folder: where it is, and that nobody else can read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.errors import StateError, UsageError
from accord.session.state import State, open_state


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
    with pytest.raises(StateError, match="--state"):
        open_state(tmp_path / "file" / "state", {})
