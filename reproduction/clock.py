"""Wall-clock times: linkages run between two processes, not comparisons times a constant [HMFS17, §5.2.4].

`ot` runs the whole of AB; Paillier takes milliseconds a comparison, so a sample of comparisons
is timed and the rest extrapolated to the comparisons that the measured linkages make, which the row says. The
sample is of made-up filters of the same length, not of AB: the time of a comparison does not depend on what
is compared. Times are of the protocol: loading the tables and making the slots come before the clock starts.
Seconds and bytes against ε come from the same program, over loopback and over a link that is slowed to
100 Mbit/s with 10 ms each way.
"""

from __future__ import annotations

from collections.abc import Sequence

from accord.network import Network
from benchmarks.engines import Measurement, measure
from reproduction.lab import OURS, Lab, Size
from reproduction.parties import link_once
from reproduction.settings import EPSILONS, laplace
from reproduction.sweep import Experiment, Measures, Point

LINKS = {"loopback": None, "slow": Network(megabits=100, milliseconds=20)}
_SAMPLED = ("paillier", "paillier-packed")


def engine_points(size: Size) -> Sequence[Point]:
    """Every engine on one day of AB at ε = 1.6, with the default noise."""
    records, sample = (5_000, 20) if size.name == "full" else (500, 4)
    return [
        {"data": "ab", "per_day": records, "engine": engine, "sample": sample if engine in _SAMPLED else 0}
        for engine in ("ot", *_SAMPLED)
    ]


def run_engine(lab: Lab, point: Point) -> Measures:
    """Seconds for the whole linkage: measured, or extrapolated from a sample of comparisons."""
    setup = lab.setup(str(point["data"]), 1, int(point["per_day"]))
    agreed = laplace(setup.agreement, "1.6", noise=OURS, engine=str(point["engine"]))
    if not point["sample"]:
        found = link_once(setup.made, agreed, None, lab.seed)
        return {
            "comparisons": found.comparisons,
            "microseconds": found.seconds / max(1, found.comparisons) * 1e6,
            "bytes_each": found.bytes / max(1, found.comparisons),
            "linkage_seconds": found.seconds,
            "cpu_seconds": found.cpu_seconds,
            "how": "measured",
        }
    comparisons = setup.counter.count(agreed, lab.seed).comparisons
    each = measure(Measurement(str(point["engine"]), "hamming50", int(point["sample"]), repeats=1))
    return {
        "comparisons": comparisons,
        "microseconds": each.microseconds_per_pair,
        "bytes_each": each.bytes_per_pair,
        "linkage_seconds": each.microseconds_per_pair * comparisons / 1e6,
        "cpu_seconds": each.cpu_microseconds_per_pair * comparisons / 1e6,
        "how": "extrapolated",
    }


CLOCK = Experiment(
    name="clock",
    version=3,
    parameters=("data", "per_day", "engine", "sample"),
    measures=("comparisons", "microseconds", "bytes_each", "linkage_seconds", "cpu_seconds", "how"),
    points=engine_points,
    run=run_engine,
)


def link_points(size: Size) -> Sequence[Point]:
    """AB over both links, for every ε."""
    records = 5_000 if size.name == "full" else 500
    links = LINKS if size.name == "full" else ("loopback",)
    epsilons = EPSILONS if size.name == "full" else EPSILONS[-1:]
    return [
        {"data": "ab", "per_day": records, "link": link, "epsilon": epsilon}
        for epsilon in epsilons
        for link in links
    ]


def run_link(lab: Lab, point: Point) -> Measures:
    """One linkage with the default engine and noise."""
    setup = lab.setup(str(point["data"]), 1, int(point["per_day"]))
    agreed = laplace(setup.agreement, point["epsilon"], noise=OURS)
    found = link_once(setup.made, agreed, LINKS[str(point["link"])], lab.seed)
    return {
        "comparisons": found.comparisons,
        "linkage_seconds": found.seconds,
        "cpu_seconds": found.cpu_seconds,
        "bytes": found.bytes,
    }


LINK = Experiment(
    name="link",
    version=3,
    parameters=("data", "per_day", "link", "epsilon"),
    measures=("comparisons", "linkage_seconds", "cpu_seconds", "bytes"),
    points=link_points,
    run=run_link,
)
