"""`accord ledger` and `accord forget` as a user meets them."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from accord.cli import main
from accord.privacy.budget import Budget
from accord.privacy.events import AllPairs, Cost, Promise
from accord.privacy.release import Snapshot
from accord.state.files import write_private
from accord.state.folder import State
from accord.state.ledger import Ask, Ledger

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Accord:
    """Runs a command with a state folder of its own; keeps the exit code."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.state = State(folder)
        self._monkeypatch, self._capsys = monkeypatch, capsys
        monkeypatch.setenv("XDG_STATE_HOME", str(folder.parent))
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["accord", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = self._capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    def charge(
        self,
        run: str,
        key: bytes | None,
        partner: str = "clinic",
        snapshot: Snapshot | None = Snapshot("s", b""),  # noqa: B008
    ) -> None:
        event = Promise(Cost(Fraction(1, 2), Fraction("1e-9"))) if key else AllPairs()
        self.state.folder.mkdir(exist_ok=True)
        ledger = Ledger(self.state.database)
        if "patients" not in ledger.budgets():
            ledger.set_budget("patients", Budget())
        ask = Ask(run, "patients", partner, b"\xab" * 32, key or b"", event, snapshot)
        ledger.charge(ask, lambda: np.array([1, 2], dtype=np.int64), NOW)


@pytest.fixture
def accord(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Accord:
    return Accord(tmp_path / "accord", monkeypatch, capsys)


def test_an_empty_ledger_says_so(accord: Accord) -> None:
    assert accord("ledger") == (0, "There is no account yet. `accord ledger budget NAME` creates one.\n", "")
    assert json.loads(accord("ledger", "--json")[1]) == {"accounts": [], "runs": []}


def test_the_ledger_as_a_table(accord: Accord) -> None:
    accord.charge("r1", b"k")
    accord.charge("r2", b"k", "lab")
    accord.charge("r3", None)
    code, out, _ = accord("ledger")
    assert code == 0
    for word in ("patients", "clinic", "lab", "r1", "r2", "r3", "0.5", "2026-01-02 03:04"):
        assert word in out


def test_the_ledger_as_json(accord: Accord) -> None:
    accord.charge("r1", b"k")
    accord.charge("r2", b"k", "lab")
    accord("ledger", "budget", "patients", "--epsilon", "2", "--delta", "1e-6", "--runs", "5")
    body = json.loads(accord("ledger", "--json")[1])
    (account,) = body["accounts"]
    half = {"epsilon": 0.5, "delta": 1e-09, "unless": ""}
    assert (account["runs"], account["spent"], account["partners"]) == (
        2,
        half,
        {"clinic": half, "lab": half},
    )
    assert (account["budget"], account["budget_runs"]) == ({"epsilon": 2, "delta": 1e-06}, 5)
    assert account["left"] == {"epsilon": 1.5, "delta": 9.99e-07}
    assert 0.4999 < account["spent_epsilon_composed"] <= 0.5
    assert [run["cost"]["epsilon"] for run in body["runs"]] == [0.5, 0]
    assert body["runs"][0]["agreement"] == "ab" * 32
    assert body["runs"][0]["release"] == body["runs"][1]["release"]
    assert body["runs"][0]["noise_stored"] is True


def test_a_budget_is_set_and_its_parts_are_kept(accord: Accord) -> None:
    assert accord("ledger", "budget", "patients", "--epsilon", "2", "--delta", "2^-20")[1] == (
        "patients: ε = 2, δ = 2^-20\n"
    )
    assert accord("ledger", "budget", "patients", "--runs", "3")[1] == "patients: ε = 2, δ = 2^-20; 3 runs\n"
    assert (
        accord("ledger", "budget", "patients", "--epsilon", "1")[1] == "patients: ε = 1, δ = 2^-20; 3 runs\n"
    )


@pytest.mark.parametrize(
    "limits",
    [(), ("--epsilon", "1"), ("--epsilon", "-1", "--delta", "0"), ("--epsilon", "1", "--delta", "1")],
)
def test_half_a_budget_is_refused(accord: Accord, limits: tuple[str, ...]) -> None:
    code, out, err = accord("ledger", "budget", "patients", *limits)
    assert (code, out) == (2, "")
    assert err.startswith("accord: ")


def test_the_state_folder_is_named_before_the_command(accord: Accord, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    accord("--state", other, "ledger", "budget", "x", "--epsilon", "unlimited")
    accord(f"--state={other}", "ledger", "budget", "y", "--epsilon", "unlimited")
    names = [a["dataset"] for a in json.loads(accord("--state", other, "ledger", "--json")[1])["accounts"]]
    assert names == ["x", "y"]
    assert json.loads(accord("ledger", "--json")[1])["accounts"] == []


def test_forgetting_keeps_the_cost_and_names_the_other_runs(accord: Accord) -> None:
    accord.charge("r1", b"k")
    accord.charge("r2", b"k")
    write_private(accord.state.create_run("r1") / "slots", b"x")
    code, _, err = accord("forget", "r1")
    assert code == 2
    assert "the next link under that name is charged ε = 0.5 again" in err
    code, out, err = accord("forget", "r1", "--force")
    assert (code, out) == (0, "r1: forgotten. What it spent stays in the ledger.\n")
    assert "r2" in err
    assert not accord.state.run("r1").exists()
    body = json.loads(accord("ledger", "--json")[1])
    assert body["accounts"][0]["spent"]["epsilon"] == 0.5
    assert [run["noise_stored"] for run in body["runs"]] == [False, False]
    assert "forgotten" in accord("ledger")[1]


def test_what_was_charged_is_not_forgotten_by_mistake(accord: Accord) -> None:
    """With no name under which it could be repeated, either."""
    accord.charge("r1", b"k", snapshot=None)
    accord.charge("r2", None, snapshot=None)
    code, out, err = accord("forget", "r1")
    assert (code, out) == (2, "")
    assert "r1 was charged. Without it, it cannot be resumed, and a new run is charged ε = 0.5 again." in err
    assert "--force" in err
    assert accord("forget", "r2")[0] == 0, "what cost nothing"
    assert accord("forget", "r1", "--force")[0] == 0
    assert accord("forget", "r1")[0] == 0, "nothing is left of it"


def test_forgetting_what_is_not_there(accord: Accord) -> None:
    code, _, err = accord("forget", "r9")
    assert (code, err) == (2, "accord: The ledger knows no run 'r9'. `accord ledger` lists them.\n")
