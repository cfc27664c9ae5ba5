"""Recall against the cost ratio over ten percentiles [HMFS17, figure 'varyprivacy'].

The default LP at 90, 80, …, 0 as the percentile where Sort & Prune stops; the cost is that of the run that
stops there, as a share of all pairs. Once ε varies at δ = 1e-5, once δ at ε = 1.6. Beside it stands all pairs
with greedy, since this LP has it: ε = 0 and δ = 0, recall 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from reproduction.lab import Lab, Size
from reproduction.settings import DELTA, DELTAS, EPSILONS, laplace
from reproduction.size import greedy_all_pairs
from reproduction.sweep import Experiment, Measures, Point, number

ALL_PAIRS = "none"
"""The noise of all pairs: it needs none."""
PERCENTILES = (90, 80, 70, 60, 50, 40, 30, 20, 10, 0)
SETTINGS = (*((epsilon, DELTA) for epsilon in EPSILONS), *(("1.6", delta) for delta in DELTAS[1:]))


def points(size: Size) -> Sequence[Point]:
    """One day of both set-ups."""
    greedy: list[Point] = [
        {"data": data, "days": 1, "per_day": size.per_day(data), "noise": ALL_PAIRS, "epsilon": "0",
         "delta": "0", "prune": 0, "runs": 1}
        for data in ("ab", "taxi")
    ]  # fmt: skip
    return greedy + [
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
    return PERCENTILES[::3] if data == "taxi" and size.is_quick else PERCENTILES


def run(lab: Lab, point: Point) -> Measures:
    """The mean recall and cost ratio of the runs."""
    where = str(point["data"]), int(point["days"]), int(point["per_day"])
    if point["noise"] == ALL_PAIRS:
        whole = greedy_all_pairs(lab, *where)
        ratio = number(whole, "cost") / number(whole, "n") ** 2
        return {"cost": whole["cost"], "ratio": ratio, "recall": whole["recall"]}
    setup = lab.setup(*where)
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
