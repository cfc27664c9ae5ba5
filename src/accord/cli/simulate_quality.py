"""What `accord simulate --truth` adds: how good the matches are, for people and as facts.

Facts hold ids, names of fields and figures, and no value of a record. Values are shown on a terminal, to
whoever sits there and may see both tables; what goes into a pipe or a file is without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from accord.cli.table import lay_out
from accord.cli.terminal import plain
from accord.wording import counted

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.simulation.curve import Curve, Point
    from accord.simulation.known import PairFacts
    from accord.simulation.report import Quality
    from accord.table.layout import Layout
    from accord.table.sources.opening import TableLike

_MOST_POINTS = 12
_TITLES = {
    "below": "Just below the threshold:",
    "above": "Just above the threshold:",
    "missed": "True pairs that were missed, the most alike first:",
    "false": "False pairs that were found, the least alike first:",
}

Cells = Mapping[str, Mapping[str, Sequence[str | None]]]
"""By side, A or B, and id: the cells of a record."""


def facts_of(quality: Quality) -> dict[str, Any]:
    """The report under the names that `--json` has."""
    return {
        **asdict(quality.scores),
        "false_pairs": quality.false,
        "missed": asdict(quality.missed),
        "by_field": [asdict(one) for one in quality.fields],
        "passes_of_truth": [asdict(one) for one in quality.passes],
        "curve": None if quality.curve is None else asdict(quality.curve),
        "pairs": {name: [asdict(one) for one in pairs] for name, pairs in quality.pairs.items()},
    }


def summary(facts: dict[str, Any]) -> list[str]:
    """The lines that stand among those of the simulation."""
    missed = facts["missed"]
    reasons = (
        ("the rule refuses", missed["refused"]),
        ("meet in no pass", missed["apart"]),
        ("both", missed["refused_and_apart"]),
        ("left out by full keys or pruned bins", missed["not_compared"]),
        ("a record is in another pair", missed["passed_over"]),
        ("not there", missed["unknown"]),
    )
    why = ", ".join(f"{name} {count:,}" for name, count in reasons if count)
    lines = [
        f"Against truth    recall {facts['truth_recall']:.4f}, precision {facts['truth_precision']:.4f}, "
        f"F1 {facts['truth_f1']:.4f} ({counted(facts['true_pairs'], 'true pair')})",
        f"Missed, false    {sum(missed.values()):,}{f' ({why})' if why else ''} and {facts['false_pairs']:,}",
    ]
    if unknown := missed["unknown"]:
        asked = "; are id_a and id_b swapped?" if unknown == facts["true_pairs"] else ""
        which = counted(unknown, "true pair names", "true pairs name")
        lines.append(f"Worth knowing    {which} a record that does not exist or was left out{asked}")
    return lines


def words(quality: Quality, columns: Sequence[str], cells: Cells, width: int | None) -> str:
    """The report for people; `cells` in these columns beside the pairs, where somebody may see them."""
    parts = [_describe_fields(quality, width)]
    if quality.curve is not None:
        parts.append(_describe_curve(quality.curve, width))
    for name, pairs in quality.pairs.items():
        if pairs:
            shown = (_describe_pair(pair, columns, cells, width) for pair in pairs)
            parts.append("\n".join([_TITLES[name], *shown]))
    return "\n\n".join(parts)


def _describe_fields(quality: Quality, width: int | None) -> str:
    names = ("field", "differ", "found", "lack it", "found", "recall", "precision", "F1", "false that agree")
    rows = [
        (
            *(one.field, f"{one.differing:,}", f"{one.differing_found:,}"),
            *(f"{one.lacking:,}", f"{one.lacking_found:,}"),
            *(f"{one.recall:.4f}", f"{one.precision:.4f}", f"{one.f1:.4f}", f"{one.false_agreeing:,}"),
        )
        for one in quality.fields
    ]
    title = "By field, the true pairs that differ in it or where a record lacks it, and how many were found:"
    return lay_out(title, names, rows, width)


def _describe_curve(curve: Curve, width: int | None) -> str:
    best = curve.at(curve.best)
    title = (
        f"By threshold, among the pairs that were compared; F1 is best, {best.f1:.4f}, at {best.threshold}:"
    )
    rows = [
        (
            f"{point.threshold:,}",
            f"{point.matches:,}",
            *(f"{share:.4f}" for share in (point.precision, point.recall, point.f1)),
            " and ".join(
                word for word, at in (("agreed", curve.agreed), ("best", curve.best)) if at == point.threshold
            ),
        )
        for point in _some(curve)
    ]
    return lay_out(title, ("threshold", "matches", "precision", "recall", "F1", ""), rows, width)


def _some(curve: Curve) -> list[Point]:
    """Some points of a long curve, among them the agreed and the best."""
    step = max(1, -(-len(curve.points) // _MOST_POINTS))
    marked = (curve.agreed, curve.best)
    return [p for i, p in enumerate(curve.points) if i % step == 0 or p.threshold in marked]


def _describe_pair(pair: PairFacts, columns: Sequence[str], cells: Cells, width: int | None) -> str:
    sum_ = "" if pair.score is None else f"score {pair.score}, "
    lines = [f"  {pair.id_a} – {pair.id_b}: {sum_}{'true' if pair.true else 'not true'}, {pair.why}"]
    if pair.levels:
        weights = (f"{', '.join(one.fields)} {one.weight:+} ({one.level})" for one in pair.levels)
        lines.append(f"    {'; '.join(weights)}")
    else:
        apart = (("differ in", pair.differs), ("lack", pair.lacks))
        lines.append("    " + "; ".join(f"{word} {', '.join(names)}" for word, names in apart if names))
    records = (("A", pair.id_a), ("B", pair.id_b))
    rows = [
        [side, *(plain(cell or "") for cell in cells[side][id])]
        for side, id in records
        if id in cells.get(side, {})
    ]
    if rows:
        room = None if width is None else width - 4
        lines += [f"    {line}" for line in lay_out("", ["", *columns], rows, room).split("\n")[1:]]
    return "\n".join(plain(line) for line in lines)


def shown_pairs(quality: Quality) -> list[PairFacts]:
    """All pairs that are there to be looked at."""
    groups = (*quality.pairs.values(), quality.missed_pairs, quality.false_pairs)
    return [pair for some in groups for pair in some]


def read_cells(
    pairs: Sequence[PairFacts], agreement: Agreement, tables: Mapping[str, tuple[TableLike, Layout]]
) -> tuple[list[str], Cells]:
    """The columns that the rule reads, and what the records of these pairs have there."""
    from accord.fields.schema import agreed_columns
    from accord.fields.showing import show_rows
    from accord.rules.rule import fields_of

    ids = {"A": {pair.id_a for pair in pairs}, "B": {pair.id_b for pair in pairs}}
    columns = list(agreed_columns({name: agreement.fields[name] for name in fields_of(agreement.rule)}))
    cells = {side: show_rows(source, ids[side], columns, layout) for side, (source, layout) in tables.items()}
    return columns, cells
