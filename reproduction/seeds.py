"""What the claims rest on: a part of the points again, once for each of several seeds.

A seed draws the tables and the noise anew, so one run a seed is enough: what differs between seeds is the
spread of all that chance decides. Points of AB and of one day of Taxi are cheap and run for ten seeds, those
of Taxi at its largest number of days take minutes each and run for three; where it must be quick, all run
for three. `--seed N` begins at N: its seeds are N, N + 1, …, so that a claim of one N shares most of its rows
with that of the next, and a run that was cut off goes on. The rows stand in `results/claims`, apart from
those of the figures.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from reproduction.lab import PAPER, Lab, Size
from reproduction.mapping import MAPPING
from reproduction.settings import DELTA
from reproduction.size import SIZE
from reproduction.spread import SPREAD
from reproduction.sweep import Experiment, Point, Results, Row, Watch, carry_out
from reproduction.tradeoff import ALL_PAIRS, TRADEOFF
from reproduction.variants import VARIANT, variant_days

CHEAP, LONG = 10, 3
"""How many seeds."""
FOLDER = "claims"
EVIDENCE = (SIZE, VARIANT, SPREAD, TRADEOFF, MAPPING)

Rows = dict[str, list[Row]]
Watches = Callable[[str], AbstractContextManager[Watch]]
"""Makes a watch of what has a name."""


def sizes(size: Size) -> tuple[Size, ...]:
    """The size of each seed, in order: the first ones whole, the others without Taxi's largest days."""
    once = replace(size, runs=1)
    if size.is_quick:
        return (once,) * LONG
    ends = replace(once, taxi_days=(size.taxi_days[0], size.taxi_days[-1]))
    return (ends,) * LONG + (replace(once, taxi_days=size.taxi_days[:1]),) * (CHEAP - LONG)


def needed(experiment: Experiment, size: Size) -> list[Point]:
    """The points of a seed that a claim reads: the paper's noise, and no point twice."""
    return [point for point in experiment.points(size) if _is_read(experiment.name, point, size)]


def _is_read(name: str, point: Point, size: Size) -> bool:
    if point.get("noise", PAPER) not in (PAPER, "none"):
        return False
    if name == SIZE.name and point["method"] == "laplace":
        # With its variants on the first and the last day.
        return point["prune"] == 0 and point["days"] not in variant_days(size, str(point["data"]))
    if name == TRADEOFF.name:
        return point["noise"] != ALL_PAIRS and (point["delta"] == DELTA or point["prune"] == 0)
    return not (name == VARIANT.name and point["variant"] == "basic+SP")


def gather(size: Size, data: Path | None, first: int, results: Path, watch: Watches) -> list[Rows]:
    """Run what is not there yet, cheap points of all seeds before the long ones; the rows of each seed."""
    cheap = replace(size, runs=1, taxi_days=size.taxi_days[:1])
    whole = sizes(size)
    for number, own in [*enumerate([cheap] * len(whole)), *enumerate(whole)]:
        lab = Lab(own, data, first + number)
        for experiment in EVIDENCE:
            with watch(f"{experiment.name}, seed {lab.seed}") as bar:
                carry_out(experiment, lab, results / FOLDER, bar, needed(experiment, own))
    return found(size, first, results)


def found(size: Size, first: int, results: Path) -> list[Rows]:
    """The rows that are there, for each seed of the size."""
    kept = {each: Results(each, results / FOLDER / f"{each.name}.csv") for each in EVIDENCE}
    return [
        {each.name: rows.latest(first + number, needed(each, own)) for each, rows in kept.items()}
        for number, own in enumerate(sizes(size))
    ]
