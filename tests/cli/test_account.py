"""Which account `accord link` charges, and how a person at a terminal makes one."""

from __future__ import annotations

import io
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import accord
from accord.cli.account import choose_account
from accord.cli.ledger import open_ledger
from accord.errors import AccountError, DeclinedError, UsageError
from accord.privacy.budget import Budget
from accord.privacy.events import Cost
from tests.cli import terminal


class Keyboard(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        return True


def type_in(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard("".join(f"{answer}\n" for answer in answers)))


def test_the_only_account_is_taken_and_a_name_in_any_spelling(tmp_path: Path) -> None:
    accord.set_budget("Patients", epsilon=1, delta="1e-6", state=tmp_path)
    assert choose_account(None, tmp_path, asking=True) == "Patients"
    assert choose_account("PATIENTS", tmp_path, asking=False) == "Patients"


def test_a_person_makes_an_account_by_answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "patients", "y", "2", "1e-9")
    assert choose_account(None, tmp_path, asking=True) == "patients"
    assert open_ledger(tmp_path).budgets() == {"patients": Budget(Cost(Fraction(2), Fraction(1, 10**9)))}
    type_in(monkeypatch, "y", "unlimited")
    assert choose_account("staff", tmp_path, asking=True) == "staff"
    assert open_ledger(tmp_path).budgets()["staff"] == Budget()


@pytest.mark.parametrize(
    "answers", [["n"], ["y", "1e400", "1e-9"], ["y", "much", "1e-9"], ["y", "-1", "0.1"]]
)
def test_any_other_answer_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: list[str]
) -> None:
    accord.set_budget("patients", unlimited=True, state=tmp_path)
    type_in(monkeypatch, *answers)
    with pytest.raises((DeclinedError, UsageError)):
        choose_account("pateints", tmp_path, asking=True)
    assert list(open_ledger(tmp_path).budgets()) == ["patients"]


def test_nobody_at_the_keyboard_or_yes_makes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "y", "unlimited")
    with pytest.raises(AccountError, match="no account 'patients'"):
        choose_account("patients", tmp_path, asking=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\nunlimited\n"))
    with pytest.raises(AccountError, match="no account 'patients'"):
        choose_account("patients", tmp_path, asking=True)
    assert open_ledger(tmp_path).budgets() == {}


def test_several_accounts_need_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("patients", "staff"):
        accord.set_budget(name, unlimited=True, state=tmp_path)
    type_in(monkeypatch, "y")
    with pytest.raises(AccountError, match="Say with `dataset=`"):
        choose_account(None, tmp_path, asking=True)


def test_limits_are_made_changed_and_refused(tmp_path: Path) -> None:
    for wrong in ({}, {"runs": 3}, {"epsilon": 1}, {"epsilon": 1, "delta": 1}, {"epsilon": -1, "delta": 0}):
        with pytest.raises(UsageError):
            accord.set_budget("d", **wrong, state=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="`unlimited=True`"):
        accord.set_budget("d", epsilon=1001, delta="1e-9", state=tmp_path)
    for wrong_number in ({"epsilon": "1e400", "delta": 0}, {"epsilon": 1, "delta": "1e-60"}):
        with pytest.raises(UsageError):
            accord.set_budget("d", **wrong_number, state=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="either"):
        accord.set_budget("d", epsilon=1, delta=0, unlimited=True, state=tmp_path)
    assert open_ledger(tmp_path).budgets() == {}
    tenth = Cost(Fraction(1), Fraction(1, 10))
    assert accord.set_budget("d", epsilon=1, delta=0.1, state=tmp_path) == Budget(tenth)
    assert accord.set_budget("D", runs=3, state=tmp_path) == Budget(tenth, 3)
    assert accord.set_budget("d", unlimited=True, state=tmp_path) == Budget(None, 3)
    assert accord.set_budget("d", epsilon=2, delta=0, state=tmp_path) == Budget(
        Cost(Fraction(2), Fraction(0)), 3
    )
    assert list(open_ledger(tmp_path).budgets()) == ["d"]


def test_an_empty_account_is_removed(tmp_path: Path) -> None:
    accord.set_budget("Patients", unlimited=True, state=tmp_path / "s")
    done = terminal.accord(tmp_path, "--state", "s", "ledger", "remove", "patients")
    assert (done.returncode, done.stdout) == (0, "Patients: removed.\n")
    gone = terminal.accord(tmp_path, "--state", "s", "ledger", "remove", "patients")
    assert (gone.returncode, gone.stdout) == (2, "")
    assert open_ledger(tmp_path / "s").budgets() == {}


def test_a_large_budget_is_warned_about(tmp_path: Path) -> None:
    done = terminal.accord(
        tmp_path, "--state", "s", "ledger", "budget", "d", "--epsilon", "11", "--delta", "0"
    )
    assert (done.returncode, done.stdout) == (0, "d: ε = 11, δ = 0\n")
    assert "ε = 11 is more than 10" in done.stderr
