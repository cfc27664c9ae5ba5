"""Every experiment by name, and every figure with the two sentences that say what it shows.

The sentences are written from the rows, like the figures: no number in them comes from anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reproduction import captions, captions_beyond, figures_beyond, figures_paper
from reproduction.baseline import BASELINE
from reproduction.clock import CLOCK, LINK
from reproduction.lab import OURS, PAPER
from reproduction.local import LOCAL
from reproduction.mapping import MAPPING
from reproduction.noise import NOISE, NOISE_COST
from reproduction.replication import REPLICATION
from reproduction.settings import PRUNED
from reproduction.size import SIZE
from reproduction.spread import SPREAD
from reproduction.sweep import Experiment, Row
from reproduction.table1 import TABLE1
from reproduction.tradeoff import TRADEOFF
from reproduction.variants import VARIANT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = Sequence[Row]

TITLES = {
    SIZE: "cost against data size, at recall 1 and pruned at the 10 % percentile",
    VARIANT: "the five optimisation variants",
    SPREAD: "the spread of the cost, with and without prune",
    TRADEOFF: "recall against cost, by ε and by δ",
    MAPPING: "recall against the rule and against the true pairs",
    LOCAL: "local DP: recall against cost",
    CLOCK: "wall-clock times of the engines",
    TABLE1: "the paper's Table 1, from measurements",
    NOISE: "dummies and exact δ of each noise",
    NOISE_COST: "comparisons and dummies by noise and ε",
    REPLICATION: "one-sided replication against the paper's grid, same noise, each at its best cell",
    BASELINE: "all pairs with greedy, and sparse matches",
    LINK: "seconds and bytes against ε, fast and slow link",
}
EXPERIMENTS: Mapping[str, Experiment] = {experiment.name: experiment for experiment in TITLES}


@dataclass(frozen=True)
class Exhibit:
    """A figure: where its rows come from, how it is drawn, what it shows."""

    name: str
    experiment: str
    title: str
    draw: Callable[[Rows], Figure]
    says: Callable[[Rows], str]
    beside: Callable[[Rows], str] | None = None
    """A table that belongs to it, as Markdown."""

    def parts(self, rows: Rows) -> list[str]:
        """All that is said about it."""
        return [self.says(rows), *([self.beside(rows)] if self.beside else [])]


EXHIBITS = (
    Exhibit("size_recall_1", "size", "Cost against data size, recall 1",
            lambda rows: figures_paper.size(rows, 0), lambda rows: captions.size(rows, 0)),
    Exhibit("size_recall_95", "size",
            "Cost against data size, pruned at the 10 % percentile (in the paper: recall > 0.95)",
            lambda rows: figures_paper.size(rows, PRUNED), lambda rows: captions.size(rows, PRUNED)),
    Exhibit("variants", "variants", "The optimisation variants, the paper's noise",
            lambda rows: figures_paper.variants(rows, PAPER), lambda rows: captions.variants(rows, PAPER)),
    Exhibit("variants_ours", "variants", "The optimisation variants, our noise",
            lambda rows: figures_paper.variants(rows, OURS), lambda rows: captions.variants(rows, OURS)),
    Exhibit("tradeoff_epsilon", "tradeoff", "Recall against cost, varying ε",
            lambda rows: figures_paper.tradeoff(rows, "epsilon"), captions.tradeoff_epsilon),
    Exhibit("tradeoff_delta", "tradeoff", "Recall against cost, varying δ",
            lambda rows: figures_paper.tradeoff(rows, "delta"), captions.tradeoff_delta),
    Exhibit("local", "local", "Local DP: recall against cost", figures_beyond.local, captions.local),
    Exhibit("clock", "clock", "Wall-clock times", figures_beyond.clock, captions.clock),
    Exhibit("dummies", "noise", "Better noise: dummies", figures_beyond.dummies, captions_beyond.dummies),
    Exhibit("noise_cost", "noise-cost", "Better noise: cost", figures_beyond.noise_cost,
            captions_beyond.noise_cost),
    Exhibit("delta", "noise", "The exact δ of the paper's noise", figures_beyond.delta,
            captions_beyond.delta),
    Exhibit("replication", "replication", "One-sided replication", figures_beyond.replication,
            captions_beyond.replication, captions_beyond.replication_steps),
    Exhibit("baseline", "baseline", "All pairs with greedy: the fair ε = 0 baseline", figures_beyond.baseline,
            captions_beyond.baseline),
    Exhibit("sparse", "baseline", "Sparse matches: whom the guarantee protects", figures_beyond.sparse,
            captions_beyond.sparse),
    Exhibit("link", "link", "Seconds and bytes against ε", figures_beyond.link, captions_beyond.link),
)  # fmt: skip
