"""Histories: what partners see of one owner over several runs, from the file to the protocol.

A run by itself is `cases.py`. Here the owner's tables go the whole way: through the loader, which may leave
rows out; through a real ledger, which finds an account and draws noise, repeats it, or refuses; and into one
run after the other. Two histories are neighbours in the sense of [MATHS §4.5]: the same commands with the
same names, and tables that differ, from some step on, in one record that never matches. What is judged is
all that the partners receive, pooled, against what the account says was spent.

    left-out    one run: a record in a bin, or a row that is left out
    move        two snapshots: nothing changes, or a record moves to another bin
    insert      two snapshots: the new record falls into one bin, or into another
    delete      two snapshots: one record is gone, or another one
    partners    one snapshot, many runs with two partners in turn: the record in one bin, or in another
    renamed     many runs without a snapshot under a limit for one, each spelling the account in another way

A step that is refused on the owner's side is in nobody's view: the partner was never called.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path

import pyarrow as pa

from accord.agreement.document import Agreement
from accord.entropy import KEY, Entropy, Seeded
from accord.errors import AccountError, BudgetError, SnapshotError
from accord.fields.columns import Records
from accord.fields.load import load_records
from accord.peer.handshake import exchange_sizes
from accord.privacy.budget import Budget
from accord.privacy.events import Cost, is_free
from accord.privacy.release import Snapshot
from accord.protocols.base import Release, prepare
from accord.protocols.parts.priorities import priorities
from accord.protocols.parts.slots import content_digest
from accord.secure.engine import Engine
from accord.secure.party import Party, run_pair
from accord.side import Side
from accord.simulation.pair import release_of
from accord.state.accounts import account
from accord.state.ledger import Ask, Ledger
from accord.state.store import Store
from reproduction.audit.cases import agree_by_key
from reproduction.audit.programs import Program, honest
from reproduction.audit.views import View, record_view, watched_engines

Points = list[tuple[int, int | None]]

ACCOUNT = "North Clinic"
SPELLINGS = ("North Clinic", "north clinic", "NORTH CLINIC", "Ｎorth Clinic", "North  Clinic", "nORTH cLINIC")
TIMES = 4
"""How often each spelling, or each partner, comes."""
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Step:
    """One `accord link` of the owner."""

    tables: tuple[Points, Points]
    """The owner's file in the two worlds; a row without a value is left out."""
    snapshot: str | None = None
    dataset: str = ACCOUNT
    partner: int = 0
    """With which of the partners."""


@dataclass(frozen=True, eq=False)
class History:
    """A question over several runs."""

    name: str
    why: str
    side: Side
    agreement: Agreement
    steps: tuple[Step, ...]
    partners: tuple[Points, ...]
    limited: bool = False
    """Whether the account is limited to what one release costs."""

    @cached_property
    def promise(self) -> tuple[Fraction, Fraction]:
        """What the account says was spent: a function of names, so the same in both worlds."""
        spent = self._spend()
        assert spent is not None
        return spent.epsilon, spent.delta

    @property
    def unless(self) -> str:
        return self.agreement.leakage(self.side).unless

    def view(self, world: int, entropy: Entropy, coins: Entropy) -> View:
        seen = View()
        with _scratch() as folder:
            ledger = self._open(folder)
            for number, step in enumerate(self.steps):
                self._link(ledger, number, step, world, entropy, coins, seen)
        return seen

    def _spend(self) -> Cost | None:
        with _scratch() as folder:
            ledger = self._open(folder)
            for number, step in enumerate(self.steps):
                self._link(ledger, number, step, 0, Seeded("promise"), Seeded("partner"), View())
            return account(ACCOUNT, ledger.runs(), ledger.budgets()).spent

    def _open(self, folder: Path) -> Ledger:
        ledger, event = Ledger(Store(folder)), self._releases(len(self.steps[0].tables[0])).event
        ledger.set_budget(ACCOUNT, Budget(event.cost if event is not None and self.limited else None))
        return ledger

    @cached_property
    def _program(self) -> Program:
        """What the partners run."""
        return honest(self.agreement)

    @cached_property
    def _releases(self) -> Callable[[int], Release]:
        """What a table of so many rows releases, calibrated once."""
        return cache(lambda records: release_of(self.agreement, self.side, records))

    def _link(
        self,
        ledger: Ledger,
        number: int,
        step: Step,
        world: int,
        entropy: Entropy,
        coins: Entropy,
        seen: View,
    ) -> None:
        """One run, unless the owner is refused before anyone is called."""
        records = self._load(step.tables[world])
        ask = self._ask(number, step, records)
        try:
            ledger.find_account(step.dataset)
            ledger.quote(ask)
        except (AccountError, SnapshotError, BudgetError):
            return
        partner, looks, run = self._load(self.partners[step.partner]), self.side.other, f"step {number}"
        own, watched = watched_engines(seen)
        # Seeded: in every run of the owner the same.
        key = entropy.stream("placing key").bytes(KEY)
        owner = self._own(ledger, ask, records, entropy.stream(run), own, key)
        honest_one = self._program(looks, partner, records.size, coins.stream(run), watched)
        other = _announce(partner.size, honest_one)
        looking = record_view(other, seen)
        run_pair(*((owner, looking) if self.side is Side.A else (looking, owner)))

    def _ask(self, number: int, step: Step, records: Records) -> Ask:
        release = self._releases(records.size)
        assert release.event is not None
        content = content_digest(self.agreement.plan, self.side, records)
        declared = None if step.snapshot is None else Snapshot(step.snapshot, content)
        digest = bytes.fromhex(self.agreement.digest)
        return Ask(
            f"run-{number}", step.dataset, f"p{step.partner}", digest, release.place, release.event, declared
        )

    def _own(
        self, ledger: Ledger, ask: Ask, records: Records, entropy: Entropy, engine: Engine, key: bytes
    ) -> Party[object]:
        """The owner's side of a run: size, charge, slots, protocol."""
        size = yield from exchange_sizes(records.size, ask.partner)
        release = self._releases(records.size)
        charged = ledger.charge(ask, lambda: release.draw(records, entropy), _NOW)
        noise = release.draw(records, entropy) if is_free(ask.event.cost) else charged.noise
        task = self.agreement.task
        made = prepare(task, self.side, records, size, noise, entropy, (ask.event,))
        mine = replace(made, priority=priorities(key, records.ids))
        return (yield from task.protocol.party(task, mine, engine))

    def _load(self, points: Points) -> Records:
        table = pa.table(
            {
                "id": [f"r{i}" for i, _ in enumerate(points)],
                "x": pa.array([x for x, _ in points], pa.int64()),
                "y": pa.array([y for _, y in points], pa.int64()),
            }
        )
        return load_records(table, self.agreement.fields, self.agreement.salt, ["x", "y"])


@contextmanager
def _scratch() -> Iterator[Path]:
    """A folder that vanishes: in memory where that can be had, since a ledger waits for its disk."""
    memory = Path("/dev/shm")
    where = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="accord-audit-", dir=where) as folder:
        yield Path(folder)


def _announce(records: int, party: Party[object]) -> Party[object]:
    yield from exchange_sizes(records, "the owner")
    return (yield from party)


def histories(protocol: Mapping[str, object]) -> tuple[History, ...]:
    """The built-in histories under a protocol and its options, as an agreement writes them."""
    agreed = agree_by_key(protocol, missing="skip")
    matched, here, there = (2, 8), (0, 9), (1, 30)
    partners: tuple[Points, Points] = [matched], [matched, (2, 40)]

    def both(one: Points, other: Points) -> tuple[Points, Points]:
        return [*one, matched], [*other, matched]

    same = both([here], [here])
    turns = tuple(Step(both([here], [there]), "2026-01", partner=number % 2) for number in range(2 * TIMES))
    spelt = tuple(Step(both([here], [there]), dataset=name) for name in SPELLINGS * TIMES)
    steps = {
        "left-out": (Step(both([here], [(0, None)]), "2026-01"),),
        "move": (Step(same, "2026-01"), Step(both([here], [there]), "2026-02")),
        "insert": (Step(same, "2026-01"), Step(both([here, here], [here, there]), "2026-02")),
        "delete": (
            Step(both([here, there], [here, there]), "2026-01"),
            Step(both([here], [there]), "2026-02"),
        ),
        "partners": turns,
        "renamed": spelt,
    }
    return tuple(
        History(name, HISTORIES[name], side, agreed, made, partners, name == "renamed")
        for name, made in steps.items()
        for side in Side
    )


HISTORIES = {
    "left-out": "a record in a bin, or a row that is left out",
    "move": "two snapshots: a record stays, or moves to another bin",
    "insert": "two snapshots: a record is added to one bin, or to another",
    "delete": "two snapshots: one record is taken away, or another",
    "partners": "a record in one bin or another, one snapshot, two partners in turn",
    "renamed": "a record in one bin or another, a limit for one run, and many spellings",
}
"""In what the two histories of each name differ."""
