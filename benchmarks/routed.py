"""Routed linkage for real: `python -m benchmarks.routed 10000 100000` links so many generated people a side.

Two processes link them by `accord link`, over TLS, each with its own state. Keys and caps are those that a
plan draws up for the size. Counted are the time from start to end, the processor time of both, what passed
between them, the most anonymous memory of each, and against the truth of the generator which share of the
true pairs was found, and F1. `--laplace` links the same tables with bins as the plan has them at ε = 1.6, in
the same run. `--slope` fits processor time against records on log-log axes.

`--places` links sparse places instead: points on a square of 131 km, in metres, one in fifty of which is near
one of the other side's. `--routing` does one pass of routing alone, with the payload of people and caps of 2,
both sides in one process, without comparisons; nothing of it is kept. A row of the others is written to
`docs/results/routed.csv` when it is done.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import subprocess
import sys
import tempfile
import time
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
from accord.network import Network
from accord.planning.plan import PlanQuestion, make_plan
from accord.protocols.parts.lanes import Lane
from accord.protocols.routing import Placing, route_asked, route_listed
from accord.secure.party import Wire, run_pair
from accord.secure.prf.oblivious import Oblivious
from accord.side import Side
from accord.table.sinks.files import write_table
from benchmarks.linkage import introduce, link, outcomes, ports
from benchmarks.memory import Peak

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "routed.csv"
COLUMNS = (
    *("protocol", "kind", "records", "passes", "comparisons", "matches", "true", "recall", "precision"),
    *("bytes", "minutes", "processor_minutes", "anonymous_mib_a", "anonymous_mib_b", "load", "processor"),
)
EDGE, NEAR = 1 << 17, 10
"""Metres."""
NETWORK = Network(1000, 0.5)
"""By which the plan is made; the engine takes the line for a slower one, and sends less."""


def agree(records: int, protocol: str, places: bool) -> Agreement:
    """What a plan has with this protocol, the quickest of those that it prices."""
    plan = make_plan(_places() if places else starter("people"), PlanQuestion((records, records), NETWORK))
    options = [
        one for one in plan.options if one.protocol == protocol and (one.largest_epsilon or 0.0) in (0.0, 1.6)
    ]
    return min(options, key=lambda one: one.seconds.expected).agreement


def _places() -> Agreement:
    plain = starter("places").model_dump(mode="json")
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
    agreed = agree(records, protocol, places)
    (folder / "agreement.toml").write_text(agreed.to_toml())
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
    )
    return dict(zip(COLUMNS, values, strict=True))


def _pairs(path: Path) -> np.ndarray:
    table = pq.read_table(path)
    joined = zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True)
    return np.array([f"{a} {b}" for a, b in joined])


def keep(row: dict[str, object]) -> None:
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(row, flush=True)


def route_alone(records: int) -> dict[str, object]:
    """One pass, half of whose keys both sides have."""
    rng, words = np.random.default_rng(1), 15
    lane = Lane(0, dict.fromkeys(Side, records), dict.fromkeys(Side, 2), Side.A)
    key = np.arange(records, dtype=np.uint64)
    ranks = [rng.integers(0, 2, records) for _ in Side]
    asks = Placing(np.arange(records), key, ranks[0], 0)
    lists = Placing(np.arange(records), key + np.uint64(records // 2), ranks[1], 0)
    payloads, tops = rng.integers(0, 1 << 63, (records, words), np.uint64), np.full(words, 1 << 63, np.uint64)
    a, b = (Oblivious(side, System()) for side in Side)
    wire, began, busy = Wire(), time.perf_counter(), time.process_time()
    asked = route_asked(a, lane, asks, words, System(), lambda count: None)
    listed = route_listed(b, lane, lists, payloads, tops, System(), lambda count: None)
    (record, held), masks = run_pair(asked, listed, wire)
    seconds, processor = time.perf_counter() - began, time.process_time() - busy
    whole = payloads[np.maximum(record - records // 2, 0)]
    met = (held + masks == whole).all(axis=1) & (record >= records // 2)
    if met.sum() != records - records // 2:
        raise SystemExit("the shares do not make the payloads")
    took = {"seconds": round(seconds, 1), "processor_seconds": round(processor, 1)}
    return {"records": records, "bytes": wire.bytes, **took}


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
    parser.add_argument("--slope", action="store_true")
    parser.add_argument("--places", action="store_true")
    parser.add_argument("--routing", action="store_true")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for records in asked.records:
        if asked.make:
            make(records, asked.make, asked.places)
            continue
        if asked.routing:
            print(route_alone(records), flush=True)
            continue
        with tempfile.TemporaryDirectory() as name:
            # Tables are made by another process, so that this one's memory is not in anybody's way.
            own = [sys.executable, "-m", "benchmarks.routed", str(records), "--make", name]
            own += ["--places"] if asked.places else []
            subprocess.run(own, check=True)
            for protocol in ("routed", "laplace") if asked.laplace else ("routed",):
                keep(measure(records, Path(name), protocol, asked.places))
    if asked.slope:
        print(f"slope {slope():.3f}")


if __name__ == "__main__":
    main()
