"""Receipts: signed by both, refused when changed, without a value of a record; and the digest of pairs."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner, Result

from accord.agreement.document import DisclosedColumns
from accord.cli import app
from accord.errors import AccordError, TrustError, UsageError
from accord.peer.identity import Card, make_identity, sign
from accord.peer.partners import add_partner
from accord.protocols.confirm import output_digest
from accord.run import receipt
from accord.run.link import reopen
from accord.run.receipt import _signed, decode_receipt, is_signed, read_receipt
from accord.run.request import Output, Resumption
from accord.side import Side
from accord.spill import Scratch
from accord.state import runs
from accord.state.folder import open_state
from accord.state.runs import open_run
from accord.table.pairs import IdOrder, order_pairs
from tests.run import faults
from tests.run.faults import Office, Wire
from tests.run.worlds import Organisation

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[Side, Office]:
    """A run that is done; tests only read it."""
    both = faults.offices(tmp_path_factory.mktemp("done"))
    faults.require_done(faults.link(both), both, both[Side.A].out.read_bytes())
    return both


def receipt_of(office: Office) -> Path:
    assert office.run
    return office.run.receipt


def accord(office: Office | Organisation, *arguments: str) -> str:
    """What a command prints; its error is raised."""
    found = CliRunner().invoke(app, ["--state", str(office.state.folder), *arguments])
    if found.exception is not None:
        raise found.exception
    return found.stdout


def test_a_receipt_says_what_was_done_and_no_value(done: dict[Side, Office], tmp_path: Path) -> None:
    """Also how many pairs were found, where fewer are kept."""
    path = receipt_of(done[Side.B])
    facts = json.loads(accord(done[Side.A], "receipt", str(path), "--json"))
    assert (facts["matches"], facts["agreement"]) == (6, done[Side.A].agreement.digest)
    parties = facts["parties"]
    assert [(parties[s]["name"], parties[s]["records"], parties[s]["epsilon"]) for s in "AB"] == [
        ("alice", 8, "4"),
        ("bob", 9, "4"),
    ]
    assert parties["A"]["noisy_total"] >= 8
    assert parties["B"]["disclosed"] == ["x", "y"]
    whole = path.read_text() + accord(done[Side.A], "receipt", str(path))
    assert not [name for side in "AB" for i in range(9) if f'"{(name := f"{side}{i}")}"' in whole]
    # A receipt of an agreement without it has the bytes that it always had.
    assert "matches_found" not in whole
    both = faults.offices(tmp_path, "one-to-one")
    faults.require_linked(faults.link(both))
    (listed,) = json.loads(accord(both[Side.B], "runs", "--json"))
    for facts in (listed, read_receipt(receipt_of(both[Side.B])).facts):
        assert (facts["matches"], facts["matches_found"]) == (5, 6)


def test_verify_names_the_signers_and_the_output(done: dict[Side, Office], tmp_path: Path) -> None:
    office = done[Side.A]
    run = office.run.manifest.run if office.run else ""
    body = json.loads(accord(office, "receipt", run, "--out", str(office.out), "--json"))
    assert body["output_checked"]
    assert [body["signers"][s]["known_as"] for s in "AB"] == ["yourself", "bob"]
    # The partner's copy of the output is the same file; another order of its rows is the same output.
    lines = done[Side.B].out.read_text().splitlines(keepends=True)
    other = tmp_path / "other.csv"
    other.write_text("".join([lines[0], *reversed(lines[1:])]))
    accord(office, "receipt", str(receipt_of(done[Side.B])), "--out", str(other))
    for changed in (
        [*lines[:-1]],
        [lines[0], *lines[1:-1], lines[-1].replace("B5", "B6")],
        [*lines, lines[-1]],
    ):
        other.write_text("".join(changed))
        with pytest.raises(TrustError):
            accord(office, "receipt", run, "--out", str(other))


ODD = ["=1+1", "+49 30", "-x", "@here", "\tx", "'quoted", "''=", "-5", "plain"]


def test_formulas_in_ids_are_quoted_and_verify_takes_the_quotes_away(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    for office in both.values():
        header, *lines = office.data.read_text().splitlines()
        renamed = [f"{name},{line.partition(',')[2]}" for name, line in zip(ODD, lines, strict=False)]
        office.data.write_text("\n".join([header, *renamed]) + "\n")
    name = faults.require_linked(faults.link(both))[Side.A].run
    office, text = both[Side.A], both[Side.A].out.read_text()
    quoted = [f'"{cell}"' for cell in ("'=1+1", "'+49 30", "'-x", "'@here", "''quoted", "'''=")]
    assert sum(cell in text for cell in quoted) >= 4, text
    assert '"=1+1"' not in text
    accord(office, "receipt", name, "--out", str(office.out))
    raw = tmp_path / "raw.csv"
    raw.write_text(text.replace("\"'", '"'))
    accord(office, "receipt", name, "--out", str(raw))
    raw.write_text(text.replace("\"'=1+1", "\"''=1+1", 1))
    with pytest.raises(TrustError):
        accord(office, "receipt", name, "--out", str(raw))
    with reopen(office.state, name, Resumption(output=Output(raw=True))) as (own, _):
        assert own.request.output.raw


def verified(folder: Path, receipt: Path, *more: str) -> Result:
    return CliRunner().invoke(app, ["--state", str(folder), "receipt", str(receipt), *more])


def test_a_receipt_of_cards_that_are_not_known_is_refused(done: dict[Side, Office], tmp_path: Path) -> None:
    path, other = receipt_of(done[Side.A]), tmp_path / "other"
    other.mkdir(mode=0o700)
    body = verified(other, path, "--out", str(done[Side.A].out), "--json")
    assert isinstance(body.exception, TrustError)
    facts = json.loads(body.stdout)
    assert not facts["output_checked"]
    assert [facts["signers"][s]["known_as"] for s in "AB"] == [None, None]
    shown = accord(done[Side.B], "receipt", str(path))
    cards = read_receipt(path).cards
    assert all(card.fingerprint in shown for card in cards.values())
    # Who knows both, by the names that the receipt gives, trusts it; by other names it does not.
    state = open_state(other, {})
    add_partner(state, "alice", cards[Side.A])
    add_partner(state, "yourself", cards[Side.B])
    assert isinstance(verified(other, path).exception, TrustError)
    add_partner(state, "bob", cards[Side.B])
    assert verified(other, path).exit_code == 0


def test_any_column_name_of_a_sound_agreement_can_be_read(done: dict[Side, Office], tmp_path: Path) -> None:
    """Names that cannot be printed are kept as they are and shown with a mark; the most of them fit. But
    cards that somebody made at home cannot pass for a partner's."""
    body = json.loads(receipt_of(done[Side.A]).read_text())["receipt"]
    body["parties"]["A"] |= {"disclosed": ["Price\u00a0EUR", "\x9b2J"], "epsilon": None, "delta": None}
    path = tmp_path / "receipt"
    path.write_bytes(forged(tmp_path, body))
    folder = done[Side.A].state.folder
    found = verified(folder, path)
    assert isinstance(found.exception, TrustError)
    assert "Price\ufffdEUR, \ufffd2J" in found.stdout
    as_json = verified(folder, path, "--json").stdout
    assert "\x9b" not in as_json
    assert json.loads(as_json)["parties"]["A"]["disclosed"] == body["parties"]["A"]["disclosed"]
    columns = tuple("\x01" * 128 for _ in range(4096))
    with pytest.raises(ValidationError):
        DisclosedColumns(A=(*columns, "x"))
    for side in Side:
        body["parties"][side.value]["disclosed"] = list(DisclosedColumns(A=columns).A)
        body["parties"][side.value]["epsilon"] = f"{'9' * 4300}/{'7' * 4300}"
    content = forged(tmp_path, body)
    assert len(content) > 6 << 20
    decode_receipt(content, path)


def test_an_identity_that_was_renewed_during_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No signature leaves that does not fit the card; with the new card handed over, the run goes on."""
    both = faults.offices(tmp_path)
    exchange = receipt.exchange_statements
    renewed: list[Card] = []

    def renew(*args: Any) -> Any:
        if not renewed:
            renewed.append(make_identity(both[Side.A].state, "alice", datetime.now(UTC)))
        return exchange(*args)

    monkeypatch.setattr(receipt, "exchange_statements", renew)
    # Whichever side comes to its end first, it is A's identity that is new.
    ending = faults.link(both)
    assert isinstance(ending[Side.A], TrustError), ending
    add_partner(both[Side.B].state, "alice", renewed[0])
    faults.require_done(faults.again(both), both, both[Side.A].out.read_bytes())


def test_a_crash_before_the_copy_of_a_receipt_leaves_two_that_are_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path)
    faults.link(both)
    office = both[Side.A]
    assert office.run
    name, before = office.run.manifest.run, office.run.receipt.read_bytes()

    def dies(path: Path, content: bytes) -> None:
        raise faults.Killed

    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_private", dies)
        faults.resume(both, name)
    # The copy is of before; what is kept is not.
    assert office.run.receipt.read_bytes() == before
    assert office.run.read("receipt") != before
    assert len([kept for kept in office.run.names() if kept.startswith("key-")]) == 2
    for which in (name, str(office.run.receipt)):
        accord(office, "receipt", which, "--out", str(office.out))
    faults.resume(both, name)
    assert office.run.receipt.read_bytes() == office.run.read("receipt")
    accord(office, "receipt", name, "--out", str(office.out))


def forged(folder: Path, body: dict[str, Any]) -> bytes:
    """What anybody can make: a receipt that two new cards have signed."""
    states = {side: open_state(folder / f"forger-{side.value}", {}) for side in Side}
    cards = {side: make_identity(state, "x", datetime.now(UTC)) for side, state in states.items()}
    parties = {s.value: {**body["parties"][s.value], "card": cards[s].fingerprint} for s in Side}
    said = {**body, "parties": parties}
    signatures = {
        side.value: {
            "card": cards[side].pem.decode(),
            "signature": sign(states[side], _signed(said, side)).hex(),
        }
        for side in Side
    }
    return json.dumps({"receipt": said, "signatures": signatures}, indent=1, ensure_ascii=False).encode()


def test_a_well_signed_receipt_of_another_form_is_refused(done: dict[Side, Office], tmp_path: Path) -> None:
    """Anybody can make two cards and sign: nothing of such a file may reach the terminal unchecked."""
    content = receipt_of(done[Side.A]).read_bytes()
    good = json.loads(content)["receipt"]
    parties = good["parties"]
    assert decode_receipt(forged(tmp_path, good), tmp_path).facts["output"] == good["output"]
    bodies = [
        {**good, "more": 1},
        {**good, "output": "../" * 21 + "x"},
        {**good, "parties": {**parties, "A": {**parties["A"], "disclosed": ["x" * 129]}}},
        {**good, "parties": {**parties, "A": {**parties["A"], "records_per_person": "2"}}},
        {"run": "x", "parties": parties},
    ]
    forms = [forged(tmp_path, body) for body in bodies]
    # No JSON, nested too deeply, too long; and the card of another who signed nothing.
    forms += [b"\xff" * 10, b"[]", b"[" * 60000, content + b" " * (1 << 24)]
    swapped = json.loads(content)
    swapped["signatures"]["A"]["card"] = swapped["signatures"]["B"]["card"]
    for form in (*forms, json.dumps(swapped).encode()):
        with pytest.raises(TrustError):
            decode_receipt(form, tmp_path)


def test_runs_are_listed_with_their_state(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    office = both[Side.A]

    def listed() -> list[dict[str, Any]]:
        found = CliRunner().invoke(app, ["--state", str(office.state.folder), "runs", "--json"])
        return list(json.loads(found.stdout))

    assert listed() == []
    faults.link(both, Wire(frames=30))
    run = office.run
    assert run
    (facts,) = listed()
    assert (facts["partner"], facts["dataset"], facts["done"]) == ("bob", "table", False)
    assert (facts["steps"], facts["resumes"], facts["broken"]) == (run.steps(), 0, False)
    with pytest.raises(UsageError):
        accord(office, "receipt", run.manifest.run)
    faults.resume(both, run.manifest.run)
    (facts,) = listed()
    assert (facts["done"], facts["resumes"]) == (True, 1)
    read_receipt(Path(facts["receipt"]))
    (run.path / "journal").write_text("damaged")
    (facts,) = listed()
    assert (facts["broken"], facts["steps"]) == (True, None)


@pytest.mark.parametrize("kind", ["greedy", "all-pairs"])
def test_forget_removes_all_that_a_run_kept_and_nothing_that_it_spent(kind: str, tmp_path: Path) -> None:
    both = faults.offices(tmp_path, kind)
    name = faults.require_linked(faults.link(both))[Side.A].run
    office = both[Side.A]
    run = open_run(office.state, name)
    (before,) = office.ledger.runs()
    with run.lock(), pytest.raises(UsageError):
        accord(office, "forget", name, "--force")
    assert run.slots()
    assert before.stored == (kind == "greedy")
    accord(office, "forget", name, "--force")
    assert not office.state.run(name).exists()
    (after,) = office.ledger.runs()
    assert (after.stored, after.cost) == (False, before.cost)
    with pytest.raises(UsageError):
        faults.resume(both, name)
    assert not isinstance(faults.link(both)[Side.A], AccordError)
    rows = office.ledger.runs()
    assert [row.drawing for row in rows] == ([1, 2] if kind == "greedy" else [None, None])
    assert [row.paid for row in rows] == [True, True]


# -- the digest of pairs -------------------------------------------------------------------------------------

KEY = bytes(range(64))
Names = list[tuple[str, str]]
texts = st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), unique=True, max_size=8)


def columns(names: Names) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """In two pieces each."""
    half = len(names) // 2
    a, b = (
        pa.chunked_array([[p[i] for p in names[:half]], [p[i] for p in names[half:]]], pa.large_string())
        for i in range(2)
    )
    return a, b


@given(texts, st.randoms(use_true_random=False))
def test_any_order_of_the_very_pairs_is_what_was_signed(names: Names, rng: random.Random) -> None:
    ids = [sorted({pair[i] for pair in names}, key=str.encode, reverse=True) for i in range(2)]
    a, b = (pa.array(some, pa.large_string()) for some in ids)
    rows = tuple(pa.array([ids[i].index(pair[i]) for pair in names], pa.int64()).to_numpy() for i in range(2))
    pairs = order_pairs(IdOrder.of(a), IdOrder.of(b), [(rows[0], rows[1])], Scratch())
    digest = output_digest(KEY, a, b, pairs).hex()
    shuffled = rng.sample(names, len(names))
    assert is_signed(digest, KEY, columns(shuffled))
    assert not is_signed(digest, KEY, columns([*shuffled, ("new id", "")]))
    if names:
        assert not is_signed(digest, KEY, columns(shuffled[1:]))
        assert not is_signed(digest, KEY, columns([*shuffled, shuffled[0]]))


def test_no_match_is_an_output_without_rows(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    both[Side.A].data.write_text("id,x,y\nA0,0,15\n")
    linked = faults.require_linked(faults.link(both))
    for side, office in both.items():
        assert office.out.read_bytes().count(b"\n") == 1
        assert linked[side].pairs.schema.field("id_a").type == pa.large_string()
        assert read_receipt(linked[side].receipt).facts["matches"] == 0
