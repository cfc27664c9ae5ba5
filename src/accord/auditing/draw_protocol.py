"""The figure of a protocol's audit: how well the partner tells two tables apart, and how well it may.

Every event has two shares: of the runs with the one table and of the runs with the other. A promise (ε, δ)
allows the shares between two lines each way, P ≤ e^ε·Q + δ and 1 − Q ≤ e^ε·(1 − P) + δ. The curve has the
shares of the learned score at every threshold; the one point that was tested is marked.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.auditing.draw_noise import CLAIMED, EXACT
from accord.auditing.protocol import Verdict
from accord.drawing import save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(name: str, verdict: Verdict) -> Figure:
    """The figure of the worst case."""
    from matplotlib.figure import Figure

    found = verdict.worst
    finding = found.finding
    figure = Figure(figsize=(5.5, 5.5), layout="constrained")
    axes = figure.add_subplot()
    q = np.linspace(0, 1, 401)
    factor = math.exp(finding.epsilon_claimed)
    allowed = np.minimum(factor * q + finding.delta_claimed, 1 - (1 - q - finding.delta_claimed) / factor)
    claim = f"allowed by (ε, δ) = ({finding.epsilon_claimed:g}, {finding.delta_claimed:g})"
    axes.fill_between(q, q, allowed.clip(0, 1), color=EXACT, alpha=0.15, label=claim)
    axes.plot(*zip(*finding.curve, strict=True), color=EXACT, lw=1.5, label="learned score, test half")
    verdict_word = "leaky" if finding.leaky else "no leak found"
    mark, colour = ("X", CLAIMED) if finding.leaky else ("o", EXACT)
    point = finding.hits_q / finding.trials, finding.hits_p / finding.trials
    label = f"event tested: ε ≥ {finding.epsilon_lower:.2f} ({verdict_word})"
    axes.plot(*point, mark, color=colour, ms=9, mec="white", label=label, zorder=3)
    axes.set(
        xlabel="share of runs with the one table",
        ylabel="share of runs with the other",
        title=f"{name}, case {found.case.name}",
        xlim=(0, 1),
        ylim=(0, 1.01),
    )
    axes.grid(alpha=0.25)
    axes.legend(loc="lower right", framealpha=0.95)
    return figure


def save(name: str, verdict: Verdict, path: Path, *, replace: bool = True) -> None:
    """Write the figure; the name's ending says how."""
    save_figure(draw(name, verdict), path, replace=replace)
