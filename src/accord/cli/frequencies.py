"""`accord frequencies`: a list of values and how often each occurs, made of a public table."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import Json
from accord.cli.places import TABLE, find_table, shown
from accord.cli.terminal import say
from accord.errors import UsageError
from accord.wording import counted

if TYPE_CHECKING:
    from accord.fields.frequencies import Frequencies
    from accord.table.sources.opening import Place

_WHY = (
    "A list of frequencies tells of the people who were counted, and both parties have it: so it is made of "
    "a public table, never of one that is linked. If this one is public, say what it is with --public."
)


def frequencies(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=f"A public table: {TABLE}", path_type=str)],
    column: Annotated[str, typer.Option(help="The column of the values.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The list: .csv, .parquet or .arrow.")],
    count_column: Annotated[
        str | None, typer.Option(help="The column of counts; default: every row counts once.")
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="That SOURCE is public, and what it is, for the agreement."),
    ] = None,
    least: Annotated[
        int, typer.Option(min=1, help="Values that occur less often are counted together, without a name.")
    ] = 5,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file of --out.")] = False,
    as_json: Json = False,
) -> None:
    """Make a list of frequencies from a public table.

    Prints the lines that the agreement names it by; both parties need the list itself.
    """
    from accord.fields.frequencies import count_values, list_table
    from accord.table.sinks.files import require_target, write_table
    from accord.table.sources.opening import input_files

    place = find_table(source)
    require_target(out, input_files(place), force)
    said = _require_said(_ask(place) if public is None else public)
    found = count_values(place, column, count_column, least)
    write_table(list_table(found), out, raw=True, replace=force)
    if as_json:
        facts = {"digest": found.digest, "values": len(found.values), "total": found.total}
        typer.echo(json.dumps(facts | {"rest": found.rest, "public_source": said}, ensure_ascii=False))
    else:
        typer.echo(_write_field(column, out, said, found.digest))
    _tell(found, out, least)


def _ask(place: Place) -> str:
    """What the source is, by whoever says that it is public."""
    asked = f"Is {shown(place)} public, so that anybody may have it?"
    if not sys.stdin.isatty() or not typer.confirm(asked, err=True):
        raise UsageError(problem=_WHY)
    said: str = typer.prompt("What is it? The agreement will say so", err=True)
    return said


def _require_said(said: str) -> str:
    from accord.fields.schema import PUBLIC_PATTERN, hides

    if not re.match(PUBLIC_PATTERN, said.strip()) or hides(said.strip()):
        problem = "--public takes one line of at most 200 letters that can be seen, without double quotes."
        raise UsageError(problem=problem)
    return said.strip()


def _write_field(column: str, out: Path, said: str, digest: str) -> str:
    """What stands in the agreement; column and list by names that may stand there."""
    name = re.sub(r"\W+", "_", column, flags=re.ASCII).strip("_").lower()[:56] or "value"
    name = f"_{name}" if name[0].isdigit() else name
    return f"""\
[fields.{name}_rarity]
type = "frequency"
from = "{name}"
list = "{_list_name(out)}"
digest = "{digest}"
public_source = "{said}"
shares = ["1/100", "1/1000", "1/10000"]
missing = "differs\""""


def _list_name(out: Path) -> str:
    return re.sub(r"[^\w.-]+", "-", out.stem, flags=re.ASCII).strip("._-")[:64] or "list"


def _tell(found: Frequencies, out: Path, least: int) -> None:
    rest = f"; {found.rest:,} more without a name" * bool(found.rest)
    say(
        f"Wrote {out}: {counted(len(found.values), 'value')} with a count of at least {least:,}{rest}. Put "
        "the lines above into the agreement, and give the partner the list; each side says where its copy is "
        f"with `accord check AGREEMENT DATA --list {_list_name(out)}={out}`.",
        err=True,
    )
