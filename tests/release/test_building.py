"""A release: the same commit gives the same bytes, and its version stands in one place."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from accord import __version__
from release import building
from release.building import ROOT, SUMS, build, digest_of, time_of, write_sums, write_tree


def test_a_wheel_has_the_time_of_its_commit_and_the_files_of_git(tmp_path: Path) -> None:
    source, wheel = build("HEAD", tmp_path)
    with tarfile.open(source) as archive:
        assert {member.mtime for member in archive} == {time_of("HEAD")}
        names = {member.name.partition("/")[2] for member in archive}
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    # Files that are new here and in no commit yet are in no release either.
    assert names - {"PKG-INFO"} <= set(known.stdout.splitlines())
    assert {"src/accord/version.py", "CHANGELOG.md", "pyproject.toml"} <= names
    with ZipFile(wheel) as archive:
        assert "accord/version.py" in archive.namelist()


@pytest.mark.slow
def test_two_builds_are_equal_byte_for_byte(tmp_path: Path) -> None:
    one, other = build("HEAD", tmp_path / "one"), build("HEAD", tmp_path / "other")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    # Whoever has the sdist alone builds the same wheel.
    with tarfile.open(one[0]) as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()
    third = _build_again(tree, tmp_path / "third")
    assert third.read_bytes() == one[1].read_bytes()


def _build_again(tree: Path, folder: Path) -> Path:
    told = {**os.environ, "SOURCE_DATE_EPOCH": str(time_of("HEAD"))}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=tree, env=told, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_a_folder_with_another_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "accord-0.0.1.tar.gz").touch()
    with pytest.raises(SystemExit, match="another release"):
        build("HEAD", tmp_path)


def git(folder: Path, *words: str) -> str:
    """As somebody whose settings change files that git hands out."""
    told = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        **{
            f"GIT_{who}_{what}": "it@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    done = subprocess.run(["git", *words], cwd=folder, env=told, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_settings_of_whoever_builds_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"a.txt": b"one\ntwo $Format:%H$ $Id$\n", "in a folder/b.sh": b"#!/bin/sh\n", "ä.bin": b"\0\r\n"}
    for name, content in told.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "in a folder" / "b.sh").chmod(0o755)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "It")
    other = tmp_path / "other"
    other.write_bytes(b"something else\n")
    git(
        tmp_path,
        "replace",
        git(tmp_path, "rev-parse", "HEAD:a.txt"),
        git(tmp_path, "hash-object", "-w", "other"),
    )
    for line in ("core.autocrlf true", "core.eol crlf", "tar.umask 0077", "log.showSignature true"):
        git(tmp_path, "config", *line.split())
    (tmp_path / ".git" / "info" / "attributes").write_text(
        "* text eol=crlf ident export-subst\n*.sh export-ignore\n"
    )
    archived = subprocess.run(
        ["git", "archive", "HEAD"], cwd=tmp_path, capture_output=True, check=True
    ).stdout
    assert b"something else\r\n" in archived, "these settings do change files"

    monkeypatch.setattr(building, "ROOT", tmp_path)
    write_tree("HEAD", tmp_path / "tree")
    written = [path for path in (tmp_path / "tree").rglob("*") if path.is_file()]
    assert {path.relative_to(tmp_path / "tree").as_posix(): path.read_bytes() for path in written} == told
    assert {path.name for path in written if path.stat().st_mode & 0o100} == {"b.sh"}
    assert time_of("HEAD") > 0


def test_what_is_no_plain_file_is_not_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "It")
    monkeypatch.setattr(building, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="link is no plain file"):
        write_tree("HEAD", tmp_path / "tree")


def test_sums_are_read_by_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"a")
    (tmp_path / "b.tar.gz").write_bytes(b"b")
    write_sums(tmp_path)
    write_sums(tmp_path)
    lines = (tmp_path / SUMS).read_text().splitlines()
    assert lines[0] == f"{hashlib.sha256(b'a').hexdigest()}  a.whl"
    assert lines[1] == f"{digest_of(tmp_path / 'b.tar.gz')}  b.tar.gz"
    assert len(lines) == 2


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/accord/version.py"
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {__version__} (20" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
