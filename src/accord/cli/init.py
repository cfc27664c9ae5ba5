"""`accord init`: a commented starter agreement."""

from __future__ import annotations

import secrets
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.terminal import say


class Kind(StrEnum):
    products = "products"
    places = "places"
    people = "people"
    patients = "patients"
    customers = "customers"


def init(
    kind: Annotated[Kind, typer.Argument(help="What the records are about.")],
    out: Annotated[Path, typer.Option(help="Where to write it.")] = Path("agreement.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a commented starter agreement.

    It fits the data of `accord generate`; those for patients and customers fit the data for people.
    """
    from accord.datasets.starter import starter_text
    from accord.records.sinks import write_file

    write_file(out, starter_text(kind.value, secrets.token_hex(16)).encode(), replace=force)
    say(f"Wrote {out}. Edit it with your partner, then: `accord check {out}`.", err=True)
