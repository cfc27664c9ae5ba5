"""`accord audit` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accord.agreement.document import Agreement
from tests.cli.test_privacy import Accord
from tests.protocols import worlds


@pytest.fixture
def accord(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Accord:
    monkeypatch.chdir(tmp_path)
    return Accord(tmp_path / "accord", monkeypatch, capsys)


def write(agreed: Agreement) -> None:
    Path("agreement.toml").write_text(agreed.to_toml())


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


NOISE = ("audit", "noise", "geometric", "--epsilon", "1.6", "--delta", "1e-5")


def test_a_noise_beside_its_claim(accord: Accord) -> None:
    code, out, err = accord(*NOISE, "--json")
    body = json.loads(out)
    assert (code, err) == (0, "")
    assert (body["epsilon"], body["delta_claimed"], body["kept"]) == (1.6, 1e-5, True)
    assert body["delta_exact"] == pytest.approx(9.7588514e-06, rel=1e-6)
    assert body["expected_dummies"] == pytest.approx(10.171, abs=1e-3)
    at = {point["epsilon"]: point["delta"] for point in body["curve"]}
    assert at[1.6] == body["delta_exact"]
    assert list(at.values()) == sorted(at.values(), reverse=True)


def test_a_noise_for_people_takes_more_dummies(accord: Accord) -> None:
    one, three = (
        json.loads(accord(*NOISE, "--records-per-person", people, "--json")[1]) for people in ("1", "3")
    )
    assert three["kept"]
    assert three["expected_dummies"] > 2.5 * one["expected_dummies"]


def test_a_claim_that_no_noise_can_keep_is_refused(accord: Accord) -> None:
    assert accord("audit", "noise", "--epsilon", "0")[:2] == (2, "")
