"""How long the engines take for a pair, a strip and a feed, and intersections for what they intersect: the
times of `accord.planning.machine`.

`python -m benchmarks.pace` prints for each circuit what is written down beside what this machine takes, by
the processor's clock, of both parties in one thread; what a feed and a byte take; and for tables of some
sizes an intersection. Of that the sides do a part at the same time, which here they do one after the other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from accord import plugins
from accord.agreement.document import Agreement
from accord.datasets.starter import starter
from accord.entropy import Entropy, Seeded
from accord.fields.load import load_records
from accord.forecast.pace import measure_pace
from accord.planning.machine import FEED, PairSeconds, intersecting, speed_of
from accord.secure.blocks import Blocks, shapes
from accord.secure.circuit import Node
from accord.secure.cost import price
from accord.secure.engine import Engine
from accord.secure.engines import engine_named
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.settings import USUAL
from accord.secure.ot.sizes import batch_limit
from accord.secure.ot.supply import needs
from accord.secure.party import Party, run_pair
from accord.side import Side
from accord.simulation.pair import start_party
from benchmarks.workload import RULES, make_up_table
from reproduction.places import places_agreement

Clock = Callable[[], float]

WIDE, NARROW = (1, 16, 256), (64, 4, 16)
"""(blocks, rows of A, rows of B): four thousand pairs each; fewer for the slow engines."""
_SLOW = {"dual": 4, "paillier": 16, "paillier-packed": 16}
_VALUES = ((1000, 1000), (100_000, 100_000), (100_000, 1_000_000), (1_000_000, 1_000_000))
"""Records of A and of B."""


class Bench:
    """Two parties in memory that have set up and wait to be timed."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine, self._clock = engine, clock
        self._random: Entropy = Seeded("accord plan: measure")
        sides = [engine.set_up(side, self._random.stream(side.value)) for side in Side]
        self._sessions = run_pair(sides[0], sides[1])

    def feed(self) -> float:
        """A feed in each direction, halved; the first of a session takes more and is not timed."""
        self._fill()
        return self._fill() / 2

    def _fill(self) -> float:
        """Feed all reserves once; the seconds that it takes."""
        parties = [one.feed((1, 1)) for one in self._sessions]
        taken = self._time(parties[0], parties[1])
        for session in self._sessions:
            more = session.settings.code.outputs
            session.used = tuple(replace(use, ready=use.ready + more) for use in session.used)
        return taken

    def _time(self, a: Party[object], b: Party[object]) -> float:
        began = self._clock()
        run_pair(a, b)
        return self._clock() - began

    def pace(self, circuit: Node, silent: bool) -> PairSeconds:
        """From a wide block and narrow ones: two times, two unknowns."""
        fewer = _SLOW.get(self._engine.name, 1)
        wide = self._blocks(WIDE[0], max(1, WIDE[1] // fewer), max(4, WIDE[2] // fewer))
        if fewer > 1:
            return PairSeconds(self._evaluate(circuit, wide, silent) / wide.pairs, 0.0)
        narrow = self._blocks(*NARROW)
        times = [min(self._evaluate(circuit, one, silent) for _ in range(2)) for one in (wide, narrow)]
        work = np.array([[one.pairs, one.a_counts.sum()] for one in (wide, narrow)], float)
        pair, strip = np.linalg.solve(work, times)
        if strip < 0 or pair < 0:
            return PairSeconds(max(times) / wide.pairs, 0.0)
        return PairSeconds(float(pair), float(strip))

    def _blocks(self, count: int, a: int, b: int) -> Blocks:
        return Blocks.of_sizes(np.full(count, a), np.full(count, b))

    def _evaluate(self, circuit: Node, blocks: Blocks, silent: bool) -> float:
        rows = max(int(blocks.a_counts.sum()), int(blocks.b_counts.sum()))
        tables = [make_up_table(circuit, side, rows) for side in Side]
        engine = self._ready(circuit, blocks, silent)
        parties = [
            engine.evaluate(session, circuit, blocks, table)
            for session, table in zip(self._sessions, tables, strict=True)
        ]
        return self._time(parties[0], parties[1])

    def _ready(self, circuit: Node, blocks: Blocks, silent: bool) -> Engine:
        """The engine, with as many silent OTs in its reserves as the work takes, or with none in use."""
        if not isinstance(self._engine, OtEngine):
            return self._engine
        settings = replace(self._engine.settings, many=0 if silent else 1 << 62)
        program = compile_circuit(circuit, "ot")
        sizes = shapes(blocks, batch_limit(program), settings.groups(program, blocks))
        needed = needs(program, sizes).sum(axis=1).max() if silent else 0
        while min(use.ready for use in self._sessions[0].used) < needed:
            self._fill()
        return OtEngine(settings)


def intersect(sizes: tuple[int, int], clock: Clock) -> float:
    """Seconds of both parties for tables of these sizes, of which the smaller is half in the larger."""
    agreed = _numbers()
    first = {Side.A: 0, Side.B: min(sizes) // 2}
    held = {
        side: load_records(_numbered(first[side], size), agreed.fields, agreed.salt)
        for side, size in zip(Side, sizes, strict=True)
    }
    engine = agreed.engine.build()
    random = Seeded("accord plan: intersect")
    a, b = (
        start_party(agreed, side, held[side], held[side.other].size, random.stream(side.value), engine)
        for side in Side
    )
    began = clock()
    run_pair(a, b)
    return clock() - began


def _numbers() -> Agreement:
    changed = {
        "fields": {"code": {"type": "number", "min": 0, "max": 100_000_000, "step": 1}},
        "rule": "same(code)",
        "blocking": [],
        "protocol": {"name": "psi"},
        "disclose": {"A": [], "B": []},
    }
    return Agreement.model_validate(starter("products").model_dump(mode="json") | changed)


def _numbered(first: int, size: int) -> pa.Table:
    codes = first + np.random.default_rng(size).permutation(size)
    return pa.table({"id": [f"r{i}" for i in range(size)], "code": codes})


def main() -> None:
    """Print all of it."""
    plugins.load("reproduction.plugins")
    circuits = dict(RULES)
    circuits["places"] = places_agreement().task.lowered.node
    for kind in ("people", "products"):
        circuits[f"{kind} starter"] = starter(kind).task.lowered.node
    sys.stdout.write(f"this machine takes {measure_pace():.2f} times as long as what is written down\n")
    ot = Bench(engine_named("ot", USUAL), time.process_time)
    sys.stdout.write(f"feed {ot.feed():.3f} s ({FEED})\n")
    for sizes in _VALUES:
        taken = min(intersect(sizes, time.process_time) for _ in range(2))
        written = intersecting(max(sizes), min(sizes))
        sys.stdout.write(f"intersection of {sizes[0]:,} and {sizes[1]:,}: {taken:.2f} s ({written:.2f})\n")
    for name, circuit in circuits.items():
        known = speed_of(circuit, "ot")
        for silent, kept in ((False, known.made), (True, known.silent)):
            found = ot.pace(circuit, silent)
            pair, strip = (
                f"{1e6 * now:.1f} µs ({1e6 * then:.1f})"
                for now, then in ((found.pair, kept.pair), (found.strip, kept.strip))
            )
            how = "silent" if silent else "made"
            sys.stdout.write(f"{name}, {how}: pair {pair}, strip {strip}\n")
    for engine in _SLOW:
        bench = Bench(engine_named(engine, USUAL), time.process_time)
        for name, circuit in RULES.items():
            rows = max(1, WIDE[1] // _SLOW[engine]), max(4, WIDE[2] // _SLOW[engine])
            sent = price(circuit, Blocks.of_sizes(np.array(rows[:1]), np.array(rows[1:])), engine).bytes
            byte = bench.pace(circuit, silent=False).pair * rows[0] * rows[1] / sent
            sys.stdout.write(f"{name}, {engine}: {byte:.2e} s a byte ({speed_of(circuit, engine).byte})\n")


if __name__ == "__main__":
    main()
