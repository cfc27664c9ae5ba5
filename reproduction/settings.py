"""The settings of the Laplace Protocol that the evaluation varies, as agreements.

The default LP of the paper is `sort` with `greedy`, and at a recall below 1 also `prune`; the five variants
of its figure are named as there. δ = 1e-5 and ε = 1.6 are the paper's defaults.
"""

from __future__ import annotations

from accord import Agreement
from accord.agreement.adjusting import adjust
from accord.privacy.noise import AUTO
from accord.side import Side

EPSILONS = ("0.1", "0.4", "1.6")
DELTAS = ("1e-5", "1e-7", "1e-9")
DELTA = "1e-5"
PRUNED = 10
"""The percentile at which the paper's Sort & Prune stops."""

VARIANTS: dict[str, dict[str, object]] = {
    "basic": {"greedy": False, "sort": False, "prune": 0},
    "basic+SP": {"greedy": False, "sort": True, "prune": PRUNED},
    "basic+GMC": {"greedy": True, "sort": False, "prune": 0},
    "basic+GMC+S": {"greedy": True, "sort": True, "prune": 0},
    "basic+GMC+SP": {"greedy": True, "sort": True, "prune": PRUNED},
}
DEFAULT = "basic+GMC+S"


def all_pairs(agreement: Agreement) -> Agreement:
    """All pairs with greedy, which keeps ε = 0 [MATHS §2.5]: what LP with greedy is to be compared with."""
    return adjust(agreement, protocol="all-pairs", greedy=True)


def laplace(
    agreement: Agreement, epsilon: object, delta: object = DELTA, *, prune: int | None = None,
    variant: str = DEFAULT, noise: str = "paper", engine: str = "ot",
) -> Agreement:  # fmt: skip
    """The agreement with these settings for both sides; noise 'best' is Accord's default for each."""
    options = VARIANTS[variant] | ({} if prune is None else {"prune": prune})
    sides = {
        side.value: {
            "epsilon": str(epsilon),
            "delta": str(delta),
            "noise": AUTO if noise == "best" else noise,
        }
        for side in Side
    }
    protocol = {"name": "laplace", **options, **sides}
    changed = agreement.model_dump(mode="json") | {"protocol": protocol, "engine": engine}
    return Agreement.model_validate(changed)
