"""Every example in docs/audit.md; `...` in what is printed stands for anything."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.auditing.bounds import at_least, at_most, epsilon_bound
from accord.auditing.cases import built_in, options
from accord.auditing.histories import histories
from accord.auditing.programs import BROKEN
from accord.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"


@pytest.mark.parametrize(
    "by_experiment", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["computed", "by experiment"]
)
def test_commands_answer_as_printed(
    by_experiment: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.S)
    commands = [part for block in blocks for part in block.split("$ ")[1:]]
    assert len(commands) >= 5
    chosen = [c for c in commands if c.startswith("accord audit protocol") == by_experiment]
    assert len(chosen) >= 2
    for command in chosen:
        line, printed = command.split("\n", 1)
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == (12 if printed.startswith("leaky") else 0)
        expected = re.escape(printed).replace(re.escape("..."), ".*")
        assert re.fullmatch(expected, capsys.readouterr().out, re.S), line


def test_all_cases_and_broken_programs_are_listed() -> None:
    lines = re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", PAGE.read_text(), re.M)
    listed = [name for line in lines for name in re.findall("[a-z-]+", line)]
    usual: dict[str, Any] = options("laplace", "1", "1e-3")
    for side in "AB":
        usual[side] = {**usual[side], "records_per_person": 2}
    cases = [case.name for case in built_in(usual)] + [history.name for history in histories(usual)]
    assert listed == [*dict.fromkeys(cases), *BROKEN]


@pytest.mark.parametrize("runs", [200, 2_000, 20_000])
def test_what_so_many_runs_can_show(runs: int) -> None:
    most = epsilon_bound(at_least(runs // 2, runs // 2, 5e-4), at_most(0, runs // 2, 5e-4), 0)
    assert runs / 19 < 2.718281828**most < runs / 14
