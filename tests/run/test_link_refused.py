"""What ends a linkage before anything is charged, and mostly before anybody is called."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import accord
from accord.errors import (
    AccordError,
    AccountError,
    BudgetError,
    DataError,
    DeclinedError,
    DifferentAgreementError,
    RefusedError,
    SnapshotError,
    StoppedError,
    UsageError,
)
from accord.peer import handshake
from accord.peer.connection import Reach
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.privacy.events import Cost
from accord.protocols.parts import own_side as mine
from accord.run.offer import Offer
from accord.run.verbs import link
from accord.side import Side
from accord.simulation.pair import simulate
from accord.state.ledger import Ledger
from accord.table.layout import Layout
from tests.protocols.worlds import agreement
from tests.run import worlds
from tests.run.test_link import Both, for_people, of_people


@pytest.fixture
def both(tmp_path: Path) -> Both:
    return worlds.introduce(tmp_path, agreement())


def test_another_table_under_a_snapshots_name_ends_before_anybody_is_called(both: Both) -> None:
    worlds.link_both(*both, a_options={"snapshot": "2026-11"})
    moved = worlds.table([(1, 1), (9, 9), (3, 12), (2, 14)], "a")
    again = {"data": moved, "snapshot": "2026-11"}
    left, right = worlds.link_both(*both, a_options=again, b_options={"reach": Reach(wait=0.1)})
    assert isinstance(left, SnapshotError)
    assert isinstance(right, AssertionError), "A listened before it had asked its ledger"
    assert len(Ledger(both[0].state.database).runs()) == 1
    other, _ = worlds.link_both(*both, a_options={"data": moved, "snapshot": "2026-12"})
    assert other.charged == other.cost


def test_an_account_that_nobody_made_ends_before_anybody_is_called(both: Both) -> None:
    for name in ("tabel", "alice"):
        left, right = worlds.link_both(
            *both, a_options={"dataset": name}, b_options={"reach": Reach(wait=0.1)}
        )
        assert isinstance(left, AccountError)
        assert isinstance(right, AssertionError), "A listened before it had asked its ledger"
    assert worlds.untouched(*both)


def test_who_declines_sends_and_spends_nothing(both: Both) -> None:
    def no(offer: Offer) -> bool:
        return False

    reach = Reach(wait=1.0)
    left, right = worlds.link_both(
        *both, a_options={"reach": reach}, b_options={"confirm": no, "reach": reach}
    )
    assert isinstance(right, DeclinedError)
    assert isinstance(left, AccordError)
    assert worlds.untouched(*both)


def test_different_agreements_show_both_what_differs(both: Both) -> None:
    left, right = worlds.link_both(*both, b_options={"agreement": agreement(greedy=False)})
    for error in (left, right):
        assert isinstance(error, DifferentAgreementError), error
        assert error.exit_code == 3
        assert any("greedy" in line for line in error.differences), error
    assert "protocol.greedy is on in ours and off in theirs." in str(left)
    assert "protocol.greedy is off in ours and on in theirs." in str(right)
    assert worlds.untouched(*both)


def test_the_same_side_twice(both: Both, tmp_path: Path) -> None:

    agreed = agreement()
    # B believes to be A: it names itself as its partner, under A's card.
    add_partner(both[1].state, agreed.party(Side.B), both[0].card)
    left, right = worlds.link_both(*both, b_options={"partner": agreed.party(Side.B)})
    for error in (left, right):
        assert isinstance(error, RefusedError), error
        assert "Both of you are side A" in str(error)
        assert error.exit_code == 7
    assert worlds.untouched(*both)


@pytest.mark.parametrize(("version", "word"), [(0, "older"), (9, "newer")])
def test_another_protocol_version(
    both: Both, monkeypatch: pytest.MonkeyPatch, version: int, word: str
) -> None:
    true = handshake.encode_hello

    def other(hello: handshake.Hello) -> bytes:
        content = bytearray(true(hello))
        if hello.side is Side.B:
            content[8:10] = version.to_bytes(2, "little")
        return bytes(content)

    monkeypatch.setattr(handshake, "encode_hello", other)
    left, right = worlds.link_both(*both)
    assert isinstance(left, RefusedError), left
    assert f"{word} version of Accord" in str(left)
    # B is told by a stop: with another version of the program it would read A's hello itself.
    assert isinstance(right, StoppedError | RefusedError), right
    assert worlds.untouched(*both)


def test_a_table_size_that_does_not_fit(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    def lie(records: int, partner: str) -> Any:
        return handshake.exchange_sizes(2**31 if partner == agreement().party(Side.A) else records, partner)

    monkeypatch.setattr("accord.run.stages.exchange_sizes", lie)
    left, right = worlds.link_both(*both)
    assert isinstance(left, RefusedError), left
    assert "announces 2,147,483,648 records, more than can be linked" in str(left)
    assert isinstance(right, StoppedError), right
    assert "refuses" in str(right)
    assert not Ledger(both[0].state.database).runs()


def test_an_overspent_budget_ends_before_anybody_is_called(both: Both) -> None:
    Ledger(both[0].state.database).set_budget(
        worlds.ACCOUNT, Budget(Cost(Fraction("0.01"), Fraction("1e-9")))
    )
    left, right = worlds.link_both(*both, b_options={"reach": Reach(wait=0.1)})
    assert isinstance(left, BudgetError)
    assert isinstance(right, AssertionError), "A listened before it had asked its ledger"
    assert worlds.untouched(*both)


def test_faulty_data_ends_before_anybody_is_called(both: Both, tmp_path: Path) -> None:
    wrong = pa.table({"id": ["a"], "x": ["not a number"], "y": ["1"]})
    with pytest.raises(DataError):
        accord.link(
            wrong, agreement(), partner=agreement().party(Side.B), listen=":0", state=both[0].state.folder,
            confirm=accord.ask,
        )  # fmt: skip


@pytest.mark.parametrize("way", [{}, {"listen": ":1", "connect": "h:1"}, {"listen": "nonsense"}])
def test_exactly_one_way_to_the_partner(both: Both, way: dict[str, Any]) -> None:
    agreed = agreement()
    with pytest.raises(UsageError, match="HOST:PORT"):
        accord.link(
            worlds.table([], "a"), agreed, partner=agreed.party(Side.B), state=both[0].state.folder,
            confirm=accord.ask, **way,
        )  # fmt: skip


def test_the_partner_must_be_a_party_of_the_agreement(both: Both) -> None:
    agreed = agreement()
    with pytest.raises(UsageError, match="one of the parties of the agreement, alice and bob"):
        accord.link(
            worlds.table([], "a"), agreed, partner="nobody", listen=":0", state=both[0].state.folder,
            confirm=accord.ask,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("mine", "problem"),
    [
        ({}, "must be known whose record a row is"),
        ({"layout": Layout(person="who")}, "rows 1, 2, 4, column 'who'"),
    ],
)
def test_people_are_checked_before_anybody_is_called(both: Both, mine: dict[str, Any], problem: str) -> None:
    given = worlds.options(both[0], worlds.A_ROWS, for_people()) | {"data": of_people("p", "p", "q", "p")}
    given |= mine | {"listen": "127.0.0.1:0", "tell": both[0].told.append}
    with pytest.raises(AccordError, match=problem):
        link(given.pop("data"), given.pop("agreement"), **given)
    assert not both[0].told
    assert worlds.untouched(*both)


def test_an_empty_table_ends_before_anybody_is_asked(both: Both) -> None:
    given = worlds.options(both[0], worlds.A_ROWS, agreement())
    nothing = given["data"].slice(0, 0)
    for data in (nothing, nothing.to_reader()):
        with pytest.raises(DataError, match="no records in it"):
            link(**given | {"data": data, "confirm": never}, listen="127.0.0.1:0")
    assert worlds.untouched(*both)


def test_a_table_of_too_many_records_ends_before_anybody_is_asked(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mine.MOST_RECORDS == 2**31 - 1, "slots keep the numbers of records in 32 bits"
    monkeypatch.setattr(mine, "MOST_RECORDS", len(worlds.A_ROWS) - 1)
    given = worlds.options(both[0], worlds.A_ROWS, agreement())
    with pytest.raises(DataError, match=f"at most {len(worlds.A_ROWS) - 1} can be linked"):
        link(**given | {"confirm": never}, listen="127.0.0.1:0")
    assert worlds.untouched(*both)


def test_a_mapped_name_that_nobody_agreed_on(both: Both) -> None:
    agreed = agreement()
    given = worlds.options(both[0], worlds.A_ROWS, agreed) | {"confirm": never}
    name = next(iter(agreed.fields))
    wrong = Layout(columns={f"{name}x": "y"})
    with pytest.raises(UsageError, match=f"Did you mean '{name}'"):
        link(**given, layout=wrong, listen="127.0.0.1:0")
    with pytest.raises(UsageError, match=f"Did you mean '{name}'"):
        simulate(given["data"], given["data"], agreed, layout_b=wrong)


def never(offer: Offer) -> bool:
    raise AssertionError("nobody was to be asked")
