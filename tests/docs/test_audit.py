"""The examples in docs/audit.md, and the laboratory's lists of cases; `...` stands for anything."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from accord.cli import main
from reproduction.audit.bounds import at_least, at_most, epsilon_bound
from reproduction.audit.cases import built_in, options
from reproduction.audit.histories import HISTORIES
from reproduction.audit.programs import BROKEN

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "audit.md"
LABORATORY = ROOT / "reproduction" / "README.md"


def test_commands_answer_as_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.S)
    for command in (command for block in blocks for command in block.split("$ ")[1:]):
        line, printed = command.split("\n", 1)
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        expected = re.escape(printed).replace(re.escape("..."), ".*")
        assert re.fullmatch(expected, capsys.readouterr().out, re.S), line


def test_all_cases_and_broken_programs_are_listed() -> None:
    section = LABORATORY.read_text().split("\n## Audits\n")[1]
    lines = re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", section, re.M)
    listed = [name for line in lines for name in re.findall("[a-z-]+", line)]
    usual: dict[str, Any] = options("laplace", "1", "1e-3")
    for side in "AB":
        usual[side] = {**usual[side], "records_per_person": 2}
    assert listed == [*dict.fromkeys(case.name for case in built_in(usual)), *HISTORIES, *BROKEN]


@pytest.mark.parametrize("runs", [200, 2_000, 20_000])
def test_what_so_many_runs_can_show(runs: int) -> None:
    most = epsilon_bound(at_least(runs // 2, runs // 2, 5e-4), at_most(0, runs // 2, 5e-4), 0)
    assert runs / 19 < 2.718281828**most < runs / 14
