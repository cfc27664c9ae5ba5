"""Whole sessions of two processes over TLS, and what the partner, and who listens on the line, sees of one.

Both processes are copies of one that has loaded everything (a fork server), so that a session takes little
more than its own work; each runs the command line's `main` (session_side.py). Between them is a proxy that
writes down the headers of all TLS records, which are in the clear.

*What is compared.* Of each connection and direction every TLS record, its type and length, in order. Of the
partner's processes every frame that arrives, in order, and the order in which the party sends and receives.
How the two directions of a connection interleave on the line is left out: it depends on the clock where both
send at once. Where one waits for the other the party's own order holds it. What the partner prints, its
pairs and its receipt must be the same, too, but for names, times and digests that are fresh in every run.

*What is not.* What messages hold: most of it is random, and a number hidden in a salt, or slots that nobody
shuffled, would pass here, where matching records are put into given places. For that there are the proofs
[MATHS §2.1], the enumerations of `tests/protocols/test_privacy.py` and the search for canaries. Nor the
clock, how often progress is told, in which order the connections of several workers advance, and which side
closes one first.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import Any

from accord.agreement.document import Agreement
from accord.run.receipt import read_receipt
from accord.side import Side
from accord.state.folder import open_state
from accord.state.runs import list_runs
from accord.workers.routing import TAG, TOKEN
from tests.run import faults, session_side
from tests.run.faults import Office
from tests.run.processes import PATIENCE
from tests.run.session_side import Plan

Rows = Sequence[tuple[str, object, object]]
"""An id, x and y; a row without x is left out."""
Trace = list[list[Any]]
Records = list[tuple[int, int]]
_HEADER = 5
_FAREWELL = (23, 2 + 17)
_FIRST_IN_TLS = 8 + 17
"""A record with the first bytes of the second layer: what is before depends on certificates, which a
worker draws anew for every run, and whose lengths are not all the same."""


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
            thread.join(PATIENCE)
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

    ends: dict[Side, int] = field(default_factory=dict)
    line: list[tuple[Records, Records]] = field(default_factory=list)
    frames: list[Trace] = field(default_factory=list)
    """That reach each process of the partner; its coordinator's first."""
    order: list[Trace] = field(default_factory=list)
    """Of what each of them sends and receives."""
    printed: object = None
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
    plans: dict[Side, Plan]
    side: Side = Side.B
    options: tuple[str, ...] = ()
    typed: tuple[str, ...] = ("--json",)
    """How the partner has it shown."""


class World:
    """Where sessions are held, all with the same two cards."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        faults.offices(folder / "cards")
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.run.session_preload"])

    def offices(self, session: Session) -> dict[Side, Office]:
        """Both organisations, which have done nothing yet."""
        self._count += 1
        home = self._folder / f"{self._count}"
        shutil.copytree(self._folder / "cards", home)
        both = {}
        for side in Side:
            kept, own = home / side.value, open_state(home / side.value / "state", {})
            office = Office(side, session.agreement, own, kept / "data.csv", kept / "pairs.csv")
            both[side] = office
            write_table(office, session.rows[side])
        return both

    def hold(self, session: Session) -> Seen:
        """What the partner sees of a session that nobody cuts."""
        return self.meet(self.offices(session), session)

    def meet(
        self, both: dict[Side, Office], session: Session, run: str | None = None, attempt: int = 1
    ) -> Seen:
        """What the partner sees of one attempt; it connects."""
        own, partner = session.side, session.side.other
        plans = {side: session.plans[side] | {"trace": str(both[side].data.parent / f"trace{attempt}")}
                 for side in Side}  # fmt: skip
        if attempt > 1:
            plans = {side: {key: plan[key] for key in plan if key != "cut"} for side, plan in plans.items()}
        with self._ended() as begin:
            words = [*_arguments(both[own], run), *session.options, "--json"]
            processes = {own: begin(plans[own], both[own], [*words, "--listen", "127.0.0.1:0"])}
            recorder = Recorder(_port(processes[own], plans[own]))
            where = ["--connect", f"127.0.0.1:{recorder.port}"]
            words = [*_arguments(both[partner], run), *session.options, *session.typed, *where]
            processes[partner] = begin(plans[partner], both[partner], words)
            for process in processes.values():
                process.join(PATIENCE)
            line = recorder.close()
        return _seen(both[partner], plans, {side: processes[side].exitcode for side in Side}, line)

    @contextmanager
    def _ended(self) -> Iterator[Any]:
        """A way to begin processes that do not outlive what is done inside."""
        started: list[ForkServerProcess] = []

        def begin(plan: Plan, office: Office, words: list[object]) -> ForkServerProcess:
            typed = ["--state", str(office.state.folder), *map(str, words)]
            started.append(self._context.Process(target=session_side.run, args=(plan, typed), daemon=True))
            started[-1].start()
            return started[-1]

        try:
            yield begin
        finally:
            for process in started:
                if process.is_alive():
                    process.kill()
                    process.join()


def write_table(office: Office, rows: Rows) -> None:
    """An id says whose record it is: all before a stroke."""
    lines = (f"{name},{name.partition('/')[0]},{'' if x is None else x},{y}\n" for name, x, y in rows)
    office.data.write_text("id,person,x,y\n" + "".join(lines))
    (office.data.parent / "layout.toml").write_text('person = "person"\n')


def _arguments(office: Office, run: str | None) -> list[object]:
    waits = ["--wait", 120, "--timeout", 600]
    if run is not None:
        return ["resume", run, *waits]
    file = office.data.parent / "agreement.toml"
    file.write_text(office.agreement.to_toml())
    named = ["--agreement", file, "--partner", office.partner]
    if office.agreement.output.learner is not office.side.other:
        named += ["--out", office.out]
    if "laplace" in office.agreement.protocol.name:
        named += ["--layout", office.data.parent / "layout.toml"]
    return ["link", office.data, *named, "--yes", "--force", *waits]


def _port(process: ForkServerProcess, plan: Plan) -> int:
    """Where a process listens, once it does."""
    file = Path(plan["trace"] + ".1")
    while process.is_alive():
        for event in _events(file):
            if event["event"] == "listening":
                return int(event["port"])
        time.sleep(0.005)
    raise AssertionError(_said(plan))


def _events(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _said(plan: Plan) -> str:
    return "".join(Path(f"{plan['trace']}.{handle}").read_text() for handle in (1, 2))


def _seen(partner: Office, plans: dict[Side, Plan], ends: dict[Side, Any], line: Any) -> Seen:
    plan = plans[partner.side]
    assert set(ends.values()) <= {0, 8}, [_said(one) for one in plans.values()]
    trace = Path(plan["trace"])
    workers = sorted(trace.parent.glob(f"{trace.name}-*"))
    traces = [[json.loads(text) for text in file.read_text().splitlines()] for file in (trace, *workers)]
    seen = Seen(ends, line)
    seen.frames = [[one[1:] for one in each if one[0] == "came"] for each in traces]
    seen.order = [[one for one in each if one[0] != "came"] for each in traces]
    seen.printed = _printed(trace)
    runs, _ = list_runs(partner.state)
    seen.receipt = [_lasting(read_receipt(run.receipt).facts) for run in runs if run.receipt.exists()]
    if partner.out.exists():
        seen.pairs = partner.out.read_bytes()
    return seen


_FRESH = {
    *("run", "seconds", "seconds_left", "rates", "peak_mib", "port"),
    *("time", "log", "output"),
}
"""What is another in every run: names, times, digests, and what the machine has to do besides."""


def _lasting(facts: Any) -> Any:
    """The same without what is fresh in every run."""
    if isinstance(facts, dict):
        return {key: _lasting(value) for key, value in facts.items() if key not in _FRESH}
    return [_lasting(one) for one in facts] if isinstance(facts, list) else facts


def _printed(trace: Path) -> object:
    """What a process says; how often it tells of its progress is a matter of the clock."""
    told = Path(f"{trace}.1")
    if told.read_text().startswith("{"):
        events = [_lasting(event) for event in _events(told) if event["event"] != "progress"]
        return events, _without_names(Path(f"{trace}.2").read_text())
    said = Path(f"{trace}.2").read_text()
    # Before that nobody has heard anything of the partner.
    after = said[said.index("Connected to") :]
    return [_without_names(text.replace(str(trace.parent), "")) for text in (told.read_text(), after)]


def _without_names(said: str) -> str:
    return re.sub("[0-9a-f]{16}|[0-9.]+ s", "…", said)
