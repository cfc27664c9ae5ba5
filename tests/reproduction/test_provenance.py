"""Every result says by which code, on which machine, with which seeds and data it was made."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from reproduction import provenance
from reproduction.provenance import MACHINE, remember, table
from reproduction.sweep import Row

ROWS: list[Row] = [{"seed": seed, "data": "ab", "source": "real 0123abcd"} for seed in (2, 3, 4)]


def test_a_line_names_seeds_data_machine_and_commit(tmp_path: Path) -> None:
    remember(tmp_path, "size", 0.5)
    known = json.loads((tmp_path / MACHINE).read_text())
    known["size"] |= {"date": "2026-11-18", "system": "Linux", "processor": "x", "cores": 2, "python": "3.11",
                      "commit": "abcdef12"}  # fmt: skip
    (tmp_path / MACHINE).write_text(json.dumps(known))
    lines = table(tmp_path, {"size": ROWS, "noise": [{"seed": 0}]}).splitlines()
    assert lines[2] == (
        "| size | 2 to 4 | AB (0123abcd) | 2026-11-18, Linux on x, 2 cores, Python 3.11 | 0.5 | abcdef12 |"
    )
    assert lines[3].startswith("| noise | 0 | none, exact computation | on a machine that was not recorded |")


def test_experiments_of_two_machines_keep_their_own(tmp_path: Path) -> None:
    remember(tmp_path, "size", 0.5)
    first = json.loads((tmp_path / MACHINE).read_text())["size"]
    remember(tmp_path, "clock", 3.0)
    known = json.loads((tmp_path / MACHINE).read_text())
    assert known["size"] == first
    assert known["clock"]["load"] == 3.0


def test_the_commit_is_that_of_the_checkout_and_names_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    remember(tmp_path, "a", 0)
    assert json.loads((tmp_path / MACHINE).read_text())["a"]["commit"] == "not recorded"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "one.py").write_text("")
    who = ["-c", "user.name=x", "-c", "user.email=x@x"]
    for words in (["init", "-q"], ["add", "src"], [*who, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    remember(tmp_path, "a", 0)
    commit = json.loads((tmp_path / MACHINE).read_text())["a"]["commit"]
    assert len(commit) == 8
    (tmp_path / "src" / "one.py").write_text("1")
    remember(tmp_path, "a", 0)
    assert json.loads((tmp_path / MACHINE).read_text())["a"]["commit"] == f"{commit} and changes"
