"""What a user installs: Accord, all of it, and nothing of the workshop around it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
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


def test_it_holds_every_file_of_the_package_and_what_it_needs(wheel: Path) -> None:
    """And nothing of the laboratory, nor the names of the paper's files, which tell what builds its data."""
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    source = {path.relative_to(ROOT / "src").as_posix() for path in files if ".egg-info" not in str(path)}
    assert {"accord/py.typed", "accord/cli/__init__.py", "accord/datasets/products.toml"} <= source
    with ZipFile(wheel) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    assert {name for name in content if not name.startswith(f"{INFO}/")} == source
    laboratory = b"".join((ROOT / "reproduction" / name).read_bytes() for name in ("lab.py", "sources.py"))
    for word in (b"Abt.csv", b"pickups.csv", b"from reproduction"):
        assert word in laboratory
        assert not any(word in text for name, text in content.items() if name in source)
    about = Parser().parsestr(content[f"{INFO}/METADATA"].decode())
    assert SpecifierSet(str(about["Requires-Python"])) == SpecifierSet(PROJECT["requires-python"])
    needed = [line for line in about.get_all("Requires-Dist", []) if "extra ==" not in line]
    names = [{re.split(r"[<>=]", line)[0] for line in lines} for lines in (needed, PROJECT["dependencies"])]
    assert names[0] == names[1]
    assert b"accord = accord.cli:main" in content[f"{INFO}/entry_points.txt"]


def test_the_newest_python_is_the_newest_of_the_compiler() -> None:
    """numba follows a new Python last of all that Accord needs, and fails on one that it does not know."""
    (bound,) = re.findall(r"<\s*3\.(\d+)", metadata("numba")["Requires-Python"]) or [None]
    lines = "\n".join(metadata("numba").get_all("Classifier") or [])
    newest = int(bound) - 1 if bound else max(map(int, re.findall(r":: Python :: 3\.(\d+)", lines)))
    supported = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}.9" in supported for minor in (10, 11, newest, newest + 1)] == [
        False,
        True,
        True,
        False,
    ]
    for page in ("README.md", "docs/demo.md"):
        assert f"3.11 to 3.{newest}" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_is_installed_runs_the_demo_by_itself(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(place)]
    subprocess.run([sys.executable, *install, str(wheel)], check=True, timeout=300)
    environment = {**os.environ, "PYTHONPATH": str(place), "XDG_STATE_HOME": str(tmp_path / "state")}
    for words in (
        ["-c", f"import accord; assert {str(place)!r} in accord.__file__"],
        ["-m", "accord", "demo"],
    ):
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr
