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
from accord.errors import TrustError, UsageError
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
from tests.run.faults import Office
from tests.run.worlds import Organisation

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[Side, Office]:
    """A run that is done; tests only read it."""
    both = faults.offices(tmp_path_factory.mktemp("done"))
    faults.require_linked(faults.link(both))
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


def test_a_receipt_says_how_many_pairs_were_found_and_kept(done: dict[Side, Office], tmp_path: Path) -> None:
    both = faults.offices(tmp_path, "one-to-one")
    faults.require_linked(faults.link(both))
    path = receipt_of(both[Side.B])
    (listed,) = json.loads(accord(both[Side.B], "runs", "--json"))
    for facts in (listed, json.loads(accord(both[Side.B], "receipt", str(path), "--json"))):
        assert (facts["matches"], facts["matches_found"]) == (5, 6)
    # A receipt of an agreement without it has the bytes that it always had.
    assert "matches_found" not in receipt_of(done[Side.A]).read_text()


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


def test_a_receipt_is_trusted_by_who_knows_both_cards_by_their_names(
    done: dict[Side, Office], tmp_path: Path
) -> None:
    path, other = receipt_of(done[Side.A]), tmp_path / "other"
    cards = read_receipt(path).cards
    state = open_state(other, {})
    body = verified(other, path, "--out", str(done[Side.A].out), "--json")
    assert isinstance(body.exception, TrustError)
    facts = json.loads(body.stdout)
    assert not facts["output_checked"]
    assert [facts["signers"][s]["known_as"] for s in "AB"] == [None, None]
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
    both, renewed = faults.offices(tmp_path), list[Card]()
    exchange = receipt.exchange_statements

    def renew(*args: Any) -> Any:
        # Whichever side comes to its end first, it is A's identity that is new.
        if not renewed:
            renewed.append(make_identity(both[Side.A].state, "alice", datetime.now(UTC)))
        return exchange(*args)

    monkeypatch.setattr(receipt, "exchange_statements", renew)
    assert isinstance(faults.link(both)[Side.A], TrustError)
    add_partner(both[Side.B].state, "alice", renewed[0])
    faults.require_done(faults.again(both), both, faults.EXPECTED["greedy"])


def test_a_crash_before_the_copy_of_a_receipt_leaves_two_that_are_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = faults.offices(tmp_path)
    name, office = faults.require_linked(faults.link(both))[Side.A].run, both[Side.A]
    before = open_run(office.state, name).receipt.read_bytes()

    def dies(path: Path, content: bytes) -> None:
        raise faults.Killed

    with monkeypatch.context() as patch:
        patch.setattr(runs, "write_private", dies)
        faults.resume(both, name)
    # The copy is of before; what is kept is not.
    run = open_run(office.state, name)
    assert run.receipt.read_bytes() == before != run.read("receipt")
    with office.state.store.reading() as state:
        assert len([*state.rows("part", "owner = ? AND name LIKE 'key-%'", name)]) == 2
    for which in (name, str(run.receipt)):
        accord(office, "receipt", which, "--out", str(office.out))
    faults.resume(both, name)
    assert run.receipt.read_bytes() == open_run(office.state, name).read("receipt")
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


def test_forget_removes_all_that_a_run_kept_and_nothing_that_it_spent(tmp_path: Path) -> None:
    """The next run under the snapshot draws, and pays for, new noise."""
    both = faults.offices(tmp_path)
    name, office = faults.require_linked(faults.link(both))[Side.A].run, both[Side.A]
    with open_run(office.state, name).lock(), pytest.raises(UsageError):
        accord(office, "forget", name, "--force")
    (before,) = office.ledger.runs()
    assert before.stored
    accord(office, "forget", name, "--force")
    assert not office.state.run(name).exists()
    (after,) = office.ledger.runs()
    assert (after.stored, after.cost) == (False, before.cost)
    with pytest.raises(UsageError):
        faults.resume(both, name)
    faults.link(both)
    assert [(row.drawing, row.paid) for row in office.ledger.runs()] == [(1, True), (2, True)]


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
