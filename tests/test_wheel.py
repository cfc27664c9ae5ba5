"""What a user installs: Accord, all of it, and nothing of the workshop around it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from email.message import Message
from email.parser import Parser
from importlib.metadata import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.specifiers import SpecifierSet

from accord import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INFO = f"accord-{__version__}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as pip builds it, by the same backend."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.whl")
    return path


def names(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


def about(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read(f"{INFO}/METADATA").decode())


def test_it_holds_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in path.parent.name
    }
    assert {"accord/py.typed", "accord/datasets/products.toml"} <= source
    assert {f"accord/{package}/__init__.py" for package in ("cli", "privacy", "secure/ot")} <= source
    assert {name for name in names(wheel) if not name.startswith(f"{INFO}/")} == source


def test_it_holds_neither_the_laboratory_nor_what_builds_its_data(wheel: Path) -> None:
    workshop = ("reproduction", "tests", "benchmarks", "experiments", "paper_data")
    assert not [name for name in names(wheel) if set(re.split(r"[/.]", name)) & set(workshop)]
    with ZipFile(wheel) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist() if name.startswith("accord/"))
    # The names of the paper's files tell its builders wherever they stand; where they stand, they are found.
    there = b"".join((ROOT / "reproduction" / name).read_bytes() for name in ("lab.py", "sources.py"))
    for word in (b"Abt.csv", b"pickups.csv", b"from reproduction"):
        assert word in there
        assert word not in text


def test_it_says_what_it_needs_and_what_it_runs(wheel: Path) -> None:
    found = about(wheel)
    assert SpecifierSet(str(found["Requires-Python"])) == SpecifierSet(PROJECT["requires-python"])
    needed = [line for line in found.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {re.split(r"[<>=]", line)[0] for line in needed} == {
        re.split(r"[<>=]", line)[0] for line in PROJECT["dependencies"]
    }
    with ZipFile(wheel) as archive:
        assert "accord = accord.cli:main" in archive.read(f"{INFO}/entry_points.txt").decode()


def newest_python(distribution: str) -> tuple[int, int]:
    """The newest Python that a distribution says it works with: by its bound, or else by its classifiers."""
    said = metadata(distribution)
    bound = re.search(r"<\s*3\.(\d+)", said["Requires-Python"] or "")
    if bound:
        return 3, int(bound[1]) - 1
    lines = said.get_all("Classifier") or []
    return 3, max(int(m[1]) for line in lines if (m := re.fullmatch(r".*:: Python :: 3\.(\d+)", line)))


def test_the_newest_python_is_the_newest_of_the_compiler() -> None:
    """numba follows a new Python last of all that Accord needs, and fails on one that it does not know.

    The others are no bound: they are built for the stable interface, or have newer releases by then.
    """
    major, minor = newest_python("numba")
    assert newest_python("llvmlite") >= (major, minor)
    supported = SpecifierSet(PROJECT["requires-python"])
    assert f"{major}.{minor}.9" in supported
    assert f"{major}.{minor + 1}.0" not in supported
    assert "3.10.9" not in supported
    for page in ("README.md", "docs/demo.md"):
        assert f"You need Python 3.11 to {major}.{minor}" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_is_installed_runs_the_demo_by_itself(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(place)]
    subprocess.run([sys.executable, *install, str(wheel)], check=True, timeout=300)
    environment = {**os.environ, "PYTHONPATH": str(place), "XDG_STATE_HOME": str(tmp_path / "state")}
    for command in (["-c", "import accord; print(accord.__file__)"], ["-m", "accord", "demo"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert str(place) in done.stdout or "What neither learned" in done.stdout
