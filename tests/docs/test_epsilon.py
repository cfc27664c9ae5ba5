"""The table of choices, and what the page says of plans and runs, are those of the committed results."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from benchmarks.choices import tell
from benchmarks.plan import _read

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "epsilon.md").read_text()
ROWS = _read(DOCS / "results" / "plan.csv")


def choices() -> list[dict[str, object]]:
    with (DOCS / "results" / "choices.csv").open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def test_the_table_of_choices_is_what_was_planned() -> None:
    table = PAGE[PAGE.index("| template | records per side |") :].split("\n\n")[0].splitlines()[2:]
    planned = [tell(row) for row in choices()]
    assert len(table) > 5
    assert [line for line in table if line not in planned] == []


def test_ten_million_records_take_more_than_a_day() -> None:
    most = [float(str(row["seconds"])) / 3600 for row in choices() if row["records"] == "10000000"]
    assert len(most) == 2
    assert min(most) > 24
    assert "For ten million records per side there is nothing sensible: more than a day" in PAGE


def test_what_is_said_of_plans_and_runs_is_true() -> None:
    told = re.search(
        r"Without greedy, comparisons were at most ([\d.]+)% off and bytes ([\d.]+)%; with greedy "
        r"([\d.]+)% and ([\d.]+)%",
        " ".join(PAGE.split()),
    )
    assert told
    assert len(ROWS) > 20
    found = [most(greedy, name) for greedy in ("False", "True") for name in ("off", "bytes_off")]
    # Of what is rounded twice the last digit may differ by one.
    assert all(abs(float(said) - 100 * is_) < 0.11 for said, is_ in zip(told.groups(), found, strict=True))
    assert all(row["inside"] == row["inside_counts"] == "True" for row in ROWS)


def most(greedy: str, name: str) -> float:
    return max(abs(float(row[name])) for row in ROWS if row["greedy"] == greedy)
