"""What a run would release: the key follows exactly what the noisy counts are a function of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from accord.agreement.document import Agreement
from accord.entropy import Seeded
from accord.privacy.events import AllPairs
from accord.protocols.base import Release
from accord.records.columns import Records
from accord.session.ledger import Ask, Ledger
from accord.session.offer import make_offer
from accord.side import Side
from tests.protocols.worlds import Rows, agreement, records
from tests.spent import Spent

ROWS: Rows = [(1, 1), (9, 9)]


def release(agreed: Agreement, side: Side, held: Records) -> Release:
    return agreed.protocol.release(agreed.task, side, len(held))


def key(agreed: Agreement, side: Side = Side.A, rows: Rows = ROWS) -> bytes | None:
    held = records(rows, agreed)
    return release(agreed, side, held).key(held)


def changed(**changes: Any) -> Agreement:
    plain = agreement().model_dump(mode="json")
    for path, value in changes.items():
        part = plain
        *way, last = path.split("__")
        for name in way:
            part = part[name]
        part[last] = value
    return Agreement.model_validate(plain)


def test_what_the_counts_do_not_depend_on_leaves_the_noise_as_it_is() -> None:
    same = [
        changed(parties__B="another partner"),
        changed(protocol__greedy=False),
        changed(protocol__prune=50),
        changed(protocol__slab=3),
        changed(protocol__B__epsilon="2"),
        changed(disclose__A=["x"]),
    ]
    for agreed in same:
        assert key(agreed) == key(agreement())
    # Another order of the records, and values that move within a cell, have the same counts.
    assert key(agreement(), rows=[(9, 9), (1, 1)]) == key(agreement(), rows=[(8, 9), (2, 1)])


def test_what_the_counts_depend_on_makes_another_release() -> None:
    other = [
        key(agreement(), Side.B),
        key(agreement(), rows=[(1, 1), (9, 5)]),
        key(agreement(), rows=[(1, 1)]),
        key(changed(protocol__A__epsilon="2")),
        key(changed(protocol__A__delta="1e-4")),
        key(changed(protocol__A__noise="paper")),
        key(changed(salt="11111111")),
        key(agreement(style="replicate")),
        key(changed(fields__x__max=19)),
    ]
    assert len({key(agreement()), *other}) == 1 + len(other)


def test_all_pairs_draws_nothing() -> None:
    agreed = agreement(protocol="all-pairs")
    held = records(ROWS, agreed)
    found = release(agreed, Side.A, held)
    assert (found.key(held), found.event) == (None, AllPairs())
    assert not found.draw(held, Spent()).any()


def test_noise_is_drawn_when_asked_and_from_the_given_entropy() -> None:
    agreed = agreement()
    held = records(ROWS, agreed)
    draws = [release(agreed, Side.A, held).draw(held, Seeded(seed)) for seed in (1, 1, 2)]
    assert len(draws[0]) == agreed.plan.bins
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_an_offer_charges_nothing(tmp_path: Path) -> None:
    agreed, ledger = agreement(), Ledger(tmp_path / "ledger.sqlite")
    mine = records(ROWS, agreed)
    found = release(agreed, Side.A, mine)
    assert found.event is not None
    ask = Ask("offer", "set", "bob", bytes(32), found.key(mine), found.event)
    offer = make_offer(agreed, Side.A, mine, ledger, ask)
    assert offer.cost == offer.event.cost
    assert offer.account.runs == 0
    assert ledger.runs() == ()
