"""A linkage between two processes over loopback, timed: what two organisations would wait for.

Each party loads its own table from its own file, draws its own noise and knows nothing of the other's; the
noise is that of the first run of `simulate` with a seed, so that a count of comparisons is that of the timed
linkage and the same are timed again, which a linkage must never do. A slow network can be tried on one
machine: a proxy between the processes shapes it. Loopback alone stands for a LAN.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow.parquet

from accord import Agreement, plugins, read_agreement, simulate
from accord.datasets.generated import Generated
from accord.fields.load import load_records
from accord.network import Network
from accord.secure.party import Meter, meter_party, run
from accord.side import Side
from accord.simulation.pair import seeded_run, start_party
from benchmarks.engines import SocketChannel
from benchmarks.shaping import Proxy


@dataclass(frozen=True)
class Timed:
    """What one party saw."""

    matches: int
    comparisons: int
    seconds: float
    cpu_seconds: float
    """Of this party's processor, which other work on the machine disturbs less."""
    bytes: int
    """In both directions."""


def link_once(made: Generated, agreement: Agreement, network: Network | None, seed: int) -> Timed:
    """Both parties as processes; the slower one's time. No process outlives the measurement."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "agreement.toml").write_text(agreement.to_toml(), encoding="utf-8")
        pyarrow.parquet.write_table(made.a, folder / "A.parquet")
        pyarrow.parquet.write_table(made.b, folder / "B.parquet")
        children = [_start(Side.A, folder, 0, seed, stack)]
        assert children[0].stdout is not None
        port = children[0].stdout.readline()
        if port:
            way = stack.enter_context(Proxy(network, int(port))).port if network else int(port)
            children.append(_start(Side.B, folder, way, seed, stack))
        outputs = [child.communicate()[0] for child in children]
        if len(children) < 2 or any(child.returncode for child in children):
            raise RuntimeError("a party of the measurement ended early; what it said is above")
    a, b = (Timed(**json.loads(output.splitlines()[-1])) for output in outputs)
    busier = max(a.cpu_seconds, b.cpu_seconds)
    return Timed(a.matches, a.comparisons, max(a.seconds, b.seconds), busier, a.bytes)


def _start(side: Side, folder: Path, port: int, seed: int, stack: ExitStack) -> subprocess.Popen[str]:
    arguments = json.dumps({"side": side.value, "folder": str(folder), "port": port, "seed": seed})
    command = [sys.executable, "-m", "reproduction.parties", arguments]
    # Ctrl-C is for the parent, which ends both: a child that took it, too, would fill the screen.
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    stack.callback(child.kill)
    return child


def _party(side: Side, folder: Path, port: int, seed: int) -> Timed:
    """One side: what an organisation would run."""
    door = _door(side)
    agreed = read_agreement(folder / "agreement.toml")
    table = folder / f"{side.value}.parquet"
    records = load_records(table, agreed.fields, agreed.salt, agreed.disclosed(side))
    size = pyarrow.parquet.read_metadata(folder / f"{side.other.value}.parquet").num_rows
    entropy = seeded_run(seed, 0).stream(side.value)
    mine = start_party(agreed, side, records, size, entropy, agreed.engine.build())
    _warm_up(agreed, table)
    channel = SocketChannel(_connected(door, port))
    meter = Meter()
    began, spent = time.perf_counter(), time.process_time()
    outcome = run(meter_party(mine, meter), channel)
    seconds, cpu = time.perf_counter() - began, time.process_time() - spent
    channel.close()
    return Timed(len(outcome.pairs), outcome.comparisons, seconds, cpu, meter.sent + meter.received)


def _warm_up(agreed: Agreement, table: Path) -> None:
    """A linkage of a few rows with themselves: kernels are compiled and loaded before the clock starts."""
    few = pyarrow.parquet.read_table(table).slice(0, 4)
    simulate(few, few, agreed, engine=agreed.engine.name)


def _door(side: Side) -> socket.socket | None:
    """Where A is found: told before it loads its table, so that both parties get ready at the same time."""
    if side is Side.B:
        return None
    door = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{door.getsockname()[1]}\n")
    sys.stdout.flush()
    return door


def _connected(door: socket.socket | None, port: int) -> socket.socket:
    """The connection, when both are ready: neither clock starts before."""
    if door is None:
        found = socket.create_connection(("127.0.0.1", port))
    else:
        with door:
            door.settimeout(120)
            found = door.accept()[0]
            found.settimeout(None)
    # Short messages wait for no acknowledgement.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    found.sendall(b"!")
    found.recv(1)
    return found


def _child(arguments: str) -> None:
    plugins.load("reproduction.plugins")
    fields = json.loads(arguments)
    side, folder = Side(fields.pop("side")), Path(fields.pop("folder"))
    port, seed = fields.pop("port"), fields.pop("seed")
    sys.stdout.write(json.dumps(asdict(_party(side, folder, port, seed))))


if __name__ == "__main__":
    _child(sys.argv[1])
