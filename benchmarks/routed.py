"""Routed linkage for real: `python -m benchmarks.routed 10000 100000` links so many generated people a side.

Two processes link them by `accord link`, over TLS, each with its own state. Keys and caps are those that a
plan draws up for the size. Counted are the time from start to end, the processor time of both, what passed
between them, the most anonymous memory of each, and against the truth of the generator which share of the
true pairs was found, and F1. `--laplace` links the same tables with bins as the plan has them at ε = 1.6, in
the same run. `--slope` fits processor time against records on log-log axes.

`--passes N` measures routing alone: a pass of that many records a side, without comparisons, in one process.
A row is written to `docs/results/routed.csv` when it is done.
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
import pyarrow.parquet as pq

from accord.agreement.document import Agreement
from accord.agreement.file import read_agreement
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.network import Network
from accord.planning.plan import PlanQuestion, make_plan
from accord.side import Side
from accord.table.sinks.files import write_table
from benchmarks.linkage import introduce, link, outcomes, ports
from benchmarks.memory import Peak

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "routed.csv"
COLUMNS = (
    *("protocol", "records", "passes", "comparisons", "matches", "true", "recall", "precision", "bytes"),
    *("minutes", "processor_minutes", "anonymous_mib_a", "anonymous_mib_b", "load", "processor"),
)
NETWORK = Network(1000, 0.5)
"""By which the plan is made; the engine takes the line for a slower one, and sends less."""


def agree(records: int, protocol: str) -> Agreement:
    """The starter for people as a plan has it with this protocol, the quickest of those that it prices."""
    plan = make_plan(starter("people"), PlanQuestion((records, records), NETWORK))
    options = [
        one for one in plan.options if one.protocol == protocol and (one.largest_epsilon or 0.0) in (0.0, 1.6)
    ]
    return min(options, key=lambda one: one.seconds.expected).agreement


def make(records: int, folder: Path) -> None:
    """Both tables and the truth."""
    made = generate_people(records, None, 1)
    for side, table in ((Side.A, made.a), (Side.B, made.b)):
        write_table(table, folder / f"{side.value}.parquet")
    write_table(made.truth, folder / "truth.parquet")


def measure(records: int, folder: Path, protocol: str) -> dict[str, object]:
    """Both sides, until they are done."""
    agreed = agree(records, protocol)
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
        *(protocol, records, len(agreed.passes), facts["comparisons"], facts["matches"], len(true)),
        *(round(right / len(true), 4), round(right / max(1, len(found)), 4), facts["bytes"]),
        *(round(seconds / 60, 2), round(busy / 60, 2)),
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


def slope() -> float:
    """Of processor time against records, on log-log axes."""
    with RESULTS.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["protocol"] == "routed"]
    records = np.log([float(row["records"]) for row in rows])
    return float(np.polyfit(records, np.log([float(row["processor_minutes"]) for row in rows]), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int, nargs="*")
    parser.add_argument("--laplace", action="store_true")
    parser.add_argument("--slope", action="store_true")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    for records in asked.records:
        if asked.make:
            make(records, asked.make)
            continue
        with tempfile.TemporaryDirectory() as name:
            # Tables are made by another process, so that this one's memory is not in anybody's way.
            own = [sys.executable, "-m", "benchmarks.routed", str(records), "--make", name]
            subprocess.run(own, check=True)
            for protocol in ("routed", "laplace") if asked.laplace else ("routed",):
                keep(measure(records, Path(name), protocol))
    if asked.slope:
        print(f"slope {slope():.3f}")


if __name__ == "__main__":
    main()
