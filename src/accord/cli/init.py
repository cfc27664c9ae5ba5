"""`accord init`: a commented starter agreement."""

from __future__ import annotations

import secrets
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.terminal import say
from accord.errors import OutputError


class Kind(StrEnum):
    products = "products"
    places = "places"


def init(
    kind: Annotated[Kind, typer.Argument(help="What the records are about.")],
    out: Annotated[Path, typer.Option(help="Where to write it.")] = Path("agreement.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a commented starter agreement.

    It fits the data of `accord generate`.
    """
    from accord.datasets.starter import starter_text

    try:
        with out.open("w" if force else "x", encoding="utf-8") as file:
            file.write(starter_text(kind.value, secrets.token_hex(16)))
    except FileExistsError:
        raise OutputError(path=out, reason="it is there already; add --force to overwrite it") from None
    except OSError as error:
        raise OutputError(path=out, reason=(error.strerror or "").lower()) from None
    say(f"Wrote {out}. Edit it with your partner, then: `accord check {out}`.", err=True)
