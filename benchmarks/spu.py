"""SPU beside Accord: two processes over loopback, the same rows, the same rules, in one run; answers checked.

SPU (SecretFlow) runs Cheetah with Ferret, two parties without a dealer, as Accord does. Its wheels are for
one version of Python; where it is not installed this says so and goes on. Bytes are what its link counts, in
both directions, without opening the answers; Accord's bytes include that.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import AtMost
from accord.secure.ideal import match
from accord.side import Side
from benchmarks.engines import Measurement, measure
from benchmarks.workload import RULES, make_up_table

ROWS = 1000
PEERS = Path(".venv-peers/bin/python")
RINGS = {"hamming50": "FM32", "euclidean2d": "FM64"}
_SENT = re.compile(r"Link details: total send bytes (\d+)")


@dataclass(frozen=True)
class Cost:
    """What a pair takes."""

    microseconds: float
    bytes: float


def run() -> None:
    if (reason := _absent()) is not None:
        print(f"SPU: skipped, {reason}")
        return
    for rule, ring in RINGS.items():
        theirs = _spu(rule, ring)
        found = measure(Measurement("ot", rule, ROWS))
        ours = Cost(found.microseconds_per_pair, found.bytes_per_pair)
        print(f"{rule}: {ROWS:,} × {ROWS:,} pairs, two processes over loopback, answers checked")
        print("                      µs per pair   bytes per pair")
        for name, cost in (("accord ot", ours), ("SPU Cheetah, Ferret", theirs)):
            print(f"  {name:20}{cost.microseconds:10.2f}{cost.bytes:15.1f}")
        ratios = theirs.microseconds / ours.microseconds, theirs.bytes / ours.bytes
        print(f"  {'SPU / accord':20}{ratios[0]:10.2f}{ratios[1]:15.2f}", flush=True)


def _absent() -> str | None:
    """Why SPU cannot run here, if it cannot."""
    if not PEERS.exists():
        return "there is no .venv-peers: run `make bench`"
    done = subprocess.run([PEERS, "-c", "import spu"], capture_output=True, text=True)
    if not done.returncode:
        return None
    last = done.stderr.strip().splitlines()[-1]
    return f"it does not load in .venv-peers ({last}); it has wheels for Python 3.11 alone"


def _spu(rule: str, ring: str) -> Cost:
    """Both parties as processes; the slower one's time. No process outlives the measurement."""
    node = RULES[rule]
    assert isinstance(node, AtMost)
    (name,) = make_up_table(node, Side.A, 1).inputs
    tables = [make_up_table(node, side, ROWS) for side in Side]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for rank, table in enumerate(tables):
            np.save(folder / f"{rule}-{rank}.npy", table.inputs[name])
        ports, children = free_ports(), []
        try:
            for rank in range(2):
                words = [str(rank), *ports, place, rule, str(node.bound), ring]
                children.append(_start(folder / f"log-{rank}", words))
            outputs = [child.communicate(timeout=3600)[0] for child in children]
        finally:
            for child in children:
                child.kill()
        logs = [(folder / f"log-{rank}").read_text(encoding="utf-8", errors="replace") for rank in range(2)]
        if any(child.returncode for child in children):
            raise SystemExit("\n".join(["a party of SPU ended early:", *logs]))
        # SPU has no dummies: all rows are taken for real.
        real = [Table(table.inputs, np.ones(ROWS, dtype=np.bool_)) for table in tables]
        expected = np.packbits(match(node, Blocks.whole(ROWS, ROWS), *real))
        for rank in range(2):
            if not np.array_equal(np.load(folder / f"answers-{rank}.npy"), expected):
                raise SystemExit("SPU's answers are wrong")
    seconds = max(json.loads(output.splitlines()[-1])["seconds"] for output in outputs)
    sent = sum(int(_SENT.findall(log + output)[-1]) for log, output in zip(logs, outputs, strict=True))
    return Cost(seconds / ROWS**2 * 1e6, sent / ROWS**2)


def _start(log: Path, words: list[str]) -> subprocess.Popen[str]:
    # With -P, or this folder's spu.py would be what its `import spu` finds.
    command = [str(PEERS), "-P", str(Path(__file__).with_name("spu_party.py")), *words]
    with log.open("w", encoding="utf-8") as file:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)


def free_ports() -> list[str]:
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [str(server.getsockname()[1]) for server in servers]
    for server in servers:
        server.close()
    return ports
