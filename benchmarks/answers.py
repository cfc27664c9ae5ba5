"""Answers beside pairs: `python -m benchmarks.answers 100000` asks generated people four questions in a run.

Two processes link so many people a side by `accord link`, over TLS: for the pairs, for how many there are,
for a table of 10 × 10 made-up groups, and for the mean of an amount that B has. The agreement is what a plan
draws up with `routed`; answers have ε = 1 each. Counted are time, processor time of both and bytes; and how
far the answer is from that of the pairs found, beside how far it is told to be, 95 times of 100. Of a table
that is the mean over its cells. A row each is written to `docs/results/answers.csv`.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from accord.agreement.document import Agreement
from accord.agreement.file import read_agreement
from accord.datasets.people import generate_people
from accord.side import Side
from accord.table.sinks.files import write_table
from benchmarks.linkage import introduce, link, outcomes, ports
from benchmarks.routed import agree, keep

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "answers.csv"
GROUPS = [f"group {n}" for n in range(1, 10)]
MOST = 1000
QUESTIONS: dict[str, dict[str, Any]] = {
    "pairs": {},
    "count": {"answer": "count", "epsilon": "1"},
    "table": {
        "answer": "table",
        "epsilon": "1",
        "by": {side: {"column": "group", "values": GROUPS} for side in "AB"},
    },
    "mean": {
        "answer": "sum",
        "epsilon": "1",
        "of": {"side": "B", "column": "amount", "low": 0, "high": MOST},
    },
}


def make(records: int, folder: Path) -> dict[Side, pa.Table]:
    """Both tables, with a group for everybody, the tenth being all others, and an amount."""
    rng, made = np.random.default_rng(7), generate_people(records, None, 1)
    tables = {}
    for side, table in ((Side.A, made.a), (Side.B, made.b)):
        groups = np.array([*GROUPS, "none of these"])[rng.integers(0, 10, len(table))]
        amounts = rng.integers(0, MOST + 1, len(table)).astype(str)
        tables[side] = table.append_column("group", pa.array(groups)).append_column(
            "amount", pa.array(amounts)
        )
        write_table(tables[side], folder / f"{side.value}.parquet")
    return tables


def asked(plain: Agreement, question: str) -> Agreement:
    nobody: dict[str, Any] = {"A": [], "B": []}
    more = {"disclose": nobody, "output": QUESTIONS[question]} if question != "pairs" else {}
    without = plain.model_dump(mode="json", exclude={"most_matches"})
    return Agreement.model_validate(without | more)


def measure(agreed: Agreement, folder: Path) -> tuple[dict[str, Any], pa.Table]:
    """One linkage; what it took, and what A wrote down."""
    (folder / "agreement.toml").write_text(agreed.to_toml())
    agreed = read_agreement(folder / "agreement.toml")
    for side in Side:
        (folder / f"out-{side.value}.parquet").unlink(missing_ok=True)
    began, before, load = time.perf_counter(), os.times(), os.getloadavg()[0]
    facts = outcomes((link(side, agreed, folder, port) for side, port in ports()), 6 * 3600)[0]
    busy = sum(os.times()[2:4]) - sum(before[2:4])
    took = {
        "comparisons": facts["comparisons"],
        "bytes": facts["bytes"],
        "minutes": round((time.perf_counter() - began) / 60, 2),
        "processor_minutes": round(busy / 60, 2),
        "load": round(load, 1),
        "processor": platform.machine(),
    }
    return took, pq.read_table(folder / "out-A.parquet")


def exact(question: str, pairs: pa.Table, tables: dict[Side, pa.Table]) -> list[float]:
    """By the pairs that were found."""
    rows = {}
    for side, name in ((Side.A, "id_a"), (Side.B, "id_b")):
        place = {found: row for row, found in enumerate(tables[side]["id"].to_pylist())}
        rows[side] = tables[side].take([place[one] for one in pairs[name].to_pylist()])
    if question == "count":
        return [len(pairs)]
    if question == "mean":
        amounts = [int(one) for one in rows[Side.B]["amount"].to_pylist()]
        return [sum(amounts), len(amounts)]
    names = [*GROUPS, "none of these"]
    cells = dict.fromkeys(((a, b) for a in names for b in names), 0)
    for pair in zip(*(rows[side]["group"].to_pylist() for side in Side), strict=True):
        cells[pair] += 1
    return list(cells.values())


def compare(question: str, answer: pa.Table, right: list[float]) -> dict[str, Any]:
    """How far the answer is off, and how far it may be."""
    told, wide = answer["value"].to_numpy(), answer["high"].to_numpy() - answer["value"].to_numpy()
    off = np.abs(told - np.array(right))
    if question == "mean":
        mean = abs(told[0] / told[1] - right[0] / right[1])
        return {
            "answer": round(float(told[0] / told[1]), 2),
            "off": round(float(mean), 3),
            "within": round(float(wide[0] / told[1]), 3),
        }
    return {"answer": int(told.sum()), "off": round(float(off.mean()), 1), "within": int(wide.mean())}


def ask(records: int) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables, plain = make(records, folder), agree(records, "routed", places=False).agreement
        introduce(plain, folder)
        pairs = None
        for question in QUESTIONS:
            took, wrote = measure(asked(plain, question), folder)
            if pairs is None:
                pairs, known = wrote, {"answer": len(wrote), "off": 0, "within": 0}
            else:
                known = compare(question, wrote, exact(question, pairs, tables))
            yield {"question": question, "records": records, **known, **took}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=int, nargs="+")
    for records in parser.parse_args().records:
        for row in ask(records):
            keep(row, RESULTS)


if __name__ == "__main__":
    main()
