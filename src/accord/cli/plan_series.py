"""`accord plan --series`: what it costs to keep two growing tables linked."""

from __future__ import annotations

import json
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import typer

from accord.cli.table import print_table
from accord.cli.terminal import say
from accord.errors import UsageError
from accord.exact import short
from accord.wording import sized

_MOST_ROWS = 12


def show_series(
    agreement: Path, records: tuple[int, int] | None, runs: int, arrivals: str, as_json: bool
) -> None:
    """Price a series and print what was found."""
    from accord.agreement.file import read_agreement
    from accord.forecast.plan import read_sizes
    from accord.planning.series import plan_series

    agreed = read_agreement(agreement)
    sizes = read_sizes(agreed, records)
    if sizes is None:
        raise UsageError(problem="Say how many records A and B have at first: --records.")
    share = _read_share(arrivals)
    found = plan_series(agreed, sizes, runs, (share, share))
    if as_json:
        habits = [asdict(habit) for habit in found.habits]
        typer.echo(json.dumps({"runs": runs, "why": found.why(), "habits": habits}, ensure_ascii=False))
        return
    names = ("", "habit", "blocking", "runs", "ε in all", "comparisons", "bytes")
    rows = [
        [
            "→" * (habit is found.best) + "*" * (habit is found.agreed),
            *(habit.kind, habit.blocking, f"{habit.runs:,}", f"{habit.epsilon:g}"),
            *(f"{habit.comparisons:,.0f}", sized(round(habit.bytes))),
        ]
        for habit in found.habits
        if habit in (found.best, found.agreed, found.anew) or habit in found.habits[:_MOST_ROWS]
    ]
    print_table(f"{sizes[0]:,} records of A, {sizes[1]:,} of B, {arrivals} more with each run", names, rows)
    say(f"\n{found.why()}")


def _read_share(arrivals: str) -> Fraction:
    try:
        share = short(arrivals.strip().removesuffix("%")) / 100
    except ValueError:
        share = Fraction(-1)
    if not arrivals.strip().endswith("%") or not 0 <= share <= 10:
        raise UsageError(problem="New records per run are a share of the first table: --series 12 2%.")
    return share
