"""One series and two partners: batches are the account's, and whoever gets them gets them as released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.peer.identity import make_identity, own_card
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.privacy.events import NO_COST
from accord.protocols.parts.batches import Look, encode_look
from accord.run.receipt import read_receipt
from accord.run.stages import Linked
from accord.side import Side
from accord.state.accounts import account
from accord.state.folder import open_state
from accord.state.ledger import Ledger
from accord.state.runs import StoredRun, list_runs
from tests.protocols.parts.test_batches import Table
from tests.run import faults
from tests.run.test_series import A_TABLES, B_TABLES, FOUND
from tests.run.test_series_cuts import SeriesOffice, agreement, offices, pairs

pytestmark = pytest.mark.usefixtures("quick")

CAROLS: Table = {"k": (9, 8), "m": (5, 5)}
"""Near q, that is there from the first run of A on, and near r, that comes with the second."""


@dataclass
class Three:
    """Alice, who links with Bob and with Carol."""

    bob: dict[Side, SeriesOffice]
    carol: dict[Side, SeriesOffice]

    def link(
        self, both: dict[Side, SeriesOffice], a: Table, other: Table
    ) -> tuple[set[tuple[str, str]], Linked]:
        """What a run finds, and what it is to Alice."""
        both[Side.A].hold(a)
        both[Side.B].hold(other)
        ending = faults.link(dict[Side, faults.Office](both))
        found, own = pairs(ending), ending[Side.A]
        assert isinstance(own, Linked)
        return found, own

    @property
    def looks(self) -> list[Look]:
        book = self.bob[Side.A].ledger.series("table", "monthly")
        return [] if book is None else list(book.looks)

    @property
    def batches(self) -> list[bytes]:
        """Alice's, as they are kept."""
        return [encode_look(Look(look.batch, look.gone[:0])) for look in self.looks if look.batch is not None]

    @property
    def released(self) -> list[int]:
        """The noisy counts of all of them."""
        counts = [look.batch.counts for look in self.looks if look.batch is not None]
        return np.concatenate(counts).tolist()


def seen(both: dict[Side, SeriesOffice]) -> list[int]:
    """The counts that Alice's partner got in the last run."""
    counts = last_run(both).partner_counts()
    assert counts is not None
    return counts.tolist()


def last_run(both: dict[Side, SeriesOffice]) -> StoredRun:
    return max(list_runs(both[Side.B].state)[0], key=lambda run: run.manifest.series_run)


def carols(agreed: Agreement) -> Agreement:
    """The same with Carol; what is compared in the end may differ."""
    plain = agreed.model_dump(mode="json")
    return Agreement.model_validate(plain | {"parties": {"A": "alice", "B": "carol"}})


def three(folder: Path, kind: str) -> Three:
    bob, agreed = offices(folder, kind), carols(agreement(kind))
    alice, home = bob[Side.A], folder / "C"
    state = open_state(home / "state", {})
    card = make_identity(state, "carol", datetime.now(UTC))
    Ledger(state.database).set_budget("table", Budget())
    alices = own_card(alice.state)
    assert alices is not None
    add_partner(state, "alice", alices)
    add_partner(alice.state, "carol", card)
    own = replace(alice, agreement=agreed, out=folder / "carols.csv")
    carol = SeriesOffice(Side.B, agreed, state, home / "data.csv", home / "pairs.csv")
    return Three(bob, {Side.A: own, Side.B: carol})


@pytest.mark.parametrize(("kind", "joins"), [("plain", 1), ("greedy", 2)])
def test_a_second_partner_gets_what_was_released_and_nothing_is_drawn(
    tmp_path: Path, kind: str, joins: int
) -> None:
    """Carol comes in after so many runs with Bob, and then after each."""
    world = three(tmp_path, kind)
    found_with_carol: list[set[tuple[str, str]]] = []
    for number, (a, b) in enumerate(zip(A_TABLES, B_TABLES, strict=True), 1):
        found, own = world.link(world.bob, a, b)
        assert found == FOUND[number - 1], "as if there were no Carol"
        assert (own.charged == NO_COST) == (number > 1)
        assert len(world.batches) == number
        if number < joins:
            continue
        before = world.batches
        found, own = world.link(world.carol, a, CAROLS)
        found_with_carol.append(found)
        assert own.charged == NO_COST
        assert (world.batches, world.looks[-1].batch) == (before, None), "nothing is drawn"
        assert last_run(world.carol).manifest.total[0] == number
        # With greedy, what was disclosed to a partner is out of the counts that it gets later.
        if kind == "plain" or number == joins:
            assert seen(world.carol) == world.released
        if kind == "plain":
            assert seen(world.bob) == world.released
    qk, rm = ("q", "k"), ("r", "m")
    assert found_with_carol == ([{qk}, {rm}, set()] if joins == 1 else [{qk, rm}, set()])


def test_whoever_has_seen_all_brings_about_a_batch_that_the_other_gets(tmp_path: Path) -> None:
    world = three(tmp_path, "plain")
    world.link(world.bob, A_TABLES[0], B_TABLES[0])
    world.link(world.carol, A_TABLES[0], CAROLS)
    found, _ = world.link(world.carol, A_TABLES[1], CAROLS)
    assert found == {("r", "m")}, "Carol had seen all, so this is a new batch"
    drawn = world.batches
    assert len(drawn) == 2
    found, _ = world.link(world.bob, A_TABLES[1], B_TABLES[1])
    assert found == FOUND[1]
    assert world.batches == drawn
    assert seen(world.bob) == seen(world.carol) == world.released


def test_every_partner_is_promised_the_same_and_the_account_pays_once(tmp_path: Path) -> None:
    world = three(tmp_path, "plain")
    receipts = []
    for both, b in ((world.bob, B_TABLES[0]), (world.carol, CAROLS)):
        _, own = world.link(both, A_TABLES[0], b)
        receipts.append(read_receipt(own.receipt).facts)
    bobs, carols_ = (facts["parties"]["A"] for facts in receipts)
    for fact in ("epsilon", "delta", "records", "noisy_total"):
        assert bobs[fact] == carols_[fact], fact
    ledger = world.bob[Side.A].ledger
    sums = account("table", ledger.runs(), ledger.budgets())
    assert sums.runs == 2
    assert sums.shown == {"bob": sums.spent, "carol": sums.spent}
    assert [entry.paid for entry in ledger.runs()] == [True, False]
