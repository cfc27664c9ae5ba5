"""`python -m reproduction NAME`, or `make reproduce`: rebuild the paper's evaluation, from a checkout.

`python -m reproduction accord COMMAND …` is the command line of Accord with what the laboratory plugs in.

Results are csv files to which every finished point is added, so a run that was cut off goes on. What was
asked for goes to stdout, the rest to stderr. It ends with

    0    done
    2    it was called wrongly: an unknown name or option, a folder that is not there, a report of no results
    4    real data, or results, cannot be read
    5    results, figures or the page cannot be written
    11   a claim of the paper fails and nobody has explained why, needs more seeds or lacks its rows (`claims`
         and `all`)
    12   an audit finds a leak (`audit`)
    130  stopped with Ctrl-C; what is finished is kept

and with 1 and a traceback where the laboratory itself is at fault.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord import AccordError, plugins
from accord.cli import main as accord
from accord.cli.words import as_options
from reproduction.audit.command import app as audits

if TYPE_CHECKING:
    from reproduction.lab import Lab
    from reproduction.sweep import Row

OTHERS = {
    "claims": "the 21 claims of the paper over several seeds: held, in part, or not",
    "quality": "precision, recall and F1 beside Splink, recordlinkage and anonlink; needs .venv-peers",
    "report": "figures and evaluation.md from the results that are there",
    "all": "everything, then the report",
    "audit": "whether the partner can tell two tables apart; `audit --help` says more",
}
app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class CutOffError(AccordError):
    """Stopped. What is finished is kept: the same command goes on from there."""

    exit_code = 130


@app.command(
    epilog="Ends with 0 when done, 2 if it was called wrongly, 4 if something cannot be read and 5 if it "
    "cannot be written, 11 if a claim of the paper fails without an explanation or lacks its rows, 130 after "
    "Ctrl-C."
)
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to run; `list` shows the names.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: a few minutes for everything.")
    ] = False,
    out: Annotated[
        Path, typer.Option(help="The folder for results, figures and evaluation.md; a run cut off goes on.")
    ] = Path("evaluation"),
    data: Annotated[
        Path | None, typer.Option(help="The folder of real data; default: ../shared/data, if it is there.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Same seed, same results, times apart; claims begin with it and take more.")
    ] = 0,
) -> None:
    """Rebuild a part of the paper's evaluation: results as csv, figures as PNG."""
    from reproduction.lab import FULL, QUICK, Lab

    if name == "list":
        typer.echo("\n".join(f"{each:12} {title}" for each, title in _names().items()))
        return
    _require(name, data)
    try:
        _rebuild(Lab(QUICK if quick else FULL, data or _beside(), seed), name, data or _beside(), out)
    except KeyboardInterrupt:
        raise CutOffError from None


def _names() -> dict[str, str]:
    """Everything that can be asked for, and what it is."""
    from reproduction.catalogue import TITLES

    return {experiment.name: title for experiment, title in TITLES.items()} | OTHERS


def _require(name: str, data: Path | None) -> None:
    from difflib import get_close_matches

    from accord.errors import UsageError

    if name not in _names():
        near = get_close_matches(name, _names(), 1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        raise UsageError(
            problem=f"There is no experiment '{name}'.{meant} `python -m reproduction list` shows them."
        )
    if data is not None and not data.is_dir():
        raise UsageError(problem=f"There is no folder {data}. Leave out --data to use generated tables.")


def _rebuild(lab: Lab, name: str, data: Path | None, out: Path) -> None:
    """Run what was asked for and is not there yet; show it, judge it or report on it."""
    from reproduction.catalogue import EXPERIMENTS

    if name == "report":
        _report(lab, out)
        return
    if name == "quality":
        _quality(lab, data, out)
        return
    if name == "claims":
        _measure_claims(lab, data, out)
        _judge(lab, out)
        return
    rows = {each: _run(lab, each, out) for each in (EXPERIMENTS if name == "all" else (name,))}
    if name != "all":
        _show(lab, name, rows, out)
        return
    _measure_claims(lab, data, out)
    _report(lab, out)
    _judge(lab, out)


def _beside() -> Path | None:
    """The folder of real data beside a checkout."""
    folder = Path("..") / "shared" / "data"
    return folder if folder.is_dir() else None


def _run(lab: Lab, name: str, out: Path) -> list[Row]:
    """Run what is not there yet; the machine is written down only if a point ran on it."""
    import os

    from reproduction.catalogue import EXPERIMENTS
    from reproduction.progress import progress
    from reproduction.provenance import remember
    from reproduction.sweep import carry_out, unfinished

    chosen, results = EXPERIMENTS[name], out / "results"
    due, load = len(unfinished(chosen, lab, results)), os.getloadavg()[0]
    try:
        with progress(name) as watch:
            return carry_out(chosen, lab, results, watch)
    finally:
        if len(unfinished(chosen, lab, results)) < due:
            remember(results, name, load)


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
        shown = [each for each in EXHIBITS if each.experiment == name]
        typer.echo("\n\n".join(part for each in shown for part in each.parts(rows[name])))
    typer.echo(f"Wrote {out / 'results'} and {len(paths)} figures.", err=True)


def _report(lab: Lab, out: Path) -> None:
    from accord.errors import OutputError, UsageError
    from reproduction.report import available, draw_all, page

    rows, path = available(lab, out / "results"), out / "evaluation.md"
    if not rows:
        raise UsageError(
            problem=f"There is nothing to report on: {out / 'results'} has no results of this size with "
            f"seed {lab.seed}. Run an experiment first, or name another folder with --out."
        )
    draw_all(rows, out / "figures", lab.size)
    try:
        path.write_text(page(lab, out / "results"), encoding="utf-8")
    except OSError as error:
        raise OutputError(path=path, reason=error.strerror) from None
    typer.echo(f"Wrote {path}.", err=True)


def _quality(lab: Lab, data: Path | None, out: Path) -> None:
    from reproduction.quality import study
    from reproduction.quality_data import DATASETS, MADE_SETS
    from reproduction.quality_rows import (
        generated_text,
        judge_lines,
        overview_text,
        table_text,
        verdict_text,
    )

    quick = lab.size.name == "quick"
    lines, turns = study(out / "results", data, lab.seed, quick, lambda word: typer.echo(word, err=True))
    people = [one.name for one in DATASETS if one.persons]
    seen = [one.name for one in DATASETS if one.seen]
    verdicts = verdict_text(judge_lines(lines, turns, people))
    generated = generated_text(lines, [one.name for one in MADE_SETS])
    texts = overview_text(lines, people, seen), generated, table_text(lines, turns), verdicts
    typer.echo("\n\n".join(texts))
    typer.echo(f"Wrote {out / 'results' / 'quality.csv'}.", err=True)


def _measure_claims(lab: Lab, data: Path | None, out: Path) -> None:
    """Run what the claims rest on and is not there yet, for each of their seeds."""
    import os

    from reproduction.progress import progress
    from reproduction.provenance import remember
    from reproduction.seeds import FOLDER, found, gather

    results, load = out / "results", os.getloadavg()[0]
    before = found(lab.size, lab.seed, results)
    if gather(lab.size, data, lab.seed, results, progress) != before:
        remember(results, FOLDER, load)


def _judge(lab: Lab, out: Path) -> None:
    """Print the claims; end with an error if one fails unexplained, is open or finds no rows."""
    from reproduction.claims import require_explained
    from reproduction.report import claims_text, findings

    judged = findings(lab, out / "results")
    typer.echo(claims_text(judged, lab.size))
    require_explained(judged, lab.size.is_quick)


def main() -> None:
    """Run one part and end with its exit code."""
    plugins.load("reproduction.plugins")
    if sys.argv[1:2] == ["accord"]:
        sys.argv = sys.argv[1:]
        accord("python -m reproduction accord")
        return
    try:
        if sys.argv[1:2] == ["audit"]:
            audits(sys.argv[2:], prog_name="python -m reproduction audit")
        app(prog_name="python -m reproduction")
    except AccordError as error:
        typer.echo(f"reproduction: {as_options(error)}", err=True)
        raise SystemExit(error.exit_code) from None


if __name__ == "__main__":
    main()
