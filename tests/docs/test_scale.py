"""The table of sizes on the page about scale is that of the committed results."""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.scale import slope

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_sizes_is_what_was_measured() -> None:
    page = (DOCS / "scale.md").read_text()
    with (DOCS / "results" / "scale.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    last = rows[-1]["processor"]
    assert len({row["records"] for row in rows if row["workers"] == "1" and row["processor"] == last}) >= 5
    for row in rows:
        most = max(int(row["anonymous_mib_a"]), int(row["anonymous_mib_b"]))
        line = (
            f"| {int(row['records']):,} | {row['processor']} | {row['workers']} | "
            f"{int(row['comparisons']):,} | "
            f"{int(row['bytes']) / 1e9:.1f} GB | {row['minutes']} | "
            f"{row['processor_minutes']} | {most:,} MiB |"
        )
        assert line in page


def test_the_slope_is_that_of_the_results() -> None:
    assert f"has a slope of {slope():.2f} on log-log axes" in (DOCS / "scale.md").read_text()
