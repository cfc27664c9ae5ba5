"""Sparse places beside a fuzzy intersection: what each sends and takes, and what each assumes.

No experiment of the laboratory makes these rows. Accord's are those of `python -m benchmarks.routed --places`
(`routed.csv`), the other's were measured once with its own program on its own points (`fuzzy.csv`), which lie
further apart than ours.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from reproduction.wording import joined, plain

Found = Mapping[str, str]
EDGE, CELL = 1 << 17, 20
"""Of the square in which Accord's points lie, and of a cell of routing, in metres."""
_PROMISES = {
    "routed": "ε = 0 where no cell has more than two points of a side; of more, two take part",
    "laplace": "ε = 1.6, wherever points lie",
}


def fuzzy_text(results: Path) -> str | None:
    """The section as Markdown; None where its rows are not there."""
    others = _read(results / "fuzzy.csv")
    places = [row for row in _read(results / "routed.csv") if row["kind"] == "places"]
    if not others or not places:
        return None
    other = others[0]
    # Of several runs the last counts.
    own = {row["protocol"]: row for row in places if row["records"] == other["records"]}
    lines = [
        "| | promise; what is assumed | comparisons | MB, both ways | processor seconds, both | memory | "
        "processor |",
        "|---|---|---|---|---|---|---|",
        *(_line(own[protocol]) for protocol in _PROMISES),
        f"| {other['name']} ({other['source']}) | no noise; no two points of a side may share a cell | | "
        f"{other['megabytes']} | {other['processor_seconds']} | {other['memory_gb']} GB | "
        f"{other['processor']} |",
    ]
    return "\n".join(lines) + f"\n\n{_says(own, other)}"


def _read(path: Path) -> list[Found]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def _line(row: Found) -> str:
    memory = (int(row["anonymous_mib_a"]) + int(row["anonymous_mib_b"])) * 2**20 / 1e9
    return (
        f"| `{row['protocol']}` | {_PROMISES[row['protocol']]} | {int(row['comparisons']):,} | "
        f"{int(row['bytes']) / 1e6:.0f} | {60 * float(row['processor_minutes']):.0f} | {memory:.1f} GB | "
        f"{row['processor']} |"
    )


def _says(own: Mapping[str, Found], other: Found) -> str:
    records, name = int(other["records"]), other["name"]
    ratios = joined(
        f"{plain(int(own[each]['bytes']) / 1e6 / float(other['megabytes']))} times (`{each}`)"
        for each in _PROMISES
    )
    found = own["routed"]
    return (
        f"{records:,} points on each side; two match that are at most {other['distance']} apart. Accord: "
        f"metres in a square of {EDGE:,}, two processes with `accord link` over TLS, from start to end, and "
        f"the memory of both; both get the pairs, {int(found['matches']):,} of {int(found['true']):,}. "
        f"{name}: its own points, uniform in a square of {int(other['edge']):,}, in memory, without a "
        f"network; one side gets the result. Accord sends {ratios} what {name} sends; times are of different "
        f"processors, and no ratio of them is meant. Where two points of a side share a cell {name} ends in "
        f"'duplicate keys'. Its own points lie too far apart for that; of Accord's, nearly uniform, too, "
        f"{_sharing(records, CELL):.0f} pairs of a side are expected in one cell if cells have {CELL} m, as "
        f"in the routed run, and {_sharing(records, CELL // 2):.0f} if they have {CELL // 2} m: these it "
        f"cannot link. `python -m benchmarks.routed {records} --places --laplace` "
        f"([results](results/routed.csv)); {name} was measured once ([results](results/fuzzy.csv))."
    )


def _sharing(records: int, cell: int) -> float:
    """Pairs of one side's points in one cell, as expected."""
    return records * (records - 1) / 2 * (cell / EDGE) ** 2
