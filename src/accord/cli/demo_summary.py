"""What a steward wants to know after the demo: who knows what now, what nobody learned, how good the matches
are, and what it cost.

Every figure comes from what a run leaves behind: the events, the outputs, the receipt that both signed and
the ledgers. Only the quality and the two examples need both tables and the truth, which nobody has outside of
a demo; the values shown in them are made up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accord.ranges import distinct
from accord.wording import counted, lasting, sized

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.demo_stage import Actor, Stage
    from accord.notices import Done
    from accord.simulation.known import Known, PairFacts
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
class Example:
    """A true pair, with what its records hold where they do not agree and what both sides disclose."""

    pair: PairFacts
    errors: str
    """Their kinds, where the truth tells them."""
    columns: tuple[str, ...]
    cells_a: tuple[str, ...]
    cells_b: tuple[str, ...]


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
    refused: int
    """True pairs that the rule refuses."""
    found: Example | None
    """The found pair whose records differ the most."""
    missed: Example | None
    """The missed pair whose records agree the most."""


def look_at(stage: Stage) -> tuple[Known, int]:
    """Both tables and what is true, before anything is found; and how many true pairs the rule refuses."""
    import numpy as np

    from accord.simulation.known import Known
    from accord.simulation.pair import load_both
    from accord.simulation.truth import read_truth

    records = load_both(stage.a.table, stage.b.table, stage.agreement, None, None)
    nothing = np.zeros(0, np.int64)
    known = Known.of(stage.agreement, *records, (nothing, nothing), read_truth(stage.truth))
    return known, int((~known.accepts(known.true)).sum())


def gather_figures(stage: Stage, done: Mapping[str, Done], seen: tuple[Known, int]) -> Figures:
    """The figures, from what both sides keep and what `look_at` saw."""
    from accord.run.receipt import receipt_of
    from accord.simulation.known import find, rate
    from accord.simulation.truth import read_truth
    from accord.state.runs import open_run

    end, (known, refused) = done[stage.a.name], seen
    left, right, _ = find(read_truth(stage.a.folder / "pairs.csv"), known.a, known.b)
    known = replace(known, found=distinct(known.keys(left, right)))
    parties = receipt_of(open_run(stage.a.state, end.run)).facts["parties"]
    matched = [len(set(rows.tolist())) for rows in known.rows(known.found)]
    a, b = (
        SideFigures(
            name=actor.name,
            records=parties[actor.letter]["records"],
            matched=count,
            noisy_total=parties[actor.letter]["noisy_total"],
            spent=_spent(actor, stage.scene),
        )
        for actor, count in zip((stage.a, stage.b), matched, strict=True)
    )
    return Figures(
        *(a, b, end.matches or 0, end.comparisons, end.bytes, end.seconds),
        *(rate(known.found, known.true, known.unknown), refused),
        *_examples(stage, known),
    )


def _examples(stage: Stage, known: Known) -> tuple[Example | None, Example | None]:
    """A pair that was found in spite of its errors, and one that was not."""
    import numpy as np

    from accord.ranges import contained

    found, missed = known.true[contained(known.true, known.found)], known.missed
    oddest = found[np.argsort(-known.count_apart(found, lacking=False), kind="stable")[:1]]
    nearest = missed[np.argsort(known.count_apart(missed), kind="stable")[:1]]
    shown = (known.describe(keys) for keys in (oddest, nearest))
    first, second = (_example(stage, *pair) if pair else None for pair in shown)
    return first, second


def _example(stage: Stage, pair: PairFacts) -> Example:
    from accord.fields.schema import agreed_columns
    from accord.fields.showing import show_rows
    from accord.table.layout import Layout

    fields = stage.agreement.fields
    names = [*stage.agreement.disclose.A, *pair.differs, *pair.lacks]
    columns = list(agreed_columns({name: fields[name] for name in dict.fromkeys(names) if name in fields}))
    sides = ((stage.a, pair.id_a), (stage.b, pair.id_b))
    a, b = (show_rows(actor.table, {id}, columns, Layout())[id] for actor, id in sides)
    return Example(
        pair, _errors(stage, pair), tuple(columns), *(tuple(c or "" for c in row) for row in (a, b))
    )


def _errors(stage: Stage, pair: PairFacts) -> str:
    """The kinds of errors that the truth names for a pair."""
    import pyarrow.csv

    truth = pyarrow.csv.read_csv(stage.truth)
    if "errors" not in truth.column_names:
        return ""
    rows = zip(*(truth[name].to_pylist() for name in ("id_a", "id_b", "errors")), strict=True)
    return ", ".join(next(errors for *ids, errors in rows if ids == [pair.id_a, pair.id_b]).split())


def _spent(actor: Actor, account_name: str) -> str:
    """What the ledger of a side says."""
    from accord.privacy.events import describe_cost
    from accord.state.accounts import account
    from accord.state.ledger import Ledger

    return describe_cost(account(account_name, Ledger(actor.state.database).runs(), {}).spent)


def words(agreement: Agreement, found: Figures, width: int | None = None) -> str:
    """The summary."""
    a, b, truth = found.a, found.b, found.truth
    lines = [
        _describe_result(found),
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
        *_describe_example("Found despite errors", found.found, width),
        *_describe_example("Missed", found.missed, width),
        f"Quality  recall {truth.truth_recall:.1%}, precision {truth.truth_precision:.1%}; "
        f"the rule itself refuses {counted(found.refused, 'true pair')}",
        f"Cost     {_describe_cost(found)}",
        f"Spent    {a.name}: {a.spent}; {b.name}: {b.spent} (from their ledgers)",
        "",
        "Next     `accord init --from YOUR.csv`",
    ]
    return "\n".join(lines)


def _describe_result(found: Figures) -> str:
    a, b, true = found.a, found.b, found.truth.true_pairs
    right = round(found.truth.truth_recall * true)
    wrong = found.matches - right
    others = f"and {wrong:,} that {'does' if wrong == 1 else 'do'} not" if wrong else "and no other"
    return (
        f"{a.name} and {b.name}, with {a.records:,} and {b.records:,} records, found {right:,} of the "
        f"{true:,} pairs that belong together, {others}. Both hold them, and a receipt signed by both."
    )


def _describe_cost(found: Figures) -> str:
    """What was compared, of what it would be without bins; and what went over the line."""
    whole = found.a.records * found.b.records
    if found.comparisons > whole:
        share = f"; all {whole:,} pairs would be fewer: bins pay off for larger tables"
    else:
        times = whole / max(1, found.comparisons)
        share = f", {found.comparisons / whole:.1%} of all {whole:,} pairs: {times:.0f} times fewer"
    sent = f"{sized(found.bytes)} in both directions, {lasting(found.seconds)}"
    return f"{counted(found.comparisons, 'comparison')}{share}; {sent}"


def _shown(agreement: Agreement) -> str:
    """The columns that both sides show."""
    a, b = (", ".join(["id", *columns]) for columns in (agreement.disclose.A, agreement.disclose.B))
    return a if a == b else f"{a}; and {b}"


def _describe_example(title: str, example: Example | None, width: int | None) -> list[str]:
    """A pair with its cells, one record below the other."""
    from accord.cli.table import lay_out

    if example is None:
        return [f"{title}: no pair", ""]
    pair = example.pair
    reason = "" if pair.found else f"; {pair.why}"
    errors = f" ({example.errors})" if example.errors else ""
    rows: Sequence[Sequence[str]] = (pair.id_a, *example.cells_a), (pair.id_b, *example.cells_b)
    laid = lay_out("", ("id", *example.columns), rows, None if width is None else width - 2).split("\n")[1:]
    return [f"{title}: {pair.id_a} and {pair.id_b}{errors}{reason}", *(f"  {line}" for line in laid), ""]
