"""Routed linkage for real: `python -m benchmarks.routed 10000 100000` links so many generated people a side.

Two processes link them by `accord link`, over TLS, each with its own state. Keys and caps are those that a
plan draws up for the size. Counted are the time from start to end, the processor time of both, what passed
between them, the most anonymous memory of each, and against the truth of the generator which share of the
true pairs was found, and F1. `--cascade` links the same tables one-to-one, into `docs/results/cascade.csv`;
`--laplace` with bins as the plan has them at ε = 1.6. `--slope` fits processor time against records on
log-log axes.

`--places` links sparse places instead: points on a square of 131 km, in metres, one in fifty of which is near
one of the other side's. `--routing` does one pass of routing alone, with caps of 2 and without comparisons:
two processes over a socket, with payloads of 80 bytes and then with those of people, of 120. A row of the
others is written to `docs/results/routed.csv` when it is done.

`--plan` links nothing: `docs/results/routed-plan.csv` is what a plan says of ten thousand people a side and
more, up to ten million, with all pairs, with bins and with routing.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.spatial import cKDTree

from accord.agreement.document import Agreement
from accord.agreement.file import read_agreement
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.entropy import System
from accord.fields.load import load_records
from accord.network import Network
from accord.planning.figures import Option
from accord.planning.plan import PlanQuestion, make_plan
from accord.protocols.parts.lanes import Lane
from accord.protocols.routing import Placing, route_asked, route_listed
from accord.protocols.sharing import Sample
from accord.secure.party import Meter, Party, meter_party, run
from accord.secure.prf.binned import Binned
from accord.side import Side
from accord.table.sinks.files import write_table
from benchmarks.engines import SocketChannel
from benchmarks.linkage import introduce, link, outcomes, ports
from benchmarks.memory import Peak
from reproduction.places import places_agreement

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "routed.csv"
PLANNED, CASCADES = RESULTS.with_name("routed-plan.csv"), RESULTS.with_name("cascade.csv")
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
"""For which people are planned."""
COLUMNS = (
    *("protocol", "kind", "records", "passes", "comparisons", "matches", "true", "recall", "precision"),
    *("bytes", "minutes", "processor_minutes", "anonymous_mib_a", "anonymous_mib_b", "load", "processor"),
    *("covered", "expected_covered", "expected_comparisons", "expected_bytes", "expected_minutes"),
)
"""`expected_…` is what the plan says; `covered` is counted, the lower share of both sides."""
CASCADE = "cascade"
"""Routed one-to-one, as this benchmark calls it."""
EDGE, NEAR = 1 << 17, 10
"""Metres."""
PAYLOADS = 10, 15
"""Words: of routing alone, and of people."""
_WARM = 10_000
NETWORK = Network(1000, 0.5)
"""By which the plan is made; the engine takes the line for a slower one, and sends less."""


def agree(records: int, protocol: str, places: bool) -> Option:
    """What a plan has with this protocol, the quickest of those that it prices. A cascade is routed."""
    agreed = _places() if places else starter("people")
    if protocol != CASCADE:
        return _quickest(agreed, records, protocol)
    return _quickest(agreed.model_copy(update={"one_to_one": "pairs"}), records, "routed")


def _quickest(agreed: Agreement, records: int, protocol: str) -> Option:
    plan = make_plan(agreed, PlanQuestion((records, records), NETWORK))
    options = [
        one for one in plan.options if one.protocol == protocol and (one.largest_epsilon or 0.0) in (0.0, 1.6)
    ]
    return min(options, key=lambda one: one.seconds.expected)


def price(records: int, protocol: str) -> dict[str, object]:
    """What a plan says of people. Bins are planned from the best on, until no others are quicker: from those
    of the template, that are for few records, ten million are too far for one plan."""
    best, last = _quickest(starter("people"), records, protocol), float("inf")
    while protocol == "laplace" and best.seconds.expected < last:
        last = best.seconds.expected
        best = min(best, _quickest(best.agreement, records, protocol), key=lambda one: one.seconds.expected)
    return {
        **{"protocol": protocol, "records": records, "passes": len(best.agreement.passes)},
        **{"comparisons": round(best.comparisons.expected), "bytes": round(best.bytes.expected)},
        **{"seconds": round(best.seconds.expected), "recall": best.tell_recall()},
    }


def price_all() -> None:
    """Write what plans say."""
    rows = [price(records, protocol) for protocol in ("all-pairs", "laplace", "routed") for records in SIZES]
    with PLANNED.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _places() -> Agreement:
    plain = places_agreement().model_dump(mode="json")
    metres = {"type": "number", "min": 0, "max": EDGE - 1, "step": 1}
    plain["fields"] = {"east": metres, "north": metres}
    plain["rule"] = f"euclidean(east, north) <= {NEAR}"
    grid = {"kind": "grid", "fields": ["east", "north"], "cell": 1024, "style": "replicate", "reach": NEAR}
    plain["blocking"] = [grid]
    plain["disclose"] = {side: ["east", "north"] for side in ("A", "B")}
    return Agreement.model_validate(plain)


def _draw_places(records: int) -> Generated:
    """Points, of which some are near one of the other side's."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, EDGE, (records, 2)) for _ in Side)
    near = records // 50
    b[:near] = np.clip(a[:near] + rng.integers(-7, 8, (near, 2)), 0, EDGE - 1)
    apart = cKDTree(a).query_ball_tree(cKDTree(b), NEAR)
    pairs = [(i, j) for i, found in enumerate(apart) for j in found]
    tables = [
        pa.table({"id": [f"{name}{i}" for i in range(records)], "east": at[:, 0], "north": at[:, 1]})
        for name, at in (("a", a), ("b", b))
    ]
    truth = {"id_a": [f"a{i}" for i, _ in pairs], "id_b": [f"b{j}" for _, j in pairs]}
    return Generated(tables[0], tables[1], pa.table(truth))


def make(records: int, folder: Path, places: bool) -> None:
    """Both tables and the truth."""
    made = _draw_places(records) if places else generate_people(records, None, 1)
    for side, table in ((Side.A, made.a), (Side.B, made.b)):
        write_table(table, folder / f"{side.value}.parquet")
    write_table(made.truth, folder / "truth.parquet")


def measure(records: int, folder: Path, protocol: str, places: bool) -> dict[str, object]:
    """Both sides, until they are done."""
    planned = agree(records, protocol, places)
    (folder / "agreement.toml").write_text(planned.agreement.to_toml())
    agreed = read_agreement(folder / "agreement.toml")
    introduce(agreed, folder)
    began, before, load = time.perf_counter(), os.times(), os.getloadavg()[0]
    peaks: list[Peak] = []

    def start(side: Side, port: int) -> subprocess.Popen[str]:
        (folder / f"out-{side.value}.parquet").unlink(missing_ok=True)
        child = link(side, agreed, folder, port)
        peaks.append(Peak(child.pid))
        peaks[-1].__enter__()
        return child

    facts = outcomes((start(side, port) for side, port in ports()), 6 * 3600)[0]
    seconds = time.perf_counter() - began
    for peak in peaks:
        peak.__exit__()
    busy = sum(os.times()[2:4]) - sum(before[2:4])
    found, true = _pairs(folder / "out-A.parquet"), _pairs(folder / "truth.parquet")
    right = len(np.intersect1d(found, true))
    values = (
        *(protocol, "places" if places else "people", records, len(agreed.passes), facts["comparisons"]),
        *(facts["matches"], len(true), round(right / len(true), 4), round(right / max(1, len(found)), 4)),
        *(facts["bytes"], round(seconds / 60, 2), round(busy / 60, 2)),
        *(peaks[0].anonymous, peaks[1].anonymous, round(load, 1), platform.machine()),
        *(round(_count_covered(agreed, folder), 5), round(planned.covered or 0.0, 5)),
        *(round(planned.comparisons.expected), round(planned.bytes.expected), round(planned.usual / 60, 2)),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _count_covered(agreed: Agreement, folder: Path) -> float:
    """Of both tables, the lower share of covered records."""
    samples = {}
    for side in Side:
        own = load_records(pq.read_table(folder / f"{side.value}.parquet"), agreed.fields, agreed.salt)
        samples[side] = Sample.of(side, own.columns, len(own), len(own))
    return agreed.protocol.expect_covered(agreed.task, samples)


def _pairs(path: Path) -> np.ndarray:
    table = pq.read_table(path)
    joined = zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True)
    return np.array([f"{a} {b}" for a, b in joined])


def keep(row: dict[str, object], into: Path = RESULTS) -> None:
    new = not into.exists()
    with into.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(row, flush=True)


def route_alone(records: int, words: int) -> dict[str, object]:
    """One pass, half of whose keys both sides have, with payloads of so many words."""
    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        told = pool.map(_route, Side, socket.socketpair(), [records] * 2, [words] * 2)
        return {"records": records, "payload": 8 * words, **{k: v for one in told for k, v in one.items()}}


def _route(side: Side, end: socket.socket, records: int, words: int) -> dict[str, object]:
    """One side, after a small pass: then all loops are loaded. In the end the asker puts shares together."""
    channel, meter = SocketChannel(end), Meter()
    run(_pass(side, _WARM, _payloads(_WARM, words)), channel)
    payloads = _payloads(records if side is Side.B else 0, words)
    party, began, busy = _pass(side, records, payloads), time.perf_counter(), time.process_time()
    with Peak(os.getpid()) as peak:
        record, held = run(meter_party(party, meter), channel)
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
    if side is Side.B:
        channel.send(held.reshape(-1).view(np.uint8).data)
        channel.close()
    else:
        masks = np.frombuffer(channel.receive(held.nbytes), np.uint64).reshape(held.shape)
        met = (held + masks == _payloads(records, words)[record - records // 2]).all(axis=1)
        if np.sum(met & (record >= records // 2)) != records - records // 2:
            raise SystemExit("the shares do not make the payloads")
    took = {"sent": meter.sent, "seconds": round(seconds, 1), "processor_seconds": round(processor, 2)}
    return {f"{name}_{side.value}": value for name, value in (took | {"mib": peak.anonymous}).items()}


def _pass(side: Side, records: int, payloads: np.ndarray) -> Party[tuple[np.ndarray, np.ndarray]]:
    """A's keys are 0 and on, those of B half as many higher. A asks."""
    words = payloads.shape[1]
    lane = Lane(0, dict.fromkeys(Side, records), dict.fromkeys(Side, 2), Side.A)
    first, ranks = records // 2 * (side is Side.B), np.random.default_rng(1).integers(0, 2, records)
    own = Placing(np.arange(records), np.arange(first, first + records, dtype=np.uint64), ranks, 0)
    function = Binned(side, System(), lane.bins)
    yield from function.meet()
    if side is Side.A:
        return (yield from route_asked(function, lane, own, words, System()))
    tops = np.full(words, 1 << 63, np.uint64)
    return own.record, (yield from route_listed(function, lane, own, payloads, tops, System()))


def _payloads(records: int, words: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 1 << 63, (records, words), np.uint64)


def slope() -> float:
    """Of processor time against records, on log-log axes."""
    with RESULTS.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["protocol"], row["kind"]) == ("routed", "people")]
    records = np.log([float(row["records"]) for row in rows])
    return float(np.polyfit(records, np.log([float(row["processor_minutes"]) for row in rows]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int, nargs="*")
    parser.add_argument("--laplace", action="store_true")
    parser.add_argument("--cascade", action="store_true")
    parser.add_argument("--slope", action="store_true")
    parser.add_argument("--places", action="store_true")
    parser.add_argument("--routing", action="store_true")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for records in asked.records:
        if asked.make:
            make(records, asked.make, asked.places)
            continue
        if asked.routing:
            for words in PAYLOADS:
                print(route_alone(records, words), flush=True)
            continue
        with tempfile.TemporaryDirectory() as name:
            # Tables are made by another process, so that this one's memory is not in anybody's way.
            own = [sys.executable, "-m", "benchmarks.routed", str(records), "--make", name]
            own += ["--places"] if asked.places else []
            subprocess.run(own, check=True)
            others = [name for name, given in ((CASCADE, asked.cascade), ("laplace", asked.laplace)) if given]
            for protocol in ("routed", *others):
                into = CASCADES if protocol == CASCADE else RESULTS
                keep(measure(records, Path(name), protocol, asked.places), into)
    if asked.plan:
        price_all()
    if asked.slope:
        print(f"slope {slope():.3f}")


if __name__ == "__main__":
    main()
