"""The tables on the page about routed linkage are those of the committed results."""

from __future__ import annotations

import csv
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "protocols" / "routed.md").read_text()
MEASURED = ("minutes", "processor_minutes", "gigabytes", "anonymous_mib_a", "anonymous_mib_b")


def rows(name: str) -> list[dict[str, str]]:
    with (DOCS / "results" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def near(said: str, value: float) -> bool:
    """Whether a number is what it is said to be, to the digits that are said."""
    digits = len(said.partition(".")[2])
    return abs(float(said.replace(",", "")) - value) <= 0.51 * 10**-digits


def test_what_was_linked_is_in_the_results() -> None:
    found = re.findall(
        r"^\| [^|]+ \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d,]+) \+ ([\d,]+) "
        r"\| ([\d.]+) \| ([\d.]+) \|$",
        PAGE,
        re.M,
    )
    assert len(found) >= 8
    runs = [[*map(float, _told(row))] for row in rows("routed.csv")]
    for line in found:
        assert any(all(near(said, value) for said, value in zip(line, run, strict=True)) for run in runs), (
            line
        )


def test_what_a_cascade_spares_is_in_the_results() -> None:
    found = re.findall(
        r"^\| ([\d,]+)" + r" \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+)" * 2 + r" \|$", PAGE, re.M
    )
    assert len(found) >= 5
    measured = {
        (row["protocol"], row["comparisons"]): row for n in ("routed", "cascade") for row in rows(f"{n}.csv")
    }
    for records, *line in found:
        for protocol, (comparisons, *said) in (("routed", line[:4]), ("cascade", line[4:])):
            row = measured[protocol, comparisons.replace(",", "")]
            values = int(row["bytes"]) / 1e6, 60 * float(row["processor_minutes"]), float(row["recall"])
            assert row["records"] == records.replace(",", "")
            assert all(near(each, value) for each, value in zip(said, values, strict=True)), line


def _told(row: dict[str, str]) -> list[str]:
    row = row | {"gigabytes": str(int(row["bytes"]) / 1e9)}
    return [row[name] for name in ("records", "comparisons", *MEASURED, "recall", "precision")]


def test_what_is_said_of_ten_million_is_what_a_plan_says() -> None:
    plans = {row["protocol"]: row for row in rows("routed-plan.csv") if row["records"] == "10000000"}
    routed, bins, every = (
        {name: float(value.strip("~")) for name, value in plans[protocol].items() if name != "protocol"}
        for protocol in ("routed", "laplace", "all-pairs")
    )
    for line in (
        f"| `routed`, ε = 0 | {routed['comparisons']:,.0f} | {routed['bytes'] / 1e9:.0f} GB | "
        f"{routed['seconds'] / 3600:.1f} h | {routed['recall']:.1%} |",
        f"| `laplace`, ε = 1.6 | {bins['comparisons'] / 1e9:.1f} billion | {bins['bytes'] / 1e12:.1f} TB | "
        f"{bins['seconds'] / 3600:.0f} h | {bins['recall']:.1%} |",
        f"| `all-pairs`, ε = 0 | {every['comparisons'] / 1e9:,.0f} billion | "
        f"{every['bytes'] / 1e12:,.0f} TB | {every['seconds'] / 86_400 / 365:.0f} years | all |",
    ):
        assert line.replace("%", " %") in PAGE
