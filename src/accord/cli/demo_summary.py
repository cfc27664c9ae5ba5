"""Summary of the demo: what each side learned, match quality and cost.

Every figure comes from what a run leaves behind: the events, the outputs, the receipt that both signed and
the ledgers. Only the quality needs the true pairs, which are known in a demo alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.wording import counted, lasting, sized

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.demo_stage import Actor, Stage
    from accord.notices import Done
    from accord.simulation.truth import Scores


@dataclass(frozen=True)
class SideFigures:
    """One side in the result."""

    name: str
    records: int
    matched: int
    """Records of this side that are in the output."""
    noisy_total: int
    spent: str


@dataclass(frozen=True)
class Figures:
    """The figures of a demo."""

    a: SideFigures
    b: SideFigures
    matches: int
    comparisons: int
    bytes: int
    seconds: float
    truth: Scores


def gather_figures(stage: Stage, done: Mapping[str, Done]) -> Figures:
    """The figures, from what both sides keep and the true pairs."""
    from accord.run.receipt import receipt_of
    from accord.simulation.truth import read_truth, score
    from accord.state.runs import open_run

    end, pairs = done[stage.a.name], read_truth(stage.a.folder / "pairs.csv")
    parties = receipt_of(open_run(stage.a.state, end.run)).facts["parties"]
    a, b = (
        SideFigures(
            name=actor.name,
            records=parties[actor.letter]["records"],
            matched=len(pairs[f"id_{actor.letter.lower()}"].unique()),
            noisy_total=parties[actor.letter]["noisy_total"],
            spent=_spent(actor, stage.scene),
        )
        for actor in (stage.a, stage.b)
    )
    truth = score(pairs, read_truth(stage.truth))
    return Figures(a, b, end.matches or 0, end.comparisons, end.bytes, end.seconds, truth)


def _spent(actor: Actor, account_name: str) -> str:
    """What the ledger of a side says."""
    from accord.privacy.events import describe_cost
    from accord.state.accounts import account
    from accord.state.ledger import Ledger

    return describe_cost(account(account_name, Ledger(actor.state.store).runs(), {}).spent)


def words(agreement: Agreement, figures: Figures) -> str:
    """The summary."""
    a, b, truth = figures.a, figures.b, figures.truth
    lines = [
        _describe_result(figures),
        "",
        "What each learned about the other",
        "  how many records it has;",
        f"  of those that match ({a.matched:,} of {a.name}, {b.matched:,} of {b.name}): {_shown(agreement)};",
        f"  the sizes of {counted(agreement.plan.bins, 'bin')}, with dummies in them: {a.noisy_total:,} and "
        f"{b.noisy_total:,} in all.",
        "What neither learned",
        f"  of the {a.records - a.matched:,} and {b.records - b.matched:,} records that match nothing: no id "
        "and no value;",
        "  how many records a bin holds without its dummies; how similar any two records are.",
        "",
        f"Quality  recall {truth.truth_recall:.1%}, precision {truth.truth_precision:.1%}",
        f"Cost     {_describe_cost(figures)}",
        f"Spent    {a.name}: {a.spent}; {b.name}: {b.spent} (from their ledgers)",
        "",
        "Next     `accord init --from YOUR.csv`",
    ]
    return "\n".join(lines)


def _describe_result(figures: Figures) -> str:
    a, b, true = figures.a, figures.b, figures.truth.true_pairs
    right = round(figures.truth.truth_recall * true)
    wrong = figures.matches - right
    others = f"and {wrong:,} that {'does' if wrong == 1 else 'do'} not" if wrong else "and no other"
    return (
        f"{a.name} and {b.name}, with {a.records:,} and {b.records:,} records, found {right:,} of the "
        f"{true:,} pairs that belong together, {others}. Both hold them, and a receipt signed by both."
    )


def _describe_cost(figures: Figures) -> str:
    """What was compared, of what it would be without bins; and what went over the line."""
    whole = figures.a.records * figures.b.records
    if figures.comparisons > whole:
        share = f"; all {whole:,} pairs would be fewer: bins pay off for larger tables"
    else:
        times = whole / max(1, figures.comparisons)
        share = f", {figures.comparisons / whole:.1%} of all {whole:,} pairs: {times:.0f} times fewer"
    sent = f"{sized(figures.bytes)} in both directions, {lasting(figures.seconds)}"
    return f"{counted(figures.comparisons, 'comparison')}{share}; {sent}"


def _shown(agreement: Agreement) -> str:
    """The columns that both sides show."""
    a, b = (", ".join(["id", *columns]) for columns in (agreement.disclose.A, agreement.disclose.B))
    return a if a == b else f"{a}; and {b}"
