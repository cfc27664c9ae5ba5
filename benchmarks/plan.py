"""Twelve settings priced with A's table first, and then run: `python -m benchmarks.plan`.

Each is priced from A's table alone, as `accord check` does it, with the share of records that both have, and
from the numbers of records; then run with both tables, as agreed with and without greedy. A run is the
protocol itself, between two parties in one process. Where it is small the `ot` engine compares, and bytes
and times are those of the run; where it is large the comparisons are made in the clear, and the bytes are the
price of each round as `secure/cost.py` has it, which is what the engine sends.

Times are of the processor; even so `seconds` means something on an idle machine alone, and the load stands
beside it. A setting's rows are written when it is done, and one that has rows is not measured again: what was
cut goes on, and `--again` begins anew. `--seed` makes other tables of the same kinds, to see whether what
holds for one holds for others. The table is `docs/results/plan.csv`; `docs/epsilon.md` says what it comes to.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.agreement.adjusting import adjust
from accord.agreement.document import Agreement, OtOptions
from accord.datasets.generated import Generated
from accord.datasets.people import generate_people
from accord.datasets.products import generate_products
from accord.datasets.starter import starter
from accord.entropy import Seeded
from accord.fields.columns import Records, rows_of
from accord.network import Network
from accord.planning.figures import Option, Plan
from accord.planning.plan import Own, PlanQuestion, price_agreed
from accord.rules.join import Index
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Node
from accord.secure.cost import Tab, set_up_bytes
from accord.secure.ideal import IdealEngine
from accord.secure.party import Party, Wire, run_pair
from accord.side import Side
from accord.simulation.pair import load_both, make_mine, release_of
from reproduction.paper_data import abt_buy, taxi
from reproduction.places import generate_places, places_agreement

DATA = Path(__file__).parents[2] / "shared" / "data"
RESULTS = Path(__file__).parents[1] / "docs" / "results" / "plan.csv"
LOOPBACK = Network(10_000, 0.05)
_OT = 400_000
"""Comparisons up to which the engine itself compares."""
_SAMPLED = 500
COLUMNS = (
    *(
        "setting",
        "seed",
        "records_a",
        "records_b",
        "epsilon",
        "greedy",
        "agreed",
        "counts_low",
        "counts_high",
    ),
    *("planned_low", "planned", "planned_high", "run", "off", "inside", "inside_counts"),
    *("planned_bytes", "bytes", "bytes_off", "planned_seconds", "seconds"),
    *("compared_by", "load", "overlap", "planning_seconds"),
)


@dataclass(frozen=True)
class Setting:
    """Two tables, and what is agreed about them."""

    name: str
    make: Callable[[int], tuple[Generated, Agreement]]
    """From a seed."""


def _made(seed: int, kind: str, records: int, epsilon: str, sparse: bool) -> tuple[Generated, Agreement]:
    make: dict[str, Any] = {
        "products": generate_products,
        "places": generate_places,
        "people": generate_people,
    }
    agreed = places_agreement() if kind == "places" else starter(kind)
    return make[kind](records, None, seed, sparse), adjust(agreed, epsilon=epsilon)


def _paper(seed: int, kind: str, records: int, epsilon: str) -> tuple[Generated, Agreement]:
    build = {"abt_buy": abt_buy, "taxi": taxi}[kind]
    made, agreed = build(DATA / kind, days=1, per_day=records, seed=seed)
    sides = {side: {"epsilon": epsilon, "delta": "2^-40", "noise": "auto"} for side in ("A", "B")}
    protocol = agreed.protocol.model_dump(mode="json") | sides
    return made, Agreement.model_validate(agreed.model_dump(mode="json") | {"protocol": protocol})


SETTINGS = (
    Setting("products 200", lambda seed: _made(seed, "products", 200, "1.6", False)),
    Setting("products 5,000 dense", lambda seed: _made(seed, "products", 5_000, "0.5", False)),
    Setting("products 5,000 sparse", lambda seed: _made(seed, "products", 5_000, "1.6", True)),
    Setting("products 50,000 sparse", lambda seed: _made(seed, "products", 50_000, "3", True)),
    Setting("places 2,000 dense", lambda seed: _made(seed, "places", 2_000, "1.6", False)),
    Setting("places 20,000 sparse", lambda seed: _made(seed, "places", 20_000, "1", True)),
    Setting("people 200", lambda seed: _made(seed, "people", 200, "1.6", False)),
    Setting("people 3,000", lambda seed: _made(seed, "people", 3_000, "3", False)),
    Setting("Abt-Buy 1,000", lambda seed: _paper(seed, "abt_buy", 1_000, "1.6")),
    Setting("Abt-Buy 5,000", lambda seed: _paper(seed, "abt_buy", 5_000, "0.4")),
    Setting("pick-ups 10,000", lambda seed: _paper(seed, "taxi", 10_000, "1.6")),
    Setting("places 300,000 sparse", lambda seed: _made(seed, "places", 300_000, "3", True)),
)


class PricedEngine:
    """Compares in the clear, and adds up what `ot` would have sent."""

    name = "ideal"

    def __init__(self, agreement: Agreement) -> None:
        self._ideal, engine = IdealEngine(), agreement.engine
        assert isinstance(engine, OtOptions)
        self._tab = Tab(agreement.task.lowered.node, "ot", engine.settings)
        self.bytes = set_up_bytes("ot", engine.settings)

    def supports(self, circuit: Node) -> None:
        self._ideal.supports(circuit)

    def set_up(self, side: Side, entropy: Any) -> Party[Side]:
        return self._ideal.set_up(side, entropy)

    def evaluate(
        self, session: Side, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        if session is Side.A:
            self.bytes += self._tab.add(blocks).bytes
        return self._ideal.evaluate(session, circuit, blocks, table)


@dataclass(frozen=True)
class Run:
    """What a run came to."""

    comparisons: int
    bytes: int
    seconds: float
    engine: str


def run(agreement: Agreement, a: Records, b: Records, with_ot: bool) -> Run:
    """One linkage in this process, with noise of its own."""
    entropy, task, wire = Seeded("benchmarks plan"), agreement.task, Wire()
    sides = [
        make_mine(release_of(agreement, side, own.size), own, other.size, entropy.stream(side.value))
        for side, own, other in ((Side.A, a, b), (Side.B, b, a))
    ]
    priced = PricedEngine(agreement)
    engine: Any = agreement.engine.build() if with_ot else priced
    began = time.process_time()
    left, right = (task.protocol.party(task, mine, engine) for mine in sides)
    outcome, _ = run_pair(left, right, wire=wire)
    # Of both parties in one thread: one of two would take about half of it.
    taken = (time.process_time() - began) * 0.55
    sent = wire.bytes if with_ot else wire.bytes + priced.bytes
    return Run(outcome.comparisons, sent, taken, "ot" if with_ot else "clear")


def overlap_of(agreed: Agreement, a: Records, b: Records) -> float:
    """The share of the smaller table that matches something."""
    sizes = len(a), len(b)
    index = Index(agreed.rule, agreed.fields, Side.B, b.columns, sizes[1])
    some = np.random.default_rng(0).permutation(sizes[0])[:_SAMPLED]
    found = index.matches({name: rows_of(column, some) for name, column in a.columns.items()}, len(some))
    share = len(np.unique(found[0])) / len(some)
    return min(1.0, share * sizes[0] / min(sizes))


def measure(setting: Setting, seed: int) -> Iterator[dict[str, Any]]:
    """Price it, and run it as agreed with and without greedy."""
    made, agreed = setting.make(seed)
    a, b = load_both(made.a, made.b, agreed, None, None)
    overlap = overlap_of(agreed, a, b)
    question = PlanQuestion((a.size, b.size), LOOPBACK, overlap)
    began = time.process_time()
    found = price_agreed(agreed, question, Own(Side.A, a))
    planning = round(time.process_time() - began, 1)
    guess = price_agreed(agreed, question)
    agreed_one = found.agreed
    for option in found.options:
        same = option.protocol == agreed_one.protocol and option.blocking == agreed_one.blocking
        if same and option.epsilon == agreed_one.epsilon:
            yield _row(setting, guess, option, a, b) | {
                "seed": seed,
                "overlap": round(overlap, 3),
                "planning_seconds": planning,
            }


def _row(setting: Setting, guess: Plan, option: Option, a: Records, b: Records) -> dict[str, Any]:
    planned, load = option.comparisons, os.getloadavg()[0]
    alone = next(one for one in guess.options if one.greedy == option.greedy and one.bins).comparisons
    ran = run(option.agreement, a, b, planned.expected <= _OT)
    return {
        "setting": setting.name,
        "records_a": a.size,
        "records_b": b.size,
        "epsilon": option.largest_epsilon,
        "greedy": option.greedy,
        "agreed": option.agreed,
        "counts_low": round(alone.low),
        "counts_high": round(alone.high),
        "planned_low": round(planned.low),
        "planned": round(planned.expected),
        "planned_high": round(planned.high),
        "run": ran.comparisons,
        "off": round(planned.expected / max(1, ran.comparisons) - 1, 4),
        "inside": planned.low <= ran.comparisons <= planned.high,
        "inside_counts": alone.low <= ran.comparisons <= alone.high,
        "planned_bytes": round(option.bytes.expected),
        "bytes": ran.bytes,
        "bytes_off": round(option.bytes.expected / max(1, ran.bytes) - 1, 4),
        "planned_seconds": round(option.seconds.expected, 2),
        "seconds": round(ran.seconds, 2) if ran.engine == "ot" else "",
        "compared_by": ran.engine,
        "load": round(load, 1),
    }


def _read(path: Path) -> list[dict[str, Any]]:
    """The rows that are there; none of a table with other columns."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        return list(reader) if tuple(reader.fieldnames or ()) == COLUMNS else []


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    order = {setting.name: place for place, setting in enumerate(SETTINGS)}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (int(row["seed"]), order[row["setting"]])))


def tell(row: dict[str, Any]) -> str:
    """A row as the docs have it."""
    cells = [
        row["setting"],
        row["seed"],
        row["epsilon"],
        "yes" if row["greedy"] == "True" else "no",
        f"{int(row['planned_low']):,} to {int(row['planned_high']):,}",
        f"{int(row['run']):,}",
        f"{float(row['off']):+.1%}",
        f"{float(row['bytes_off']):+.1%}",
        "inside" if row["inside_counts"] == "True" else "outside",
        row["planning_seconds"],
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="settings whose name begins so")
    parser.add_argument("--seed", type=int, default=5, help="of the tables that are made")
    parser.add_argument("--again", action="store_true", help="measure what has rows, too")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print what is there as the docs have it")
    asked = parser.parse_args()
    if asked.table:
        sys.stdout.write("\n".join(tell(row) for row in _read(asked.out)) + "\n")
        return
    for setting in (one for one in SETTINGS if one.name.startswith(asked.only)):
        here = setting.name, str(asked.seed)
        if not asked.again and any((row["setting"], row["seed"]) == here for row in _read(asked.out)):
            continue
        began = time.perf_counter()
        fresh = list(measure(setting, asked.seed))
        for row in fresh:
            shown = {name: row[name] for name in ("setting", "greedy", "planned", "run", "off", "inside")}
            sys.stderr.write(f"{shown} {row['bytes_off']}\n")
        sys.stderr.write(f"  {time.perf_counter() - began:.0f} s\n")
        others = [row for row in _read(asked.out) if (row["setting"], row["seed"]) != here]
        _write(asked.out, others + fresh)


if __name__ == "__main__":
    main()
