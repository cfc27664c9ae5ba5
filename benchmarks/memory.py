"""Peak memory of a linkage with very many matches, its output written to parquet.

`python -m benchmarks.memory places 300000` makes places (about 43 matches each), `taxi 16` in place of it the
paper's Taxi of so many days (300,000 pick-ups a side and day; needs the folder of real data), and `people
100000` people. Each is simulated, that is, both sides are one process, and what is counted is the memory of
that process: anonymous (what has no file behind it and cannot be dropped) and all that is resident, from a
sample every 20 ms, after the tables were made by another process. With `--linked` two processes link them by
`accord link`, over TLS, and both are measured. `--protocol plain` goes without greedy.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import accord
from accord.agreement.adjusting import adjust
from accord.agreement.file import read_agreement
from accord.datasets.people import generate_people
from accord.datasets.starter import starter
from accord.side import Side
from accord.table.sinks.files import write_table
from benchmarks.linkage import DATA, introduce, link, outcomes, ports
from reproduction.paper_data import taxi
from reproduction.places import generate_places, places_agreement


class Peak:
    """The most memory that a process has at a time, in MiB."""

    def __init__(self, process: int) -> None:
        self.anonymous = self.resident = 0
        self._facts = Path(f"/proc/{process}/status")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.02):
            try:
                facts = dict(line.split(":", 1) for line in self._facts.read_text().splitlines())
            except OSError:
                return
            if "RssAnon" not in facts:
                # It has ended, and waits to be asked how.
                continue
            self.anonymous = max(self.anonymous, int(facts["RssAnon"].split()[0]) >> 10)
            self.resident = max(self.resident, int(facts["VmRSS"].split()[0]) >> 10)


def make(kind: str, count: int, folder: Path) -> None:
    """Both tables and the agreement, in files."""
    if kind == "taxi":
        made, agreed = taxi(DATA / "taxi", days=count, seed=1)
    elif kind == "people":
        made, agreed = generate_people(count, None, 1), starter("people")
    else:
        made, agreed = generate_places(count, None, 1), places_agreement()
    write_table(made.a, folder / "A.parquet")
    write_table(made.b, folder / "B.parquet")
    (folder / "agreement.toml").write_text(agreed.to_toml())


def measure(folder: Path, protocol: str) -> None:
    """Simulate and write, and say what it took."""
    agreed = read_agreement(folder / "agreement.toml")
    if protocol == "plain":
        agreed = adjust(agreed, greedy=False)
    began, busy = time.perf_counter(), time.process_time()
    with Peak(os.getpid()) as peak:
        result = accord.simulate(folder / "A.parquet", folder / "B.parquet", agreed, seed=1)
        found = time.process_time() - busy
        write_table(result.found, folder / "pairs.parquet")
    size = (folder / "pairs.parquet").stat().st_size >> 20
    print(
        f"{result.records_a:,} + {result.records_b:,} records, {result.matches:,} matches: "
        f"{peak.anonymous:,} MiB anonymous, {peak.resident:,} MiB resident; "
        f"{time.perf_counter() - began:.0f} s, of one core {time.process_time() - busy:.0f} s, "
        f"{found:.0f} s of it to find them; {size:,} MiB of parquet",
        flush=True,
    )


def measure_linked(folder: Path, protocol: str) -> None:
    """Two processes, each with its own state."""
    agreed = read_agreement(folder / "agreement.toml")
    if protocol == "plain":
        agreed = adjust(agreed, greedy=False)
        (folder / "agreement.toml").write_text(agreed.to_toml())
    introduce(agreed, folder)
    began, before = time.perf_counter(), os.times()
    peaks: dict[str, Peak] = {}

    def start(side: Side, port: int) -> subprocess.Popen[str]:
        child = link(side, agreed, folder, port)
        peaks[side.value] = Peak(child.pid)
        peaks[side.value].__enter__()
        return child

    facts = outcomes(start(side, port) for side, port in ports())[0]
    for peak in peaks.values():
        peak.__exit__()
    busy = sum(os.times()[2:4]) - sum(before[2:4])
    each = (f"{side} {p.anonymous:,} MiB anonymous, {p.resident:,} resident" for side, p in peaks.items())
    told = "; ".join(each)
    print(
        f"{facts['matches']:,} matches in {facts['comparisons']:,} comparisons: {told}; "
        f"{time.perf_counter() - began:.0f} s, of one core {busy:.0f} s for both",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["places", "taxi", "people"])
    parser.add_argument("count", type=int)
    parser.add_argument("--protocol", choices=["greedy", "plain"], default="greedy")
    parser.add_argument("--linked", action="store_true")
    parser.add_argument("--step", choices=["make", "measure"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step == "make":
        make(asked.kind, asked.count, asked.folder)
    elif asked.step == "measure":
        (measure_linked if asked.linked else measure)(asked.folder, asked.protocol)
    else:
        with tempfile.TemporaryDirectory() as folder:
            for step in ("make", "measure"):
                own = [sys.executable, "-m", "benchmarks.memory", asked.kind, str(asked.count)]
                more = ["--protocol", asked.protocol, "--step", step, "--folder", folder]
                more += ["--linked"] * asked.linked
                subprocess.run([*own, *more], check=True)


if __name__ == "__main__":
    main()
