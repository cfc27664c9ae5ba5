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
from release.building import ROOT, SUMS, build, digest_of, time_of, write_sums


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
