"""Every example and every number in docs/privacy.md."""

from __future__ import annotations

import doctest
import math
import re
import shlex
import sys
from pathlib import Path

import pytest

from accord.cli import main
from accord.privacy.calibration import as_claimed
from tests.reproduction.plugged import plugged

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "privacy.md"


def test_commands_answer_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.S)
    commands = [part for block in blocks for part in block.split("$ ")[1:]]
    assert len(commands) >= 3
    for command in commands:
        line, printed = command.split("\n", 1)
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        assert capsys.readouterr().out == printed


def test_python_answers_as_printed() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    (block,) = [block for block in blocks if "bins_per_record=1" in block]
    example = doctest.DocTestParser().get_doctest(block, {}, "noises", None, 0)
    assert doctest.DocTestRunner().run(example) == (0, 3)


def test_the_table_of_dummies_is_computed() -> None:
    rows = re.findall(r"^\| ([\d.]+) \| (\S+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE.read_text(), re.M)
    assert len(rows) == 4
    for epsilon, delta, *means in rows:
        with plugged():
            found = [as_claimed(name, epsilon, delta) for name in ("geometric", "paper-2017")]
        assert [f"{setting.expected_dummies:.1f}" for setting in found] == means


def test_the_suspicions_are_computed() -> None:
    text = " ".join(PAGE.read_text().split())
    said = re.findall(r"(?:At ε = |at )([\d.]+) (?:a suspicion of 50 % can rise )?to ([\d.]+) %", text)
    assert len(said) == 5
    for epsilon, percent in said:
        assert 100 / (1 + math.exp(-float(epsilon))) == pytest.approx(float(percent), abs=0.51)


def test_the_table_of_dummies_for_people_is_computed() -> None:
    number = r"([\d.]+)"
    rows = re.findall(rf"^\| `(\w+)` \| (\d) \| {number} \| {number} \| {number} \|$", PAGE.read_text(), re.M)
    assert len(rows) == 5
    for name, bins, *means in rows:
        found = [as_claimed(name, "1", "2^-40", int(bins), None, records) for records in (1, 2, 5)]
        assert [f"{setting.expected_dummies:.1f}" for setting in found] == means
