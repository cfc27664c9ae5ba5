"""`python -m reproduction NAME`: rebuild the paper's evaluation.

Results are csv files to which every finished cell is added, so a run that was cut off goes on. Ends with 1
where a claim of the paper fails and nobody has explained why, or lacks its rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import AccordError

if TYPE_CHECKING:
    from reproduction.lab import Lab
    from reproduction.sweep import Row

OTHERS = {
    "claims": "the 21 claims of the paper: held, in part, or not",
    "report": "figures and evaluation.md from the results that are there",
    "all": "everything, then the report",
}


def reproduce(
    name: Annotated[str, typer.Argument(help="What to run; `list` shows the names.", show_default=False)],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: a minute or two for everything.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="The folder for results, figures and evaluation.md; a run cut off goes on.")
    ] = Path("evaluation"),
    data: Annotated[
        Path | None, typer.Option(help="The folder of real data; default: ../shared/data, if it is there.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same results, times apart.")] = 0,
) -> None:
    """Rebuild a part of the paper's evaluation: results as csv, figures as PNG and SVG."""
    from accord.errors import UsageError
    from reproduction.catalogue import EVIDENCE, EXPERIMENTS, TITLES
    from reproduction.lab import FULL, QUICK, Lab

    if name == "list":
        names = {experiment.name: title for experiment, title in TITLES.items()} | OTHERS
        typer.echo("\n".join(f"{each:12} {title}" for each, title in names.items()))
        return
    if name not in (*EXPERIMENTS, *OTHERS):
        raise UsageError(
            problem=f"There is no experiment '{name}'. `python -m reproduction list` shows them."
        )
    if data is not None and not data.is_dir():
        raise UsageError(problem=f"There is no folder {data}. Leave out --data to use generated tables.")
    lab = Lab(QUICK if quick else FULL, data or _beside(), seed)
    if name != "report":
        chosen = {"all": tuple(EXPERIMENTS), "claims": EVIDENCE}.get(name, (name,))
        rows = {each: _run(lab, each, out) for each in chosen}
        if name != "all":
            _show(lab, name, rows, out)
    if name in ("report", "all"):
        _report(lab, out)
    if name in ("claims", "all"):
        _claims(lab, rows)


def _beside() -> Path | None:
    """The folder of real data beside a checkout."""
    folder = Path("..") / "shared" / "data"
    return folder if folder.is_dir() else None


def _run(lab: Lab, name: str, out: Path) -> list[Row]:
    """Run what is not there yet; the machine is written down only if a cell ran on it."""
    import os

    from accord.cli.terminal import progress
    from reproduction.catalogue import EXPERIMENTS
    from reproduction.report import remember_machine
    from reproduction.sweep import carry_out, unfinished

    chosen, results = EXPERIMENTS[name], out / "results"
    due, load = len(unfinished(chosen, lab, results)), os.getloadavg()[0]
    try:
        with progress(name) as advance:
            return carry_out(chosen, lab, results, advance)
    finally:
        if len(unfinished(chosen, lab, results)) < due:
            remember_machine(results, os.cpu_count() or 1, load)


def _show(lab: Lab, name: str, rows: dict[str, list[Row]], out: Path) -> None:
    """Figures, and for one experiment its table or its sentences."""
    from reproduction.catalogue import EXHIBITS
    from reproduction.report import draw_all, mapping_text, table1_text

    paths = draw_all(rows, out / "figures", lab.size)
    if name == "table1":
        typer.echo(table1_text(rows[name]))
    elif name == "mapping":
        typer.echo(mapping_text(rows[name]))
    elif name in rows:
        typer.echo("\n\n".join(each.says(rows[name]) for each in EXHIBITS if each.experiment == name))
    typer.echo(f"Wrote {out / 'results'} and {len(paths)} figures.", err=True)


def _report(lab: Lab, out: Path) -> None:
    from reproduction.report import available, draw_all, page

    draw_all(available(lab, out / "results"), out / "figures", lab.size)
    path = out / "evaluation.md"
    path.write_text(page(lab, out / "results"), encoding="utf-8")
    typer.echo(f"Wrote {path}.", err=True)


def _claims(lab: Lab, rows: dict[str, list[Row]]) -> None:
    """Print the claims; end with an error if one fails without an explanation or finds no rows."""
    from reproduction.claims import Evidence, Verdict, judge
    from reproduction.claims_paper import CLAIMS
    from reproduction.report import claims_text

    findings = judge(CLAIMS, Evidence(lab.size, rows))
    typer.echo(claims_text(findings))
    failed = [
        str(claim.number) for claim, found in findings if found.failed or found.verdict is Verdict.NOT_RUN
    ]
    if failed:
        typer.echo(
            f"Claims of the paper that fail, and nobody has explained why: {', '.join(failed)}.", err=True
        )
        raise typer.Exit(1)


def main() -> None:
    """Run one part and end with its exit code."""
    try:
        typer.run(reproduce)
    except AccordError as error:
        typer.echo(f"reproduction: {error}", err=True)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    main()
