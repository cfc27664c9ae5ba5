"""The table of sizes on the page about more cores, and what it says of them, are committed results."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from benchmarks.scale import slope

DOCS = Path(__file__).parents[2] / "docs"


PAGE = (DOCS / "cores.md").read_text()


def test_the_table_of_sizes_is_what_was_measured() -> None:
    with (DOCS / "results" / "scale.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    last = rows[-1]["processor"]
    assert len({row["records"] for row in rows if row["workers"] == "1" and row["processor"] == last}) >= 5
    measured = []
    for row in rows:
        most = max(int(row["anonymous_mib_a"]), int(row["anonymous_mib_b"]))
        measured.append(
            f"| {int(row['records']):,} | {row['processor']} | {row['workers']} | "
            f"{int(row['comparisons']):,} | "
            f"{int(row['bytes']) / 1e9:.1f} GB | {row['minutes']} | "
            f"{row['processor_minutes']} | {most:,} MiB |"
        )
    table = PAGE[PAGE.index("| places per side |") :].split("\n\n")[0].splitlines()[2:]
    assert len(table) > 3
    assert [line for line in table if line not in measured] == []


def test_the_slope_is_that_of_the_results() -> None:
    assert f"has a slope of {slope():.2f} on log-log axes" in " ".join(PAGE.split())


def test_what_sharing_costs_is_in_the_table() -> None:
    """Of the size that is there with one worker and with two."""
    minutes = re.findall(r"^\| 250,000 \| aarch64 \| ([12]) \|.*\| ([\d.]+) \| [\d,]+ MiB \|$", PAGE, re.M)
    (_, alone), (_, shared) = sorted(minutes)
    more = 100 * (float(shared) / float(alone) - 1)
    assert f"Two workers took {more:.1f} % more processor time" in " ".join(PAGE.split())
