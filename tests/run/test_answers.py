"""Runs of which other things come out than pairs for both, and how they are kept."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accord.agreement.document import Agreement
from accord.errors import DataError, TrustError, UsageError
from accord.notices import Charged, Done, Notice
from accord.peer.channel import TlsChannel
from accord.privacy.events import UNLESS, Cost, NoisyAnswer
from accord.protocols.parts.outcome import Outcome
from accord.protocols.routed_pairs import SealedPasses
from accord.run.receipt import read_receipt
from accord.run.stages import Linked, begin
from accord.run.verbs import link
from accord.side import Side
from accord.state.accounts import accounts
from accord.table.layout import Layout
from tests.protocols.worlds import NOBODY
from tests.run import faults, worlds
from tests.run.faults import Line, Office, Wire
from tests.run.test_receipt import accord

pytestmark = pytest.mark.usefixtures("quick")

Both = dict[Side, Office]
COUNT = {"answer": "count", "epsilon": "1"}
EXACT = {"answer": "count", "exact": True}
MATCHES = faults.EXPECTED["plain"].count(b"\n") - 1


def agreed_on(output: dict[str, Any], disclose: dict[str, Any] = NOBODY, **more: Any) -> Agreement:
    plain = faults.agreement("routed").model_dump(mode="json")
    return Agreement.model_validate(plain | {"output": output, "disclose": disclose} | more)


def offices(folder: Path, agreed: Agreement) -> Both:
    both = faults.offices(folder)
    for office in both.values():
        office.agreement = agreed
    return both


def linked(folder: Path, agreed: Agreement) -> tuple[Both, Linked, Linked]:
    both = offices(folder, agreed)
    ends = faults.require_linked(faults.link(both))
    return both, ends[Side.A], ends[Side.B]


def test_a_count_is_the_same_for_both_and_is_kept_as_it_was(tmp_path: Path) -> None:
    both, a, b = linked(tmp_path, agreed_on(COUNT))
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
    assert facts["matches"] is None
    assert facts["answer"] == [{"names": ["matching pairs"], "value": cell.value, "within": cell.within}]
    for words in (("runs",), ("runs", a.run), ("receipt", a.run), ("receipt", a.run, "--out", str(out))):
        assert told in accord(own, *words)
    for words, shown in (([], True), (["--share"], False)):
        page = tmp_path / f"{shown}.html"
        accord(own, "report", a.run, "--out", str(page), *words)
        assert (told in page.read_text()) == shown
    out.write_text(f'"answer","value","low","high"\n"matching pairs",{cell.value + 1},0,0\n')
    with pytest.raises(TrustError):
        accord(own, "receipt", a.run, "--out", str(out))


Promised = tuple[float | None, str]
LEFT_OUT = (0.0, UNLESS["leave-out"])
SAID: list[tuple[Agreement, Promised, Promised]] = [
    (agreed_on({}), LEFT_OUT, LEFT_OUT),
    (agreed_on({"to": "A"}), (0.0, ""), LEFT_OUT),
    (agreed_on(COUNT), (1.0, ""), (1.0, "")),
    (agreed_on(EXACT), (None, ""), (None, "")),
    (agreed_on(EXACT, protocol={"name": "all-pairs"}, blocking=[]), (None, ""), (None, "")),
    (faults.agreement("psi"), (0.0, ""), (0.0, "")),
]


@pytest.mark.parametrize("said", SAID, ids=["pairs", "for A", "count", "exact", "all-pairs", "psi"])
def test_the_condition_is_kept_with_the_number(
    said: tuple[Agreement, Promised, Promised], tmp_path: Path
) -> None:
    """In what is told at the end, in the ledger's runs and sums, and in the receipt."""
    agreed, *promised = said
    both, told = offices(tmp_path, agreed), {side: list[Notice]() for side in Side}
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
    both = offices(tmp_path, agreed_on(COUNT | {"records_per_person": 2}))
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
    agreed = agreed_on({"to": "A"}, {"A": [], "B": ["x"]})
    own, other = worlds.introduce(tmp_path, agreed)
    a, b = worlds.link_both(own, other, agreed, a_options={"out": tmp_path / "a.csv"})
    assert happened.index("closed to bob") < happened.index("opened")
    assert a.pairs.column_names == ["id_a", "id_b", "x_b"]
    assert a.matches == len(a.pairs) > 0
    assert (b.learns, b.matches, len(b.pairs)) == (False, 0, 0)
    with pytest.raises(UsageError):
        # No digest of them was signed.
        accord(own, "receipt", a.run, "--out", str(tmp_path / "a.csv"))
    given = worlds.options(other, worlds.B_ROWS, agreed) | {"listen": "127.0.0.1:0"}
    with pytest.raises(UsageError):
        link(given.pop("data"), given.pop("agreement"), out=tmp_path / "b.csv", **given)
