"""Cost against data size [HMFS17, figures 'greedy_recall100' and 'greedy_recall95'].

`cost` is secure comparisons; for PSI with expansion it is the paper's estimate γ·n·ln ln n of operations on
encrypted values, with γ the values that the rule accepts for a record. `basic` is LP without its
optimisations, `laplace` the paper's default: with greedy and sort, and where it may miss some also prune.
`recall` is measured for `laplace`; it is 1 by definition for the others, which compare every pair that can
match: both blockings are complete.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, stdev

from accord.protocols.balls import expansion
from reproduction.cells import Experiment, Row
from reproduction.lab import Lab, Setup, Size
from reproduction.settings import EPSILONS, PRUNED, laplace

BASELINES = ("all-pairs", "psi-expand", "non-private")


def cells(size: Size) -> Sequence[Row]:
    """Both set-ups at every number of days."""
    return [
        {"data": data, "days": days, "per_day": size.per_day(data), **rest, "runs": _runs(size, data, rest)}
        for data in ("ab", "taxi")
        for days in size.days(data)
        for rest in _methods(size.noises(data))
    ]


def _methods(noises: tuple[str, ...]) -> list[dict[str, str | int]]:
    own: list[dict[str, str | int]] = [
        {"method": name, "noise": "none", "epsilon": "0", "prune": 0} for name in BASELINES
    ]
    return own + [
        {"method": method, "noise": noise, "epsilon": epsilon, "prune": prune}
        for noise in noises
        for epsilon in EPSILONS
        for method, prune in (("basic", 0), ("laplace", 0), ("laplace", PRUNED))
    ]


def _runs(size: Size, data: str, rest: Row) -> int:
    """Ten as in the paper; one where nothing varies, and for greedy on Taxi, where a run takes minutes."""
    if rest["method"] in BASELINES or (data == "taxi" and rest["method"] == "laplace"):
        return 1
    return size.runs


def run(lab: Lab, cell: Row) -> Row:
    """The cost of one method at one size, the mean over the runs."""
    setup = lab.setup(str(cell["data"]), int(cell["days"]), int(cell["per_day"]))
    if cell["method"] in BASELINES:
        return {"n": len(setup.made.a), "cost": _baseline(setup, str(cell["method"])), "cost_sd": 0.0,
                "recall": 1.0}  # fmt: skip
    costs, recalls = [], []
    for number in range(int(cell["runs"])):
        cost, recall = _laplace(lab, setup, cell, number)
        costs.append(cost)
        recalls.append(recall)
    spread = stdev(costs) if len(costs) > 1 else 0.0
    return {"n": len(setup.made.a), "cost": mean(costs), "cost_sd": spread, "recall": mean(recalls)}


def _laplace(lab: Lab, setup: Setup, cell: Row, number: int) -> tuple[int, float]:
    noise = str(cell["noise"])
    if cell["method"] == "basic":
        agreed = laplace(setup.agreement, cell["epsilon"], variant="basic")
        return setup.counter.cost(agreed, lab.seed, number, noise), 1.0
    agreed = laplace(setup.agreement, cell["epsilon"], prune=int(cell["prune"]))
    found = setup.counter.count(agreed, lab.seed, number, noise)
    return found.comparisons, found.matches / max(1, setup.counter.all_matches)


def _baseline(setup: Setup, method: str) -> float:
    counter, records = setup.counter, len(setup.made.b)
    match method:
        case "all-pairs":
            return counter.all_pairs
        case "non-private":
            return counter.candidate_pairs
    return psi_expand_cost(expansion(setup.agreement.rule, setup.agreement.fields), records)


def psi_expand_cost(gamma: int, records: int) -> float:
    """γ·n·ln ln n [HMFS17, §5.1, metrics]."""
    return gamma * records * math.log(math.log(records))


SIZE = Experiment(
    name="size",
    version=1,
    parameters=("data", "days", "per_day", "method", "noise", "epsilon", "prune", "runs"),
    measures=("n", "cost", "cost_sd", "recall"),
    cells=cells,
    run=run,
)
