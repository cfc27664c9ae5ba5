"""The limit on the processor time of the fast tests: what counts, and which runs can fail by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import processor

SUITE = """
def test_much():
    sum(range(3_000_000))
"""


def test_processes_that_were_waited_for_are_counted() -> None:
    before = processor.spent()
    subprocess.run([sys.executable, "-S", "-c", "sum(range(5_000_000))"], check=True)
    assert processor.spent() - before > 0.02


def test_a_limit_is_exceeded_by_more_than_a_tenth() -> None:
    assert not processor.exceeds(110, 100)
    assert processor.exceeds(111, 100)


@pytest.mark.parametrize(("arguments", "code"), [([], 1), (["-k", "much"], 0)])
def test_a_complete_run_fails_above_the_limit(arguments: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    (tmp_path / "conftest.py").write_text(
        "from tests import processor\n"
        "pytest_plugins = ['tests.processor']\n"
        f"processor.PROJECT = processor.Path({str(tmp_path / 'limit.toml')!r})\n"
    )
    (tmp_path / "limit.toml").write_text("[tool.accord.tests]\npieces = 1\n")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = .\naddopts = -m 'not slow and not whole'\nmarkers =\n    slow\n    whole\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist", "-n", "1", *arguments],
        cwd=tmp_path,
        env={"PYTHONPATH": str(processor.PROJECT.parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert ("test_it.py::test_much" in ended.stdout) == bool(code)
