"""`accord generate`: two tables and their truth, to try things on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.terminal import say
from accord.errors import OutputError, UsageError
from accord.wording import counted

if TYPE_CHECKING:
    from accord.datasets.generated import Generated


class Data(StrEnum):
    products = "products"
    people = "people"


def generate(
    kind: Annotated[Data, typer.Argument(help="What the records are about.")],
    records: Annotated[int, typer.Option(min=1, max=50_000_000, help="Records per side.")] = 5_000,
    overlap: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of records that both sides have.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same data.")] = 0,
    dotted_dates: Annotated[
        bool,
        typer.Option("--dotted-dates", help="For people: B writes 31.12.1980; b.csv.layout.toml says so."),
    ] = False,
    out: Annotated[Path, typer.Option(help="The folder for a.csv, b.csv and truth.csv.")] = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Write two tables, and the pairs that truly belong together.

    They are a.csv, b.csv and truth.csv; for people the truth also lists the kinds of errors in each pair.
    """
    from accord.table.sinks.files import require_target, write_table

    if kind is not Data.people and dotted_dates:
        raise UsageError(problem=f"--dotted-dates is for people, not for {kind.value}.")
    paths = [out / name for name in ("a.csv", "b.csv", "truth.csv")]
    layout = out / "b.csv.layout.toml"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "no folder can have this name").lower()
        raise OutputError(path=out, reason=reason) from None
    for path in [*paths, *([layout] if dotted_dates else [])]:
        require_target(path, [], force, endings=())
    made = _make(kind, records, overlap, seed, dotted_dates)
    for table, path in zip((made.a, made.b, made.truth), paths, strict=True):
        write_table(table, path, raw=True, replace=force)
    say(
        f"Wrote {paths[0]} and {paths[1]} ({counted(records, 'record')} each) and {paths[2]} "
        f"({counted(made.truth.num_rows, 'true pair')}).",
        err=True,
    )
    if dotted_dates:
        _write_layout(layout, force)


def _make(kind: Data, records: int, overlap: float | None, seed: int, dotted: bool) -> Generated:
    from accord.datasets.people import generate_people
    from accord.datasets.products import generate_products

    if kind is Data.people:
        return generate_people(records, overlap, seed, dotted=dotted)
    return generate_products(records, overlap, seed)


def _write_layout(path: Path, force: bool) -> None:
    from accord.datasets.people import DOTTED
    from accord.table.layout import Layout
    from accord.table.sinks.files import write_file

    text = f"# How b.csv is written.\n{Layout().read_dates({'birth': DOTTED}).to_toml()}"
    write_file(path, text.encode(), replace=force)
    say(f"Wrote {path}: how b.csv is written; commands find it there.", err=True)
