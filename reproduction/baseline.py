"""Beyond the paper: all pairs with greedy as the fair baseline, and data where the guarantee protects many.

Greedy Match & Clean works for all pairs, too, and keeps ε = 0 [MATHS §2.5]: the paper compared LP with it
against all pairs without. And the guarantee is for records that match nothing: on the paper's Taxi nearly
every record matches something, so it protects almost none. In the sparse sets one record in fifty matches.

What all pairs with greedy costs is decided by the match graph, not by the number of pairs: the first match of
a component removes it whole, so each component takes about one row of comparisons, each record of A that
matches nothing takes one, and a row is as long as B still is. Both are in the results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction.lab import OURS, PAPER, Lab, Size
from reproduction.settings import EPSILONS, all_pairs, laplace
from reproduction.sweep import Experiment, Measures, Point

METHODS = (
    ("all-pairs", "none", "0"),
    *(("laplace", OURS, epsilon) for epsilon in EPSILONS),
    ("laplace", PAPER, "1.6"),
)
SIZES = {
    "ab": (500, 1_000, 2_000, 5_000),
    "taxi": (3_000, 10_000, 30_000, 100_000, 300_000),
    "products": (5_000,),
    "places": (30_000,),
}


def points(size: Size) -> Sequence[Point]:
    """Several sizes of both set-ups, and one of each sparse set."""
    full = size.name == "full"
    return [
        {"data": data, "per_day": records, "method": method, "noise": noise, "epsilon": epsilon}
        for data, sizes in SIZES.items()
        for records in (sizes if full else [n for n in sizes if n <= 5_000])
        for method, noise, epsilon in METHODS
    ]


def run(lab: Lab, point: Point) -> Measures:
    """The cost with greedy, and the match graph: its components, and the records that are in none."""
    data, records = str(point["data"]), int(point["per_day"])
    _, own = lab.tables(data, 1, min(records, 10))
    if point["method"] == "all-pairs":
        agreed = all_pairs(own)
        setup = lab.setup(data, 1, records, agreed)
        found = setup.counter.count(agreed, lab.seed)
    else:
        setup = lab.setup(data, 1, records)
        agreed = laplace(setup.agreement, point["epsilon"])
        found = setup.counter.count(agreed, lab.seed, noise=str(point["noise"]))
    matching_a, matching_b = setup.counter.disclosed
    return {
        "cost": found.comparisons,
        "all_pairs": setup.counter.all_pairs,
        "recall": found.matches / max(1, setup.counter.all_matches),
        "components": int(np.count_nonzero(setup.counter.joined.sizes)),
        "unmatched_a": len(setup.made.a) - matching_a,
        "unmatched_b": len(setup.made.b) - matching_b,
    }


BASELINE = Experiment(
    name="baseline",
    version=2,
    parameters=("data", "per_day", "method", "noise", "epsilon"),
    measures=("cost", "all_pairs", "recall", "components", "unmatched_a", "unmatched_b"),
    points=points,
    run=run,
)
