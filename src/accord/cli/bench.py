"""`accord bench`: how fast comparisons are on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from accord.cli.options import example
from accord.cli.terminal import say

app = typer.Typer(
    help="Measure speed on this machine.", epilog=example("accord bench compare"), no_args_is_help=True
)


_SAMPLE = 28
"""Rows of each side for the Paillier engines, which take milliseconds a pair."""


@app.callback()
def _group() -> None:
    """Measure speed on this machine."""


@app.command(epilog=example("accord bench compare --rows 500 --rule all"))
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
        int | None,
        typer.Option(
            min=1,
            help="Rows of B for each row of A: square blocks of this many rows of each side, as many as give "
            "about ROWS × ROWS pairs; if it is more than ROWS, one block with fewer rows of A. Default: one "
            "block of ROWS × ROWS.",
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="MBIT/MS",
            help="Put a slow network between the processes: Mbit/s in each direction and the round-trip time "
            "in ms, as in 100/20. Default: loopback as it is, with engines set for 100/20.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="SoftSpoken's field for ot: 1, 2, 4 or 8. Default: as the network says."
        ),
    ] = None,
    group: Annotated[
        int | None,
        typer.Option(min=1, max=8, help="Rows of A that share a tree with ot. Default: as the network says."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs, of which the best counts.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Compare pairs of made-up rows, between two processes."""
    from accord.benchmarking.bench import Measured, Measurement, measure
    from accord.benchmarking.workload import RULES
    from accord.errors import UsageError
    from accord.network import Network
    from accord.secure.engines import NAMES, engine_named

    if k not in (None, 1, 2, 4, 8):
        raise UsageError(problem="--k is 1, 2, 4 or 8.")
    rules = list(RULES) if rule and "all" in rule else rule or ["hamming50"]
    engines = list(NAMES) if engine and "all" in engine else engine or ["ot"]
    between = Network.parse(network) if network else None
    wanted = [
        Measurement(engine_named(e).name, r, rows, k, group, repeat, width, between)
        for r in rules
        for e in engines
    ]
    results: list[Measured] = [measure(asked.sample(_SAMPLE)) for asked in wanted]
    if as_json:
        typer.echo(json.dumps([asdict(result) for result in results], indent=2))
        return
    for result in results:
        way = f" over {result.network} (Mbit/s and ms)" if result.network else ""
        say(
            f"{result.engine:15}  {result.rule:12}  {result.pairs:,} pairs at width {result.width:,}{way}: "
            f"{result.microseconds_per_pair:.3f} µs ({result.cpu_microseconds_per_pair:.3f} of processor) "
            f"and {result.bytes_per_pair:.1f} bytes per pair, "
            f"{result.rounds} rounds, set-up {result.setup_seconds:.2f} s, peak {result.peak_mib:.0f} MiB; "
            f"limits: AES {result.aes_microseconds_per_pair:.3f} µs, "
            f"memory {result.copy_microseconds_per_pair:.3f} µs per pair"
        )
