"""`accord learn`: weights, threshold and passes of a score, learnt on one's own side."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.options import Json, read_own_layout
from accord.cli.places import layout_beside
from accord.cli.terminal import say
from accord.cli.words import as_options

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.learning.learn import Learnt

_SHOWN = 5
"""Thresholds on either side of the chosen one."""


def learn(
    draft: Annotated[
        Path,
        typer.Argument(metavar="DRAFT", help="An agreement whose rule has a score, with any weights."),
    ],
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="TABLE", help="Records to learn from, with --other; default: generated people."
        ),
    ] = None,
    learnt_from: Annotated[
        str | None,
        typer.Option(help="Whose data it is, for the agreement: public, A, B, a party's name or both."),
    ] = None,
    linked_table: Annotated[
        bool,
        typer.Option("--linked-table", help="TABLE is the very one to be linked; the agreement says so."),
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="All pairs (id_a, id_b) of TABLE and --other that are matches; or some pairs, with a third "
            "column, match (1 or 0)."
        ),
    ] = None,
    other: Annotated[
        Path | None,
        typer.Option(help="The table of id_b; without --labels, pairs are told apart by looks."),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD", help="Compare this field, instead of using the draft's rule; repeatable."
        ),
    ] = None,
    records: Annotated[
        int | None, typer.Option(min=1, help="Records per side of the linkage that the threshold is for.")
    ] = None,
    overlap: Annotated[
        float | None, typer.Option(help="The share of them that both sides have; default: 0.5.")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(help="Choose a threshold with at least this expected precision.")
    ] = None,
    passes: Annotated[
        bool,
        typer.Option(
            "--passes", help="Choose passes and caps on the matches, too; the draft's rule decides otherwise."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write the draft with the learned rule in it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file of --out.")] = False,
    as_json: Json = False,
) -> None:
    """Learn the weights and the threshold of a rule's score.

    From made-up people, from labels, or from two tables without labels. Prints what is expected of
    the rule, for you alone, and writes only whole numbers.
    """
    from accord.agreement.file import read_agreement
    from accord.learning.learn import learn as run
    from accord.table.sinks.files import require_target, write_file

    agreed = read_agreement(draft)
    layouts = (layout_beside(table), layout_beside(other))
    if out is not None:
        given = (draft, table, other, labels, *layouts)
        require_target(out, [path for path in given if path is not None], force, endings=())
    found = run(
        agreed,
        table,
        learnt_from=learnt_from,
        linked_table=linked_table,
        other=other,
        labels=labels,
        compare=compare or (),
        records=records,
        overlap=overlap,
        precision=precision,
        passes=passes,
        layout=read_own_layout(agreed, None, table),
        other_layout=read_own_layout(agreed, None, other),
    )
    text = found.write_into(draft.read_text(encoding="utf-8"))
    if as_json:
        typer.echo(json.dumps(_facts(found), ensure_ascii=False))
    else:
        _show(found, passes)
    if out is not None:
        write_file(out, text.encode(), replace=force)
    _tell(found.agreement, out)


def _facts(found: Learnt) -> dict[str, Any]:
    return {
        "rule": str(found.rule),
        "learnt_from": found.agreement.learnt_from,
        "expected": asdict(found.expected) | {"f1": found.expected.f1},
        "strangers": found.strangers,
        "matches": found.matches,
        "met": found.met,
        "levels": [[asdict(level) for level in each] for each in found.levels],
        "curve": [asdict(point) | {"f1": point.f1} for point in found.curve],
        "passes": [one.model_dump(mode="json", exclude_none=True) for one in found.agreement.passes],
        "notes": [as_options(note) for note in found.notes],
    }


def _show(found: Learnt, passes: bool) -> None:
    """What it learned from, levels, thresholds, what is expected, the rule, and passes that were chosen."""
    from accord.cli.table import print_table
    from accord.learning.drafts import rule_lines
    from accord.planning.variants import tell_blocking

    if found.matches is not None and found.met is not None:
        hint = "" if passes else " Choose other passes with --passes."
        say(f"{_learned_from(found.matches, found.met, hint)}\n")
    rows = [
        [level.level, f"{level.weight:+d}", f"{level.of_matches:.2%}", f"{level.of_others:.4%}"]
        for each in found.levels
        for level in each
    ]
    title = "How often a level decides, and what it weighs; for you alone"
    print_table(title, ["level", "weight", "of matches", "of strangers"], rows)
    say("")
    chosen = found.expected
    near = [point for point in found.curve if abs(point.least - chosen.least) <= _SHOWN]
    rows = [
        [
            f"{point.least}{' ←' if point == chosen else ''}",
            f"{point.precision:.4f}",
            f"{point.recall:.4f}",
            f"{point.f1:.4f}",
        ]
        for point in near
    ]
    title = f"Expected, with {found.strangers:,.0f} pairs of strangers for each match, compared as drafted"
    print_table(title, ["threshold", "precision", "recall", "F1"], rows)
    say("")
    say(
        f"Expected precision {chosen.precision:.4f}, recall {chosen.recall:.4f}, F1 {chosen.f1:.4f}"
        f"{_told_interval(chosen.interval)}, from this rule:\n"
    )
    say(rule_lines(found.rule))
    if passes:
        say(f"\nRecords are compared by: {tell_blocking(found.agreement)}.")
    if found.notes:
        say("\n".join(["", "Worth knowing:", *(f"  - {as_options(note)}" for note in found.notes)]))


def _learned_from(matches: int, met: int, hint: str) -> str:
    missed = matches - met
    told = "all of them are compared" if not missed else f"{met:,} of them are compared"
    if missed:
        told += f", and {missed:,} are missed by the passes or by what stands beside the score"
    return f"Learned from {matches:,} known matches: {told}.{hint if missed else ''}"


def _told_interval(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return ""
    low, high = interval
    return f" (with so many matches, 95 % between {low:.4f} and {high:.4f})"


def _tell(agreed: Agreement, out: Path | None) -> None:
    """What was written, and whom the rule tells of."""
    from accord.agreement.learnt import LINKED, describe_origin
    from accord.side import Side

    wrote = (
        f"Wrote {out}. Check it with: `accord check {out}`." if out else "Write it with --out agreement.toml."
    )
    assert agreed.learnt_from is not None
    names = {side: agreed.party(side) for side in Side}
    told = f"The rule is {describe_origin(agreed.learnt_from, names)}; the agreement says so."
    if agreed.learnt_from in LINKED:
        told += " If it is linked after all, learn again with --linked-table."
    say(f"{wrote} {told}", err=True)
