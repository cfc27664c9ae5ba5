"""Beyond the paper: one-sided replication against the paper's grid, on Taxi [MATHS §9.4].

B copies a record into every cell that its θ-ball touches, and only equal cells are compared; so cells can be
larger than the paper's, and each is compared with one instead of nine. Both with the noise that needs the
fewest dummies, so that the difference is the blocking's alone; the paper's noise on its own grid beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.lab import PAPER, Lab, Size
from reproduction.paper_data import taxi_agreement
from reproduction.settings import EPSILONS, laplace
from reproduction.sweep import Experiment, Measures, Point

CELLS = ("0.005", "0.01", "0.02", "0.04", "0.08")


def points(size: Size) -> Sequence[Point]:
    """The paper's grid, and replication with cells of several sizes, with and without greedy."""
    full = size.name == "full"
    blockings = [("neighbours", "0.005", PAPER), ("neighbours", "0.005", "best")]
    blockings += [("replicate", cell, "best") for cell in (CELLS if full else CELLS[2:3])]
    return [
        {"data": "taxi", "per_day": size.taxi_per_day, "style": style, "cell": cell, "noise": noise,
         "epsilon": epsilon, "greedy": greedy}
        for style, cell, noise in blockings
        for epsilon in (EPSILONS if full else EPSILONS[1:])
        for greedy in ("no", "yes")
    ]  # fmt: skip


def run(lab: Lab, point: Point) -> Measures:
    """The cost of one run."""
    blocked = taxi_agreement(cell=float(point["cell"]), style=str(point["style"]))
    setup = lab.setup("taxi", 1, int(point["per_day"]), blocked)
    variant = "basic+GMC+S" if point["greedy"] == "yes" else "basic"
    if point["noise"] == PAPER:
        agreed = laplace(blocked, point["epsilon"], variant=variant)
        found = setup.counter.count(agreed, lab.seed, noise=PAPER)
    else:
        agreed = laplace(blocked, point["epsilon"], variant=variant, noise="best")
        found = setup.counter.count(agreed, lab.seed)
    return {
        "cost": found.comparisons,
        "recall": found.matches / max(1, setup.counter.all_matches),
        "bins": blocked.plan.bins,
    }


REPLICATION = Experiment(
    name="replication",
    version=1,
    parameters=("data", "per_day", "style", "cell", "noise", "epsilon", "greedy"),
    measures=("cost", "recall", "bins"),
    points=points,
    run=run,
)
