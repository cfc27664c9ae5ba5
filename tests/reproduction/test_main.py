"""The command: results, or one sentence and its exit code; nothing that is finished is lost."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reproduction import __main__, catalogue, report, seeds
from reproduction.__main__ import main
from reproduction.catalogue import EXPERIMENTS
from reproduction.claims import Claim, ClaimError, Part, Range
from reproduction.claims_paper import CLAIMS
from reproduction.sweep import stored
from tests.reproduction.worlds import Squares, lab

ROOT = Path(__file__).parents[2]
Command = Callable[..., int]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    def call(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["reproduction", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return call


def test_the_list_names_everything(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("list") == 0
    said = capsys.readouterr().out
    assert all(f"{name} " in said for name in (*EXPERIMENTS, "claims", "report", "all"))


def test_a_name_that_is_unknown_or_missing_is_answered_with_the_way_on(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("tradeof") == 2
    said = capsys.readouterr().err
    assert "'tradeof'. Did you mean 'tradeoff'?" in said
    assert "python -m reproduction list" in said
    assert command("figure-eight") == 2
    assert "Did you mean" not in capsys.readouterr().err
    assert command() == 2
    assert "NAME" in capsys.readouterr().err


def test_help_and_theory_and_readme_name_the_same_exit_codes(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--help") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("--quick", "--out", "--data", "--seed", "NAME"))
    readme = (ROOT / "reproduction" / "README.md").read_text(encoding="utf-8")
    codes = re.findall(r"^    (\d+) ", __main__.__doc__ or "", re.M)
    assert re.findall(r"^\| (\d+) \|", readme, re.M) == codes == ["0", "2", "4", "5", "11", "12", "130"]
    assert all(re.search(rf"\b{code}\b", shown) for code in codes if code != "12")
    assert str(ClaimError.exit_code) in codes
    assert "| 11 |" not in (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")


def test_it_runs_as_a_module_from_the_root() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", "list"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "table1" in done.stdout


@pytest.mark.slow
def test_noise_runs_draws_and_is_reported(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("noise", "--quick", "--out", str(tmp_path), "--data", str(tmp_path)) == 0
    assert "fewer dummies" in capsys.readouterr().out
    assert (tmp_path / "figures" / "dummies.png").exists()
    assert command("report", "--quick", "--out", str(tmp_path), "--data", str(tmp_path)) == 0
    assert "exact computation" in (tmp_path / "evaluation.md").read_text()
    assert command("report", "--quick", "--seed", "1", "--out", str(tmp_path)) == 2
    assert "no results of this size with seed 1" in capsys.readouterr().err


def test_the_machine_is_written_down_only_if_something_ran(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three runs, none of them for its figures.
    monkeypatch.setattr(report, "draw_all", lambda rows, folder, size: [])
    words = ("noise", "--quick", "--out", str(tmp_path), "--data", str(tmp_path))
    machine = tmp_path / "results" / "machine.json"
    assert command(*words) == 0
    machine.write_text('{"date": "long ago"}')
    assert command(*words) == 0
    assert machine.read_text() == '{"date": "long ago"}'
    csv = tmp_path / "results" / "noise.csv"
    csv.write_text(csv.read_text()[:-1])
    assert command(*words) == 0
    assert "long ago" not in machine.read_text()


def test_folders_that_are_not_there_or_cannot_be_used_are_named(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("noise", "--quick", "--out", str(tmp_path / "out"), "--data", str(tmp_path / "no")) == 2
    assert "There is no folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert command("report", "--out", str(tmp_path / "out")) == 2
    assert "Run an experiment first" in capsys.readouterr().err
    (tmp_path / "taken").write_text("")
    assert command("noise", "--quick", "--out", str(tmp_path / "taken"), "--data", str(tmp_path)) == 5
    assert "cannot be written" in capsys.readouterr().err


def test_ctrl_c_ends_with_its_code_and_the_same_command_goes_on(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for squares, code, asked in ((Squares(breaks_at=2), 130, [0, 1]), (Squares(), 0, [2, 3])):
        experiment = squares.experiment()
        monkeypatch.setattr(catalogue, "EXPERIMENTS", {"squares": experiment})
        monkeypatch.setattr(catalogue, "TITLES", {experiment: "x²"})
        assert command("squares", "--quick", "--out", str(tmp_path), "--data", str(tmp_path)) == code
        assert squares.asked == asked
        assert ("the same command goes on" in capsys.readouterr().err) == (code == 130)
        assert (tmp_path / "results" / "machine.json").exists()
    assert len(stored(Squares().experiment(), lab(), tmp_path / "results")) == 4


def test_a_claim_that_fails_or_lacks_rows_ends_with_its_exit_code(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(seeds, "EVIDENCE", ())
    for value, explanation, code in ((2, "", 11), (2, "known", 0), (1, "", 0)):
        claim = Claim(
            5, "all is well",
            (Part("so", Range(1, 1), lambda e, value=value: value),),  # type: ignore[misc]
            lambda means, explanation=explanation: explanation, about=(),  # type: ignore[misc]
        )  # fmt: skip
        monkeypatch.setattr(report, "CLAIMS", (claim,))
        assert command("claims", "--quick", "--out", str(tmp_path)) == code
        said = capsys.readouterr()
        assert "| 5 | all is well | so: " in said.out
        assert (": 5." in said.err) == (code == 11)
    monkeypatch.setattr(report, "CLAIMS", CLAIMS)
    assert command("claims", "--quick", "--out", str(tmp_path)) == 11
    assert "not run" in capsys.readouterr().out
