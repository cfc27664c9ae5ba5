"""Does Sort & Prune lower the spread of the cost? [HMFS17, §5.2.2; MATHS §14.4, claim 12]

AB at its largest number of days and ε = 0.1, the paper's noise, over many runs with fresh noise. Every run is
counted twice on the same noise, without and with prune, so that what pruning saves is known for each run: its
spread `saved_sd` adds to that of the rest where the two are independent. `ratio_low` and `ratio_high` bound
the ratio of the two standard deviations, 95 % by bootstrap over the runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reproduction.lab import PAPER, Lab, Setup, Size
from reproduction.settings import laplace
from reproduction.sweep import Experiment, Measures, Point

_VARIANTS = {"no": ("basic", "basic+SP"), "yes": ("basic+GMC+S", "basic+GMC+SP")}
_RESAMPLED = 2_000


def points(size: Size) -> Sequence[Point]:
    """Without and with greedy."""
    runs = 100 if size.name == "full" else 20
    return [
        {"data": "ab", "days": size.ab_days[-1], "per_day": size.ab_per_day, "epsilon": "0.1",
         "greedy": greedy, "runs": runs}
        for greedy in _VARIANTS
    ]  # fmt: skip


def run(lab: Lab, point: Point) -> Measures:
    """Mean and standard deviation of the cost without and with prune."""
    setup = lab.setup(str(point["data"]), int(point["days"]), int(point["per_day"]))
    whole, pruned = np.array(
        [_costs(lab, setup, point, number) for number in range(int(point["runs"]))], np.float64
    ).T
    low, high = np.quantile(_ratios(whole, pruned, lab.seed), [0.025, 0.975])
    return {
        "cost": float(whole.mean()),
        "cost_sd": float(whole.std(ddof=1)),
        "pruned_cost": float(pruned.mean()),
        "pruned_sd": float(pruned.std(ddof=1)),
        "saved_sd": float((whole - pruned).std(ddof=1)),
        "ratio_low": float(low),
        "ratio_high": float(high),
    }


def _costs(lab: Lab, setup: Setup, point: Point, number: int) -> list[int]:
    agreed = [
        laplace(setup.agreement, point["epsilon"], variant=name) for name in _VARIANTS[str(point["greedy"])]
    ]
    if point["greedy"] == "no":
        return [setup.counter.cost(each, lab.seed, number, PAPER) for each in agreed]
    return [setup.counter.count(each, lab.seed, number, PAPER).comparisons for each in agreed]


def _ratios(whole: NDArray[np.float64], pruned: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The ratio of the standard deviations in resampled runs."""
    drawn = np.random.default_rng(seed).integers(0, len(whole), (_RESAMPLED, len(whole)))
    ratios: NDArray[np.float64] = pruned[drawn].std(axis=1, ddof=1) / whole[drawn].std(axis=1, ddof=1)
    return ratios


SPREAD = Experiment(
    name="spread",
    version=1,
    parameters=("data", "days", "per_day", "epsilon", "greedy", "runs"),
    measures=("cost", "cost_sd", "pruned_cost", "pruned_sd", "saved_sd", "ratio_low", "ratio_high"),
    points=points,
    run=run,
)
