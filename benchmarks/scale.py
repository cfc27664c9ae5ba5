"""What a linkage takes as tables grow: `python -m benchmarks.scale 30000 100000`.

Places that hardly match (2 % do), in metres of a national grid, on a map that grows with them, so that a bin
holds as many records whatever the size and the comparisons grow with the records alone: a match is within
100 m in the same hour, and a cell is 500 m wide. Two processes link them by `accord link`, over TLS,
each with its own state, without greedy. Counted are the processor time of both and of all their workers, what
passed between them, and the most anonymous memory of each coordinator.

A size is written to `docs/results/scale.csv` when it is done, with the processor and the load of the
machine: minutes mean something on an idle machine alone, processor time nearly everywhere. `--slope` fits the
processor time against the records on log-log axes, for the kind of processor that measured the last size.
`--alone` does what one core of a side does alone before anything is compared: reading, pricing the run ahead,
digests, placing, padding, shuffling and committing; its processor time and its most anonymous memory go to
`docs/results/alone.csv`.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.agreement.file import read_agreement
from accord.entropy import System
from accord.fields.load import load_records
from accord.planning.plan import Own, PlanQuestion, agreed_network, price_agreed
from accord.protocols.parts.slots import commitments, content_digest, make_slots
from accord.side import Side
from accord.table.sinks.files import write_table
from benchmarks.linkage import introduce, link, outcomes, ports
from benchmarks.memory import Peak
from reproduction.places import places_agreement

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "scale.csv"
COLUMNS = (
    *("records", "epsilon", "workers", "comparisons", "matches", "bytes"),
    *("minutes", "processor_minutes", "anonymous_mib_a", "anonymous_mib_b", "load", "processor"),
)
ALONE = RESULTS.with_name("alone.csv")
ALONE_COLUMNS = ("records", "seconds", "of_which_ahead", "anonymous_mib", "processor")
CELL, REACH = 500, 100
"""Metres."""
EPSILON = "3"
IN_A_BIN = 24
"""Records of a side: near the least of comparisons at this ε."""
_SHARED = 0.02
_BLOCK, _WIDE = 900, 50
"""In so many metres there is one street of A's own records, one of B's own and one of shared ones, each so
wide, and more than the reach apart."""
_FROM = {"A": 50, "B": 300, "shared": 600}


def edge(records: int) -> int:
    """Of the map."""
    return max(2, round(math.sqrt(records / (24 * IN_A_BIN)))) * CELL


def agree(records: int) -> Agreement:
    """The starter for places, with such a map."""
    plain = places_agreement().model_dump(mode="json")
    metres = {"type": "number", "min": 0, "max": edge(records) - 1, "step": 1}
    plain["fields"] = {"hour": plain["fields"]["hour"], "east": metres, "north": metres}
    plain["rule"] = f"same(hour) and euclidean(east, north) <= {REACH}"
    plain["blocking"][1] |= {"fields": ["east", "north"], "cell": CELL, "reach": REACH}
    plain["disclose"] = {side: ["hour", "east", "north"] for side in ("A", "B")}
    plain["protocol"]["greedy"] = False
    for side in ("A", "B"):
        plain["protocol"][side]["epsilon"] = EPSILON
    return Agreement.model_validate(plain)


def place(records: int, side: str, seed: int) -> pa.Table:
    """One side's table; the shared records are the same draw on both, and B's are moved by up to 60 m."""
    common, own = np.random.default_rng([seed, 0]), np.random.default_rng([seed, ord(side)])
    shared = round(records * _SHARED)
    points, hours = _draw(common, shared, records, "shared")
    if side == "B":
        points = points + own.integers(-60, 61, points.shape)
    more, more_hours = _draw(own, records - shared, records, side)
    at = np.clip(np.concatenate([points, more]), 0, edge(records) - 1)
    order = own.permutation(records)
    hour = np.concatenate([hours, more_hours])
    columns = {"hour": hour[order], "east": at[order, 0], "north": at[order, 1]}
    return pa.table({"id": pa.array(order).cast(pa.string()), **columns})


def _draw(
    rng: np.random.Generator, count: int, records: int, street: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    size = edge(records)
    blocks = rng.integers(0, size // _BLOCK, count)
    east = blocks * _BLOCK + _FROM[street] + rng.integers(0, _WIDE, count)
    points = np.column_stack([east, rng.integers(0, size, count)])
    return points, rng.integers(0, 24, count)


def measure(records: int, folder: Path, workers: int) -> dict[str, object]:
    """Both sides, until they are done."""
    agreed = read_agreement(folder / "agreement.toml")
    introduce(agreed, folder)
    began, before, load = time.perf_counter(), os.times(), os.getloadavg()[0]
    peaks: list[Peak] = []

    def start(side: Side, port: int) -> subprocess.Popen[str]:
        child = link(side, agreed, folder, port, workers)
        peaks.append(Peak(child.pid))
        peaks[-1].__enter__()
        return child

    facts = outcomes((start(side, port) for side, port in ports()), 6 * 3600)[0]
    for peak in peaks:
        peak.__exit__()
    busy = sum(os.times()[2:4]) - sum(before[2:4])
    values = (
        *(records, EPSILON, workers, facts["comparisons"], facts["matches"], facts["bytes"]),
        *(round((time.perf_counter() - began) / 60, 2), round(busy / 60, 2)),
        *(peaks[0].anonymous, peaks[1].anonymous, round(load, 1), platform.machine()),
    )
    return dict(zip(COLUMNS, values, strict=True))


def prepare(folder: Path) -> dict[str, object]:
    """What a side does by itself, until there is something to compare."""
    agreed = read_agreement(folder / "agreement.toml")
    task, side, began = agreed.task, Side.A, time.process_time()
    with Peak(os.getpid()) as peak:
        shown = agreed.disclosed(side)
        records = load_records(folder / "A.parquet", agreed.fields, agreed.salt, shown)
        read = time.process_time()
        question = PlanQuestion((records.size, records.size), agreed_network(agreed))
        price_agreed(agreed, question, Own(side, records))
        ahead = time.process_time() - read
        content_digest(task.blocking, side, records)
        noise = agreed.protocol.release(task, side, records.size).draw(records, System())
        slots = make_slots(task.blocking, side, records, noise, System())
        commitments(slots, side)
        schedule = agreed.protocol.schedule(task, (slots.counts, slots.counts))
        assert schedule is not None
        schedule.next()
    seconds = round(time.process_time() - began, 1)
    values = (records.size, seconds, round(ahead, 1), peak.anonymous, platform.machine())
    return dict(zip(ALONE_COLUMNS, values, strict=True))


def keep(row: dict[str, object], path: Path) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(row, flush=True)


def slope() -> float:
    """Of processor time against records, on log-log axes."""
    with RESULTS.open(newline="") as file:
        every = list(csv.DictReader(file))
    rows = [row for row in every if row["workers"] == "1" and row["processor"] == every[-1]["processor"]]
    records = np.log([float(row["records"]) for row in rows])
    minutes = np.log([float(row["processor_minutes"]) for row in rows])
    return float(np.polyfit(records, minutes, 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int, nargs="*")
    parser.add_argument("--workers", type=int, default=1, help="of each side")
    parser.add_argument("--slope", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--prepare", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.prepare:
        keep(prepare(asked.prepare), ALONE)
        return
    for records in asked.records:
        if asked.make:
            for side in Side:
                write_table(place(records, side.value, 1), asked.make / f"{side.value}.parquet")
            (asked.make / "agreement.toml").write_text(agree(records).to_toml())
            continue
        with tempfile.TemporaryDirectory() as name:
            # Tables are made by another process, so that this one's memory is not in anybody's way.
            own = [sys.executable, "-m", "benchmarks.scale", str(records), "--make", name]
            subprocess.run(own, check=True)
            if asked.alone:
                subprocess.run([*own[:3], "--prepare", name], check=True)
                continue
            row = measure(records, Path(name), asked.workers)
        keep(row, RESULTS)
    if asked.slope:
        print(f"slope {slope():.3f}")


if __name__ == "__main__":
    main()
