"""Two organisations with real stores and ledgers, and a wire in memory that is cut wherever a test wants.

A frame is what one party sends at once. `drive` runs both parties in this thread and deterministically, so
that 'after the n-th frame' and 'at the n-th write to disk' name one moment. A party that is killed is dropped
where it stands. What it had on disk is all that is left of it.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement, require_sound
from accord.entropy import Entropy
from accord.errors import AccordError, ConnectionLostError, PeerError, StoppedError
from accord.notices import Tell, tell_nobody
from accord.peer.connection import Reach
from accord.peer.identity import Card, make_identity, own_card, parse_card
from accord.peer.partners import add_partner
from accord.privacy.budget import Budget
from accord.run.link import get_ready, reopen
from accord.run.receipt import read_receipt
from accord.run.request import Output, Request, Resumption
from accord.run.stages import Linked, Ready, begin, go_on
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.tape import tapes_of
from accord.secure.party import Buffer, Effect, Party, Receive, Send
from accord.secure.transfer import setup as ot_setup
from accord.secure.transfer.base import COUNT, POINT
from accord.secure.transfer.base_kem import ANSWER, OFFER
from accord.side import Side
from accord.state.folder import State, open_state
from accord.state.ledger import Ledger
from accord.state.runs import StoredRun, list_runs, open_run
from accord.state.store import Store, Transaction
from accord.table.layout import Layout

A_ROWS = [(1, 1), (2, 3), (7, 7), (9, 2), (12, 12), (4, 14), (15, 15), (10, 10)]
B_ROWS = [(1, 2), (8, 7), (3, 3), (12, 13), (0, 9), (15, 15), (14, 3), (2, 1), (6, 6)]
"""Points. Two of them match when they are at most 1 apart."""

PASSES = {"name": "routed", "cap": 3}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "greedy": ({}, {}),
    "plain": ({"greedy": False}, {}),
    "all-pairs": ({"name": "all-pairs"}, {}),
    "one-to-one": ({"greedy": False}, {"one_to_one": "pairs"}),
    "routed": (PASSES, {}),
    "cascade": (PASSES, {"one_to_one": "pairs"}),
    "one-sided": (PASSES, {"output": {"to": "A"}, "disclose": {"A": [], "B": ["x", "y"]}}),
    "count": (PASSES, {"output": {"answer": "count", "epsilon": "1"}, "disclose": {"A": [], "B": []}}),
    "dual": ({"greedy": False}, {"engine": "dual"}),
    "psi": ({"name": "psi"}, {"rule": "same(x) and same(y)", "one_to_one": "pairs"}),
}
"""Options of the protocol, and what else is agreed. Where nothing is said: greedy linkage over bins."""

_HEAD = b'"id_a","id_b","x_a","y_a","x_b","y_b"\n'
_PAIRS = [
    b'"A0","B0","1","1","1","2"\n',
    b'"A0","B7","1","1","2","1"\n',
    b'"A1","B2","2","3","3","3"\n',
    b'"A2","B1","7","7","8","7"\n',
    b'"A4","B3","12","12","12","13"\n',
    b'"A6","B5","15","15","15","15"\n',
]
EXPECTED = {kind: _HEAD + b"".join(_PAIRS) for kind in KINDS if kind not in ("count", "one-sided")}
EXPECTED["one-to-one"] = EXPECTED["cascade"] = _HEAD + b"".join(_PAIRS[:1] + _PAIRS[2:])
EXPECTED["psi"] = _HEAD + _PAIRS[-1]
"""The output of both sides."""


@cache
def agreement(kind: str = "greedy") -> Agreement:
    """Points in four cells, B copied into each that its reach touches. Greedy linkage has several rounds.
    Routed linkage has two passes, by x and by y, in a cascade without what matched in the first."""
    number = {"type": "number", "min": 0, "max": 15, "step": 1}
    privacy = {"epsilon": "4", "delta": "1e-3", "noise": "geometric"}
    chosen, more = KINDS[kind]
    options = {"name": "laplace"} | chosen
    laplace, routed = (options["name"] == name for name in ("laplace", "routed"))
    grid = {"kind": "grid", "fields": ["x", "y"], "cell": 8, "style": "replicate", "reach": 1}
    keys = {"pass": [{"parts": [{"kind": "key", "field": name}]} for name in ("x", "y")]}
    plain = {
        "version": 2,
        "salt": "00000000",
        "parties": {"A": "alice", "B": "bob"},
        "fields": {"x": number, "y": number},
        "rule": "euclidean(x, y) <= 1",
        "blocking": keys if routed else [grid] if laplace else [],
        "protocol": options | ({"A": privacy, "B": privacy} if laplace else {}),
        "disclose": {"A": ["x", "y"], "B": ["x", "y"]},
        "one_to_one": False,
        "engine": "ot",
    }
    return Agreement.model_validate(plain | more)


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
        return Ledger(self.state.store)

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
        # A side that learns nothing has nothing to write.
        writes = self.agreement.output.learner is not self.side.other
        asked: dict[str, Any] = {
            "data": self.data,
            "agreement": self.agreement,
            "partner": self.partner,
            "dataset": "table",
            "layout": self.layout,
            "snapshot": "first",
            "output": Output(self.out if writes else None),
            "reach": self.reach(),
        }
        return Request(**asked | changes)

    def reach(self) -> Reach:
        # Who listens speaks first; nothing is ever opened.
        return Reach(listen=":1") if self.side is Side.A else Reach(connect="partner:1")


def offices(folder: Path, kind: str = "greedy", anew: bool = False) -> dict[Side, Office]:
    """Two organisations that know each other's cards: always the same cards, unless they are made anew."""
    if anew:
        _introduce(folder)
    else:
        shutil.copytree(_introduced(), folder, dirs_exist_ok=True)
    return open_offices(folder, kind)


def open_offices(folder: Path, kind: str) -> dict[Side, Office]:
    """Two organisations whose folders are there, to processes that are new."""
    both = {}
    for side in Side:
        home = folder / side.value
        state = open_state(home / "state", {})
        both[side] = Office(side, agreement(kind), state, home / "data.csv", home / "pairs.csv")
    return both


@cache
def _introduced() -> Path:
    """Two organisations that have done nothing yet, made once in a process of tests."""
    folder = Path(tempfile.mkdtemp(prefix="accord-offices-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _introduce(folder)
    return folder


def _introduce(folder: Path) -> None:
    names, states, cards = {Side.A: "alice", Side.B: "bob"}, {}, {}
    for side, rows in ((Side.A, A_ROWS), (Side.B, B_ROWS)):
        states[side] = open_state(folder / side.value / "state", {})
        cards[side] = make_identity(states[side], names[side], datetime.now(UTC))
        Ledger(states[side].store).set_budget("table", Budget())
        lines = (f"{side.value}{i},{x},{y}\n" for i, (x, y) in enumerate(rows))
        (folder / side.value / "data.csv").write_text("id,x,y\n" + "".join(lines))
    for side in Side:
        add_partner(states[side], names[side.other], cards[side.other])


def drop_ids(both: dict[Side, Office]) -> dict[Side, Office]:
    """The same organisations with tables that have no ids: they are made."""
    for office in both.values():
        rows = [line.partition(",")[2] for line in office.data.read_text().splitlines()]
        office.data.write_text("\n".join(rows) + "\n")
        office.layout = Layout(make_ids=True)
    return both


def card(office: Office) -> Card:
    """An organisation's own card."""
    found = own_card(office.state)
    assert found is not None
    return found


# -- the wire ------------------------------------------------------------------------------------------------


@dataclass
class Line:
    """The connection as a run sees it."""

    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    run: str = ""

    def started(self, run: str, once: bool = False) -> None:
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


Change = Callable[[int, bytes, list[bytes]], bytes | None]
"""What becomes of a party's n-th frame, given what it sent before; None: nothing arrives."""


@dataclass
class Wire:
    """When the connection ends, and what passed before.

    `frames`: after so many frames, both directions together. `lost`: whether those on their way are lost.
    `to`: so many frames reach a side, and the rest of those for it is lost.
    `change`: what becomes of the n-th frame of both directions, given those before.
    `killed`: the side that dies when the connection ends.
    `told`: whether a side that still waits in the end hears of it, as over a real connection, or is dropped.
    """

    frames: int | None = None
    lost: bool = False
    to: dict[Side, int] = field(default_factory=dict)
    change: Change | None = None
    killed: Side | None = None
    told: bool = False
    passed: list[tuple[Side, bytes]] = field(default_factory=list)
    secure: set[int] = field(default_factory=set)
    """The numbers of the frames that secure engines sent."""
    active: Side | None = None

    @property
    def ended(self) -> bool:
        return self.frames is not None and len(self.passed) >= self.frames

    @property
    def masked(self) -> list[bytes]:
        """Frames of secure engines that are not equal by chance. Answers in the clear may be."""
        secure = (self.passed[number][1] for number in sorted(self.secure))
        return [frame for frame in secure if len(frame) >= 32 and len(set(frame[:64])) > 16]

    def carry(self, sender: Side, frame: bytes, party: Party[Any]) -> bytes | None:
        """What arrives of a frame."""
        number = len(self.passed)
        self.passed.append((sender, frame))
        if _is_secure(party):
            self.secure.add(number)
        most = self.to.get(sender.other)
        if most is not None and sum(side is sender for side, _ in self.passed) > most:
            return None
        if self.change is None:
            return frame
        return self.change(number, frame, [body for _, body in self.passed[:number]])


def _is_secure(party: Any) -> bool:
    """Whether what this party sends now comes from the room of secure computation."""
    while party is not None:
        path = party.gi_code.co_filename if hasattr(party, "gi_code") else ""
        if "/accord/secure/" in path and not path.endswith("/party.py"):
            return True
        party = getattr(party, "gi_yieldfrom", None)
    return False


@dataclass
class _End:
    party: Party[Linked]
    inbox: deque[Buffer] = field(default_factory=deque)
    due: Receive | None = None
    result: Linked | BaseException | None = None

    def advance(self, side: Side, peer: _End, wire: Wire) -> bool:
        """Until it ends or waits for what is not there; whether anything happened."""
        moved = False
        while self.result is None and not (self.due and not self.inbox):
            if wire.ended and (wire.lost or wire.killed is side):
                break
            moved, wire.active = True, side
            try:
                effect = self._step()
            except StopIteration as end:
                self.result = end.value
                break
            except BaseException as error:
                self.result = error
                break
            self.due = effect if isinstance(effect, Receive) else None
            if isinstance(effect, Send) and not wire.ended:
                frame = wire.carry(side, bytes(effect.buffer), self.party)
                if frame is not None:
                    peer.inbox.append(frame)
        return moved

    def _step(self) -> Effect:
        if self.due is None:
            return next(self.party)
        frame = self.inbox.popleft()
        if len(frame) == self.due.size:
            return self.party.send(frame)
        # As a channel does, before anything of the message is read.
        return self.party.throw(PeerError(problem=f"{len(frame)} bytes where {self.due.size} were due"))

    def end(self, partner: Linked | BaseException | None) -> None:
        """Hear that nothing more will come."""
        stops = isinstance(partner, AccordError) and not isinstance(partner, ConnectionLostError)
        error: AccordError = ConnectionLostError(partner="bob", problem="was cut", mend="")
        if isinstance(partner, AccordError) and stops:
            error = StoppedError(partner="bob", reason="", mend="", ends=partner.ends)
        try:
            self.party.throw(error)
        except BaseException as raised:
            self.result = raised


Ending = dict[Side, Linked | BaseException | None]
"""For each side what it got, what it raised, or None where it waits for a partner that is gone."""


def drive(parties: dict[Side, Party[Linked]], wire: Wire) -> Ending:
    """Run both until nothing happens any more."""
    ends = {side: _End(party) for side, party in parties.items()}
    while any([ends[side].advance(side, ends[side.other], wire) for side in Side]):
        pass
    for side, end in ends.items():
        if wire.killed is side:
            end.result = Killed()
        elif wire.told and end.result is None:
            wire.active = side
            end.end(None if wire.ended else ends[side.other].result)
    wire.active = None
    for end in ends.values():
        end.party.close()
    return {side: end.result for side, end in ends.items()}


def tampered(party: Party[Linked], change: Change) -> Party[Linked]:
    """The same party, with what it sends changed on the way."""
    answer: Any = None
    before: list[bytes] = []
    while True:
        try:
            effect = party.send(answer)
        except StopIteration as end:
            return end.value
        answer = None
        if isinstance(effect, Receive):
            answer = yield effect
            continue
        sent = bytes(effect.buffer)
        arriving = change(len(before), sent, before)
        before.append(sent)
        if arriving is not None:
            yield Send(arriving)


def meanwhile(party: Party[Linked], act: Callable[[], object]) -> Party[Linked]:
    """The same party; something else happens after its first step."""
    effect = next(party)
    act()
    while True:
        answer = yield effect
        try:
            effect = party.send(answer)
        except StopIteration as end:
            return end.value


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


@contextmanager
def resuming(
    both: dict[Side, Office], name: str, changes: Resumption | None = None, tell: Tell = tell_nobody
) -> Iterator[dict[Side, Party[Linked]]]:
    """Both sides of a run that goes on. A may name other things than before, and is told what happens."""
    own = reopen(both[Side.A].state, name, changes or Resumption(), tell)
    with own as a, reopen(both[Side.B].state, name) as b:
        yield {Side.A: go_on(*a, Line()), Side.B: go_on(*b, Line())}


def resume(both: dict[Side, Office], name: str, wire: Wire | None = None) -> Ending:
    """Both go on with a run."""
    with resuming(both, name) as parties:
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


def again(both: dict[Side, Office], wire: Wire | None = None) -> Ending:
    """What the two administrators do after a cut: go on with the run, or start anew where one has none."""
    name = common_run(both)
    return resume(both, name, wire) if name else link(both, wire)


def cut_run(folder: Path, frames: int = 40, kind: str = "greedy") -> tuple[dict[Side, Office], str]:
    """A run that was cut after so many frames, and its name."""
    both = offices(folder, kind)
    link(both, Wire(frames=frames))
    return both, the_run(both)


# -- what must hold ------------------------------------------------------------------------------------------


def require_linked(ending: Ending) -> dict[Side, Linked]:
    """What both got; raise what either side raised."""
    both = {}
    for side, result in ending.items():
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, Linked), f"{side} waits"
        both[side] = result
    return both


def require_done(ending: Ending, both: dict[Side, Office], expected: bytes) -> None:
    """Both have the same output, the same receipt, and were charged once."""
    linked = require_linked(ending)
    for side, office in both.items():
        assert office.out.read_bytes() == expected
        require_one_charge(office)
        facts = read_receipt(linked[side].receipt).facts
        assert facts["matches"] == expected.count(b"\n") - 1
    receipts = [linked[side].receipt.read_bytes() for side in Side]
    assert receipts[0] == receipts[1]


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


def stored(office: Office, name: str) -> tuple[bytes, list[bytes]]:
    """The slots and the kept answers of a run."""
    run = open_run(office.state, name)
    with office.state.store.reading() as state:
        answers = [bytes(state.content("step", name, step) or b"") for step in range(run.steps())]
    return run.read("slots") if run.charged else b"", answers


# -- machines ------------------------------------------------------------------------------------------------


def quicken(patch: pytest.MonkeyPatch) -> None:
    """For many runs: base transfers of the same sizes without arithmetic, a disk that syncs at once, and what
    follows from an agreement computed once."""

    def keys(seed: bytes) -> np.ndarray:
        short = hashlib.sha256(seed).digest()
        return np.frombuffer(hashlib.shake_256(short).digest(128 * 2 * 16), np.uint8).reshape(128, 2, 16)

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
    connect = sqlite3.connect
    patch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, factory=_Unsynced, **more))
    for place in ("accord.agreement.file", "accord.run.link"):
        patch.setattr(f"{place}.parse_agreement", _parse_once)
    for name in ("canonical", "to_toml"):
        patch.setattr(Agreement, name, _computed_once(getattr(Agreement, name)))
    patch.setattr("accord.run.request.require_sound", _JUDGE)
    for room in ("identity", "partners"):
        patch.setattr(f"accord.peer.{room}.parse_card", _CARDS)
    for room in ("dual.engine", "garbled.session"):
        patch.setattr(f"accord.secure.{room}.boolean_circuit", _CIRCUITS)
        patch.setattr(f"accord.secure.{room}.tapes_of", _TAPES)
    for name in ("digest", "plan", "task"):
        patch.setattr(Agreement, name, property(_computed_once(vars(Agreement)[name].fget)))


def _computed_once(compute: Callable[[Agreement], Any]) -> Callable[[Agreement], Any]:
    """The same, remembered for every agreement."""
    known: dict[int, tuple[Agreement, Any]] = {}

    def remembered(agreed: Agreement) -> Any:
        if id(agreed) not in known:
            known[id(agreed)] = agreed, compute(agreed)
        return known[id(agreed)][1]

    return remembered


_parse = cache(parse_agreement)
_JUDGE = _computed_once(require_sound)
_CARDS, _CIRCUITS, _TAPES = cache(parse_card), cache(boolean_circuit), cache(tapes_of)


def _parse_once(text: str, name: str = "the agreement", simulated: bool = False) -> Agreement:
    try:
        return _parse(text, simulated=simulated)
    except (AccordError, TypeError):
        return parse_agreement(text, name, simulated)


class _Unsynced(sqlite3.Connection):
    """A database that does not wait for its disk."""

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        return super().execute("PRAGMA synchronous = OFF" if "PRAGMA synchronous" in sql else sql, *given)


def full() -> OSError:
    """What a disk without room says."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def deaths(
    wire: Wire,
    victim: Side,
    at: int | None,
    before: bool,
    fault: Callable[[], BaseException] = Killed,
    lasting: bool = True,
) -> Iterator[list[str]]:
    """Kill a party before or after its n-th write to disk; the list of those that it came to. Of a
    transaction that is its commit. What it would write from then on is not written either, if it is lasting.

    Another fault than a death is raised in its stead.
    """
    seen: list[str] = []

    def note(what: str) -> None:
        """Raise where the write is not begun."""
        if wire.active is victim:
            seen.append(what)
            late = -1 if at is None else len(seen) - at
            if (late == 0 and before) or (late > 0 and lasting):
                raise fault()

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            note(name)
            answer = real(*args, **kwargs)
            if wire.active is victim and len(seen) == at:
                raise fault()
            return answer

        return call

    real = Store.writing

    @contextmanager
    def writing(store: Store) -> Iterator[Transaction]:
        with real(store) as transaction:
            yield transaction
            note("commit")
        if wire.active is victim and len(seen) == at:
            raise fault()

    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "replace"):
            patch.setattr(os, name, watched(name, getattr(os, name)))
        patch.setattr(Store, "writing", writing)
        yield seen
