"""Receipts: signed by both, refused when changed, no value of a record in them; the commands about runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from accord.cli import app
from accord.errors import AccordError, LedgerError, TrustError, UsageError
from accord.secure.circuit import Side
from accord.session.identity import make_identity, sign
from accord.session.receipt import _signed, decode_receipt, read_receipt
from accord.session.state import open_state
from accord.session.store import open_run
from tests.session import faults
from tests.session.faults import Office, Wire


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[Side, Office]:
    """A run that is done; tests only read it."""
    both = faults.offices(tmp_path_factory.mktemp("done"))
    faults.require_done(faults.link(both), both, both[Side.A].out.read_bytes())
    return both


def receipt_of(office: Office) -> Path:
    assert office.run
    return office.run.receipt


def accord(office: Office, *arguments: str) -> str:
    """What a command prints; its error is raised."""
    found = CliRunner().invoke(app, [*arguments, "--state", str(office.state.folder)])
    if found.exception is not None:
        raise found.exception
    return found.stdout


def test_a_receipt_says_what_was_done_and_no_value(done: dict[Side, Office]) -> None:
    facts = json.loads(accord(done[Side.A], "receipt", "show", str(receipt_of(done[Side.B])), "--json"))
    assert facts["matches"] == 6
    assert facts["agreement"] == done[Side.A].agreement.digest
    parties = facts["parties"]
    assert [parties[s]["name"] for s in "AB"] == ["alice", "bob"]
    assert [parties[s]["records"] for s in "AB"] == [8, 9]
    assert [parties[s]["epsilon"] for s in "AB"] == ["4", "4"]
    assert parties["A"]["noisy_total"] >= 8
    assert parties["B"]["disclosed"] == ["x", "y"]
    text = accord(done[Side.A], "receipt", "show", str(receipt_of(done[Side.A])))
    whole = receipt_of(done[Side.A]).read_text() + text
    for name in [f"{side}{i}" for side in "AB" for i in range(9)]:
        assert f'"{name}"' not in whole, "an id of a record"


def test_verify_names_the_signers_and_the_output(done: dict[Side, Office], tmp_path: Path) -> None:
    office = done[Side.A]
    run = office.run.manifest.run if office.run else ""
    body = json.loads(accord(office, "receipt", "verify", run, "--out", str(office.out), "--json"))
    assert body["output_checked"]
    assert [body["signers"][s]["known_as"] for s in "AB"] == ["yourself", "bob"]
    words = accord(office, "receipt", "verify", run, "--out", str(office.out))
    assert "known here as bob" in words
    # The partner's copy of the output is the same file; another order of its rows is the same output.
    lines = done[Side.B].out.read_text().splitlines(keepends=True)
    other = tmp_path / "other.csv"
    other.write_text("".join([lines[0], *reversed(lines[1:])]))
    accord(office, "receipt", "verify", str(receipt_of(done[Side.B])), "--out", str(other))
    for changed in (
        [*lines[:-1]],
        [lines[0], *lines[1:-1], lines[-1].replace("B5", "B6")],
        [*lines, lines[-1]],
    ):
        other.write_text("".join(changed))
        with pytest.raises(TrustError, match="does not hold the pairs"):
            accord(office, "receipt", "verify", run, "--out", str(other))


def test_a_card_that_is_not_known_is_called_so(done: dict[Side, Office], tmp_path: Path) -> None:
    words = CliRunner().invoke(
        app, ["receipt", "verify", str(receipt_of(done[Side.A])), "--state", str(tmp_path / "other")]
    )
    assert words.exit_code == 0
    assert words.stdout.count("not known here") == 2


def changed(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Each number and text of a receipt changed by itself."""
    found = []
    for name, value in body.items():
        if isinstance(value, dict):
            found += [{**body, name: other} for other in changed(value)]
        elif isinstance(value, int):
            found.append({**body, name: value + 1})
        elif isinstance(value, str):
            found.append({**body, name: value[:-1] + ("1" if value[-1:] == "0" else "0")})
        else:
            found.append({**body, name: [*value, "z"]})
    return found


def test_a_receipt_that_was_changed_is_refused(done: dict[Side, Office]) -> None:
    path = receipt_of(done[Side.A])
    found = json.loads(path.read_text())
    variants = changed(found["receipt"])
    assert len(variants) > 20
    for body in variants:
        with pytest.raises(TrustError, match="was changed"):
            decode_receipt(json.dumps({**found, "receipt": body}).encode(), path)
    signatures = found["signatures"]
    for broken in (
        {"A": signatures["B"], "B": signatures["A"]},
        {"A": signatures["A"], "B": signatures["A"]},
        {"A": signatures["A"]},
        {**signatures, "A": {**signatures["A"], "signature": "00" * 64}},
        {**signatures, "A": {**signatures["A"], "card": signatures["B"]["card"]}},
    ):
        with pytest.raises(TrustError, match="was changed"):
            decode_receipt(json.dumps({**found, "signatures": broken}).encode(), path)
    for content in (
        b"",
        b"[]",
        b"{}",
        b"[" * 60000,
        b"\xff" * 10,
        b" " * 70000,
        b'{"receipt":1,"signatures":2}',
    ):
        with pytest.raises(TrustError):
            decode_receipt(content, path)


def test_a_well_signed_receipt_of_another_form_is_refused(done: dict[Side, Office], tmp_path: Path) -> None:
    """Anybody can make two cards and sign: nothing of such a file may reach the terminal unchecked."""
    states = {side: open_state(tmp_path / side.value, {}) for side in Side}
    cards = {side: make_identity(state, "x", datetime.now(UTC)) for side, state in states.items()}
    good = json.loads(receipt_of(done[Side.A]).read_text())["receipt"]
    for side, card in cards.items():
        good["parties"][side.value]["card"] = card.fingerprint
    forms = [
        good,
        {**good, "run": "\x1b[2J"},
        {**good, "matches": "1"},
        {**good, "more": 1},
        {"run": "x"},
        [],
    ]
    for number, body in enumerate(forms):
        signatures = {
            side.value: {
                "card": cards[side].pem.decode(),
                "signature": sign(states[side], _signed(body, side)).hex(),
            }
            for side in Side
        }
        content = json.dumps({"receipt": body, "signatures": signatures}).encode()
        if number == 0:
            assert decode_receipt(content, tmp_path).facts == good
            continue
        with pytest.raises(TrustError):
            decode_receipt(content, tmp_path)


def test_runs_are_listed_with_how_to_go_on(done: dict[Side, Office], tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    assert "No run" in accord(both[Side.A], "runs")
    faults.link(both, Wire(frames=30))
    run = both[Side.A].run
    assert run
    (facts,) = json.loads(accord(both[Side.A], "runs", "--json"))
    assert (facts["partner"], facts["dataset"], facts["done"]) == ("bob", "alice", False)
    assert (facts["steps"], facts["resumes"]) == (run.steps(), 0)
    with pytest.raises(UsageError, match="no receipt yet"):
        accord(both[Side.A], "receipt", "show", run.manifest.run)
    faults.resume(both, run.manifest.run)
    (facts,) = json.loads(accord(both[Side.A], "runs", "--json"))
    assert (facts["done"], facts["resumes"]) == (True, 1)
    read_receipt(Path(facts["receipt"]))
    assert run.manifest.run in accord(both[Side.A], "runs")
    path = both[Side.A].state.run(run.manifest.run) / "run.json"
    path.write_text("{}")
    assert json.loads(accord(both[Side.A], "runs", "--json")) == []


def test_forget_removes_all_that_a_run_kept_and_nothing_that_it_spent(tmp_path: Path) -> None:
    for kind in ("greedy", "all-pairs"):
        both = faults.offices(tmp_path / kind, kind)
        faults.link(both)
        office = both[Side.A]
        run = office.run
        assert run
        name = run.manifest.run
        spent = office.ledger.runs()[0].cost
        with run.locked(), pytest.raises(UsageError, match="Another process works on the run"):
            accord(office, "forget", name)
        assert open_run(office.state, name).slots()
        assert office.ledger.runs()[0].stored == (kind == "greedy")
        accord(office, "forget", name)
        assert not office.state.run(name).exists()
        assert not any(row.stored for row in office.ledger.runs())
        assert office.ledger.runs()[0].cost == spent
        with pytest.raises(UsageError, match="There is no run"):
            faults.resume(both, name)
        ending = faults.link(both)
        assert not isinstance(ending[Side.A], AccordError)
        drawings = [row.drawing for row in office.ledger.runs()]
        assert drawings == ([1, 2] if kind == "greedy" else [None, None])
        assert sum(row.paid for row in office.ledger.runs()) == 2


def test_a_forgotten_noise_cannot_be_used_by_another_run(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    faults.link(both)
    first = both[Side.A].run
    assert first
    faults.link(both, Wire(frames=30))
    name = next(row.run for row in both[Side.A].ledger.runs() if row.run != first.manifest.run)
    accord(both[Side.A], "forget", first.manifest.run)
    with pytest.raises(LedgerError, match="forgotten"):
        faults.resume(both, name)
