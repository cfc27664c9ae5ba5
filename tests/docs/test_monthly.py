"""The table of costs on the page about linking every month is that of the committed results."""

from __future__ import annotations

import csv
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
EPSILON = {"routed": 0.0, "laplace": 1.6}


def test_the_table_of_costs_is_so_many_measured_runs() -> None:
    page = (DOCS / "monthly.md").read_text()
    with (DOCS / "results" / "routed.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["kind"], row["records"]) == ("people", "100000")]
    measured = {row["protocol"]: row for row in rows}
    for protocol, often, runs in (
        ("routed", "every month", 12),
        ("laplace", "every month", 12),
        ("laplace", "every quarter", 4),
    ):
        row = measured[protocol]
        recall, precision = float(row["recall"]), float(row["precision"])
        f1 = 2 * recall * precision / (recall + precision)
        line = (
            f"| `{protocol}`, {often} | {runs * EPSILON[protocol]:g} | {runs * int(row['comparisons']):,} | "
            f"{runs * int(row['bytes']) / 1e9:,.1f} GB | {f1:.3f} |"
        )
        assert line in page
