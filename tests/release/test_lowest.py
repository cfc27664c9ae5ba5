"""The lowest versions that are tested are those that pyproject.toml allows."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from release.building import ROOT, build
from release.lowest import lowest

NEEDED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]


def test_each_dependency_has_a_lower_bound_that_it_allows() -> None:
    assert lowest(["numpy>=1.26", "jellyfish>=1.3,<2"]) == ["numpy==1.26", "jellyfish==1.3"]
    for needed, line in zip(map(Requirement, NEEDED), lowest(NEEDED), strict=True):
        name, _, version = line.partition("==")
        assert name == needed.name
        assert needed.specifier.contains(version)


@pytest.mark.parametrize("line", ["numpy", "numpy<3", "numpy>1"])
def test_a_dependency_without_a_lower_bound_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=line):
        lowest([line])


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the lowest numba has no wheel for this Python")
def test_the_demo_runs_with_the_lowest_versions(tmp_path: Path) -> None:
    """As a user would install them; `make lowest` runs all fast tests with them."""
    _, wheel = build("HEAD", tmp_path / "dist")
    venv.create(tmp_path / "lowest", with_pip=True)
    python = str(tmp_path / "lowest" / "bin" / "python")
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary",
        ":all:",
        str(wheel),
        *lowest(NEEDED),
    ]
    subprocess.run(install, check=True)
    told = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    demo = [python, "-m", "accord", "demo", "--records", "200"]
    done = subprocess.run(demo, cwd=tmp_path, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "What neither learned" in done.stdout
