"""Commands on what an installation keeps: accounts, the ledger, runs, and a folder that is damaged."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import accord as face
from accord.cli.account import choose_account
from accord.cli.ledger import open_ledger
from accord.errors import AccountError, DeclinedError, UsageError
from accord.privacy.budget import Budget
from accord.privacy.events import Cost
from accord.side import Side
from accord.state.runs import hold
from tests.cli.terminal import Done, Keyboard, accord
from tests.run import faults
from tests.run.faults import Office
from tests.state.damage import change

TENTH = Cost(Fraction(1), Fraction(1, 10))


# -- accounts -----------------------------------------------------------------------------------------------


def test_limits_are_made_and_changed(tmp_path: Path) -> None:
    assert face.set_budget("d", epsilon=1, delta=0.1, state=tmp_path) == Budget(TENTH)
    assert face.set_budget("D", runs=3, state=tmp_path) == Budget(TENTH, 3)
    assert face.set_budget("d", unlimited=True, state=tmp_path) == Budget(None, 3)
    assert list(open_ledger(tmp_path).budgets()) == ["d"]


@pytest.mark.parametrize(
    "typed", [["n"], ["y", "1e400", "1e-9"], ["y", "much", "1e-9"], ["y", "-1", "0.1"], None]
)
def test_only_a_person_with_a_sound_answer_makes_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str] | None
) -> None:
    face.set_budget("Patients", unlimited=True, state=tmp_path)
    assert choose_account(None, tmp_path, asking=True) == "Patients"
    assert choose_account("PATIENTS", tmp_path, asking=False) == "Patients"
    monkeypatch.setattr("sys.stdin", Keyboard(typed or ["y", "unlimited"]))
    with pytest.raises(AccountError if typed is None else (DeclinedError, UsageError)):
        choose_account("pateints", tmp_path, asking=typed is not None)
    assert list(open_ledger(tmp_path).budgets()) == ["Patients"]
    monkeypatch.setattr("sys.stdin", Keyboard(["y", "unlimited"]))
    assert choose_account("staff", tmp_path, asking=True) == "staff"
    assert open_ledger(tmp_path).budgets()["staff"] == Budget(None)
    with pytest.raises(AccountError):
        choose_account(None, tmp_path, asking=True)


# -- a run that is done -------------------------------------------------------------------------------------


@pytest.fixture
def both(tmp_path: Path, quick: None) -> dict[Side, Office]:
    made = faults.offices(tmp_path, "plain")
    faults.require_linked(faults.link(made))
    return made


@pytest.fixture
def office(both: dict[Side, Office]) -> Office:
    return both[Side.A]


def type_in(office: Office, words: str) -> Done:
    return accord(office.data.parent, "--state", str(office.state.folder), *words.split())


def facts(office: Office, words: str) -> Any:
    return json.loads(type_in(office, f"{words} --json").stdout)


def the_run(office: Office) -> str:
    assert office.run
    return office.run.manifest.run


def damage(office: Office, table: str, where: str) -> None:
    change(office.state, table, "content", f"WHERE {where}")


def test_the_ledger_adds_up_and_keeps_what_is_forgotten(both: dict[Side, Office], office: Office) -> None:
    faults.require_linked(faults.link(both))
    type_in(office, "ledger budget table --epsilon 5 --delta 0.1 --runs 5")
    body = facts(office, "ledger")
    (account,) = body["accounts"]
    four = {"epsilon": 4, "delta": 0.001, "unless": ""}
    assert (account["runs"], account["spent"], account["partners"]) == (2, four, {"bob": four})
    assert (account["budget"], account["budget_runs"]) == ({"epsilon": 5, "delta": 0.1}, 5)
    assert account["left"] == {"epsilon": 1, "delta": 0.099}
    assert 3.8 < account["spent_epsilon_composed"] <= 4
    first, second = body["runs"]
    assert [run["cost"]["epsilon"] for run in body["runs"]] == [4, 0]
    assert (first["release"], first["noise_stored"]) == (second["release"], True)
    assert first["agreement"] == office.agreement.digest
    (office.data.parent / "agreement.toml").write_text(office.agreement.to_toml())
    done = type_in(office, "audit agreement agreement.toml --dataset table --party alice --json")
    audited = json.loads(done.stdout)["account"]
    assert (done.returncode, audited["allowed"], audited["after"]["epsilon"]) == (12, False, 8)
    assert type_in(office, f"forget {first['run']}").returncode == 2
    assert office.state.run(first["run"]).exists()
    assert type_in(office, f"forget {first['run']} --force").returncode == 0
    assert not office.state.run(first["run"]).exists()
    assert type_in(office, f"forget {first['run']}").returncode == 0, "nothing is left of it"
    body = facts(office, "ledger")
    assert body["accounts"][0]["spent"] == four
    assert [run["noise_stored"] for run in body["runs"]] == [False, False]


def test_a_check_tells_every_damage_at_once(office: Office) -> None:
    sound = facts(office, "state check")
    assert (sound["sound"], sound["damages"], sound["runs"]) == (True, [], 1)
    damage(office, "step", "number = 1")
    damage(office, "part", "name = 'identity'")
    found = facts(office, "state check")
    assert (found["sound"], len(found["damages"])) == (False, 2)


def test_a_copy_comes_back_unless_partners_have_seen_more(both: dict[Side, Office], office: Office) -> None:
    assert type_in(office, "state backup copy").returncode == 0
    listed = type_in(office, "runs").stdout
    assert accord(office.data.parent, "--state", "new", "state", "restore", "copy").returncode == 0
    assert accord(office.data.parent, "--state", "new", "runs").stdout == listed
    faults.require_linked(faults.link(both))
    last = office.ledger.runs()[-1].run
    assert last in type_in(office, "state restore copy").stderr
    with hold(office.state.run(the_run(office))):
        assert type_in(office, "state restore copy --force").returncode == 2, "a run is under way"
    assert last in type_in(office, "state restore copy --force").stderr
    assert last not in [run["run"] for run in facts(office, "ledger")["runs"]]


def test_a_damaged_state_is_not_copied(office: Office) -> None:
    damage(office, "part", "name = 'receipt'")
    assert type_in(office, "state backup bad").returncode == 16
    assert not office.data.with_name("bad").exists()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", ["plain", "all-pairs"])
def test_a_broken_run_is_listed_and_kept_though_it_cost_nothing(kind: str, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, kind)
    faults.require_linked(faults.link(both))
    office = both[Side.A]
    run = the_run(office)
    damage(office, "part", f"name = 'agreement' AND owner = '{run}'")
    (listed,) = facts(office, "runs")
    assert (listed["run"], listed["broken"], listed["steps"]) == (run, True, None)
    assert type_in(office, f"forget {run}").returncode == 2
    assert office.state.run(run).exists()
    assert type_in(office, f"forget {run} --force").returncode == 0
    assert facts(office, "state check")["sound"]
