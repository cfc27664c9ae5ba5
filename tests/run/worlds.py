"""Two organisations on one machine: states, cards, small tables, and both sides of a link in two threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.notices import Listening, Notice
from accord.peer.channel import Patience
from accord.peer.connection import Reach
from accord.peer.identity import Card, make_identity
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.run.link import Linked
from accord.run.offer import agree
from accord.run.verbs import link
from accord.side import Side
from accord.state.folder import State, open_state
from accord.state.ledger import Ledger
from tests.protocols.worlds import Rows, agreement

ACCOUNT = "table"
N = TypeVar("N", bound=Notice)
NOW = datetime.now(UTC)
A_ROWS: Rows = [(1, 1), (9, 9), (3, 12), (14, 2)]
B_ROWS: Rows = [(1, 2), (9, 8), (12, 12), (6, 6)]
PATIENCE = 120.0
"""Seconds for what takes no time: a machine that is busy must not fail a test."""
PATIENT = Reach(wait=PATIENCE, patience=Patience(silence=PATIENCE, message=PATIENCE))


@dataclass
class Organisation:
    """One side's state folder and card."""

    side: Side
    state: State
    card: Card
    told: list[Notice] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    """Set where it connects and is done, whatever came of it."""

    def heard(self, kind: type[N]) -> list[N]:
        """All notices of a kind."""
        return [notice for notice in self.told if isinstance(notice, kind)]


def introduce(folder: Path, agreed: Agreement) -> tuple[Organisation, Organisation]:
    """Two organisations that know each other's cards."""
    made = []
    for side in Side:
        state = open_state(folder / f"state-{side.value}", {})
        made.append(Organisation(side, state, make_identity(state, agreed.party(side), NOW)))
        Ledger(state.store).set_budget(ACCOUNT, Budget())
    for own, other in ((made[0], made[1]), (made[1], made[0])):
        add_partner(own.state, agreed.party(other.side), other.card)
    return made[0], made[1]


def table(rows: Rows, prefix: str) -> pa.Table:
    return pa.table(
        {
            "id": [f"{prefix}{i}" for i in range(len(rows))],
            "x": pa.array([x for x, _ in rows], pa.int64()),
            "y": pa.array([y for _, y in rows], pa.int64()),
        }
    )


def link_both(
    a: Organisation,
    b: Organisation,
    agreed: Agreement | None = None,
    *,
    a_options: dict[str, Any] | None = None,
    b_options: dict[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Both sides of a link; each result is a `Linked` or the exception that ended it."""
    agreed = agreed or agreement()
    listening = threading.Event()
    port: list[int] = []

    def told_a(notice: Notice) -> None:
        a.told.append(notice)
        if isinstance(notice, Listening):
            port.append(notice.port)
            listening.set()

    def first() -> Linked:
        given = options(a, A_ROWS, agreed) | {"listen": "127.0.0.1:0", "tell": told_a} | (a_options or {})
        try:
            return link(given.pop("data"), given.pop("agreement"), **given)
        finally:
            listening.set()

    def second() -> Linked:
        try:
            assert listening.wait(PATIENCE)
            assert port, "A never listened"
            way = {"connect": f"127.0.0.1:{port[0]}", "tell": b.told.append}
            given = options(b, B_ROWS, agreed) | way | (b_options or {})
            return link(given.pop("data"), given.pop("agreement"), **given)
        finally:
            b.ended.set()

    b.ended.clear()
    return in_threads(first, second)


def options(own: Organisation, rows: Rows, agreed: Agreement) -> dict[str, Any]:
    return {
        "data": table(rows, own.side.value.lower()),
        "agreement": agreed,
        "partner": agreed.party(own.side.other),
        "state": own.state.folder,
        "reach": PATIENT,
        "confirm": agree,
    }


def in_threads(*works: Callable[[], Any]) -> tuple[Any, ...]:
    """Each work in a thread of its own; results or exceptions."""
    results: list[Any] = [None] * len(works)

    def run(number: int) -> None:
        try:
            results[number] = works[number]()
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE)
        assert not thread.is_alive(), "a side hangs"
    return tuple(results)


def untouched(*organisations: Organisation) -> bool:
    """Nothing was charged and no run was begun."""
    return all(
        not Ledger(own.state.store).runs() and not list(own.state.folder.glob("runs/*"))
        for own in organisations
    )
