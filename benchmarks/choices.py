"""What the policy of planning takes, as tables grow: the choice beside all pairs and beside bins.

`python -m benchmarks.choices` settles each template for each size (`accord init --template KIND --records N
N`), plans it, writes docs/results/choices.csv and prints the rows of which docs/epsilon.md has some. Nothing
is linked: times and bytes are those of the plan, on the machine whose times are written down.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter_text
from accord.drafting.how import fit_template
from accord.planning.figures import Option, cost
from accord.planning.plan import PlanQuestion, agreed_network, make_plan
from accord.wording import lasting, sized

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "choices.csv"
KINDS = ("people", "products")
SIZES = (100, 1_000, 5_000, 10_000, 100_000, 1_000_000, 10_000_000)
COLUMNS = (
    "kind", "records", "choice", "epsilon", "recall", "covered", "comparisons", "bytes", "seconds", "same",
    "all_pairs_bytes", "all_pairs_seconds", "bins_bytes", "bins_seconds", "planning_seconds",
)  # fmt: skip


def measure(kind: str, records: int) -> dict[str, object]:
    """One row: what a template becomes for so many records, and what a plan says of it."""
    starter = parse_agreement(fit_template(kind, "00000000", (records, records)), kind)
    began = time.process_time()
    found = make_plan(starter, PlanQuestion((records, records), agreed_network(starter)))
    taken = time.process_time() - began
    choice = found.choice
    return dict(
        zip(
            COLUMNS,
            (
                *(kind, records, choice.tell(), choice.largest_epsilon, choice.tell_recall()),
                choice.tell_covered(),
                *(round(choice.comparisons.expected), round(choice.bytes.expected), round(choice.usual, 1)),
                choice.agreed,
                *_told(_least(kind, records, lambda one: one.all_pairs)),
                *_told(_least(kind, records, _is_bins)),
                round(taken, 1),
            ),
            strict=True,
        )
    )


def _least(kind: str, records: int, wanted: Callable[[Option], bool]) -> Option:
    """The cheapest of these options: of the template as it ships, planned again while that helps."""
    agreed, best = parse_agreement(starter_text(kind, "00000000"), kind), None
    while True:
        found = make_plan(agreed, PlanQuestion((records, records), agreed_network(agreed)))
        least = min(filter(wanted, found.options), key=cost, default=best)
        assert least is not None
        if best is not None and cost(least) >= cost(best):
            return best
        agreed, best = least.agreement, least


def _is_bins(option: Option) -> bool:
    return option.protocol == "laplace" and option.largest_epsilon == 1.6


def _told(option: Option) -> tuple[int, float]:
    return round(option.bytes.expected), round(option.usual, 1)


def tell(row: dict[str, object]) -> str:
    """A row of the table in the docs."""

    def shown(name: str) -> str:
        seconds, octets = float(str(row[f"{name}seconds"])), int(str(row[f"{name}bytes"]))
        return f"{lasting(seconds)}, {sized(octets)}"

    days = " (more than a day: nothing sensible)" if float(str(row["seconds"])) > 86_400 else ""
    choice = str(row["choice"])
    if choice.startswith("routed"):
        choice = f"routed by {choice.count(';') + 1} keys (ε = 0 for covered records)"
    cells = (
        *(row["kind"], f"{int(str(row['records'])):,}", f"{choice}{days}", row["recall"]),
        row["covered"],
        *(shown(""), shown("all_pairs_"), shown("bins_")),
    )
    return f"| {' | '.join(map(str, cells))} |"


def rows() -> Iterator[dict[str, object]]:
    for kind in KINDS:
        for records in SIZES:
            yield measure(kind, records)


def main() -> None:
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in rows():
            writer.writerow(row)
            file.flush()
            sys.stdout.write(tell(row) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
