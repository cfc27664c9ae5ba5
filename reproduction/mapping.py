"""Recall against the rule, as in the paper, beside recall against the true pairs.

The rule (same day, same brand, Hamming ≤ 5) is not the truth: it misses true pairs that are spelt too
differently and accepts some false ones. A protocol can be measured against either; here stand both.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from accord import simulate
from accord.agreement.adjusting import adjust
from accord.simulation.truth import score
from reproduction.lab import PAPER, Lab, Size
from reproduction.settings import laplace
from reproduction.sweep import Experiment, Measures, Point


def points(size: Size) -> Sequence[Point]:
    """One day of AB under LP and under PSI."""
    return [
        {"data": "ab", "days": 1, "per_day": size.ab_per_day, "method": method}
        for method in ("laplace", "psi")
    ]


def run(lab: Lab, point: Point) -> Measures:
    """What the protocol finds, against the rule and against the truth."""
    made, agreed = lab.tables(str(point["data"]), int(point["days"]), int(point["per_day"]))
    if point["method"] == "psi":
        found = simulate(made.a, made.b, adjust(agreed, protocol="psi"), seed=lab.seed)
    else:
        found = simulate(made.a, made.b, laplace(agreed, "1.6"), noise=PAPER, seed=lab.seed)
    true = made.truth.cast(pa.schema([(name, pa.large_string()) for name in ("id_a", "id_b")]))
    scores = score(found.pairs, true)
    return {
        "matches": found.matches,
        "recall": found.recall,
        "precision": found.precision,
        "true_pairs": scores.true_pairs,
        "recall_of_truth": scores.truth_recall,
        "precision_of_truth": scores.truth_precision,
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
    points=points,
    run=run,
)  # fmt: skip
