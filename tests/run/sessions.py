"""Whole sessions of two sides over TLS, and all that the partner, and who listens on the line, sees of one.

The sides are threads of this process. Between them is a proxy that writes down the headers of all TLS
records, which are in the clear.

*What is compared.* Of each connection and direction every TLS record, its type and length, in order; and the
order in which the partner's party sends and receives. How the two directions of a connection interleave on
the line depends on the clock where both send at once. What the partner is told, its pairs and its receipt
must be the same, too, but for names, times and digests that are fresh in every run.

*What is chosen* is what a proof may choose: the noise, so that the announced counts are given ones (*coupled
noise*), and where sizes may follow from it (greedy; slices of what is disclosed), the places of matching
records in their bins. All other randomness is the program's own.

*What is not compared.* What messages hold: for that there are the proofs [MATHS §2.1], the enumerations of
`tests/protocols/test_privacy.py` and the search for canaries. Nor the clock, how often progress is told, in
which order the connections of several workers advance, and which side closes one first.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.agreement.document import Agreement
from accord.fields.columns import Records as Table
from accord.fields.load import load_records
from accord.notices import Listening, Notice, Progress
from accord.peer import channel
from accord.peer.channel import TlsChannel
from accord.privacy.noise_answers import TwoSided
from accord.protocols.laplace import NoisyCounts
from accord.protocols.parts import slots
from accord.protocols.parts.slots import Slots
from accord.run.offer import agree
from accord.run.receipt import read_receipt
from accord.run.stages import Linked
from accord.run.verbs import link, resume
from accord.side import Side
from accord.table.layout import Layout
from accord.workers.routing import TAG, TOKEN
from tests.run import faults, worlds
from tests.run.faults import Office

Rows = Sequence[tuple[str, object, object]]
"""An id, x and y; a row without x is left out."""
Records = list[tuple[int, int]]
_HEADER = 5
_FAREWELL = (23, 2 + 17)
_FIRST_IN_TLS = 8 + 17
"""A record with the first bytes of the second layer: what is before depends on certificates, which a
worker draws anew for every run, and whose lengths are not all the same."""
_FRESH = ("run", "seconds", "port", "peak_mib", "time", "log", "output")
"""What is another in every run: names, times and digests."""


class Recorder:
    """A proxy for any number of connections that keeps the headers of their TLS records."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._passed: list[tuple[bytearray, bytearray]] = []
        self._ends: list[socket.socket] = [self._server]
        self._threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            listener = socket.create_connection(("127.0.0.1", self._target))
            passed = bytearray(), bytearray()
            self._passed.append(passed)
            self._ends += client, listener
            for way in ((client, listener, passed[0]), (listener, client, passed[1])):
                self._threads.append(threading.Thread(target=_forward, args=way, daemon=True))
                self._threads[-1].start()

    def close(self) -> list[tuple[Records, Records]]:
        """The TLS records of each connection, towards the listener and back; the coordinators' first."""
        self._server.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(worlds.PATIENCE)
            assert not thread.is_alive()
        for end in self._ends:
            end.close()
        main, *workers = ((tls_records(there), tls_records(back)) for there, back in self._passed)
        # Workers call in any order.
        return [main, *sorted((_after_handshake(one), _after_handshake(two)) for one, two in workers)]


def _forward(source: socket.socket, target: socket.socket, passed: bytearray) -> None:
    with suppress(OSError):
        while body := source.recv(1 << 16):
            passed += body
            target.sendall(body)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def tls_records(passed: bytes | bytearray) -> Records:
    """The type and length of every record; a token before them is no part of TLS."""
    at = len(TAG) + TOKEN if passed.startswith(TAG) else 0
    found = []
    while at + _HEADER <= len(passed):
        found.append((passed[at], int.from_bytes(passed[at + 3 : at + _HEADER], "big")))
        at += _HEADER + found[-1][1]
    # Which side says farewell, as TLS does, is a matter of who ends first.
    return found[:-1] if found[-1:] == [_FAREWELL] else found


def _after_handshake(found: Records) -> Records:
    return found[[length for _, length in found].index(_FIRST_IN_TLS) :]


@dataclass
class Seen:
    """All that the partner, or who is on the line, sees of a session."""

    line: list[tuple[Records, Records]] = field(default_factory=list)
    order: list[tuple[str, object]] = field(default_factory=list)
    """Of what the partner's party sends and receives."""
    told: list[object] = field(default_factory=list)
    ends: dict[Side, str] = field(default_factory=dict)
    receipt: object = None
    pairs: bytes = b""

    def differs(self, other: Seen) -> list[str]:
        """What is not the same in another session."""
        return [name for name in vars(self) if vars(self)[name] != vars(other)[name]]


@dataclass(frozen=True)
class Session:
    """Two tables and what is chosen for them; `side` is whose table may be another."""

    agreement: Agreement
    rows: dict[Side, Rows]
    counts: dict[Side, list[int]]
    """The bin sizes that are announced."""
    first: list[str]
    """The ids that come first in their bins, in this order."""
    side: Side = Side.B
    cheat: str = ""
    """How that side departs from the protocol, for a control."""
    options: dict[str, Any] = field(default_factory=dict)


CHEATS: dict[str, Callable[[Any, Any], Any]] = {
    "true counts": lambda counts, true: np.zeros_like(true),
    "bins without records are not filled": lambda counts, true: np.where(true > 0, counts - true, 0),
}
"""How many dummies each bin gets."""


def watch(patch: pytest.MonkeyPatch, session: Session, seen: Seen, cut: int | None) -> None:
    """Write down what the partner's party does. `cut`: the message, counted from 1, that does not reach the
    other side."""
    send, receive, popen = TlsChannel.send, TlsChannel.receive, subprocess.Popen
    owner, arrived = session.agreement.party(session.side), [0]

    def sending(self: TlsChannel, buffer: Any) -> None:
        if self._partner == owner:
            seen.order.append(("sent", len(buffer)))
        send(self, buffer)

    def receiving(self: TlsChannel, size: int, *look: Any) -> Any:
        if self._partner == owner:
            seen.order.append(("received", size))
        else:
            arrived[0] += 1
            if arrived[0] == cut:
                raise self.lost("was cut")
        return receive(self, size, *look)

    patch.setattr(TlsChannel, "send", sending)
    patch.setattr(TlsChannel, "receive", receiving)
    # What the proxy sees follows from the messages alone.
    patch.setattr(channel, "_PING_SECONDS", 1e9)
    start = (
        "import accord.peer.channel as c; c._PING_SECONDS = 1e9; import accord.workers.worker as w; w.main()"
    )
    patch.setattr(subprocess, "Popen", lambda words, **given: popen([*words[:-2], "-c", start], **given))


def choose(patch: pytest.MonkeyPatch, session: Session) -> None:
    """Replace what is drawn by what is chosen."""
    shuffle, last = slots.shuffle_slots, len(session.first)

    def draw(release: NoisyCounts, records: Table, entropy: object) -> Any:
        _, bins = release.task.blocking.place(release.side, records.columns, len(records))
        true = np.bincount(bins, minlength=release.task.blocking.bins)
        counts = np.array(session.counts[release.side])
        if release.side is session.side and session.cheat in CHEATS:
            return CHEATS[session.cheat](counts, true)
        assert (counts >= true).all(), "noise is never below 0"
        return counts - true

    def place(record: Any, bins: Any, count: int, records: Table, entropy: Any) -> Slots:
        made = shuffle(record, bins, count, records, entropy)
        ids, rank = records.ids.to_pylist(), {name: number for number, name in enumerate(session.first)}
        ranks = [rank.get(ids[one], last) if one >= 0 else last for one in made.record]
        order = np.lexsort((np.array(ranks), np.repeat(np.arange(count), made.counts)))
        return replace(made, record=made.record[order])

    patch.setattr(NoisyCounts, "draw", draw)
    patch.setattr(TwoSided, "draw", lambda self, count, entropy: [1] * count)
    patch.setattr(slots, "shuffle_slots", place)
    if session.cheat == "rows left out are not counted":
        patch.setattr("accord.run.link.load_records", lambda *g: replace(load_records(*g), left_out=0))


class World:
    """Where sessions are held, all with the same two cards."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        faults.offices(folder / "cards")

    def offices(self, session: Session) -> dict[Side, Office]:
        """Both organisations, which have done nothing yet."""
        self._count += 1
        home = self._folder / f"{self._count}"
        shutil.copytree(self._folder / "cards", home)
        both = faults.open_offices(home, "plain")
        for side, office in both.items():
            office.agreement = session.agreement
            # An id says whose record it is: all before a stroke.
            lines = ["id,person,x,y\n"]
            for name, x, y in session.rows[side]:
                lines.append(f"{name},{name.partition('/')[0]},{'' if x is None else x},{y}\n")
            office.data.write_text("".join(lines))
        return both

    def hold(self, session: Session) -> Seen:
        """What the partner sees of a session that nobody cuts."""
        return self.meet(self.offices(session), session)

    def meet(
        self, both: dict[Side, Office], session: Session, run: str | None = None, cut: int | None = None
    ) -> Seen:
        """What the partner sees of one attempt; it connects."""
        seen, ready, recorders = Seen(), threading.Event(), list[Recorder]()
        own, partner = both[session.side], both[session.side.other]

        def tell_own(notice: Notice) -> None:
            if isinstance(notice, Listening):
                recorders.append(Recorder(notice.port))
                ready.set()

        def tell_partner(notice: Notice) -> None:
            if not isinstance(notice, Progress):
                seen.told.append((notice.event, _lasting(asdict(notice))))

        def listen() -> Linked:
            try:
                return _act(own, session, run, listen="127.0.0.1:0", tell=tell_own)
            finally:
                ready.set()

        def call() -> Linked:
            assert ready.wait(worlds.PATIENCE)
            address = f"127.0.0.1:{recorders[0].port}"
            return _act(partner, session, run, connect=address, tell=tell_partner)

        with pytest.MonkeyPatch.context() as patch:
            watch(patch, session, seen, cut)
            choose(patch, session)
            ends = worlds.in_threads(listen, call)
            seen.line = recorders[0].close()
        seen.ends = dict(zip((own.side, partner.side), (type(end).__name__ for end in ends), strict=True))
        if isinstance(ends[1], Linked):
            seen.receipt = _lasting(read_receipt(ends[1].receipt).facts)
        if partner.out.exists():
            seen.pairs = partner.out.read_bytes()
        return seen


def _act(office: Office, session: Session, run: str | None, **given: Any) -> Linked:
    given |= {"state": office.state.folder, "reach": worlds.PATIENT}
    if run is not None:
        return resume(run, **given)
    agreed = session.agreement
    layout = Layout(person="person") if agreed.protocol.name == "laplace" else Layout()
    out = None if agreed.output.learner is office.side.other else office.out
    given |= {"partner": office.partner, "confirm": agree, "out": out, "layout": layout} | session.options
    return link(office.data, agreed, **given)


def _lasting(facts: Any) -> Any:
    """The same without what is fresh in every run."""
    if isinstance(facts, dict):
        return {key: _lasting(value) for key, value in facts.items() if key not in _FRESH}
    return facts
