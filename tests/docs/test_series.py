"""The table of costs on the page about series is that of the committed results."""

from __future__ import annotations

import csv
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_costs_is_what_was_counted_and_measured() -> None:
    page = (DOCS / "series.md").read_text()
    with (DOCS / "results" / "series.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        busy = f"{row['processor_minutes']} min" if row["processor_minutes"] else ""
        line = (
            f"| {row['how']} | {int(row['records']):,} | {row['runs']} | {row['habit']} | {row['buckets']} | "
            f"{row['epsilon']} | {int(row['comparisons']):,} | {int(row['bytes']) / 1e9:,.1f} GB | "
            f"{row['f1']} | {busy} |"
        )
        assert line.replace("|  |", "| |") in page
    counted = {row["habit"]: int(row["comparisons"]) for row in rows if row["how"] == "counted"}
    more, as_many = counted["series"] / counted["anew, own bins"], counted["anew, same ε"] / counted["series"]
    assert f"takes {100 * (more - 1):.0f} % more comparisons" in page
    assert f"{as_many:.1f} times as many" in page
