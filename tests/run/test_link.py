"""A linkage over TLS and in memory: what both get, what ends it for good, and what ends it before anybody is
called."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accord.agreement.document import Agreement
from accord.errors import (
    AccordError,
    AccountError,
    BudgetError,
    ClosedByChanceError,
    DataError,
    DeclinedError,
    DifferentAgreementError,
    NoTableError,
    RefusedError,
    SnapshotError,
    StateError,
    StoppedError,
    TooManyMatchesError,
    UsageError,
)
from accord.notices import Done, Notice, Progress
from accord.peer import handshake
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.privacy.events import Cost
from accord.protocols import routing
from accord.protocols.parts import own_side, slots
from accord.run.offer import Offer
from accord.run.receipt import read_receipt
from accord.run.stages import Linked, begin
from accord.run.verbs import link, resume
from accord.secure.okvs.tables import failed
from accord.secure.prf import oblivious, programmed
from accord.side import Side
from accord.state.ledger import Ledger
from accord.state.runs import find_unfinished, open_run
from accord.table.layout import Layout
from tests.protocols.worlds import agreement
from tests.run import faults, worlds
from tests.run.faults import Line, Office, Wire

pytestmark = pytest.mark.usefixtures("quick")
Both = tuple[worlds.Organisation, worlds.Organisation]


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return worlds.introduce(tmp_path, agreement())


def agreed_on(folder: Path, agreed: Agreement) -> dict[Side, Office]:
    """The offices of faults under another agreement."""
    found = faults.offices(folder)
    for office in found.values():
        office.agreement = agreed
    return found


# -- what both get -------------------------------------------------------------------------------------------


def test_both_sides_over_tls(both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked once, told in order, the same output and receipt. The digest of a table, whose time follows its
    texts, is made before anybody is called."""
    made: list[str] = []
    offers: list[Offer] = []
    parts = slots._table_parts

    def walk(records: Any) -> Any:
        made.append("digest")
        return parts(records)

    def confirm(offer: Offer) -> bool:
        made.append("asked")
        offers.append(offer)
        return True

    monkeypatch.setattr(slots, "_table_parts", walk)
    Ledger(both[0].state.database).set_budget("mine", Budget(Cost(Fraction(5), Fraction("1e-3")), 9))
    outs = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    a_options, b_options = ({"confirm": confirm, "out": out} for out in outs)
    left, right = worlds.link_both(*both, a_options=a_options | {"dataset": "mine"}, b_options=b_options)
    assert isinstance(left, Linked), left
    assert isinstance(right, Linked), right
    assert sorted(made) == ["asked", "asked", "digest", "digest"]
    assert (made[0], made[-1]) == ("digest", "asked")
    offer = next(one for one in offers if one.account.budget.runs == 9)
    assert offer.cost == offer.event.cost == left.charged
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert not list(tmp_path.glob(".*")), "a half-written file is left"
    facts = read_receipt(left.receipt).facts
    assert facts == read_receipt(right.receipt).facts
    assert (facts["run"], facts["matches"]) == (left.run, left.matches) == (right.run, right.matches)
    for own in both:
        events = [notice.event for notice in own.told if not isinstance(notice, Progress)]
        assert events[-3:] == ["connected", "charged", "done"]
        (done,) = own.heard(Done)
        assert (done.matches, done.comparisons, done.bytes) == (left.matches, left.comparisons, left.bytes)


def test_the_parties_names_decide_nothing(tmp_path: Path) -> None:
    """Whoever writes the agreement may call the owner what it likes: the account is the owner's."""
    found = faults.offices(tmp_path)
    plain = found[Side.A].agreement.model_dump(mode="json")
    for name in ("alice", "Alice", "ALICE"):
        for office in found.values():
            office.agreement = Agreement.model_validate(plain | {"parties": {"A": name, "B": "bob"}})
        add_partner(found[Side.B].state, name, faults.card(found[Side.A]))
        faults.require_linked(faults.link(found))
    runs = found[Side.A].ledger.runs()
    assert [run.paid for run in runs] == [True, False, False]
    assert {run.dataset for run in runs} == {"table"}


def for_people() -> Agreement:
    """Side A promises to people with up to two records."""
    plain = agreement().model_dump(mode="json")
    plain["protocol"]["A"]["records_per_person"] = 2
    return Agreement.model_validate(plain)


def of_people(*who: str) -> pa.Table:
    """A's table, with whose records they are."""
    return worlds.table(worlds.A_ROWS, "a").append_column("who", pa.array(who))


def test_a_promise_to_people(tmp_path: Path) -> None:
    """What is charged says whom it is for, and a run that goes on knows the column again."""
    found = agreed_on(tmp_path, for_people())
    office = found[Side.A]
    head, *rows = office.data.read_text().splitlines()
    lines = [f"{head},who", *(f"{row},p{number // 2}" for number, row in enumerate(rows))]
    office.data.write_text("\n".join(lines) + "\n")
    office.layout = Layout(person="who")
    linked = faults.require_linked(faults.link(found))[Side.A]
    assert getattr(office.ledger.runs()[0].event, "records_per_person", 1) == 2
    assert open_run(office.state, linked.run).manifest.request.read_layout().person == "who"
    parties = read_receipt(linked.receipt).facts["parties"]
    # For one record receipts are what they were.
    assert [parties[s].get("records_per_person") for s in "AB"] == [2, None]


# -- what ends it for good -----------------------------------------------------------------------------------


def test_more_matches_than_agreed_end_the_run_on_both_sides(both: Both) -> None:
    agreed = Agreement.model_validate(agreement().model_dump() | {"most_matches": {"A": 1}})
    a, b = worlds.link_both(*both, agreed)
    assert (type(a), type(b), b.exit_code) == (TooManyMatchesError, StoppedError, 14)
    for own in both:
        (row,) = Ledger(own.state.database).runs()
        assert row.paid, "what was charged stands"
        assert open_run(own.state, row.run).manifest.state == "most_matches"
        assert find_unfinished(own.state, agreed.party(own.side.other), agreed.to_toml()) == ()


def fails(*arguments: object) -> object:
    raise failed("their rows are dependent")


CLOSED: dict[str, tuple[str, tuple[Any, str], Side]] = {
    "the asker's bins": ("routed", (routing, "place"), Side.A),
    "the lister's store": ("routed", (programmed, "Encoder"), Side.B),
    "an intersection": ("psi", (oblivious, "Encoder"), Side.A),
}
"""What is linked, what cannot be made, and for whom."""


@pytest.mark.parametrize("case", CLOSED)
def test_a_table_that_cannot_be_made_closes_the_run(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No attempt follows, on either side [MATHS §10.4]; a new run has other seeds."""
    kind, where, side = CLOSED[case]
    agreed = faults.agreement(kind)
    both = worlds.introduce(tmp_path, agreed)
    with monkeypatch.context() as patch:
        patch.setattr(*where, fails)
        ends = dict(zip(Side, worlds.link_both(*both, agreed), strict=True))
    assert [type(ends[one]) for one in (side, side.other)] == [NoTableError, StoppedError]
    require_closed(both, ends, "no_table", ClosedByChanceError)
    assert all(isinstance(end, Linked) for end in worlds.link_both(*both, agreed))


def require_closed(both: Both, ends: dict[Side, Any], state: str, error: type[AccordError]) -> None:
    """On both sides, which end with one exit code and are not told to resume."""
    for own in both:
        end = ends[own.side]
        assert end.exit_code == error.exit_code
        assert "resume" not in "".join([str(end), *getattr(end, "__notes__", ())])
        (row,) = Ledger(own.state.database).runs()
        found = open_run(own.state, row.run).manifest
        assert (found.state, found.closed, found.wrong) == (state, True, 0)
        with pytest.raises(error):
            resume(row.run, state=own.state.folder, connect="127.0.0.1:1")


def test_different_agreements_show_both_what_differs(tmp_path: Path) -> None:
    found = faults.offices(tmp_path)
    parties = faults.linking(found)
    found[Side.B].agreement = faults.agreement("plain")
    parties[Side.B] = begin(found[Side.B].ready(), Line())
    for error in faults.drive(parties, Wire()).values():
        assert isinstance(error, DifferentAgreementError), error
        assert any("greedy" in line for line in error.differences), error
    require_untouched(found)


def require_untouched(found: dict[Side, Office]) -> None:
    assert not any(office.ledger.runs() or office.run for office in found.values())


@pytest.mark.parametrize("version", [handshake.WIRE - 1, handshake.WIRE + 5])
def test_another_protocol_version_is_refused(version: int, tmp_path: Path) -> None:
    found = faults.offices(tmp_path)

    def other(number: int, frame: bytes, before: list[bytes]) -> bytes:
        return frame[:8] + version.to_bytes(2, "little") + frame[10:] if number == 1 else frame

    ending = faults.link(found, Wire(change=other, told=True))
    assert isinstance(ending[Side.A], RefusedError)
    require_untouched(found)


# -- before anybody is called --------------------------------------------------------------------------------


def never(offer: Offer) -> bool:
    raise AssertionError("nobody was to be asked")


def decline(offer: Offer) -> bool:
    return False


def answer_no(offer: Offer) -> Any:
    return "no"


def refused(own: worlds.Organisation, **asked: Any) -> AccordError:
    """What `link` raises that calls nobody and leaves nothing."""
    given = worlds.options(own, worlds.A_ROWS, agreement()) | {"confirm": never, "listen": "127.0.0.1:0"}
    given |= {"tell": own.told.append} | asked
    with pytest.raises(AccordError) as caught:
        link(given.pop("data"), given.pop("agreement"), **given)
    assert not own.told
    assert worlds.untouched(own)
    return caught.value


WRONG = pa.table({"id": ["a"], "x": ["not a number"], "y": ["1"]})
EMPTY = worlds.table(worlds.A_ROWS, "a").slice(0, 0)
REFUSED: dict[str, tuple[dict[str, Any], type[AccordError]]] = {
    "an account that nobody made": ({"dataset": "tabel"}, AccountError),
    "the owner declines": ({"confirm": decline}, DeclinedError),
    "an answer that is neither yes nor no": ({"confirm": answer_no}, UsageError),
    "faulty data": ({"data": WRONG}, DataError),
    "no records": ({"data": EMPTY}, DataError),
    "no batches": ({"data": EMPTY.to_reader()}, DataError),
    "no way to the partner": ({"listen": ""}, UsageError),
    "two ways to the partner": ({"connect": "h:1"}, UsageError),
    "no address": ({"listen": "nonsense"}, UsageError),
    "no party of the agreement": ({"partner": "nobody"}, UsageError),
    "a mapped name that was not agreed on": ({"layout": Layout(columns={"xx": "y"})}, UsageError),
    "people without their column": ({"agreement": for_people()}, UsageError),
    "people with too many records": (
        {"agreement": for_people(), "data": of_people(*"ppqp"), "layout": Layout(person="who")}, DataError
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_ends_a_linkage_before_anybody_is_called(case: str, both: Both) -> None:
    asked, kind = REFUSED[case]
    error = refused(both[0], **asked)
    assert isinstance(error, kind), repr(error)
    if case == "people with too many records":
        assert isinstance(error, DataError)
        assert error.faults[0].place == "rows 1, 2, 4, column 'who'"


def test_a_budget_that_is_too_small_and_a_table_that_is_too_large(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own_side.MOST_RECORDS == 2**31 - 1, "slots keep the numbers of records in 32 bits"
    with monkeypatch.context() as patch:
        patch.setattr(own_side, "MOST_RECORDS", len(worlds.A_ROWS) - 1)
        assert isinstance(refused(both[0]), DataError)
    small = Budget(Cost(Fraction("0.01"), Fraction("1e-9")))
    Ledger(both[0].state.database).set_budget(worlds.ACCOUNT, small)
    assert isinstance(refused(both[0]), BudgetError)


def test_a_snapshots_name_is_declared_before_anybody_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second table under it is refused there, too."""
    found, told = faults.offices(tmp_path), list[Notice]()
    office = found[Side.A]
    faults.link(found)
    asked: dict[str, Any] = {"partner": "bob", "snapshot": "first", "state": office.state.folder}
    asked |= {"tell": told.append, "confirm": lambda _: True, "listen": "127.0.0.1:0"}

    def full(*given: object) -> None:
        raise StateError(path="", reason="", mend="")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "declare", full)
        with pytest.raises(StateError):
            link(office.data, office.agreement, **asked)
    office.data.write_text(office.data.read_text().replace("A7,10,10", "A7,3,10"))
    with pytest.raises(SnapshotError):
        link(office.data, office.agreement, **asked)
    assert not told
    assert len(office.ledger.runs()) == 1
