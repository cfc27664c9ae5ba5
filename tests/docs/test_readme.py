"""What README promises of speed is in the committed results."""

from __future__ import annotations

import csv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_about_five_seconds() -> None:
    page = (ROOT / "README.md").read_text()
    assert "5,000 records per side, which the paper puts at 80 hours, takes about five seconds here" in page
    with (ROOT / "docs" / "results" / "link.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["link"] == "loopback" and row["per_day"] == "5000"]
    assert len(rows) >= 3
    assert all(4 < float(row["linkage_seconds"]) < 5.5 for row in rows)
