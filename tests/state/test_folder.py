"""The state folder: closed to others, and its files, written whole or not at all."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from accord.errors import StateError, UsageError
from accord.state.files import write_private
from accord.state.folder import State, open_state, require_private
from tests.run import faults


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
    write_private(state.folder / "file", b"content")
    write_private(state.create_run("r1") / "receipt", b"receipt")
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


@pytest.mark.parametrize("name", ["file", "runs", "runs/r1/receipt", "runs/r1/inner"])
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
            make(path, kept.folder / "file")
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

    path, precious = kept.folder / "file", tmp_path / "precious"
    precious.write_text("mine")
    for link in (path, path.with_name(f".file.{os.getpid()}")):
        link.unlink(missing_ok=True)
        link.symlink_to(precious)
        write_private(path, b"new")
        assert precious.read_text() == "mine"
        assert path.read_bytes() == b"new"
        assert not path.is_symlink()
    kept.require_writable()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError):
        kept.require_writable()
    with pytest.raises(StateError):
        write_private(path, b"newer")
    assert path.read_bytes() == b"new"
    assert sorted(path.name for path in kept.folder.iterdir()) == ["file", "runs"]
