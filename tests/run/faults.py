"""Two organisations with real stores and ledgers, and a wire in memory that is cut wherever a test wants.

A frame is what one party sends at once. `drive` runs both parties in this thread and deterministically, so
that 'after the n-th frame' and 'at the n-th write to disk' name one moment. A party that is killed is dropped
where it stands; what it had on disk is all that is left of it.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.entropy import Entropy
from accord.errors import ConnectionLostError
from accord.notices import tell_nobody
from accord.peer.connection import Reach
from accord.peer.identity import Card, make_identity, own_card
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.run.link import get_ready, reopen
from accord.run.receipt import read_receipt
from accord.run.request import Output, Request
from accord.run.stages import Linked, Ready, begin, go_on
from accord.secure.party import Buffer, Party, Receive, Send
from accord.secure.transfer import setup as ot_setup
from accord.secure.transfer.base import COUNT, POINT
from accord.secure.transfer.base_kem import ANSWER, OFFER
from accord.side import Side
from accord.state.folder import State, open_state
from accord.state.ledger import Ledger
from accord.state.log import Log, Transaction
from accord.state.runs import StoredRun, list_runs, open_run
from accord.table.layout import Layout

A_ROWS = [(1, 1), (2, 3), (7, 7), (9, 2), (12, 12), (4, 14), (15, 15), (10, 10)]
B_ROWS = [(1, 2), (8, 7), (3, 3), (12, 13), (0, 9), (15, 15), (14, 3), (2, 1), (6, 6)]
"""Points; two of them match when they are at most 1 apart."""

KINDS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "plain": {"greedy": False},
    "all-pairs": {"name": "all-pairs"},
    "one-to-one": {"greedy": False},
    "routed": {"name": "routed", "cap": 3},
    "cascade": {"name": "routed", "cap": 3},
}
INTERSECTIONS = {"psi": "same(x) and same(y)"}
"""With their rules; they are not resumed before their end."""


def agreement(kind: str = "greedy") -> Agreement:
    """Points in four cells, B copied into each that its reach touches; several rounds where it is greedy.
    With routed two passes, by x and by y, and in a cascade without what matched in the first."""
    number = {"type": "number", "min": 0, "max": 15, "step": 1}
    privacy = {"epsilon": "4", "delta": "1e-3", "noise": "geometric"}
    options: dict[str, Any] = {"name": kind} if kind in INTERSECTIONS else {"name": "laplace", **KINDS[kind]}
    laplace, routed = (options["name"] == name for name in ("laplace", "routed"))
    grid = {"kind": "grid", "fields": ["x", "y"], "cell": 8, "style": "replicate", "reach": 1}
    keys = {"pass": [{"parts": [{"kind": "key", "field": name}]} for name in ("x", "y")]}
    return Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": {"x": number, "y": number},
            "rule": INTERSECTIONS.get(kind, "euclidean(x, y) <= 1"),
            "blocking": keys if routed else [grid] if laplace else [],
            "protocol": {**options, **({"A": privacy, "B": privacy} if laplace else {})},
            "disclose": {"A": ["x", "y"], "B": ["x", "y"]},
            # Fields that come with disclosed records are in the journal of an intersection, too.
            "one_to_one": "pairs" if kind in ("one-to-one", "psi", "cascade") else False,
            "engine": "ot",
        }
    )


@dataclass
class Office:
    """One organisation: its state folder, its file, where its output goes."""

    side: Side
    agreement: Agreement
    state: State
    data: Path
    out: Path
    layout: Layout = field(default_factory=Layout)

    @property
    def partner(self) -> str:
        return self.agreement.party(self.side.other)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.state.database)

    @property
    def run(self) -> StoredRun | None:
        """Its latest run."""
        found, broken = list_runs(self.state)
        assert not broken
        return max(found, key=lambda run: run.steps()) if found else None

    def ready(self) -> Ready:
        """What it knows before a new run; its table is always the same snapshot."""
        return get_ready(self.request(), self.state, tell_nobody)

    def request(self, **changes: Any) -> Request:
        """What it asks for."""
        asked: dict[str, Any] = {
            "data": self.data,
            "agreement": self.agreement,
            "partner": self.partner,
            "dataset": "table",
            "layout": self.layout,
            "snapshot": "first",
            "output": Output(self.out),
            "reach": self.reach(),
        }
        return Request(**asked | changes)

    def reach(self) -> Reach:
        # Who listens speaks first; nothing is ever opened.
        return Reach(listen=":1") if self.side is Side.A else Reach(connect="partner:1")


def offices(folder: Path, kind: str = "greedy") -> dict[Side, Office]:
    """Two organisations that know each other's cards."""
    agreed, found, cards = agreement(kind), {}, {}
    for side, rows in ((Side.A, A_ROWS), (Side.B, B_ROWS)):
        home = folder / side.value
        state = open_state(home / "state", {})
        cards[side] = make_identity(state, agreed.party(side), datetime.now(UTC))
        Ledger(state.database).set_budget("table", Budget())
        data = home / "data.csv"
        data.write_text("id,x,y\n" + "".join(f"{side.value}{i},{x},{y}\n" for i, (x, y) in enumerate(rows)))
        found[side] = Office(side, agreed, state, data, home / "pairs.csv")
    for side, office in found.items():
        add_partner(office.state, office.partner, cards[side.other])
    return found


def drop_ids(both: dict[Side, Office]) -> dict[Side, Office]:
    """The same organisations with tables that have no ids: they are made."""
    for office in both.values():
        rows = [line.partition(",")[2] for line in office.data.read_text().splitlines()]
        office.data.write_text("\n".join(rows) + "\n")
        office.layout = Layout(make_ids=True)
    return both


@dataclass
class Line:
    """The connection as a run sees it."""

    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    run: str = ""

    def started(self, run: str) -> None:
        self.run = run

    def expect(self, seconds: float) -> None:
        pass

    def attend(self) -> None:
        pass

    def close(self) -> None:
        pass

    def lost(self, problem: str) -> ConnectionLostError:
        return ConnectionLostError(partner="bob", problem=problem, mend="")


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Wire:
    """When the connection ends, and what passed before.

    `frames`: after so many frames, both directions together; `lost`: whether those on their way are lost.
    `to`: so many frames reach a side, and the rest of those for it is lost.
    `told`: whether who still waits in the end hears of it, as over a real connection, or is killed.
    """

    frames: int | None = None
    lost: bool = False
    to: dict[Side, int] = field(default_factory=dict)
    passed: list[tuple[Side, bytes]] = field(default_factory=list)
    active: Side | None = None
    told: bool = False

    @property
    def ended(self) -> bool:
        return self.frames is not None and len(self.passed) >= self.frames

    def reaches(self, side: Side) -> bool:
        return sum(sender is side.other for sender, _ in self.passed) <= self.to.get(side, 1 << 60)


@dataclass
class _End:
    party: Party[Linked]
    inbox: deque[Buffer] = field(default_factory=deque)
    waiting: bool = False
    result: Linked | BaseException | None = None

    def advance(self, side: Side, peer: _End, wire: Wire) -> bool:
        """Until it ends or waits for what is not there; whether anything happened."""
        moved = False
        while self.result is None and not (self.waiting and not self.inbox):
            if wire.ended and wire.lost:
                break
            moved, wire.active = True, side
            try:
                effect = self.party.send(self.inbox.popleft()) if self.waiting else next(self.party)
            except StopIteration as end:
                self.result = end.value
                break
            except BaseException as error:
                self.result = error
                break
            self.waiting = isinstance(effect, Receive)
            if isinstance(effect, Send) and not wire.ended:
                wire.passed.append((side, bytes(effect.buffer)))
                if wire.reaches(side.other):
                    peer.inbox.append(bytes(effect.buffer))
        return moved


Ending = dict[Side, Linked | BaseException | None]
"""For each side what it got, what it raised, or None where it waits for a partner that is gone."""


def drive(parties: dict[Side, Party[Linked]], wire: Wire) -> Ending:
    """Run both until nothing happens any more."""
    ends = {side: _End(party) for side, party in parties.items()}
    while any([ends[side].advance(side, ends[side.other], wire) for side in Side]):
        pass
    wire.active = None
    for end in ends.values():
        if wire.told and end.result is None:
            try:
                end.party.throw(ConnectionLostError(partner="bob", problem="was cut", mend=""))
            except BaseException as error:
                end.result = error
        end.party.close()
    return {side: end.result for side, end in ends.items()}


def linking(both: dict[Side, Office]) -> dict[Side, Party[Linked]]:
    """Both sides of a new run."""
    parties: dict[Side, Party[Linked]] = {}
    for side, o in both.items():
        parties[side] = begin(o.ready(), Line())
    return parties


def link(both: dict[Side, Office], wire: Wire | None = None) -> Ending:
    """Both start a new run, whose output may be there from an earlier one."""
    for o in both.values():
        o.out.unlink(missing_ok=True)
    return drive(linking(both), wire or Wire())


def resume(both: dict[Side, Office], name: str, wire: Wire | None = None) -> Ending:
    """Both go on with a run."""
    with ExitStack() as stack:
        parties: dict[Side, Party[Linked]] = {}
        for side, o in both.items():
            own, kept = stack.enter_context(reopen(o.state, name, tell=tell_nobody))
            parties[side] = go_on(own, kept, Line())
        return drive(parties, wire or Wire())


def common_run(both: dict[Side, Office]) -> str | None:
    """The run that both can go on with, whichever of them was charged for it."""
    found = [list_runs(o.state) for o in both.values()]
    assert not any(broken for _, broken in found)
    names = [{run.manifest.run for run in whole} for whole, _ in found]
    shared = names[0] & names[1]
    assert len(shared) <= 1
    return shared.pop() if shared else None


def the_run(both: dict[Side, Office]) -> str:
    """The one that both can go on with."""
    name = common_run(both)
    assert name
    return name


def require_linked(ending: Ending) -> None:
    """Raise what either side raised."""
    for result in ending.values():
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, Linked)


def require_shared(both: dict[Side, Office]) -> None:
    """Whoever was charged has a partner that can go on with that run."""
    name = common_run(both)
    charged = {row.run for office in both.values() for row in office.ledger.runs()}
    assert charged <= {name}, "one side was charged for a run that the other does not have"


def again(both: dict[Side, Office], wire: Wire | None = None) -> Ending:
    """What the two administrators do after a cut: go on with the run, or start anew where one has none."""
    name = common_run(both)
    return resume(both, name, wire) if name else link(both, wire)


def require_done(ending: Ending, both: dict[Side, Office], expected: bytes) -> None:
    """Both have the same output, the same receipt, and were charged once."""
    for side, office in both.items():
        result = ending[side]
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, Linked), f"{side} waits"
        assert office.out.read_bytes() == expected
        require_one_charge(office)
        facts = read_receipt(result.receipt).facts
        assert facts["matches"] == expected.count(b"\n") - 1
    receipts = [_linked(ending[side]).receipt.read_bytes() for side in Side]
    assert receipts[0] == receipts[1]


def _linked(result: Linked | BaseException | None) -> Linked:
    assert isinstance(result, Linked)
    return result


def require_one_charge(office: Office, least: int = 1) -> None:
    """The account paid for one drawing at the most, and every run that is on disk is in the ledger."""
    rows = office.ledger.runs()
    laplace = "delta" in office.agreement.protocol.promises
    assert len(rows) >= least
    assert {row.drawing for row in rows} <= ({1} if laplace else {None})
    assert sum(row.paid and row.drawing is not None for row in rows) <= 1
    assert {run.manifest.run for run in list_runs(office.state)[0] if run.charged} <= {
        row.run for row in rows
    }


def stored(office: Office, name: str) -> tuple[bytes, bytes]:
    """The slots and the kept answers of a run."""
    run = open_run(office.state, name)
    return run.read("slots") if run.charged else b"", (run.path / "journal").read_bytes()


def quicken(patch: pytest.MonkeyPatch) -> None:
    """For many runs: base transfers of the same sizes without arithmetic, and a disk that syncs at once."""

    def keys(seed: bytes) -> np.ndarray:
        return np.frombuffer(hashlib.shake_256(seed).digest(128 * 2 * 16), np.uint8).reshape(128, 2, 16)

    def send_base(session: bytes, entropy: Entropy) -> Party[np.ndarray]:
        mine = entropy.bytes(POINT)
        yield Send(mine)
        theirs = bytes((yield Receive(COUNT * POINT))) + bytes((yield Receive(COUNT * OFFER)))
        yield Send(entropy.bytes(COUNT * ANSWER))
        return keys(mine + theirs)

    def receive_base(session: bytes, choices: np.ndarray, entropy: Entropy) -> Party[np.ndarray]:
        mine = entropy.bytes(COUNT * POINT), entropy.bytes(COUNT * OFFER)
        theirs = bytes((yield Receive(POINT)))
        yield Send(mine[0])
        yield Send(mine[1])
        yield Receive(COUNT * ANSWER)
        return keys(theirs + b"".join(mine))[np.arange(COUNT), choices.astype(np.int64)]

    patch.setattr(ot_setup, "send_base", send_base)
    patch.setattr(ot_setup, "receive_base", receive_base)
    patch.setattr(os, "fsync", lambda handle: None)


SAVES = ("fsync", "replace")


@contextmanager
def deaths(
    patch: pytest.MonkeyPatch,
    wire: Wire,
    victim: Side,
    at: int | None,
    before: bool,
    fault: Callable[[], BaseException] = Killed,
) -> Iterator[list[str]]:
    """Kill a party before or after its n-th write to disk; the list of those that it came to. Of a
    transaction that is its commit.

    Another fault than a death is raised in its stead.
    """
    seen: list[str] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if wire.active is not victim:
                return real(*args, **kwargs)
            seen.append(name)
            if len(seen) == at and before:
                raise fault()
            answer = real(*args, **kwargs)
            if len(seen) == at:
                raise fault()
            return answer

        return call

    real = Log.writing

    @contextmanager
    def writing(log: Log) -> Iterator[Transaction]:
        watch = wire.active is victim
        if watch:
            seen.append("commit")
        dies = watch and len(seen) == at
        with real(log) as transaction:
            yield transaction
            if dies and before:
                raise fault()
        if dies:
            raise fault()

    with patch.context() as patched:
        for name in SAVES:
            patched.setattr(os, name, watched(name, getattr(os, name)))
        patched.setattr(Log, "writing", writing)
        yield seen


def card(office: Office) -> Card:
    """An organisation's own card."""
    found = own_card(office.state)
    assert found is not None
    return found
