"""The table of sizes on the page about scale is that of the committed results."""

from __future__ import annotations

import csv
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_sizes_is_what_was_measured() -> None:
    page = (DOCS / "scale.md").read_text()
    with (DOCS / "results" / "scale.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 2
    for row in rows:
        most = max(int(row["anonymous_mib_a"]), int(row["anonymous_mib_b"]))
        line = (
            f"| {int(row['records']):,} | {int(row['comparisons']):,} | {int(row['bytes']) / 1e9:.1f} GB | "
            f"{row['processor_minutes']} | {most:,} MiB |"
        )
        assert line in page
