"""Beyond the paper: one-sided replication against the paper's grid, like with like, on Taxi [MATHS §9.4].

B copies a record into every cell that its θ-ball touches, and only equal cells are compared: a cell meets one
instead of nine, but B needs the noise of up to four bins a record. Both styles are run with the same noise at
the same cell sizes, with and without greedy, so that each can be taken at its best. The way from the paper's
setting to the cheapest is then walked in single changes: the noise, the size of the cells, replication, and
last the noise that needs the fewest dummies for records in several bins, which is of use to replication
alone. The factors of the steps multiply to the whole; in another order each could be another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from reproduction.lab import OURS, PAPER, Lab, Size
from reproduction.paper_data import taxi_agreement
from reproduction.settings import EPSILONS, laplace
from reproduction.sweep import Experiment, Measures, Point, Row, number, one, only

CELLS = ("0.001", "0.00125", "0.0025", "0.005", "0.01", "0.02", "0.04", "0.08")
"""The paper's cells are 0.005°. Cells below θ = 0.001° would lose matches of neighbours; 0.08° is the whole
city. At θ itself only basic: with greedy the cost rises steeply as cells shrink, long before."""
PAPERS_CELL = "0.005"
BEST = "best"
"""The noise with the fewest dummies for each side's bins a record."""
STEPS = ("noise", "cell size", "replication", "noise for several bins")


def points(size: Size) -> Sequence[Point]:
    """The paper's setting, then both styles over the cells, with and without greedy."""
    full = size.name == "full"
    settings = [("neighbours", PAPERS_CELL, PAPER)]
    settings += [
        (style, cell, noise)
        for style, noises in (("neighbours", (OURS,)), ("replicate", (OURS, BEST)))
        for cell in (CELLS if full else CELLS[3:7:2])
        for noise in noises
    ]
    return [
        {"data": "taxi", "per_day": size.taxi_per_day, "style": style, "cell": cell, "noise": noise,
         "epsilon": epsilon, "greedy": greedy}
        for style, cell, noise in settings
        for epsilon in (EPSILONS if full else EPSILONS[1:])
        for greedy in (("no",) if cell == CELLS[0] else ("no", "yes"))
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
        agreed = laplace(blocked, point["epsilon"], variant=variant, noise=str(point["noise"]))
        found = setup.counter.count(agreed, lab.seed)
    return {
        "cost": found.comparisons,
        "recall": found.matches / max(1, setup.counter.all_matches),
        "bins": blocked.plan.bins,
    }


REPLICATION = Experiment(
    name="replication",
    version=2,
    parameters=("data", "per_day", "style", "cell", "noise", "epsilon", "greedy"),
    measures=("cost", "recall", "bins"),
    points=points,
    run=run,
)


def best(rows: Sequence[Row], style: str, noise: str) -> Row:
    """The row of a style at the cell size that is cheapest for it, among rows of one ε."""
    return min(only(rows, style=style, noise=noise), key=lambda row: number(row, "cost"))


def way(rows: Sequence[Row]) -> list[Row]:
    """From the paper's setting to the cheapest, one change at a time, among rows of one ε: `STEPS` + 1."""
    cell = float(PAPERS_CELL)
    return [
        one(rows, style="neighbours", noise=PAPER),
        one(rows, style="neighbours", noise=OURS, cell=cell),
        best(rows, "neighbours", OURS),
        best(rows, "replicate", OURS),
        best(rows, "replicate", BEST),
    ]


def factors(rows: Sequence[Row]) -> Iterator[float]:
    """How many times cheaper each change makes it; below 1 where it makes it dearer."""
    walked = [number(row, "cost") for row in way(rows)]
    return (before / after for before, after in pairwise(walked))
