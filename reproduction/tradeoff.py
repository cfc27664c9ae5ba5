"""Recall against the cost ratio over ten percentiles [HMFS17, figure 'varyprivacy'].

The default LP at 90, 80, …, 0 as the percentile where Sort & Prune stops; the cost is that of the run that
stops there, as a share of all pairs. Once ε varies at δ = 1e-5, once δ at ε = 1.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from reproduction.lab import Lab, Size
from reproduction.settings import DELTA, DELTAS, EPSILONS, laplace
from reproduction.sweep import Experiment, Measures, Point

PERCENTILES = (90, 80, 70, 60, 50, 40, 30, 20, 10, 0)
SETTINGS = (*((epsilon, DELTA) for epsilon in EPSILONS), *(("1.6", delta) for delta in DELTAS[1:]))


def points(size: Size) -> Sequence[Point]:
    """One day of both set-ups."""
    return [
        {
            "data": data, "days": 1, "per_day": size.per_day(data), "noise": noise, "epsilon": epsilon,
            "delta": delta, "prune": prune, "runs": 1 if data == "taxi" else size.runs,
        }
        for data in ("ab", "taxi")
        for noise in size.noises(data)
        for epsilon, delta in SETTINGS
        for prune in percentiles(size, data)
    ]  # fmt: skip


def percentiles(size: Size, data: str) -> tuple[int, ...]:
    """All ten; where it must be quick, every third for Taxi."""
    return PERCENTILES if data == "ab" or size.name == "full" else PERCENTILES[::3]


def run(lab: Lab, point: Point) -> Measures:
    """The mean recall and cost ratio of the runs."""
    setup = lab.setup(str(point["data"]), int(point["days"]), int(point["per_day"]))
    agreed = laplace(setup.agreement, point["epsilon"], point["delta"], prune=int(point["prune"]))
    found = [
        setup.counter.count(agreed, lab.seed, number, str(point["noise"]))
        for number in range(int(point["runs"]))
    ]
    cost = mean(count.comparisons for count in found)
    return {
        "cost": cost,
        "ratio": cost / setup.counter.all_pairs,
        "recall": mean(count.matches for count in found) / max(1, setup.counter.all_matches),
    }


TRADEOFF = Experiment(
    name="tradeoff",
    version=1,
    parameters=("data", "days", "per_day", "noise", "epsilon", "delta", "prune", "runs"),
    measures=("cost", "ratio", "recall"),
    points=points,
    run=run,
)
