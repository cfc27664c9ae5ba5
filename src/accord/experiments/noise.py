"""Beyond the paper: the dummies of each noise, and the exact δ against the one that is claimed [MATHS §1].

Nothing is sampled here: expected dummies and δ(ε) are computed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from accord.experiments.cells import Experiment, Row
from accord.experiments.lab import Lab, Size
from accord.experiments.settings import DELTA, DELTAS
from accord.privacy.calibration import as_claimed

KINDS = ("paper-2017", "paper", "geometric", "gaussian")
_EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6", "3.2")
_FINE = ("0.1", "0.2", "0.4", "0.6", "0.8", "1", "1.4", "1.6", "2", "3", "4", "5", "8")


def cells(size: Size) -> Sequence[Row]:
    """Each noise by ε and bins a record; and the paper's as published at more ε and δ."""
    dummies: list[Row] = [
        {"noise": noise, "epsilon": epsilon, "delta": DELTA, "bins": bins}
        for bins in ((1, 2, 4, 10) if size.name == "full" else (1, 4))
        for noise in KINDS
        for epsilon in (_EPSILONS if size.name == "full" else _EPSILONS[::2])
    ]
    fine: list[Row] = [
        {"noise": "paper-2017", "epsilon": epsilon, "delta": delta, "bins": 1}
        for delta in DELTAS
        for epsilon in _FINE
    ]
    return dummies + [cell for cell in fine if cell not in dummies]


def run(lab: Lab, cell: Row) -> Row:
    """Expected dummies in a bin, and the exact δ."""
    found = as_claimed(str(cell["noise"]), str(cell["epsilon"]), str(cell["delta"]), int(cell["bins"]))
    return {"dummies": found.expected_dummies, "delta_exact": found.delta_exact}


NOISE = Experiment(
    name="noise",
    version=1,
    parameters=("noise", "epsilon", "delta", "bins"),
    measures=("dummies", "delta_exact"),
    cells=cells,
    run=run,
)
