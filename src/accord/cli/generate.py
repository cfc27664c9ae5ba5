"""`accord generate`: two tables and their truth, to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from accord.cli.init import Kind
from accord.cli.terminal import say
from accord.errors import OutputError
from accord.wording import counted


def generate(
    kind: Annotated[Kind, typer.Argument(help="What the records are about.")],
    records: Annotated[int, typer.Option(min=1, max=50_000_000, help="Records a side.")] = 5_000,
    overlap: Annotated[
        float | None, typer.Option(min=0, max=1, help="Share of records that both sides have.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same data.")] = 0,
    sparse: Annotated[bool, typer.Option("--sparse", help="Few records match.")] = False,
    out: Annotated[Path, typer.Option(help="The folder for a.csv, b.csv and truth.csv.")] = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write two tables, and the pairs that truly belong together.

    They are a.csv, b.csv and truth.csv.
    """
    from accord.datasets.places import generate_places
    from accord.datasets.products import generate_products
    from accord.records.sinks import require_target, write_table

    paths = [out / name for name in ("a.csv", "b.csv", "truth.csv")]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "no folder can have this name").lower()
        raise OutputError(path=out, reason=reason) from None
    for path in paths:
        require_target(path, [], force)
    make = generate_products if kind is Kind.products else generate_places
    made = make(records, overlap, seed, sparse)
    for table, path in zip((made.a, made.b, made.truth), paths, strict=True):
        write_table(table, path, raw=True, replace=force)
    say(
        f"Wrote {paths[0]} and {paths[1]} ({counted(records, 'record')} each) and {paths[2]} "
        f"({counted(made.truth.num_rows, 'true pair')}).",
        err=True,
    )
