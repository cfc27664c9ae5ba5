"""What a steward wants to know after the demo: who knows what now, what nobody learned, and what it cost.

Every figure comes from what a run leaves behind: the events, the outputs, the receipt that both signed and
the ledgers. Only the recall needs both tables, which nobody has outside of a demo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from accord.wording import counted

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.demo_stage import Shop, Stage
    from accord.session.notices import Done


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
    all_matches: int
    recall: float
    """Against all pairs that the rule accepts."""
    precision: float
    true_pairs: int
    truth_recall: float


def gather_figures(stage: Stage, done: Mapping[str, Done]) -> Figures:
    """The figures, from what both sides keep."""
    from accord.session.receipt import read_receipt
    from accord.simulation import accepted_pairs
    from accord.truth import read_truth, score

    pairs = read_truth(stage.a.folder / "pairs.csv")
    end = done[stage.a.name]
    parties = read_receipt(stage.a.state.run(end.run) / "receipt").facts["parties"]
    rule = score(pairs, accepted_pairs(_table(stage.a), _table(stage.b), stage.agreement))
    truth = score(pairs, read_truth(stage.truth))
    a, b = (
        SideFigures(
            name=shop.name,
            records=parties[shop.letter]["records"],
            matched=len(pairs[f"id_{shop.letter.lower()}"].unique()),
            noisy_total=parties[shop.letter]["noisy_total"],
            spent=_spent(shop),
        )
        for shop in (stage.a, stage.b)
    )
    return Figures(
        *(a, b, end.matches, end.comparisons, end.bytes, end.seconds),
        *(rule.true_pairs, rule.truth_recall, rule.truth_precision),
        *(truth.true_pairs, truth.truth_recall),
    )


def _table(shop: Shop) -> Path:
    return shop.folder / f"{shop.letter.lower()}.csv"


def _spent(shop: Shop) -> str:
    """What the ledger of a side says."""
    from accord.cli.demo_stage import ACCOUNT
    from accord.privacy.number import show
    from accord.session.accounts import account
    from accord.session.ledger import Ledger

    cost = account(ACCOUNT, Ledger(shop.state.ledger).runs(), {}).spent
    return f"ε = {show(cost.epsilon)}, δ = {show(cost.delta)}"


def words(agreement: Agreement, found: Figures) -> str:
    """The summary."""
    a, b = found.a, found.b
    columns = {side: ", ".join(["id", *getattr(agreement.disclose, side)]) for side in ("A", "B")}
    whole = a.records * b.records
    pairs = counted(found.matches, "pair of records", "pairs of records")
    lines = [
        "What both now know",
        f"  {pairs} match; both hold them, and a receipt that both signed.",
        *_describe_learned(a, b, columns["A"], agreement.plan.bins),
        *_describe_learned(b, a, columns["B"], agreement.plan.bins),
        "What neither learned",
        f"  of the records that match nothing ({a.records - a.matched:,} of {a.name}, "
        f"{b.records - b.matched:,} of {b.name}): no id and no value;",
        "  how many records a bin holds without its dummies; how similar any two records are.",
        "",
        f"Recall       {found.recall:.4f} of the {counted(found.all_matches, 'pair')} that the rule accepts, "
        f"{found.truth_recall:.4f} of the {counted(found.true_pairs, 'true pair')}",
        f"Precision    {found.precision:.4f} under the rule",
        f"Comparisons  {found.comparisons:,}, {found.comparisons / whole:.2%} of all {whole:,} pairs",
        f"Traffic      {found.bytes / 1e6:,.1f} MB in both directions, {found.seconds:.1f} s",
        f"Spent        {a.name}: {a.spent}; {b.name}: {b.spent} (from their ledgers)",
    ]
    return "\n".join(lines)


def _describe_learned(about: SideFigures, by: SideFigures, columns: str, bins: int) -> list[str]:
    return [
        f"What {by.name} learned about {about.name}",
        f"  that it has {counted(about.records, 'record')};",
        f"  the sizes of {counted(bins, 'bin')} with dummies in them, {about.noisy_total:,} in all;",
        f"  of {counted(about.matched, 'record')}, those that match: {columns}.",
    ]
