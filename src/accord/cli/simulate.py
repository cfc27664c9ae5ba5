"""`accord simulate`: both tables in one place, in the clear, to see what an agreement finds and costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.options import Delimiter, Encoding, Json, layout
from accord.cli.terminal import progress

if TYPE_CHECKING:
    from accord.simulation import Simulation


def simulate(
    a: Annotated[Path, typer.Argument(help="Party A's table: csv, parquet or arrow.")],
    b: Annotated[Path, typer.Argument(help="Party B's table.")],
    agreement: Annotated[Path, typer.Option("--agreement", help="The agreement.")],
    out: Annotated[Path | None, typer.Option(help="Write the matching pairs: .csv, .parquet, .arrow")] = None,
    truth: Annotated[
        Path | None, typer.Option(help="The true pairs (id_a, id_b): report recall and precision, too.")
    ] = None,
    columns_a: Annotated[Path | None, typer.Option(help="A's layout, see `accord check --columns`.")] = None,
    columns_b: Annotated[Path | None, typer.Option(help="B's layout.")] = None,
    column_a: Annotated[list[str] | None, typer.Option(help="FIELD=COLUMN of A; repeatable.")] = None,
    column_b: Annotated[list[str] | None, typer.Option(help="FIELD=COLUMN of B; repeatable.")] = None,
    id_a: Annotated[str | None, typer.Option(help="A's id column.")] = None,
    id_b: Annotated[str | None, typer.Option(help="B's id column.")] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    as_json: Json = False,
) -> None:
    """Link two tables in the clear: matches, recall, candidate pairs. For data that you may see both of."""
    from accord.agreement_file import read_agreement
    from accord.records.sinks import require_writable, write_table
    from accord.simulation import peak_mib, read_truth, truth_scores
    from accord.simulation import simulate as run

    agreed = read_agreement(agreement)
    if out is not None:
        require_writable(out)
    true = read_truth(truth) if truth is not None else None
    layout_a = layout(agreed, columns_a, column_a, id_a, encoding, delimiter)
    layout_b = layout(agreed, columns_b, column_b, id_b, encoding, delimiter)
    with progress("Comparing") as advance:
        result = run(
            a,
            b,
            agreed,
            layout_a=layout_a,
            layout_b=layout_b,
            progress=advance,
        )
    facts = report(result)
    if true is not None:
        facts |= truth_scores(result, true) | {"peak_mib": peak_mib()}
    if out is not None:
        write_table(result.pairs, out)
    typer.echo(json.dumps(facts) if as_json else words(facts, result))
    if out is not None:
        typer.echo(f"Wrote {out}.", err=True)


def report(result: Simulation) -> dict[str, Any]:
    """The figures of a simulation under the names that people know."""
    names = (
        "records_a records_b left_out matches all_matches candidate_pairs comparisons all_pairs bins "
        "recall precision reduction_ratio seconds peak_mib"
    )
    return {name: getattr(result, name) for name in names.split()}


def words(facts: dict[str, Any], result: Simulation) -> str:
    """The same for people, with the first few pairs."""
    lines = [
        f"Records          {facts['records_a']:,} (A) and {facts['records_b']:,} (B)",
        f"Matches          {facts['matches']:,} of {facts['all_matches']:,} that the rule accepts",
        f"Recall           {facts['recall']:.4f}",
        f"Precision        {facts['precision']:.4f}",
        f"Candidate pairs  {facts['candidate_pairs']:,} of {facts['all_pairs']:,}",
        f"Reduction ratio  {facts['reduction_ratio']:.4f}",
        f"Bins             {facts['bins']:,}",
        f"Time, memory     {facts['seconds']:.1f} s, {facts['peak_mib']:,.0f} MiB",
    ]
    if facts["left_out"]:
        lines.insert(1, f"Left out         {facts['left_out']:,} by the policies of the agreement")
    if "true_pairs" in facts:
        lines.append(
            f"Against truth    recall {facts['recall_of_truth']:.4f}, precision "
            f"{facts['precision_of_truth']:.4f} ({facts['true_pairs']:,} true pairs)"
        )
    shown = result.pairs.slice(0, 5).to_pylist()
    if shown:
        lines += ["", "The first pairs:"]
        lines += [f"  {pair['id_a']} – {pair['id_b']}" for pair in shown]
    return "\n".join(lines)
