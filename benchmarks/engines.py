"""How fast the engines are on this machine: two processes over loopback, nothing mocked.

The parent starts one process a party, with made-up rows that both derive from a public seed, so that it can
check the answers against the plain interpreter. Kernels are compiled and warm before the clock starts; the
set-up is timed by itself. What the machine could do at best is measured in the same run. With a network, a
proxy in the parent carries the bytes of the connection at its rate and with its delay.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from accord import plugins
from accord.entropy import System
from accord.errors import PeerError, UsageError
from accord.network import Network
from accord.secure.blocks import Blocks
from accord.secure.engine import Engine
from accord.secure.engines import engine_named
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import BETWEEN, Settings
from accord.secure.party import Buffer, Meter, Party, meter_party, run
from accord.side import Side
from benchmarks.shaping import Proxy
from benchmarks.workload import RULES, Work, make_up_table

_HEADER = struct.Struct("<Q")
CHECKOUT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Measurement:
    """One measurement; without a width one block, without a network the loopback as it is."""

    engine: str
    rule: str
    rows: int
    repeats: int = 3
    width: int | None = None
    network: Network | None = None

    @property
    def work(self) -> Work:
        return Work.of(self.rows, self.width)

    @property
    def settings(self) -> Settings:
        """Those of the `ot` engine."""
        return Settings(self.network or BETWEEN)

    def sample(self, rows: int) -> Measurement:
        """The same, but with few rows and one run where an engine takes milliseconds a pair."""
        if not self.engine.startswith("paillier"):
            return self
        return replace(self, rows=min(rows, self.rows), repeats=1)


@dataclass(frozen=True)
class Report:
    """What one party saw."""

    setup_seconds: float
    seconds: list[float]
    cpu_seconds: list[float]
    sent: int
    received: int
    peak_mib: float
    aes_bytes: int
    aes_seconds: float
    copy_seconds: float
    answers: str


@dataclass(frozen=True)
class Measured:
    """One line of the result; times at the slower party in the best of some runs, bytes in both directions.

    `cpu_microseconds_per_pair` is the processor time of the busier party, which other work on the machine
    disturbs less. `width` is how many rows of B meet a row of A, `network` what lay between the parties, such
    as `100/20`. `aes_microseconds_per_pair` and `copy_microseconds_per_pair` are what the machine needs
    at least: for the AES blocks of the busier party, and to copy every byte sent once.
    """

    engine: str
    rule: str
    pairs: int
    width: int
    network: str | None
    microseconds_per_pair: float
    cpu_microseconds_per_pair: float
    bytes_per_pair: float
    rounds: int
    setup_seconds: float
    peak_mib: float
    aes_microseconds_per_pair: float
    copy_microseconds_per_pair: float
    aes_gigabytes_per_second: float
    copy_gigabytes_per_second: float
    checked: bool


class SocketChannel:
    """A connected socket as a channel: length, then bytes; a thread sends, so that sending never waits."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._outbox: queue.SimpleQueue[Buffer | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send_all, daemon=True)
        self._thread.start()

    def send(self, buffer: Buffer) -> None:
        self._outbox.put(buffer)

    def receive(self, size: int, look: object = None) -> Buffer:
        header = bytearray(_HEADER.size)
        self._fill(memoryview(header))
        (length,) = _HEADER.unpack(header)
        if length != size:
            raise PeerError(problem=f"a message of {length:,} bytes where {size:,} were due")
        buffer = np.empty(size, dtype=np.uint8).data
        self._fill(buffer)
        return buffer

    def close(self) -> None:
        self._outbox.put(None)
        self._thread.join()
        self._socket.close()

    def _fill(self, view: memoryview) -> None:
        while len(view):
            count = self._socket.recv_into(view)
            if not count:
                raise PeerError(problem="the connection ended in the middle of a message")
            view = view[count:]

    def _send_all(self) -> None:
        while (buffer := self._outbox.get()) is not None:
            self._socket.sendall(_HEADER.pack(len(buffer)))
            self._socket.sendall(buffer)


def measure(asked: Measurement) -> Measured:
    """Run both parties as processes and put their reports together."""
    if asked.rule not in RULES:
        raise UsageError(problem=f"There is no rule '{asked.rule}'. Rules: {', '.join(RULES)}.")
    reports = _reports(asked)
    if reports[0].answers != reports[1].answers:
        raise RuntimeError("the two parties did not come to the same answers")
    return _join_reports(asked, reports, _check(asked, reports[0].answers))


def _reports(asked: Measurement) -> list[Report]:
    """Both parties' reports; no process outlives the measurement."""
    with ExitStack() as stack:
        children = [_start(Side.A, asked, 0, stack)]
        assert children[0].stdout is not None
        port = children[0].stdout.readline()
        if port:
            way = stack.enter_context(Proxy(asked.network, int(port))).port if asked.network else int(port)
            children.append(_start(Side.B, asked, way, stack))
        outputs = [child.communicate()[0] for child in reversed(children)]
        if len(children) < 2 or any(child.returncode for child in children):
            raise RuntimeError("a party of the measurement ended early; what it said is above")
        return [Report(**json.loads(output)) for output in reversed(outputs)]


def _start(side: Side, asked: Measurement, port: int, stack: ExitStack) -> subprocess.Popen[str]:
    # The network lies between the parties, and neither knows of it.
    arguments = json.dumps({"side": side.value, "port": port, **asdict(replace(asked, network=None))})
    command = [sys.executable, "-m", "benchmarks.engines", arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CHECKOUT)
    stack.callback(child.kill)
    return child


def _check(asked: Measurement, answers: str) -> bool:
    """Whether the answers were compared with the plain interpreter's; wrong ones end the measurement."""
    from accord.secure.ideal import match

    if asked.work.pairs > 1 << 20:
        return False
    rule = RULES[asked.rule]
    tables = [make_up_table(rule, side, asked.work.rows) for side in Side]
    digest = hashlib.sha256()
    for blocks in asked.work.cut():
        digest.update(match(rule, blocks, *tables).tobytes())
    if digest.hexdigest() != answers:
        raise RuntimeError("the answers are wrong")
    return True


def _join_reports(asked: Measurement, reports: list[Report], checked: bool) -> Measured:
    from accord.secure.cost import price

    rule, pairs = RULES[asked.rule], asked.work.pairs
    seconds = min(map(max, *(report.seconds for report in reports)))
    cpu_seconds = min(map(max, *(report.cpu_seconds for report in reports)))
    busier = max(reports, key=lambda report: report.aes_seconds)
    sent = sum(report.sent for report in reports)
    return Measured(
        engine=asked.engine,
        rule=asked.rule,
        pairs=pairs,
        width=asked.work.width,
        network=str(asked.network) if asked.network else None,
        microseconds_per_pair=round(seconds / pairs * 1e6, 4),
        cpu_microseconds_per_pair=round(cpu_seconds / pairs * 1e6, 4),
        bytes_per_pair=round(sent / pairs, 3),
        rounds=sum(price(rule, blocks, asked.engine, asked.settings).rounds for blocks in asked.work.cut()),
        setup_seconds=round(max(report.setup_seconds for report in reports), 4),
        peak_mib=round(max(report.peak_mib for report in reports), 1),
        aes_microseconds_per_pair=round(busier.aes_seconds / pairs * 1e6, 4),
        copy_microseconds_per_pair=round(max(r.copy_seconds for r in reports) / pairs * 1e6, 4),
        aes_gigabytes_per_second=round(busier.aes_bytes / max(busier.aes_seconds, 1e-12) / 1e9, 2),
        copy_gigabytes_per_second=round(sent / max(max(r.copy_seconds for r in reports), 1e-12) / 1e9, 2),
        checked=checked,
    )


def _party(side: Side, asked: Measurement, channel: SocketChannel) -> Report:
    """One party: warm up, set up, evaluate, and measure the limits of the machine."""
    engine, rule = _engine(asked), RULES[asked.rule]
    table, small = make_up_table(rule, side, asked.work.rows), make_up_table(rule, side, 2)
    warm = run(engine.set_up(side, System()), channel)
    run(engine.evaluate(warm, rule, Blocks.whole(2, 2), small), channel)
    started = time.perf_counter()
    session = run(engine.set_up(side, System()), channel)
    setup_seconds = time.perf_counter() - started
    seconds, cpu_seconds = [], []
    for _ in range(asked.repeats):
        before, meter, digest = session.aes_blocks, Meter(), hashlib.sha256()
        clock, cpu = time.perf_counter(), time.process_time()
        for blocks in asked.work.cut():
            party: Party[np.ndarray] = meter_party(engine.evaluate(session, rule, blocks, table), meter)
            digest.update(run(party, channel).tobytes())
        seconds.append(time.perf_counter() - clock)
        cpu_seconds.append(time.process_time() - cpu)
    used = 16 * (session.aes_blocks - before)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Report(
        setup_seconds=setup_seconds,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        sent=meter.sent,
        received=meter.received,
        peak_mib=peak if sys.platform != "darwin" else peak / 1024,
        aes_bytes=used,
        aes_seconds=used / aes_rate(),
        copy_seconds=(meter.sent + meter.received) / copy_rate(),
        answers=digest.hexdigest(),
    )


def _engine(asked: Measurement) -> Engine:
    """The engine that is asked for, with its k if it has one."""
    engine = engine_named(asked.engine)
    return OtEngine(asked.settings) if isinstance(engine, OtEngine) else engine


def aes_rate(size: int = 1 << 16) -> float:
    """Bytes a second of the engine's own cipher on a buffer that fits the cache."""
    from accord.secure.transfer.permutation import Permutation

    pi = Permutation()
    source = np.zeros((size // 16, 2), dtype=np.uint64)
    return size / _shortest(lambda: pi.apply(source, "limit"), 1000)


def copy_rate(size: int = 1 << 26) -> float:
    """Bytes a second that a plain copy reaches in main memory."""
    source, target = np.zeros(size, dtype=np.uint8), np.zeros(size, dtype=np.uint8)
    return size / _shortest(lambda: np.copyto(target, source), 8)


def _shortest(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of some runs: the limit is what the machine can do undisturbed."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def _take_one_core(side: Side) -> None:
    """One core a party, where the system lets us choose; otherwise both may land on the same one."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[0] if side is Side.A else cores[-1]})


def _child(arguments: str) -> None:
    """What a party's process does; A listens on a port that it announces."""
    fields = json.loads(arguments)
    plugins.load("reproduction.plugins")
    side, port = Side(fields.pop("side")), fields.pop("port")
    _take_one_core(side)
    if side is Side.A:
        with socket.create_server(("127.0.0.1", 0)) as server:
            sys.stdout.write(f"{server.getsockname()[1]}\n")
            sys.stdout.flush()
            server.settimeout(60)
            connection, _ = server.accept()
    else:
        connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    channel = SocketChannel(connection)
    report = _party(side, Measurement(**fields), channel)
    channel.close()
    sys.stdout.write(json.dumps(asdict(report)))


if __name__ == "__main__":
    _child(sys.argv[1])
