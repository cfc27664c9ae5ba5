"""`accord check`: is the agreement sound, does my data fit it, and what will the partner learn?"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from accord.cli.check_typed import (
    ColumnPairs,
    DateFormats,
    Delimiter,
    Encoding,
    IdColumn,
    MakeIds,
    PersonColumn,
    Typed,
)
from accord.cli.options import Json
from accord.cli.places import TABLE, find_table, find_table_or_none, shown
from accord.cli.terminal import say
from accord.cli.words import as_own_options
from accord.errors import FaultyError, UsageError

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.check_layout import Known
    from accord.preparing.own_table import TableCheck
    from accord.side import Side
    from accord.table.sources.opening import Place


def check(
    context: typer.Context,
    agreement: Annotated[
        Path | None, typer.Argument(metavar="AGREEMENT", help="The agreement, a TOML file.")
    ] = None,
    table: Annotated[
        str | None, typer.Argument(metavar="DATA", help=f"Your table: {TABLE}", path_type=str)
    ] = None,
    party: Annotated[str | None, typer.Option(help="Whose data it is: A, B or the party's name.")] = None,
    layout: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where it is written how your table is laid out; default: DATA.layout.toml.",
            show_default=False,
        ),
    ] = None,
    column: ColumnPairs = None,
    id: IdColumn = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    person: PersonColumn = None,
    date: DateFormats = None,
    make_ids: MakeIds = False,
    force: Annotated[
        bool, typer.Option("--force", help="Begin a new layout file, whatever the old one says.")
    ] = False,
    columns_of: Annotated[
        str | None,
        typer.Option(help="List the names of this table's columns, and nothing else.", path_type=str),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD", help="Show ten of its values before and after, to you alone; repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List all faults in an agreement and in your data.

    Says what the partner will learn, finds out how your file is written, and writes that down with what you
    say of it here, for all other commands.
    """
    from accord.agreement.file import read_agreement
    from accord.cli.check_layout import keep, list_columns, read_known, tell_ids
    from accord.cli.match import describe_match
    from accord.preparing.check import find_side
    from accord.preparing.facts import tell_unchecked
    from accord.preparing.words import describe

    typed = Typed(
        columns=tuple(column or ()),
        id=id,
        make_ids=make_ids,
        dates=tuple(date or ()),
        person=person,
        encoding=encoding,
        delimiter=delimiter,
    )
    if columns_of is not None:
        list_columns(find_table(columns_of), layout, typed, as_json)
        return
    data = find_table_or_none(table)
    if agreement is None:
        raise UsageError(problem="Name the agreement: accord check AGREEMENT [DATA].")
    if show and data is None:
        raise UsageError(problem="Values can be shown only with data: accord check AGREEMENT DATA.")
    _require_no_input(layout, agreement, data)
    try:
        found = read_agreement(agreement)
        side = find_side(found, party) if party is not None else None
        known = read_known(found, data, layout, typed, force)
        facts, file = _judge(found, data, side, known, show or [])
    except FaultyError as error:
        if as_json:
            typer.echo(_json_faults(error))
        raise
    if as_json:
        typer.echo(as_own_options(json.dumps(facts, ensure_ascii=False)))
    else:
        table = shown(data) if data is not None else ""
        match = describe_match(found.rule, "Match      ")
        say(as_own_options(describe(str(agreement), table, match, facts)))
    if file is not None:
        keep(file, known, agreement, force)
        tell_ids(file)
    if as_json:
        return
    if data is not None and side is None and (unchecked := tell_unchecked(found, known.layout.person)):
        say(f"Name your side with --party to check {unchecked}, too.", err=True)


def _require_no_input(layout: Path | None, agreement: Path, data: Place | None) -> None:
    """Raise before any work if the layout would be written over what is read."""
    from accord.table.sinks.files import require_no_input
    from accord.table.sources.opening import input_files

    if layout is not None:
        require_no_input(layout, [agreement, *input_files(data)], "layout")


def _json_faults(error: FaultyError) -> str:
    """The faults, as the command line says them."""
    faults = [
        asdict(replace(f, problem=as_own_options(f.problem), mend=as_own_options(f.mend)))
        for f in error.faults
    ]
    mend = {"mend": as_own_options(error.mend)} if error.mend else {}
    return json.dumps({"faults": faults, **mend}, ensure_ascii=False)


def _judge(
    agreement: Agreement, data: Place | None, side: Side | None, known: Known, show: list[str]
) -> tuple[dict[str, Any], TableCheck | None]:
    """The facts about the agreement and the data; raises all faults."""
    from accord.cli.check_layout import read_table
    from accord.preparing.check import judge

    file = read_table(agreement, data, side, known.layout, known.named) if data is not None else None
    facts = judge(agreement, side, file)
    if file is not None and show:
        facts["shown"] = file.show(agreement, show)
    return facts, file
