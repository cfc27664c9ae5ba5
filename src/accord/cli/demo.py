"""`accord demo`: the main job on data that Accord makes, in a folder that vanishes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from accord.cli.check import check
from accord.cli.generate import generate
from accord.cli.init import Kind, init
from accord.cli.simulate import simulate


def demo(
    records: Annotated[int, typer.Option(min=1, max=1_000_000, help="Records a side.")] = 5_000,
) -> None:
    """Generate two shops' products, agree on a rule, and link them in the clear."""
    with tempfile.TemporaryDirectory(prefix="accord-demo-") as folder:
        here = Path(folder)
        _say(f"accord generate products --records {records}")
        generate(Kind.products, records=records, out=here)
        _say("accord init products")
        init(Kind.products, out=here / "agreement.toml")
        _say("accord check agreement.toml a.csv --party A")
        check(here / "agreement.toml", here / "a.csv", party="A")
        _say("accord simulate a.csv b.csv --agreement agreement.toml --truth truth.csv")
        simulate(here / "a.csv", here / "b.csv", agreement=here / "agreement.toml", truth=here / "truth.csv")


def _say(command: str) -> None:
    typer.echo(f"\n$ {command}")
