"""Linkages for real: two processes, two files, one loopback connection, the `ot` engine.

`python -m benchmarks.linkage ab` runs the paper's AB set-up (5,000 + 5,000 records, for which the paper
estimates 80 hours); `taxi` its Taxi set-up (300,000 + 300,000). Both need the folder of real data. `psi` runs
private set intersection on 300,000 + 300,000 generated products. Each party loads its own table, draws its
own noise and knows nothing of the other's.

Each case runs side by side over a plain socket and through `accord link`, that is, with TLS, the ledger and a
journal on disk; in turns, and the best of some turns counts.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement
from accord.agreement.file import read_agreement
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.entropy import System
from accord.fields.load import load_records
from accord.peer.handshake import exchange_sizes
from accord.peer.identity import make_identity
from accord.peer.partners import add_partner
from accord.secure.party import Meter, meter_party, run
from accord.side import Side
from accord.simulation.pair import peak_mib, start_party
from accord.state.accounts import set_budget
from accord.state.folder import open_state
from accord.table.sinks.files import write_table
from benchmarks.engines import SocketChannel
from reproduction.paper_data import abt_buy, taxi, taxi_agreement

DATA = Path(__file__).parents[2] / "shared" / "data"


def party(side: Side, folder: Path, port: int) -> None:
    """One side: what an organisation would run."""
    agreed = read_agreement(folder / "agreement.toml")
    records = load_records(
        folder / f"{side.value}.parquet", agreed.fields, agreed.salt, agreed.disclosed(side)
    )
    channel = SocketChannel(_connected(side, port))
    meter = Meter()
    began = time.perf_counter()
    size = run(exchange_sizes(records.size, "the partner"), channel)
    mine = start_party(agreed, side, records, size, System(), agreed.engine.build())
    outcome = run(meter_party(mine, meter), channel)
    seconds = time.perf_counter() - began
    channel.close()
    facts = {
        "side": side.value,
        "matches": len(outcome.pairs),
        "comparisons": outcome.comparisons,
        "rounds": outcome.rounds,
        "dummies": outcome.dummies,
        "bytes": meter.sent + meter.received,
        "seconds": round(seconds, 2),
        "phases": {name: round(lap["seconds"], 2) for name, lap in asdict(outcome.phases).items()},
        "peak_mib": round(peak_mib()),
    }
    print(json.dumps(facts), flush=True)


def _connected(side: Side, port: int) -> socket.socket:
    if side is Side.B:
        found = socket.create_connection(("127.0.0.1", port))
    else:
        with socket.create_server(("127.0.0.1", port)) as server:
            print(server.getsockname()[1], flush=True)
            found = server.accept()[0]
    # Short messages wait for no acknowledgement.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def both(made: Any, agreed: Any, label: str, turns: int) -> None:
    """Run the two parties in both ways, in turns, and print what each of them saw."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "agreement.toml").write_text(agreed.to_toml())
        write_table(made.a, folder / "A.parquet")
        write_table(made.b, folder / "B.parquet")
        introduce(agreed, folder)
        plain, linked = [], []
        for _ in range(turns):
            plain.append(outcomes(_plain(side, folder, port) for side, port in ports()))
            linked.append(outcomes(link(side, agreed, folder, port) for side, port in ports()))
        for facts in min(plain, key=_slower):
            per_pair = facts["phases"]["compare"] / max(1, facts["comparisons"]) * 1e6
            print(f"{label}  {facts}  {per_pair:.2f} µs per comparison", flush=True)
        seconds = min(map(_slower, plain)), min(map(_slower, linked))
        print(
            f"{label}  plain socket {seconds[0]:.2f} s, accord link {seconds[1]:.2f} s: "
            f"{seconds[1] / seconds[0]:.2f} times, best of {turns}",
            flush=True,
        )


def _slower(pair: list[dict[str, Any]]) -> float:
    return float(max(facts["seconds"] for facts in pair))


def ports() -> Iterator[tuple[Side, int]]:
    """Each side with a free port of this turn."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return ((side, port) for side in Side)


def outcomes(children: Iterable[subprocess.Popen[str]], timeout: float = 3600) -> list[dict[str, Any]]:
    """The last line of each party; the first must listen before the second begins."""
    started: list[subprocess.Popen[str]] = []
    for child in children:
        assert child.stdout is not None
        if not started:
            child.stdout.readline()
        started.append(child)
    # All at once: who tells of its progress to nobody stops when the pipe is full.
    with ThreadPoolExecutor(len(started)) as readers:
        said = list(readers.map(lambda child: child.communicate(timeout=timeout)[0], started))
    if any(child.returncode for child in started):
        raise SystemExit("a party ended early; what it said is above")
    return [json.loads(out.splitlines()[-1]) for out in said]


def _plain(side: Side, folder: Path, port: int) -> subprocess.Popen[str]:
    return _start("benchmarks.linkage", "party", side.value, str(folder), str(port))


def introduce(agreed: Any, folder: Path) -> None:
    """Identities of both sides, and the card of each with the other."""
    states = {side: open_state(folder / f"state-{side.value}", {}) for side in Side}
    cards = {side: make_identity(states[side], agreed.party(side), datetime.now(UTC)) for side in Side}
    for side in Side:
        add_partner(states[side], agreed.party(side.other), cards[side.other])
        set_budget("benchmark", unlimited=True, state=states[side].folder)


def link(
    side: Side, agreed: Any, folder: Path, port: int, workers: int | None = None
) -> subprocess.Popen[str]:
    way = "--listen" if side is Side.A else "--connect"
    return _start(
        *("accord", "--state", str(folder / f"state-{side.value}")),
        *("link", str(folder / f"{side.value}.parquet"), way, f"127.0.0.1:{port}"),
        *("--agreement", str(folder / "agreement.toml"), "--partner", agreed.party(side.other)),
        *("--out", str(folder / f"out-{side.value}.parquet")),
        # Synthetic records need no limit on how many are uncovered.
        *("--yes", "--json", "--uncovered", "100%", *(("--workers", str(workers)) if workers else ())),
    )


def _start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True)


def cases(name: str) -> Iterator[tuple[str, Any, Any]]:
    if name == "ab":
        made, agreed = abt_buy(DATA / "abt_buy", seed=1)
        for delta in ("1e-5", "2^-40"):
            better = agreed.model_dump(mode="json")
            for side in ("A", "B"):
                better["protocol"][side] |= {"delta": delta, "noise": "geometric"}
            yield f"AB ε=1.6 δ={delta}", made, type(agreed).model_validate(better)
    elif name == "psi":
        plain = starter("products").model_dump(mode="json")
        hashed = {"name": plain["fields"]["name"] | {"encoder": {"kind": "hash"}}}
        same = {
            "rule": "same(day) and same(brand) and same(name)",
            "blocking": [],
            "protocol": {"name": "psi"},
        }
        agreed = Agreement.model_validate(plain | same | {"fields": plain["fields"] | hashed})
        yield "PSI", generate_products(300_000, None, 1), agreed
    else:
        made, _ = taxi(DATA / "taxi", seed=1)
        for epsilon, cell in (("1.6", 0.02), ("0.1", 0.04)):
            better = taxi_agreement(cell=cell, style="replicate").model_dump(mode="json")
            better["protocol"]["A"]["noise"], better["protocol"]["B"]["noise"] = "geometric", "gaussian"
            yield (
                f"Taxi ε={epsilon} cell={cell}",
                made,
                adjust(type(taxi_agreement()).model_validate(better), epsilon=epsilon),
            )


def run_case(name: str, turns: int = 3) -> None:
    for label, made, agreed in cases(name):
        both(made, agreed, label, turns)


def main() -> None:
    if sys.argv[1:2] == ["party"]:
        party(Side(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["ab", "psi", "taxi"])
    parser.add_argument("--turns", type=int, default=3)
    chosen = parser.parse_args()
    run_case(chosen.case, chosen.turns)


if __name__ == "__main__":
    main()
