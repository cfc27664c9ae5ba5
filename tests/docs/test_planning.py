"""The table of plans and runs, and what the page says of it, are those of the committed results."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.plan import _read, tell

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "planning.md").read_text()
ROWS = _read(DOCS / "results" / "plan.csv")


def test_the_table_is_what_was_measured() -> None:
    table = PAGE[PAGE.index("| setting | seed |") :].splitlines()[2:]
    assert len(ROWS) > 20
    assert table == [tell(row) for row in ROWS]


def test_what_is_said_of_it_is_true() -> None:
    told = re.search(
        r"Without greedy, comparisons were at most ([\d.]+)% off and bytes ([\d.]+)%; with greedy "
        r"([\d.]+)% and "
        r"([\d.]+)%, within a range whose ends\s+were at most\s+([\d.]+) times apart",
        PAGE,
    )
    assert told
    found = [most(greedy, name) for greedy in ("False", "True") for name in ("off", "bytes_off")]
    # Of what is rounded twice the last digit may differ by one.
    assert all(abs(float(said) - 100 * is_) < 0.11 for said, is_ in zip(told.groups(), found, strict=False))
    apart = max(int(row["planned_high"]) / int(row["planned_low"]) for row in ROWS if row["greedy"] == "True")
    assert apart <= float(told[5]) + 0.05
    assert all(row["inside"] == row["inside_counts"] == "True" for row in ROWS)


def most(greedy: str, name: str) -> float:
    return max(abs(float(row[name])) for row in ROWS if row["greedy"] == greedy)
