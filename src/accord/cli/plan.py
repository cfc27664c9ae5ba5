"""`accord plan`: what an agreement will cost and what to agree on instead, before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import Json
from accord.cli.pages import HtmlFile, require_page, write_page
from accord.cli.table import print_table
from accord.cli.terminal import say
from accord.errors import UnmetError, UsageError
from accord.wording import lasting, sized

if TYPE_CHECKING:
    from accord.planning.figures import Option, Plan

_MOST_ROWS = 16
_BAR = 12
_MANY = 200_000
"""Records of a side that take seconds to count."""


def plan(
    agreement: Annotated[Path, typer.Argument(metavar="AGREEMENT", help="The agreement, a TOML file.")],
    records: Annotated[
        tuple[int, int] | None, typer.Option(metavar="A B", help="How many records A and B have.")
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(help="The share of the smaller table that is expected to match; default: 0.3."),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(metavar="lan|wan|MBIT/MS", help="The network between the parties; default: as agreed."),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(help="The share of all matches that must be found; default: as in the agreement."),
    ] = None,
    covered: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="The share of records on either side for which the promise must be expected to hold; "
            "default: 99.5%.",
        ),
    ] = None,
    max_time: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="No more time than this; default: a day, 600 s with ε = 0."),
    ] = None,
    max_bytes: Annotated[float | None, typer.Option(metavar="BYTES", help="No more bytes than this.")] = None,
    max_epsilon: Annotated[
        float | None, typer.Option(help="No larger ε than this; default: the agreed one.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the agreement with the choice in it.")
    ] = None,
    page: HtmlFile = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the files of --write and --html.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Estimate the time for this many processes on each side, with a core each; default: one."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Price every sensible way to run an agreement, and choose one.

    Nothing is spent and nobody is contacted: record counts are enough.
    """
    from accord.agreement.file import read_agreement
    from accord.forecast.plan import plan as make
    from accord.forecast.plan import read_sizes

    if page is not None:
        require_page(page, (agreement, write), force)
    agreed = read_agreement(agreement)
    if max(read_sizes(agreed, records) or (0,)) >= _MANY:
        say("Counting how many records share a key in synthetic tables: this takes up to a minute.", err=True)
    found = make(
        agreed,
        records=records,
        overlap=overlap,
        network=network,
        recall=recall,
        covered=covered,
        max_time=max_time,
        max_bytes=max_bytes,
        max_epsilon=max_epsilon,
        workers=workers,
    )
    if write is not None and not found.missed:
        _write(found, write, agreement, force)
    if page is not None:
        from accord.report.plan_page import describe_plan

        write_page(page, describe_plan(found), force, private=False)
    if as_json:
        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        show(found)
    if found.missed:
        written = "The nearest is shown." if write is None else f"{write} was not written."
        raise UnmetError(wishes=", ".join(f"--{name}" for name in found.missed), written=written)


def _write(found: Plan, path: Path, agreement: Path, force: bool) -> None:
    """The agreement with the choice in it: never one that somebody's data decided."""
    from accord.table.sinks.files import require_no_input, require_writable, write_file

    require_no_input(path, [agreement], "write")
    require_writable(path, "write", ())
    if path.exists() and not force:
        raise UsageError(problem=f"{path} already exists; --force replaces it.")
    head = "# Chosen by `accord plan` from the numbers of records alone.\n"
    write_file(path, (head + found.choice.agreement.to_toml()).encode(), "write", replace=force)
    say(f"Wrote {path}. Agree on it with your partner, then: `accord check {path}`.", err=True)


def show(found: Plan) -> None:
    """The options as a table with small bars, the choice and the warnings."""
    from accord.planning.figures import cost, tell_conditions

    ranked = sorted(found.options, key=lambda one: (one is not found.choice, not one.agreed, cost(one)))
    most = max(one.seconds.expected for one in ranked[:_MOST_ROWS])
    names: tuple[str, ...] = ("", "protocol", "blocking", "ε", "recall", "covered", "comparisons", "bytes")
    names = (*names, "time", "")
    rows = [_row(one, found, most) for one in ranked[:_MOST_ROWS]]
    if any(any(one.widths) for one in ranked):
        names = (*names[:6], "±", *names[6:])
        for row, option in zip(rows, ranked, strict=False):
            row.insert(6, "; ".join(f"{width:,}" for width in dict.fromkeys(option.widths)))
    a, b = found.sizes
    title = f"{a:,} records of A, {b:,} of B, {found.network} (Mbit/s and ms)"
    if found.workers > 1:
        title += f", {found.workers} workers per side"
    print_table(title, names, rows)
    for line in tell_conditions(ranked[:_MOST_ROWS]):
        say(line)
    if len(ranked) > _MOST_ROWS:
        say(f"… and {len(ranked) - _MOST_ROWS:,} more with --json.")
    say(f"\n{found.why}")
    for one in found.warnings:
        say(f"Warning: {one.text} [{one.code}]")


def _row(option: Option, found: Plan, most: float) -> list[str]:
    marks = "→" * (option is found.choice) + "*" * option.agreed
    return [
        marks,
        option.protocol + (" greedy" if option.greedy else ""),
        option.blocking or "none",
        option.tell_epsilon(),
        option.tell_recall(),
        option.tell_covered(),
        f"{option.comparisons.expected:,.0f}",
        sized(round(option.bytes.expected)),
        lasting(option.seconds.expected),
        bar(option.seconds.expected / most, _BAR),
    ]


def bar(share: float, width: int) -> str:
    """A bar of eighths of a letter."""
    eighths = max(1, round(min(1.0, share) * width * 8))
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")
