"""Local differential privacy: recall against cost [HMFS17, appendix on the local DP protocol; MATHS §5.2].

Each record reports a randomised bin; windows from one bin to all of them trade cost for recall. Measured is
one day of AB with the best spread, once with both sides private and once with B's bins public, and beside it
stands the recall that the corrected formula expects. Cost is without greedy, as a share of all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from accord import Agreement, simulate
from reproduction.lab import Lab, Size
from reproduction.protocols.randomised_response import best_spread, compared, compared_public
from reproduction.settings import EPSILONS
from reproduction.sweep import Experiment, Measures, Point


def points(size: Size) -> Sequence[Point]:
    """A few thousand records: recall and ratio do not depend on how many there are."""
    records, runs = (2_000, 3) if size.name == "full" else (1_000, 1)
    windows = (1, 2, 4, 8, 12, 16) if size.name == "full" else (1, 8)
    return [
        {"data": "ab", "days": 1, "per_day": records, "sides": sides, "epsilon": epsilon, "window": window,
         "runs": runs}
        for sides in ("both", "one")
        for epsilon in EPSILONS
        for window in windows
    ]  # fmt: skip


def run(lab: Lab, point: Point) -> Measures:
    """The mean recall and cost of the runs."""
    setup = lab.setup(str(point["data"]), int(point["days"]), int(point["per_day"]))
    agreed = local_dp(setup.agreement, point)
    found = simulate(setup.made.a, setup.made.b, agreed, seed=lab.seed, runs=int(point["runs"]))
    return {
        "bins": agreed.plan.bins,
        "recall": found.recall,
        "expected_recall": expected(agreed.plan.bins, point),
        "ratio": found.cost_ratio,
        "all_matches": found.all_matches,
    }


def local_dp(agreement: Agreement, point: Point) -> Agreement:
    """The agreement with this window and ε; B public where one side is private."""
    private: dict[str, Any] = {"epsilon": str(point["epsilon"])}
    other = private if point["sides"] == "both" else {"public": True}
    protocol = {"name": "local-dp", "window": point["window"], "greedy": False, "A": private, "B": other}
    return Agreement.model_validate(agreement.model_dump(mode="json") | {"protocol": protocol})


def expected(bins: int, point: Point) -> float:
    """The share of matches that are compared, by the formula."""
    epsilon, window = Fraction(str(point["epsilon"])), int(point["window"])
    if point["sides"] == "one":
        return compared_public(bins, window, window, epsilon)
    spread = best_spread(bins, window, epsilon, epsilon)
    return float(compared(bins, window, spread, epsilon, epsilon))


LOCAL = Experiment(
    name="local",
    version=1,
    parameters=("data", "days", "per_day", "sides", "epsilon", "window", "runs"),
    measures=("bins", "recall", "expected_recall", "ratio", "all_matches"),
    points=points,
    run=run,
)
