"""`accord audit protocol` and `accord audit agreement` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.agreement.document import Agreement
from accord.auditing.cases import built_in, options
from accord.auditing.histories import histories
from accord.auditing.programs import honest
from accord.auditing.protocol import CaseFinding, Finding, Verdict
from accord.auditing.questions import OneRun
from accord.cli.audit_protocol import OVER_TIME, _kind_of_case, _words
from accord.errors import UsageError
from tests.cli.test_privacy import Accord
from tests.protocols import worlds


@pytest.fixture
def accord(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Accord:
    monkeypatch.chdir(tmp_path)
    return Accord(tmp_path / "accord", monkeypatch, capsys)


def write(agreed: Agreement, **tables: worlds.Rows) -> None:
    Path("agreement.toml").write_text(agreed.to_toml())
    for name, rows in tables.items():
        lines = ["id,x,y", *(f"r{i},{x},{y}" for i, (x, y) in enumerate(rows))]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")


OWN = ("--agreement", "agreement.toml", "--tables", "a.csv", "b.csv")


# -- protocol ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_leak_is_named_and_drawn(accord: Accord, tmp_path: Path) -> None:
    page = tmp_path / "leak.html"
    code, out, err = accord(
        *("audit", "protocol", "unshuffled", "--case", "matched", "--trials", "400", "--html", str(page))
    )
    assert (code, err) == (12, f"Wrote {page}.\naccord: unshuffled leaks.\n")
    assert out.startswith("leaky: unshuffled does not keep (ε, δ) = (1.6, 1e-05); ε is at least ")
    assert "told apart by: place" in out
    assert "<polyline" in page.read_text()


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (("--case", "alone"), ["alone"]),
        pytest.param((), ["alone", "matched", "crowd", "beside", "passes"], marks=pytest.mark.slow),
    ],
    ids=["one", "all"],
)
def test_no_leak_as_json(accord: Accord, chosen: tuple[str, ...], names: list[str]) -> None:
    code, out, _ = accord("audit", "protocol", "all-pairs", *chosen, "--trials", "40", "--json")
    body = json.loads(out)
    assert (code, body["leaky"], body["confidence"], body["trials"]) == (0, False, 0.999, 40)
    found = [(case["case"], case["side"]) for case in body["cases"]]
    assert found == [(name, side) for name in names for side in "AB"]
    for case in body["cases"]:
        assert case["can_refute"]
        assert (case["epsilon_claimed"], case["delta_claimed"], case["test_trials"]) == (0, 0, 20)
        assert 0 <= case["epsilon_lower"] <= case["epsilon_most"]


@pytest.mark.slow
def test_too_few_runs_to_convict_are_warned_of(accord: Accord) -> None:
    few = ("audit", "protocol", "laplace", "--case", "alone", "--trials", "40")
    assert accord(*few)[2] == "Warning: 40 runs cannot refute ε = 1.6; use more.\n"
    assert accord(*few, "--epsilon", "0.5")[2] == ""


@pytest.mark.slow
def test_the_options_come_from_an_agreement(accord: Accord) -> None:
    write(worlds.agreement(greedy=False, prune=30))
    arguments = (
        "--agreement",
        "agreement.toml",
        "--case",
        "alone",
        "--trials",
        "40",
        "--epsilon",
        "0.5",
        "--json",
    )
    for case in json.loads(accord("audit", "protocol", "laplace", *arguments)[1])["cases"]:
        assert (case["epsilon_claimed"], case["delta_claimed"]) == (0.5, 0.001)


@pytest.mark.slow
def test_every_claim_that_so_few_runs_cannot_refute_is_warned_of(accord: Accord) -> None:
    sides = {"A": {"epsilon": "0.5"}, "B": {"epsilon": "6"}}
    write(built_in(options("local-dp", "1", "") | sides)[0].agreement)
    asked = ("audit", "protocol", "local-dp", "--agreement", "agreement.toml", "--case", "alone")
    code, out, err = accord(*asked, "--trials", "40")
    assert (code, err) == (0, "Warning: 40 runs cannot refute ε = 6; use more.\n")
    assert out.startswith("no leak found: local-dp at (ε, δ) = (0.5, 0) for A and (ε, δ) = (6, 0) for B.")


@pytest.mark.slow
def test_what_promises_nothing_is_judged_by_what_is_asked_of_it(accord: Accord, tmp_path: Path) -> None:
    write(worlds.agreement(greedy=False))
    page = tmp_path / "leak.html"
    asked = ("--agreement", "agreement.toml", "--epsilon", "1", "--delta", "1e-6", "--case", "alone")
    code, out, err = accord("audit", "protocol", "blocking", *asked, "--trials", "60", "--html", str(page))
    assert (code, err) == (12, f"Wrote {page}.\naccord: blocking leaks.\n")
    assert out.startswith("leaky: blocking does not keep (ε, δ) = (1, 1e-06); ε is at least ")
    assert "told apart by: " in out
    assert "<polyline" in page.read_text()


@pytest.mark.parametrize("side", ["A", pytest.param("B", marks=pytest.mark.slow)])
def test_tables_of_ones_own(accord: Accord, side: str) -> None:
    other = [(15, 15), (5, 5)]
    write(worlds.agreement(greedy=False), a=[(0, 0), (5, 5)], b=[(9, 0), (5, 5)], n=other)
    code, out, err = accord(
        "audit", "protocol", "laplace", *OWN, "--neighbour", side, "n.csv", "--trials", "80", "--json"
    )
    assert (code, err) == (0, "")
    (case,) = json.loads(out)["cases"]
    assert (case["case"], case["side"], case["leaky"]) == ("own", side, False)


def test_what_cannot_be_audited_is_refused(accord: Accord) -> None:
    write(worlds.agreement(), a=[(0, 0), (5, 5)], b=[(0, 9), (5, 5)], n=[(0, 0), (12, 12)])
    layout = Path("a.csv.layout.toml")
    layout.write_text("make_ids = true\n")
    code, _, err = accord("audit", "protocol", "laplace", *OWN, "--neighbour", "A", "n.csv")
    assert (code, "name a column of ids" in err) == (2, True)
    layout.unlink()
    code, _, err = accord("audit", "protocol", "laplace", *OWN, "--neighbour", "A", "n.csv")
    assert (code, "matches one of the partner" in err) == (2, True)
    code, _, err = accord("audit", "protocol", "laplace", *OWN)
    assert (code, "--neighbour" in err) == (2, True)
    code, _, err = accord("audit", "protocol", "laplace", "--case", "odd")
    assert (code, "alone, matched, crowd, beside" in err) == (2, True)
    code, _, err = accord("audit", "protocol", "lapalce")
    assert (code, "lapalce" in err) == (2, True)
    assert accord("audit", "protocol", "laplace", "--trials", "3")[0] == 2
    code, _, err = accord("audit", "protocol", "psi", "--epsilon", "1")
    assert (code, "leave out --epsilon and --delta" in err) == (2, True)
    code, _, err = accord(
        "audit", "protocol", "laplace", *OWN, "--neighbour", "A", "n.csv", "--case", "alone"
    )
    assert (code, "--case" in err) == (2, True)
    code, _, err = accord("audit", "protocol", "laplace", "--html", "x.gif")
    assert (code, ".html" in err) == (5, True)
    for wrong in (("--epsilon", "0"), ("--epsilon", "100"), ("--epsilon", "much"), ("--delta", "2")):
        assert accord("audit", "protocol", "laplace", *wrong)[0] == 2


def test_cases_of_several_runs_are_chosen_by_name() -> None:
    taken = options("laplace", "0.3", "1e-3")
    assert {*OVER_TIME} == {one.name for one in histories(taken)}
    for name in ("over-time", *OVER_TIME):
        assert _kind_of_case("laplace", name) == "over time"
        with pytest.raises(UsageError, match=f"leave out --case {name}"):
            _kind_of_case("blocking", name)
    assert _kind_of_case("laplace", None) == _kind_of_case("blocking", "alone") == "one run"


def test_what_is_claimed_of_a_history_is_explained() -> None:
    finding = Finding(20, 0, 0, 3.2, 2e-5, 0.0, 1.7, 0.0, (), ())
    taken = options("laplace", "1.6", "1e-5")
    for questions, explained in ((histories(taken), True), ([OneRun.of(built_in(taken)[0], honest)], False)):
        verdict = Verdict(tuple(CaseFinding(question, finding, ()) for question in questions[:1]), 0.999)
        assert (
            "its composed promise: ε and δ as the ledger adds them up" in _words("laplace", verdict, 40)
        ) is explained


# -- agreement ---------------------------------------------------------------------------------------------


def test_an_agreement_in_words(accord: Accord) -> None:
    write(worlds.agreement())
    code, out, err = accord("audit", "agreement", "agreement.toml", "--records", "5000")
    assert (code, err) == (0, "")
    for said in (
        "promise      (ε, δ) = (1, 0.001) for each record that matches nothing",
        "can rise to 73.2 %, further only with probability ",
        "(kept)",
        "10 runs      ε = 10, δ = 0.01 by the sums; ε = ",
        "warning      δ = 0.001 is more than 1/n",
        "What bob (B) will learn about the table of alice (A):",
    ):
        assert said in out
    assert "account" not in out


def test_an_agreement_beside_what_was_spent(accord: Accord) -> None:
    write(worlds.agreement())
    accord.charge("r1", b"k")
    asked = ("audit", "agreement", "agreement.toml", "--dataset", "patients", "--party", "alice")
    assert "it has no limit" in accord(*asked)[1]
    accord("ledger", "budget", "patients", "--epsilon", "2", "--delta", "0.01")
    assert "the budget allows it" in accord(*asked)[1]
    accord("ledger", "budget", "patients", "--epsilon", "1")
    code, out, _ = accord(*asked, "--json")
    account = json.loads(out)["account"]
    assert (code, account["allowed"]) == (12, False)
    assert (account["before"]["epsilon"], account["after"]["epsilon"]) == (0.5, 1.5)
    assert "it would overspend" in account["refusal"]
    assert accord(*asked[:-2])[0] == 2


def test_an_agreement_without_noise(accord: Accord) -> None:
    write(worlds.agreement(protocol="all-pairs"))
    code, out, _ = accord("audit", "agreement", "agreement.toml")
    assert (code, "promise      (ε, δ) = (0, 0)" in out, "dummies" in out) == (0, True, False)
    side = json.loads(accord("audit", "agreement", "agreement.toml", "--json")[1])["sides"]["A"]
    assert (side["epsilon"], side["noise"], side["again"]["epsilon"]) == (0, None, 0)
