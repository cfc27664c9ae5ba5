"""Speed of the engines on this machine: `python -m benchmarks.compare --rule hamming50 --rows 1000`.

Two processes compare pairs of made-up rows. `--network 100/20` puts 100 Mbit/s in each direction and a round
trip of 20 ms between them. `--width 32` takes square blocks of 32 rows of each side, as many as give about
ROWS × ROWS pairs.
"""

from __future__ import annotations

from typing import Annotated

import typer

from accord import plugins
from accord.errors import AccordError
from accord.network import Network
from accord.secure.engines import engine_named, engine_names
from benchmarks.engines import Measured, Measurement, measure
from benchmarks.workload import RULES

_SAMPLE = 28
"""Rows of each side for the Paillier engines, which take milliseconds a pair."""


def compare(
    engine: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Engine, or 'all'; may be repeated. Default: ot.")
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Rule, or 'all'; may be repeated. Default: hamming50."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of each side; at most 28 for Paillier.")] = 1000,
    width: Annotated[
        int | None, typer.Option(min=1, help="Rows of B for each row of A. Default: one block.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(metavar="MBIT/MS", help="A slow network. Default: loopback.")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs, of which the best counts.")] = 3,
) -> None:
    """Compare pairs of made-up rows, between two processes."""
    plugins.load("reproduction.plugins")
    rules = list(RULES) if rule and "all" in rule else rule or ["hamming50"]
    engines = list(engine_names()) if engine and "all" in engine else engine or ["ot"]
    between = Network.parse(network) if network else None
    for name in rules:
        for chosen in engines:
            asked = Measurement(engine_named(chosen).name, name, rows, repeat, width, between)
            print(describe(measure(asked.sample(_SAMPLE))))


def describe(result: Measured) -> str:
    """One line."""
    way = f" over {result.network} (Mbit/s and ms)" if result.network else ""
    return (
        f"{result.engine:15}  {result.rule:12}  {result.pairs:,} pairs at width {result.width:,}{way}: "
        f"{result.microseconds_per_pair:.3f} µs ({result.cpu_microseconds_per_pair:.3f} of processor) "
        f"and {result.bytes_per_pair:.1f} bytes per pair, "
        f"{result.rounds} rounds, set-up {result.setup_seconds:.2f} s, peak {result.peak_mib:.0f} MiB; "
        f"limits: AES {result.aes_microseconds_per_pair:.3f} µs, "
        f"memory {result.copy_microseconds_per_pair:.3f} µs per pair"
    )


if __name__ == "__main__":
    try:
        typer.run(compare)
    except AccordError as error:
        raise SystemExit(str(error)) from None
