"""`accord simulate`: both tables in one place, to see what an agreement finds and what it costs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.changes import read_changes
from accord.cli.options import Json, Raw, read_own_layout
from accord.cli.pages import HtmlFile, require_page, write_page
from accord.cli.places import PAIRS, TABLE, find_table, layout_beside, shown
from accord.cli.simulate_quality import facts_of, read_cells, shown_pairs, summary
from accord.cli.simulate_quality import words as quality_words
from accord.cli.terminal import plain, progress, say, width_of
from accord.wording import counted, lasting, sized

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.protocols.parts.own_side import Status, Watch
    from accord.simulation.pair import Simulation
    from accord.simulation.report import Quality
    from accord.table.layout import Layout
    from accord.table.sources.opening import Place


def simulate(
    table_a: Annotated[str, typer.Argument(metavar="A", help=f"Party A's table: {TABLE}", path_type=str)],
    table_b: Annotated[str, typer.Argument(metavar="B", help="Party B's table.", path_type=str)],
    agreement: Annotated[Path, typer.Option("--agreement", help="The agreement.")],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help=f"Write the matching pairs, or the answer: {PAIRS}",
            path_type=str,
        ),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="The true pairs (id_a, id_b): report how good the matches are, too.")
    ] = None,
    pairs: Annotated[
        int,
        typer.Option(min=0, max=1_000, help="With --truth or --html: how many pairs of either kind to show."),
    ] = 3,
    page: HtmlFile = None,
    engine: Annotated[
        str,
        typer.Option(help="ideal (in the clear), or the real thing: ot, dual."),
    ] = "ideal",
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="Instead of what is agreed: protocol (laplace, routed, psi or all-pairs); options of it on "
            "both sides (epsilon, delta, noise, records_per_person, prune, greedy, cap of routed); of "
            "routed also answer=count, with noise of answer_epsilon (1); repeatable.",
        ),
    ] = None,
    beyond_blocking: Annotated[
        bool,
        typer.Option(
            "--beyond-blocking",
            help="Look among all pairs, not only those that meet, for what the rule accepts: takes long.",
        ),
    ] = False,
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="Repeat with fresh noise.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Same seed, same run.")] = None,
    layout_a: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="How A's table is laid out; default: the file next to it, which `accord check` writes.",
        ),
    ] = None,
    layout_b: Annotated[Path | None, typer.Option(metavar="FILE", help="The same for B.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files that are written.")] = False,
    raw: Raw = False,
    as_json: Json = False,
) -> None:
    """Run the protocol on two tables in one process.

    Prints matches, recall and comparisons; for data where you may see both sides.
    """
    from accord.agreement.adjusting import adjust
    from accord.agreement.file import read_agreement
    from accord.run.output import output_names
    from accord.simulation.pair import peak_mib
    from accord.simulation.pair import simulate as run
    from accord.simulation.truth import read_truth
    from accord.table.sinks.targets import as_target_or_none, require_free, write_pairs
    from accord.table.sources.opening import input_files, input_places

    a, b = find_table(table_a), find_table(table_b)
    changed = read_changes(change or ())
    noise = changed.pop("noise", None)
    agreed = adjust(read_agreement(agreement), **changed)
    own = {"A": (a, read_own_layout(agreed, layout_a, a)), "B": (b, read_own_layout(agreed, layout_b, b))}
    layouts = (layout_a or layout_beside(a), layout_b or layout_beside(b))
    named = [path for path in (agreement, truth, *layouts) if path is not None]
    target = as_target_or_none("out", out)
    if target is not None:
        read = (*input_places(a), *input_places(b), *named)
        require_free(target, read, output_names(agreed), force=force)
    if page is not None:
        require_page(page, (*input_files(a), *input_files(b), *named), force)
    true = read_truth(truth) if truth is not None else None
    with _watch() as watch:
        result = run(
            a,
            b,
            agreed,
            engine=engine,
            noise=noise,
            beyond_blocking=beyond_blocking,
            runs=runs,
            seed=seed,
            layout_a=own["A"][1],
            layout_b=own["B"][1],
            watch=watch,
        )
    facts = report(result)
    quality = None if true is None else result.quality(true, pairs)
    if quality is not None:
        facts |= facts_of(quality) | {"peak_mib": peak_mib()}
    if target is not None:
        write_pairs(result.result, target, raw=raw, force=force)
    if page is not None:
        write_page(page, _page(result, quality, pairs, own), force, private=True)
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        say(words(facts, result))
        if quality is not None:
            _say_quality(quality, agreed, own)
    if target is not None:
        say(f"Wrote {shown(target)}.", err=True)


def _page(
    result: Simulation, quality: Quality | None, pairs: int, tables: Mapping[str, tuple[Place, Layout]]
) -> str:
    """With what the rule reads of the pairs to look at: it is for those who may see both tables."""
    from accord.report.simulation_page import NO_CELLS, PairCells, describe_simulation

    near = result.nearest(pairs) if quality is None else {}
    some = [pair for group in near.values() for pair in group] if quality is None else shown_pairs(quality)
    if not some:
        return describe_simulation(result, quality, NO_CELLS, near)
    columns, found = read_cells(some, result.agreement, tables)
    return describe_simulation(result, quality, PairCells(columns, found["A"], found["B"]), near)


def _say_quality(quality: Quality, agreement: Agreement, tables: Mapping[str, tuple[Place, Layout]]) -> None:
    """The report on the matches; with values of records where it goes to a terminal."""
    width = width_of(sys.stdout)
    columns, cells = ([], {}) if width is None else read_cells(shown_pairs(quality), agreement, tables)
    say("\n" + quality_words(quality, columns, cells, width))


@contextmanager
def _watch() -> Iterator[Watch]:
    with progress("Comparing") as advance:

        def watch(status: Status) -> None:
            advance(status.comparisons, status.most_comparisons)

        yield watch


def report(result: Simulation) -> dict[str, Any]:
    """The figures of a simulation under the names that people know."""
    names = (
        "records_a records_b left_out matches matches_found all_matches candidate_pairs comparisons "
        "comparisons_sd all_pairs cost_ratio bins recall precision reduction_ratio leaks seconds "
        "join_seconds peak_mib among_candidates estimated"
    )
    facts = {name: getattr(result, name) for name in names.split()}
    promises = {side.value: promised for side, promised in result.promises.items()}
    facts["epsilon"] = {side: promised.epsilon for side, promised in promises.items()}
    facts["delta"] = {side: promised.delta for side, promised in promises.items()}
    facts["unless"] = {side: promised.unless for side, promised in promises.items()}
    facts["answer"] = _facts_of_answer(result)
    facts["passes"] = [asdict(one) for one in result.passes]
    return facts | {"runs": [asdict(run) for run in result.runs]}


def _facts_of_answer(result: Simulation) -> list[dict[str, Any]] | None:
    """Each number of the answer: of the first run, within how much of the truth, and the truth."""
    if result.answer is None or result.exact_answer is None:
        return None
    both = zip(result.answer.cells, result.exact_answer.values, strict=True)
    return [asdict(cell) | {"exact": exact} for cell, exact in both]


def words(facts: dict[str, Any], result: Simulation) -> str:
    """The same for people, with the first few pairs."""
    run = result.runs[0]
    spread = f" ± {facts['comparisons_sd']:,.0f} over {len(result.runs)} runs" if len(result.runs) > 1 else ""
    lines = [
        f"Records          {facts['records_a']:,} (A) and {facts['records_b']:,} (B)",
        *_describe_answer(facts),
        f"Matches          {_kept(facts)} of {_all(facts)} that the rule accepts{_where(facts)}",
        f"Recall           {facts['recall']:.4f} under the rule{_where(facts)}",
        f"Precision        {facts['precision']:.4f}",
        f"Comparisons      {facts['comparisons']:,.0f}{spread}, {facts['cost_ratio']:.2%} of all pairs",
        f"Candidate pairs  {facts['candidate_pairs']:,}{_of_all(facts)}",
        f"Bins             {facts['bins']:,}, with {run.dummies_a:,} (A) and {run.dummies_b:,} (B) dummies",
        *_describe_passes(facts),
        f"Privacy          {_privacy(facts, 'A')}; {_privacy(facts, 'B')}",
        *_describe_traffic(result),
        f"Time, memory     {lasting(facts['seconds'])}, {facts['peak_mib']:,.0f} MiB",
    ]
    if facts["leaks"]:
        lines.insert(0, facts["leaks"])
    if facts["cost_ratio"] > 1:
        better = "all-pairs would take fewer comparisons, find every match and spend nothing (ε = 0)"
        lines.append(f"Worth knowing    {better}")
    lines += [f"Worth knowing    {line}" for line in result.advice]
    if facts["among_candidates"]:
        lines.append("Worth knowing    blocking may lose matches; --beyond-blocking looks among all pairs")
    if facts["left_out"]:
        lines.append(f"Left out         {facts['left_out']:,} by the policies of the agreement")
    if "true_pairs" in facts:
        lines += summary(facts)
    shown = result.found.head(5).to_pylist()
    if shown:
        hidden = ", which a run would show to nobody" if facts["answer"] is not None else ""
        lines += ["", f"The first pairs{hidden}:"]
        lines += [plain(f"  {pair['id_a']} – {pair['id_b']}").replace("\n", " ") for pair in shown]
    return "\n".join(lines)


def _describe_answer(facts: dict[str, Any]) -> list[str]:
    """What both sides would learn of a run, and what they would not."""
    lines, runs = [], len(facts["runs"])
    if facts["answer"] and runs > 1:
        lines.append(f"Answer           of the first of {runs:,} runs; --json has that of each")
    for cell in facts["answer"] or ():
        near = f" ± {cell['within']:,}" if cell["within"] else ""
        name = plain(" · ".join(cell["names"]))
        lines.append(f"Answer           {name}: {cell['value']:,}{near}; without noise {cell['exact']:,}")
    return lines


def _kept(facts: dict[str, Any]) -> str:
    if facts["matches_found"] is None:
        return f"{facts['matches']:,}"
    return f"{facts['matches']:,} kept one to one; found {facts['matches_found']:,}"


def _all(facts: dict[str, Any]) -> str:
    return f"about {facts['all_matches']:,}" if facts["estimated"] else f"{facts['all_matches']:,}"


def _of_all(facts: dict[str, Any]) -> str:
    """A pair that meets in several passes is compared in each."""
    if len(facts["passes"]) > 1:
        return ", each in every pass in which it meets"
    return f" of {facts['all_pairs']:,}"


def _where(facts: dict[str, Any]) -> str:
    """Where the pairs that the rule accepts were looked for."""
    return " among the pairs that meet" * facts["among_candidates"]


def _describe_passes(facts: dict[str, Any]) -> list[str]:
    """What each pass brings together, of the true pairs where they are known; the best buckets."""
    passes, lines = facts.get("passes_of_truth", facts["passes"]), []
    of = "true pairs" if "passes_of_truth" in facts else f"pairs that the rule accepts{_where(facts)}"
    for one in passes:
        if len(passes) > 1:
            lines.append(
                f"Pass             '{one['name']}': {one['recall']:.4f} of the {of}, with those before "
                f"{one['recall_so_far']:.4f}; {counted(one['candidate_pairs'], 'candidate pair')}"
            )
        if one["best_buckets"] is not None:
            lines.append(
                f"Buckets          {one['buckets']:,} in '{one['name']}'; about {one['best_buckets']:,} cost "
                "the least for these sizes"
            )
    return lines


def _describe_traffic(result: Simulation) -> list[str]:
    """What would have travelled; the ideal engine sends nothing that would."""
    run = result.runs[0]
    return [] if result.engine == "ideal" else [f"Rounds, bytes    {run.rounds:,} and {sized(run.bytes)}"]


def _privacy(facts: dict[str, Any], side: str) -> str:
    from accord.privacy.events import tell_unless

    if facts["epsilon"][side] is None:
        return f"{side}: no promise"
    numbers = f"ε = {facts['epsilon'][side]:g}, δ = {facts['delta'][side]:.3g}"
    return f"{side}: {numbers}{tell_unless(facts['unless'][side])}"
