"""Cost against data size [HMFS17, figures 'greedy_recall100' and 'greedy_recall95'].

`cost` is secure comparisons; for PSI with expansion it is the paper's estimate γ·n·ln ln n of operations on
encrypted values, with γ the values that the rule accepts for a record. `basic` is LP without its
optimisations, `laplace` the paper's default: with greedy and sort, and where it may miss some also prune.
`recall` is measured for `laplace`; it is 1 by definition for the others, which compare every pair that can
match: both blockings are complete.

`all-pairs` is without greedy, as in the paper; `all-pairs-greedy` is with it, as `laplace` is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean, stdev

from accord import Agreement
from reproduction.lab import Lab, Setup, Size
from reproduction.protocols.balls import expansion
from reproduction.settings import EPSILONS, PRUNED, all_pairs, laplace
from reproduction.sweep import Experiment, Measures, Point

BASELINES = ("all-pairs", "psi-expand", "non-private")
GREEDY = "all-pairs-greedy"


def points(size: Size) -> Sequence[Point]:
    """Both set-ups at every number of days."""
    return [
        {"data": data, "days": days, "per_day": size.per_day(data), **rest, "runs": _runs(size, data, rest)}
        for data in ("ab", "taxi")
        for days in size.days(data)
        for rest in _methods(size.noises(data))
    ]


def _methods(noises: tuple[str, ...]) -> list[dict[str, str | int]]:
    # Under a blocking of its own, so that it comes first: the others share one.
    own: list[dict[str, str | int]] = [
        {"method": name, "noise": "none", "epsilon": "0", "prune": 0} for name in (GREEDY, *BASELINES)
    ]
    return own + [
        {"method": method, "noise": noise, "epsilon": epsilon, "prune": prune}
        for noise in noises
        for epsilon in EPSILONS
        for method, prune in (("basic", 0), ("laplace", 0), ("laplace", PRUNED))
    ]


def _runs(size: Size, data: str, rest: Point) -> int:
    """Ten as in the paper; one where nothing varies, and for greedy on Taxi, where a run takes minutes."""
    if rest["method"] in (GREEDY, *BASELINES) or (data == "taxi" and rest["method"] == "laplace"):
        return 1
    return size.runs


def run(lab: Lab, point: Point) -> Measures:
    """The cost of one method at one size, the mean over the runs."""
    where = str(point["data"]), int(point["days"]), int(point["per_day"])
    if point["method"] == GREEDY:
        return greedy_all_pairs(lab, *where)
    setup = lab.setup(*where)
    if point["method"] in BASELINES:
        return {"n": len(setup.made.a), "cost": _baseline(setup, str(point["method"])), "cost_sd": 0.0,
                "recall": 1.0}  # fmt: skip
    costs, recalls = [], []
    for number in range(int(point["runs"])):
        cost, recall = _laplace(lab, setup, point, number)
        costs.append(cost)
        recalls.append(recall)
    spread = stdev(costs) if len(costs) > 1 else 0.0
    return {"n": len(setup.made.a), "cost": mean(costs), "cost_sd": spread, "recall": mean(recalls)}


def _laplace(lab: Lab, setup: Setup, point: Point, number: int) -> tuple[int, float]:
    noise = str(point["noise"])
    if point["method"] == "basic":
        agreed = laplace(setup.agreement, point["epsilon"], variant="basic")
        return setup.counter.cost(agreed, lab.seed, number, noise), 1.0
    agreed = laplace(setup.agreement, point["epsilon"], prune=int(point["prune"]))
    found = setup.counter.count(agreed, lab.seed, number, noise)
    return found.comparisons, found.matches / max(1, setup.counter.all_matches)


def greedy_all_pairs(lab: Lab, data: str, days: int, per_day: int) -> Measures:
    """All pairs with greedy: nothing varies but the order of the records, so one run."""
    _, own = lab.tables(data, days, min(per_day, 10))
    agreed = all_pairs(own)
    setup = lab.setup(data, days, per_day, agreed)
    found = setup.counter.count(agreed, lab.seed)
    recall = found.matches / max(1, setup.counter.all_matches)
    return {"n": len(setup.made.a), "cost": found.comparisons, "cost_sd": 0.0, "recall": recall}


def _baseline(setup: Setup, method: str) -> float:
    counter, records = setup.counter, len(setup.made.b)
    match method:
        case "all-pairs":
            return counter.all_pairs
        case "non-private":
            return counter.candidate_pairs
    return psi_expand_cost(gamma(setup.agreement), records)


def gamma(agreement: Agreement) -> int:
    """γ: how many values the rule accepts for a record, at most [HMFS17, §5.1]."""
    return expansion(agreement.rule, agreement.fields)


def psi_expand_cost(values: int, records: int) -> float:
    """γ·n·ln ln n [HMFS17, §5.1, metrics]."""
    return values * records * math.log(math.log(records))


SIZE = Experiment(
    name="size",
    version=1,
    parameters=("data", "days", "per_day", "method", "noise", "epsilon", "prune", "runs"),
    measures=("n", "cost", "cost_sd", "recall"),
    points=points,
    run=run,
)
