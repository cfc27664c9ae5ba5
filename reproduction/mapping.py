"""Recall against the rule, as in the paper, beside recall against the true pairs.

The rule (same day, same brand, Hamming ≤ 5) is not the truth: it misses true pairs that are spelt too
differently and accepts some false ones. A protocol can be measured against either; here stand both.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from accord.simulation import adjusted, simulate
from accord.truth import score
from reproduction.cells import Experiment, Row
from reproduction.lab import PAPER, Lab, Size
from reproduction.settings import laplace


def cells(size: Size) -> Sequence[Row]:
    """One day of AB under LP and under PSI."""
    return [
        {"data": "ab", "days": 1, "per_day": size.ab_per_day, "method": method}
        for method in ("laplace", "psi")
    ]


def run(lab: Lab, cell: Row) -> Row:
    """What the protocol finds, against the rule and against the truth."""
    made, agreed = lab.tables(str(cell["data"]), int(cell["days"]), int(cell["per_day"]))
    if cell["method"] == "psi":
        found = simulate(made.a, made.b, adjusted(agreed, protocol="psi"), seed=lab.seed)
    else:
        found = simulate(made.a, made.b, laplace(agreed, "1.6"), noise=PAPER, seed=lab.seed)
    true = made.truth.cast(pa.schema([(name, pa.large_string()) for name in ("id_a", "id_b")]))
    scores = score(found.pairs, true)
    return {
        "matches": found.matches,
        "recall": found.recall,
        "precision": found.precision,
        "true_pairs": scores.true_pairs,
        "recall_of_truth": scores.recall_of_truth,
        "precision_of_truth": scores.precision_of_truth,
        "comparisons": found.comparisons,
    }


MAPPING = Experiment(
    name="mapping",
    version=1,
    parameters=("data", "days", "per_day", "method"),
    measures=(
        "matches", "recall", "precision", "true_pairs", "recall_of_truth", "precision_of_truth",
        "comparisons",
    ),
    cells=cells,
    run=run,
)  # fmt: skip
