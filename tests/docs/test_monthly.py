"""The table of costs on the page about linking every month is that of the committed results."""

from __future__ import annotations

import csv
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_costs_is_what_was_counted() -> None:
    page = (DOCS / "monthly.md").read_text()
    with (DOCS / "results" / "series.csv").open(newline="") as file:
        counted = {row["habit"]: row for row in csv.DictReader(file) if row["how"] == "counted"}
    for habit in ("series", "anew, own bins", "anew, same ε"):
        row = counted[habit]
        assert (row["records"], row["runs"]) == ("100000", "12")
        line = (
            f"| {habit} | {row['epsilon']} | {int(row['comparisons']):,} | "
            f"{int(row['bytes']) / 1e9:,.1f} GB | {row['f1']} |"
        )
        assert line in page
