"""Private set intersection: Accord, the elliptic curve it had before, and SecretFlow PSI, in one run.

`python -m benchmarks.psi` intersects 300,000 + 300,000 items of which a tenth is common, two processes on
loopback, results checked. Accord's parties are on TLS. What is counted begins when both have read and encoded
their tables and have told each other the sizes, and ends when both hold the same pairs of ids: set-up,
loading of compiled code, intersection, disclosure of ids, digest of the output. Processor time and bytes are
those of both, in both directions.

    ed25519       2HashDH by libsodium, what Accord had before: timed on some thousand items in one thread,
                  and linear beyond; two cores are taken to halve it
    SecretFlow    RR22 and ECDH of its wheel, without TLS. Only one side learns the intersection. It reads and
                  writes CSV in the seconds that are counted, so those of the intersection stand beside them

`python -m benchmarks.psi 100000 1000000 10000000` takes these sizes, Accord alone, and tells what is fixed
and what each record takes; with `--linked` by `accord link`, from reading a table to its output. Memory is
the most anonymous and resident memory of each party.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from nacl import bindings as sodium
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.agreement.file import read_agreement
from accord.entropy import System
from accord.fields.load import load_records
from accord.notices import tell_nobody
from accord.peer.connection import Reach, open_channel
from accord.peer.handshake import exchange_sizes
from accord.peer.partners import find_partner
from accord.protocols.lines import LINE
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.slots import table_digest
from accord.secure.party import run as run_party
from accord.side import Side
from accord.simulation.pair import start_party
from accord.state.folder import open_state
from accord.table.sinks.files import write_table
from benchmarks.linkage import introduce, link, outcomes, ports
from benchmarks.memory import Peak
from benchmarks.spu import PEERS, free_ports

RECORDS = 300_000
_COMMON = 10
"""One in so many is common."""
_RANGE, _STRIDE = 1 << 40, 0x9E3779B97F | 1
_CURVE = 2000
_FACTS = re.compile(r'^\{"seconds".*\}$', re.MULTILINE)
_ONLINE = {word: re.compile(rf"\[([0-9: .-]+)\] \[info\].*::Online\] {word}") for word in ("start", "end")}


@dataclass(frozen=True)
class Cost:
    """Of an intersection, for both sides; the slower one's seconds."""

    seconds: float
    processor: float
    bytes: float
    anonymous_mib: tuple[int, ...] = ()
    resident_mib: tuple[int, ...] = ()
    online: float | None = None
    """Of the seconds, those of the intersection without reading and writing, where both are told."""


def agree() -> Agreement:
    """Equal numbers match; nothing but ids is disclosed."""
    item = {"type": "number", "min": 0, "max": _RANGE - 1, "step": 1}
    return Agreement.model_validate(
        {
            "version": 2,
            "salt": "00000000",
            "parties": {"A": "alice", "B": "bob"},
            "fields": {"item": item},
            "rule": "same(item)",
            "protocol": {"name": "psi"},
            "engine": "ot",
        }
    )


def common(records: int) -> int:
    return records // _COMMON


def numbers(records: int, side: Side) -> NDArray[np.int64]:
    """A side's items by number: A's are the first, B's begin with the last of A's; in a random order."""
    first = 0 if side is Side.A else records - common(records)
    return np.random.default_rng(ord(side.value)).permutation(np.arange(first, first + records))


def make(records: int, folder: Path) -> None:
    """Both tables, in which an item has the same id on both sides, and the agreement."""
    for side in Side:
        number = numbers(records, side)
        item = number * _STRIDE % _RANGE
        write_table(
            pa.table({"id": pa.array(number).cast(pa.string()), "item": item}),
            folder / f"{side.value}.parquet",
        )
    (folder / "agreement.toml").write_text(agree().to_toml())


# -- Accord ------------------------------------------------------------------------------------------------


def party(side: Side, folder: Path, port: int) -> None:
    """One side, on TLS; prints what it took."""
    agreed, state = read_agreement(folder / "agreement.toml"), open_state(folder / f"state-{side.value}", {})
    records = load_records(folder / f"{side.value}.parquet", agreed.fields, agreed.salt)
    table_digest(records)
    address, partner = f"127.0.0.1:{port}", agreed.party(side.other)
    reach = Reach(listen=address) if side is Side.A else Reach(connect=address)
    if side is Side.A:
        print("reads", flush=True)
    with open_channel(reach, state, find_partner(state, partner), partner, tell_nobody) as channel:
        size = run_party(exchange_sizes(records.size, partner), channel)
        before, began, busy = channel.sent + channel.received, time.perf_counter(), time.process_time()
        mine = start_party(agreed, side, records, size, System(), agreed.engine.build())
        outcome = run_party(mine, channel)
        seconds, processor = time.perf_counter() - began, time.process_time() - busy
        passed = channel.sent + channel.received - before
    _require_right(outcome, records.ids, size)
    facts = {"seconds": seconds, "processor": processor, "bytes": passed}
    print(json.dumps(facts), flush=True)


def _require_right(outcome: Outcome, ids: pa.Array, records: int) -> None:
    """Recall 1 and no false pair."""
    own, partner = ids.take(pa.array(outcome.own)), outcome.partner_ids.take(pa.array(outcome.partner))
    if len(own) != common(records) or not own.equals(partner):
        raise SystemExit(f"wrong: {len(own):,} pairs where {common(records):,} match")


def measure(records: int, linked: bool = False, turns: int = 1) -> Cost:
    """Both parties as processes; the best of some turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # By another process, so that this one's memory is not in anybody's way.
        _run("make", str(records), name)
        introduce(agree(), folder)
        costs = [_turn(folder, linked) for _ in range(turns)]
        if linked:
            _require_rows(folder, records)
    return min(costs, key=lambda cost: cost.seconds)


def _turn(folder: Path, linked: bool) -> Cost:
    agreed, peaks, before = read_agreement(folder / "agreement.toml"), [], os.times()

    def start(side: Side, port: int) -> subprocess.Popen[str]:
        if linked:
            (folder / f"out-{side.value}.parquet").unlink(missing_ok=True)
            child = link(side, agreed, folder, port)
        else:
            child = _start("party", side.value, str(folder), str(port))
        peaks.append(Peak(child.pid))
        peaks[-1].__enter__()
        return child

    began = time.perf_counter()
    facts = outcomes((start(side, port) for side, port in ports()), 6 * 3600)
    whole = time.perf_counter() - began
    for peak in peaks:
        peak.__exit__()
    held = tuple(peak.anonymous for peak in peaks), tuple(peak.resident for peak in peaks)
    if linked:
        return Cost(whole, sum(os.times()[2:4]) - sum(before[2:4]), facts[0]["bytes"], *held)
    slower = max(fact["seconds"] for fact in facts)
    return Cost(slower, sum(fact["processor"] for fact in facts), facts[0]["bytes"], *held)


def _require_rows(folder: Path, records: int) -> None:
    """Recall 1 and no false pair in what was written."""
    for side in Side:
        found = pq.read_table(folder / f"out-{side.value}.parquet")
        if len(found) != common(records) or not found.column(0).equals(found.column(1)):
            raise SystemExit(f"wrong: {len(found):,} rows where {common(records):,} match")


def _start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.psi", *words], stdout=subprocess.PIPE, text=True
    )


def _run(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "benchmarks.psi", *words], check=True)


# -- the peers ---------------------------------------------------------------------------------------------


def _curve(records: int) -> Cost:
    """From a few items, both sides one after the other in one thread."""
    asked, listed = ([b"%d" % number for number in numbers(_CURVE, side)] for side in Side)
    key, *blinds = (sodium.crypto_core_ed25519_scalar_reduce(os.urandom(64)) for _ in range(1 + _CURVE))
    began = time.process_time()
    hidden = [_power(blind, _point(item)) for blind, item in zip(blinds, asked, strict=True)]
    raised = [_power(key, point) for point in hidden]
    undo = map(sodium.crypto_core_ed25519_scalar_invert, blinds)
    values = {_power(blind, point) for blind, point in zip(undo, raised, strict=True)}
    found = values & {_power(key, _point(item)) for item in listed}
    busy = (time.process_time() - began) * records / _CURVE
    if len(found) != common(_CURVE):
        raise SystemExit("the curve's answers are wrong")
    # A point there and back for each that is asked, and a line for each that is listed.
    return Cost(busy / 2, busy, (2 * 32 + LINE) * records)


def _point(item: bytes) -> bytes:
    whole = hashlib.sha512(b"benchmark\0" + item).digest()
    halves = (sodium.crypto_core_ed25519_from_uniform(half) for half in (whole[:32], whole[32:]))
    return sodium.crypto_core_ed25519_add(*halves)


def _power(key: bytes, point: bytes) -> bytes:
    return sodium.crypto_scalarmult_ed25519_noclamp(key, point)


def _absent() -> str | None:
    """Why SecretFlow PSI cannot run here, if it cannot."""
    if not PEERS.exists():
        return "there is no .venv-peers: run `make bench`"
    done = subprocess.run([PEERS, "-P", "-c", "import spu.psi"], capture_output=True, text=True)
    if not done.returncode:
        return None
    return f"it does not load in .venv-peers ({done.stderr.strip().splitlines()[-1]})"


def _secretflow(records: int, protocol: str) -> Cost:
    """Both parties as processes; no process outlives the measurement."""
    with tempfile.TemporaryDirectory() as place, _Relay() as relay:
        folder = Path(place)
        for rank, side in enumerate(Side):
            pa_csv.write_csv(pa.table({"item": numbers(records, side)}), folder / f"in-{rank}.csv")
        own = [f"127.0.0.1:{port}" for port in free_ports()]
        found = [relay.open(address) for address in own]
        children = []
        try:
            for rank in range(2):
                words = str(rank), own[rank], found[1 - rank], place, protocol
                with (folder / f"log-{rank}").open("w") as log:
                    children.append(_start_peer(folder, words, log))
            outputs = [child.communicate(timeout=3600)[0] for child in children]
        finally:
            for child in children:
                child.kill()
        if any(child.returncode for child in children):
            logs = [(folder / f"log-{rank}").read_text(errors="replace") for rank in range(2)]
            raise SystemExit("\n".join(["a party of SecretFlow PSI ended early:", *logs]))
        _require_intersection(folder, records)
    facts = [json.loads(_FACTS.findall(output)[-1]) for output in outputs]
    return Cost(
        max(fact["seconds"] for fact in facts),
        sum(fact["processor"] for fact in facts),
        relay.bytes,
        resident_mib=tuple(fact["resident_mib"] for fact in facts),
        online=max(map(_online, outputs)),
    )


def _start_peer(folder: Path, words: tuple[str, ...], log: TextIO) -> subprocess.Popen[str]:
    # With -P, or this folder's modules would be what it imports.
    command = [str(PEERS), "-P", str(Path(__file__).with_name("psi_party.py")), *words]
    elsewhere = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=elsewhere)


def _online(output: str) -> float:
    """Seconds of the intersection itself, by the stamps of its log: tables are read, none is written yet."""
    began, ended = (datetime.fromisoformat(_ONLINE[word].findall(output)[0]) for word in ("start", "end"))
    return (ended - began).total_seconds()


class _Relay:
    """Counts what passes between two processes that know each other by its addresses: their link does not."""

    def __init__(self) -> None:
        self.bytes = 0
        self._open: list[socket.socket] = []

    def __enter__(self) -> _Relay:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def open(self, address: str) -> str:
        """The address that stands for this one."""
        server = socket.create_server(("127.0.0.1", 0))
        self._open.append(server)
        _in_thread(self._accept, server, int(address.rsplit(":", 1)[1]))
        return f"127.0.0.1:{server.getsockname()[1]}"

    def _accept(self, server: socket.socket, port: int) -> None:
        with suppress(OSError):
            while True:
                caller = server.accept()[0]
                try:
                    called = socket.create_connection(("127.0.0.1", port))
                except OSError:
                    # It does not listen yet, and whoever calls tries again.
                    caller.close()
                    continue
                self._open += [caller, called]
                _in_thread(self._carry, caller, called)
                _in_thread(self._carry, called, caller)

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while some := source.recv(1 << 18):
                target.sendall(some)
                self.bytes += len(some)
            target.shutdown(socket.SHUT_WR)


def _in_thread(act: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=act, args=arguments, daemon=True).start()


def _require_intersection(folder: Path, records: int) -> None:
    found = np.sort(np.asarray(pa_csv.read_csv(folder / "out-0.csv").column(0)))
    if not np.array_equal(found, np.arange(records - common(records), records)):
        raise SystemExit("SecretFlow's intersection is wrong")


# -- what is printed ---------------------------------------------------------------------------------------


def run(records: int = RECORDS, turns: int = 3) -> None:
    """All of them, a line each."""
    print(f"psi: {records:,} + {records:,} items, {common(records):,} of them common; results checked")
    print(f"{'':24}{'seconds':>10}{'processor':>11}{'MB':>8}  MiB resident of each")
    # Once beforehand, so that what is compiled for a machine once is there.
    measure(10_000)
    _tell("accord psi, over TLS", measure(records, turns=turns))
    _tell("ed25519, extrapolated", _curve(records))
    if (reason := _absent()) is not None:
        print(f"  SecretFlow PSI: skipped, {reason}")
        return
    for protocol in ("RR22", "RR22 low"):
        found = [_secretflow(records, protocol) for _ in range(turns)]
        _tell(f"SecretFlow {protocol}", min(found, key=lambda cost: cost.seconds))
    # As slow as any curve: from a hundredth.
    few = _secretflow(records // 100, "ECDH")
    many = Cost(100 * few.seconds, 100 * few.processor, 100 * few.bytes)
    _tell("SecretFlow ECDH, ×100", many)


def _tell(name: str, cost: Cost) -> None:
    online = "" if cost.online is None else f"  {cost.online:.2f} s without reading and writing"
    print(
        f"  {name:22}{cost.seconds:10.2f}{cost.processor:11.2f}{cost.bytes / 1e6:8.1f}"
        f"  {_joined(cost.resident_mib)}{online}",
        flush=True,
    )


def grow(sizes: list[int], linked: bool, turns: int) -> None:
    """Several sizes, and the straight line through their processor times."""
    costs = []
    for records in sizes:
        costs.append(measure(records, linked, turns))
        cost = costs[-1]
        print(
            f"{records:,} + {records:,}: {cost.seconds:.2f} s, of processors {cost.processor:.2f} s, "
            f"{cost.bytes / 1e6:.1f} MB; MiB anonymous {_joined(cost.anonymous_mib)}, "
            f"resident {_joined(cost.resident_mib)}",
            flush=True,
        )
    if len(sizes) > 1:
        # By relative errors, or the largest size would be all that counts.
        busy = np.array([cost.processor for cost in costs])
        parts = np.column_stack([np.ones(len(sizes)), np.array(sizes)]) / busy[:, None]
        fixed, each = np.linalg.lstsq(parts, np.ones(len(sizes)), rcond=None)[0]
        slope = np.polyfit(np.log(sizes), np.log(busy), 1)[0]
        print(
            f"processor time: {fixed:.2f} s and {each * 1e6:.2f} µs for each record of a side; "
            f"slope {slope:.3f} on log-log axes"
        )


def _joined(numbers: tuple[int, ...]) -> str:
    return " + ".join(f"{number:,}" for number in numbers)


def main() -> None:
    if sys.argv[1:2] == ["party"]:
        party(Side(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
        return
    if sys.argv[1:2] == ["make"]:
        make(int(sys.argv[2]), Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int, nargs="*")
    parser.add_argument("--linked", action="store_true", help="by `accord link`")
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    if asked.records:
        grow(asked.records, asked.linked, asked.turns)
    else:
        run(turns=asked.turns)


if __name__ == "__main__":
    main()
