"""`accord series`: the series that are kept here, and all pairs that one has found."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.completion import complete_account, complete_partner
from accord.cli.options import Raw, named_state
from accord.cli.table import print_table
from accord.cli.terminal import say
from accord.wording import counted

if TYPE_CHECKING:
    from accord.state.folder import State


def series(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show all pairs of this series.", show_default=False),
    ] = None,
    partner: Annotated[
        str | None,
        typer.Option(
            help="With whom; default: the only one.", show_default=False, autocompletion=complete_partner
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="Of which account.", show_default=False, autocompletion=complete_account),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the pairs: .csv, .parquet or .arrow; default: print them as csv.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    raw: Raw = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list of series as JSON.")] = False,
) -> None:
    """List the series kept here, or write all pairs of one.

    Each pair comes with the run that found it.
    """
    from accord.state.folder import open_state

    opened = open_state(named_state(context), os.environ, new=False)
    if name is None:
        _show_list(opened, as_json)
    else:
        _show_pairs(opened, name, partner, dataset, out, force, raw)


def _show_list(state: State, as_json: bool) -> None:
    from accord.run.series_pairs import list_series

    found = list_series(state)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=2, ensure_ascii=False))
    elif found:
        names = ("series", "data set", "partner", "runs done", "last", "pairs", "waiting")
        rows = [
            [
                *(one.name, one.dataset, one.partner, str(one.runs), one.last[:16].replace("T", " ")),
                *(f"{one.matches:,}", ", ".join(one.waiting) or "–"),
            ]
            for one in found
        ]
        print_table("Series", names, rows)
    else:
        say("No series is kept here.")


def _show_pairs(
    state: State,
    name: str,
    partner: str | None,
    dataset: str | None,
    out: Path | None,
    force: bool,
    raw: bool,
) -> None:
    from accord.cli.link import plain
    from accord.run.series_pairs import all_pairs
    from accord.table.sinks.files import csv_pieces, require_target, write_table

    if out is not None:
        require_target(out, (), force)
    pairs = all_pairs(state, name, partner, dataset)
    if out is None:
        for piece in csv_pieces(pairs, raw=raw):
            text = str(piece, "utf-8")
            typer.echo(plain(text) if sys.stdout.isatty() else text, nl=False)
        return
    write_table(pairs, out, raw=raw, replace=force)
    say(f"{counted(len(pairs), 'matching pair')} in {out}.")
