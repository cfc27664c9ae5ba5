"""The five optimisation variants [HMFS17, figure 'opt'], with the spread over runs.

Each run has fresh noise on the same tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

from reproduction.lab import PAPER, Lab, Size
from reproduction.settings import EPSILONS, VARIANTS, laplace
from reproduction.sweep import Experiment, Measures, Point


def points(size: Size) -> Sequence[Point]:
    """The smallest and the largest number of days, every variant, ε and noise."""
    return [
        {
            "data": data, "days": days, "per_day": size.per_day(data), "variant": variant, "noise": noise,
            "epsilon": epsilon, "runs": size.runs,
        }
        for data in ("ab", "taxi")
        for days in variant_days(size, data)
        for noise in size.noises(data)
        for epsilon in EPSILONS
        for variant in VARIANTS
        if not (days > 1 and data == "taxi" and noise != PAPER)
    ]  # fmt: skip


def variant_days(size: Size, data: str) -> list[int]:
    """The smallest and the largest number of days; where it must be quick, the smallest alone."""
    days = size.days(data)
    return [days[0]] if size.is_quick else sorted({days[0], days[-1]})


def run(lab: Lab, point: Point) -> Measures:
    """Mean and standard deviation of the cost."""
    setup = lab.setup(str(point["data"]), int(point["days"]), int(point["per_day"]))
    agreed = laplace(setup.agreement, point["epsilon"], variant=str(point["variant"]))
    found = [
        setup.counter.count(agreed, lab.seed, number, str(point["noise"]))
        for number in range(int(point["runs"]))
    ]
    costs = [count.comparisons for count in found]
    total = max(1, setup.counter.all_matches)
    return {
        "n": len(setup.made.a),
        "all_pairs": setup.counter.all_pairs,
        "cost": mean(costs),
        "cost_sd": stdev(costs) if len(costs) > 1 else 0.0,
        "recall": mean(count.matches for count in found) / total,
        "recall_least": min(count.matches for count in found) / total,
    }


VARIANT = Experiment(
    name="variants",
    version=1,
    parameters=("data", "days", "per_day", "variant", "noise", "epsilon", "runs"),
    measures=("n", "all_pairs", "cost", "cost_sd", "recall", "recall_least"),
    points=points,
    run=run,
)
