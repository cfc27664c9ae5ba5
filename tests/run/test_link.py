"""A linkage over TLS and in memory: what both get, what ends it for good, and what ends it before anybody is
called."""

from __future__ import annotations

import json
from dataclasses import replace
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
    TrustError,
    UncoveredError,
    UsageError,
)
from accord.notices import Charged, Done, Notice, Progress
from accord.peer import handshake
from accord.peer.channel import TlsChannel
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.privacy.events import UNLESS, Cost, NoisyAnswer
from accord.protocols import routing
from accord.protocols.parts import own_side, slots
from accord.protocols.parts.outcome import Outcome
from accord.protocols.routed_pairs import SealedPasses
from accord.run.offer import Offer
from accord.run.receipt import read_receipt
from accord.run.stages import Linked, begin
from accord.run.verbs import link, resume
from accord.secure.okvs.tables import failed
from accord.secure.prf import oblivious, programmed
from accord.side import Side
from accord.state.accounts import accounts
from accord.state.ledger import Ledger
from accord.state.runs import find_unfinished, open_run
from accord.table.layout import Layout
from tests.protocols.worlds import NOBODY, Rows, agreement, routed
from tests.run import faults, worlds
from tests.run.faults import Line, Office, Wire
from tests.run.test_receipt import accord

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
    Ledger(both[0].state.store).set_budget("mine", Budget(Cost(Fraction(5), Fraction("1e-3")), 9))
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
        (row,) = Ledger(own.state.store).runs()
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
        (row,) = Ledger(own.state.store).runs()
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
    Ledger(both[0].state.store).set_budget(worlds.ACCOUNT, small)
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


CROWD: Rows = [(5, 0), (5, 3), (5, 6), *((x, 9) for x in range(6, 13))]
"""Three of ten share a key with two others."""
CROWDED = routed("x", cap=2)


def test_a_run_begins_only_with_as_many_uncovered_as_the_owner_allows(tmp_path: Path) -> None:
    own, _ = worlds.introduce(tmp_path, CROWDED)
    offered: list[int] = []

    def declining(offer: Offer) -> bool:
        offered.append(offer.uncovered)
        return False

    cases: list[tuple[type[AccordError], tuple[Any, ...]]] = [
        (UncoveredError, (None, 0, "0%", 0.29, "29.9%", "1/4")),
        (DeclinedError, (0.3, "30%", "3/10", 1, "100%")),
        (UsageError, (-0.1, 1.1, "101%", "some", "%", True)),
    ]
    asked = {"agreement": CROWDED, "data": worlds.table(CROWD, "a"), "confirm": declining}
    for kind, shares in cases:
        for share in shares:
            assert isinstance(refused(own, **asked, uncovered=share), kind)
    assert offered == [3] * 5


@pytest.mark.parametrize(
    ("output", "covered"),
    [({}, ()), ({"to": "A"}, (Side.A,)), ({"answer": "count", "epsilon": "1"}, tuple(Side))],
)
def test_a_promise_without_a_condition_needs_no_limit(
    output: dict[str, Any], covered: tuple[Side, ...], tmp_path: Path
) -> None:
    plain = CROWDED.model_dump(mode="json") | {"disclose": {"A": [], "B": []}}
    agreed = Agreement.model_validate(plain | {"output": output})
    for own in worlds.introduce(tmp_path, agreed):
        error = refused(own, agreement=agreed, data=worlds.table(CROWD, "a"), confirm=decline)
        assert isinstance(error, DeclinedError if own.side in covered else UncoveredError)


# -- other outputs than pairs for both -----------------------------------------------------------------------

COUNT = {"answer": "count", "epsilon": "1"}
EXACT = {"answer": "count", "exact": True}
MATCHES = faults.EXPECTED["plain"].count(b"\n") - 1


def answering(output: dict[str, Any], disclose: dict[str, Any] = NOBODY, **more: Any) -> Agreement:
    plain = faults.agreement("routed").model_dump(mode="json")
    return Agreement.model_validate(plain | {"output": output, "disclose": disclose} | more)


def link_offices(folder: Path, agreed: Agreement) -> tuple[dict[Side, Office], Linked, Linked]:
    both = agreed_on(folder, agreed)
    ends = faults.require_linked(faults.link(both))
    return both, ends[Side.A], ends[Side.B]


def test_a_count_is_the_same_for_both_and_is_kept_as_it_was(tmp_path: Path) -> None:
    both, a, b = link_offices(tmp_path, answering(COUNT))
    assert a.answer is not None
    assert a.answer == b.answer
    assert (a.matches, a.learns, a.charged) == (0, False, Cost(Fraction(1), Fraction(0)))
    (cell,) = a.answer.cells
    told = a.answer.brief()
    assert f"{cell.value:,} ± {cell.within}" in told
    assert told in repr(a)
    assert f"<td>{cell.value}</td>" in a._repr_html_()
    assert pa.table(a).to_pylist() == a.answer.table().to_pylist()
    own, out = both[Side.A], both[Side.A].out
    (facts,) = json.loads(accord(own, "runs", "--json"))
    assert facts == json.loads(accord(own, "runs", a.run, "--json"))
    assert facts["matches"] is None
    assert facts["answer"] == [{"names": ["matching pairs"], "value": cell.value, "within": cell.within}]
    for words in (("runs",), ("runs", a.run), ("receipt", a.run), ("receipt", a.run, "--out", str(out))):
        assert told in accord(own, *words)
    for more, shown in (((), True), (("--share",), False)):
        page = tmp_path / f"{shown}.html"
        accord(own, "report", a.run, "--out", str(page), *more)
        assert (told in page.read_text()) == shown
    out.write_text(f'"answer","value","low","high"\n"matching pairs",{cell.value + 1},0,0\n')
    with pytest.raises(TrustError):
        accord(own, "receipt", a.run, "--out", str(out))


Promised = tuple[float | None, str]
LEFT_OUT = (0.0, UNLESS["leave-out"])
SAID: list[tuple[Agreement, Promised, Promised]] = [
    (answering({}), LEFT_OUT, LEFT_OUT),
    (answering({"to": "A"}), (0.0, ""), LEFT_OUT),
    (answering(COUNT), (1.0, ""), (1.0, "")),
    (answering(EXACT), (None, ""), (None, "")),
    (answering(EXACT, protocol={"name": "all-pairs"}, blocking=[]), (None, ""), (None, "")),
    (faults.agreement("psi"), (0.0, ""), (0.0, "")),
]


@pytest.mark.parametrize("said", SAID, ids=["pairs", "for A", "count", "exact", "all-pairs", "psi"])
def test_the_condition_is_kept_with_the_number(
    said: tuple[Agreement, Promised, Promised], tmp_path: Path
) -> None:
    """In what is told at the end, in the ledger's runs and sums, and in the receipt."""
    agreed, *promised = said
    both, told = agreed_on(tmp_path, agreed), {side: list[Notice]() for side in Side}
    parties = {side: begin(replace(o.ready(), tell=told[side].append), Line()) for side, o in both.items()}
    ends = faults.require_linked(faults.drive(parties, Wire()))
    for (side, office), (epsilon, unless) in zip(both.items(), promised, strict=True):
        (done,) = (one for one in told[side] if isinstance(one, Done))
        (charged,) = (one for one in told[side] if isinstance(one, Charged))
        assert (done.epsilon, done.unless) == (epsilon, unless)
        assert (charged.charged_epsilon, charged.unless) == (epsilon, unless)
        (account,) = accounts(office.ledger.runs(), office.ledger.budgets())
        expected = None if epsilon is None else Cost(Fraction(epsilon), Fraction(0), unless)
        assert [
            office.ledger.runs()[0].cost,
            account.spent,
            account.shown["bob" if side is Side.A else "alice"],
        ] == [expected] * 3
        party = read_receipt(ends[side].receipt).facts["parties"][side.value]
        assert (party["epsilon"], party["unless"]) == (None if epsilon is None else f"{epsilon:g}", unless)


def test_an_answer_about_people(tmp_path: Path) -> None:
    """The ledger says whom it hides, and somebody with more records is refused before anybody is called."""
    both = agreed_on(tmp_path, answering(COUNT | {"records_per_person": 2}))
    office = both[Side.A]
    head, *rows = office.data.read_text().splitlines()
    for side, who in ((Side.A, "who"), (Side.B, "id")):
        both[side].layout = Layout(person=who)
    for crowd, refused in (("ppqqrrss", False), ("pppqrrss", True), ("ppqqrrs ", True)):
        lines = [f"{row},{name.strip()}" for row, name in zip(rows, crowd, strict=True)]
        office.data.write_text("\n".join([f"{head},who", *lines]) + "\n")
        if refused:
            with pytest.raises(DataError):
                office.ready()
            continue
        ends = faults.require_linked(faults.link(both))
        assert ends[Side.A].answer == ends[Side.B].answer
        for one in both.values():
            assert [run.event for run in one.ledger.runs()] == [
                NoisyAnswer(Fraction(1), records_per_person=2)
            ]


def test_only_one_side_learns_the_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection is left when they are opened: how long it takes, and whether it can be done, is not for
    the partner to see."""
    happened: list[str] = []
    close, unseal = TlsChannel.close, SealedPasses.unseal

    def closing(self: TlsChannel) -> None:
        close(self)
        happened.append(f"closed to {self._partner}")

    def opening(self: SealedPasses, *given: Any) -> Outcome:
        happened.append("opened")
        return unseal(self, *given)

    monkeypatch.setattr(TlsChannel, "close", closing)
    monkeypatch.setattr(SealedPasses, "unseal", opening)
    agreed = answering({"to": "A"}, {"A": [], "B": ["x"]})
    own, other = worlds.introduce(tmp_path, agreed)
    a, b = worlds.link_both(own, other, agreed, a_options={"out": tmp_path / "a.csv"})
    assert happened.index("closed to bob") < happened.index("opened")
    assert a.pairs.column_names == ["id_a", "id_b", "x_b"]
    assert a.matches == len(a.pairs) > 0
    assert (b.learns, b.matches, len(b.pairs)) == (False, 0, 0)
    assert len({one._outcome()["matches"] for one in (a, b)}) == 2
    with pytest.raises(UsageError):
        # No digest of them was signed.
        accord(own, "receipt", a.run, "--out", str(tmp_path / "a.csv"))
    given = worlds.options(other, worlds.B_ROWS, agreed) | {"listen": "127.0.0.1:0"}
    with pytest.raises(UsageError):
        link(given.pop("data"), given.pop("agreement"), out=tmp_path / "b.csv", **given)
