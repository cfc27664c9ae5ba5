"""Beyond the paper: the dummies of each noise, what they cost, and the exact δ of a claimed one [MATHS §3].

Expected dummies and δ(ε) are computed exactly, nothing is sampled. The paper's shift η⁰ is a real number,
and `paper-2017` rounds it up, which hides how far the published formula is off: `delta_unrounded` is δ at η⁰
itself. There the published masses do not sum to 1, so they are taken as shares of their sum. Every event that
breaks the promise has a probability proportional to e^{−s·shift}, s = ε/(2k'), so δ is carried from ⌈η⁰⌉ to
η⁰ by that factor and that sum, with a relative error of the order of δ. Whole shifts keep theirs.

The cost is counted on the paper's set-ups, one run each, on the same tables for every noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from accord.privacy.calibration import Setting, as_claimed
from reproduction.lab import OURS, PAPER, Lab, Size
from reproduction.noises.laplace import Laplace, published_shift
from reproduction.settings import DELTA, DELTAS, laplace
from reproduction.sweep import Experiment, Measures, Point

KINDS = (PAPER, "paper", OURS, "gaussian")
COUNTED = KINDS[:3]
_EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6", "3.2")
_FINE = tuple(f"{0.1 * 80 ** (step / 56):.3g}" for step in range(57))
"""Equal steps in ln ε from 0.1 to 8: δ jumps wherever the rounded shift does."""


def points(size: Size) -> Sequence[Point]:
    """Each noise by ε and bins a record; and the paper's as published at more ε and δ."""
    dummies: list[Point] = [
        {"noise": noise, "epsilon": epsilon, "delta": DELTA, "bins": bins}
        for bins in ((1, 2, 4, 10) if size.name == "full" else (1, 4))
        for noise in KINDS
        for epsilon in (_EPSILONS if size.name == "full" else _EPSILONS[::2])
    ]
    fine: list[Point] = [
        {"noise": PAPER, "epsilon": epsilon, "delta": delta, "bins": 1}
        for delta in DELTAS
        for epsilon in sorted({*_FINE, "0.4", "1.6"}, key=float)
    ]
    return dummies + [point for point in fine if point not in dummies]


def run(lab: Lab, point: Point) -> Measures:
    """Expected dummies in a bin, the exact δ, and δ at the shift before it was rounded."""
    found = as_claimed(str(point["noise"]), str(point["epsilon"]), str(point["delta"]), int(point["bins"]))
    return {
        "dummies": found.expected_dummies,
        "delta_exact": found.delta_exact,
        "delta_unrounded": found.delta_exact * _rounding(found),
    }


def _rounding(found: Setting) -> float:
    """By how much rounding the published shift up has lowered δ."""
    noise = found.noise
    if found.name != PAPER or not isinstance(noise, Laplace):
        return 1.0
    shift = float(published_shift(found.epsilon, found.delta, found.bins_per_record))
    slope = float(noise.slope)
    return math.exp(slope * (noise.middle - shift)) / published_mass(slope, shift)


def published_mass(slope: float, shift: float) -> float:
    """What the published masses p·e^{−s|x − shift|} sum to, over all integers: 1 only for a whole shift."""
    above = shift - math.floor(shift)
    return (math.exp(-slope * above) + math.exp(-slope * (1 - above))) / (1 + math.exp(-slope))


NOISE = Experiment(
    name="noise",
    version=3,
    parameters=("noise", "epsilon", "delta", "bins"),
    measures=("dummies", "delta_exact", "delta_unrounded"),
    points=points,
    run=run,
)


def cost_points(size: Size) -> Sequence[Point]:
    """One day of both set-ups, by ε, with and without greedy."""
    return [
        {"data": data, "per_day": size.per_day(data), "noise": noise, "epsilon": epsilon, "greedy": greedy}
        for data in ("ab", "taxi")
        for noise in COUNTED
        for epsilon in (_EPSILONS if size.name == "full" else _EPSILONS[2:5:2])
        for greedy in ("no", "yes")
    ]


def run_cost(lab: Lab, point: Point) -> Measures:
    """The comparisons of one run, and the dummies of both sides in all bins."""
    setup = lab.setup(str(point["data"]), 1, int(point["per_day"]))
    agreed = laplace(
        setup.agreement, point["epsilon"], variant="basic+GMC+S" if point["greedy"] == "yes" else "basic"
    )
    found = setup.counter.count(agreed, lab.seed, noise=str(point["noise"]))
    return {"cost": found.comparisons, "dummies": found.dummies_a + found.dummies_b}


NOISE_COST = Experiment(
    name="noise-cost",
    version=1,
    parameters=("data", "per_day", "noise", "epsilon", "greedy"),
    measures=("cost", "dummies"),
    points=cost_points,
    run=run_cost,
)
