"""How long this machine takes: a short measurement of the very circuit, both parties in one thread.

The work of the `ot` engine is nearly linear in three numbers that `secure/cost.py` counts: pairs, rows of A
in all blocks (strips), and how often a reserve of silent OTs is fed. So a wide block and many narrow ones are
timed, once with OTs made one by one and once with silent ones, and a feed by itself; the other engines have a
time for a pair. Times are of the processor, of both parties together, so that other work on the machine
disturbs them little; in a linkage each party does about half of it, at the same time.

Pure but for the clock: whoever calls this keeps the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from accord.benchmarking.workload import make_up_table
from accord.entropy import Entropy, Seeded
from accord.secure.blocks import Blocks, shapes
from accord.secure.circuit import Node
from accord.secure.cost import Price
from accord.secure.engine import Engine
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.engine import OtEngine
from accord.secure.ot.sizes import batch_limit
from accord.secure.ot.supply import needs
from accord.secure.party import Party, run_pair
from accord.secure.prf.group import Ed25519
from accord.side import Side

Clock = Callable[[], float]

WIDE, NARROW = (1, 16, 256), (64, 4, 16)
"""(blocks, rows of A, rows of B): four thousand pairs each; fewer for the slow engines."""
_SLOW = {"garbled": 4, "paillier": 16, "paillier-packed": 16}
_VALUES = 256
_SHARE = 0.55
"""Of the work of both parties, what the busier one does."""


@dataclass(frozen=True)
class PairSeconds:
    """Seconds of both parties: for a pair, and for a strip more."""

    pair: float
    strip: float


@dataclass(frozen=True)
class Speed:
    """What this machine takes for one circuit."""

    made: PairSeconds
    """With OTs that are made one by one, and for the engines without silent ones."""
    silent: PairSeconds
    feed: float
    """Seconds of both parties, to fill a reserve once."""
    value: float
    """Seconds to encrypt a value, for psi and psi-expand."""

    def processor(self, price: Price) -> float:
        """Seconds of the busier party for work of this price."""
        pace = self.silent if price.feeds else self.made
        work = pace.pair * price.comparisons + pace.strip * price.strips + self.feed * price.feeds
        return _SHARE * work


SLOW = Speed(PairSeconds(5e-5, 5e-4), PairSeconds(1e-5, 3e-4), 1.0, 5e-4)
"""What a slow machine takes for a rule of some length."""


@dataclass(frozen=True)
class Common:
    """What does not depend on the circuit: measured once."""

    feed: float
    value: float


def circuit_key(circuit: Node, engine: Engine) -> str:
    """What a measurement is of: the same where the same work is done."""
    settings = engine.settings.hello.hex() if isinstance(engine, OtEngine) else ""
    return hashlib.sha256(f"{engine.name} {settings} {circuit!r}".encode()).hexdigest()[:16]


class Bench:
    """Two parties in memory that have set up and wait to be timed."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine, self._clock = engine, clock
        self._random: Entropy = Seeded("accord plan: measure")
        sides = [engine.set_up(side, self._random.stream(side.value)) for side in Side]
        self._sessions = run_pair(sides[0], sides[1])

    def common(self) -> Common:
        """What every circuit shares."""
        return Common(self._feed(), self._value())

    def speed(self, circuit: Node, common: Common) -> Speed:
        """What a circuit takes."""
        made = self._pace(circuit, silent=False)
        silent = self._pace(circuit, silent=True) if self._saves else made
        return Speed(made, silent, common.feed, common.value)

    @property
    def _saves(self) -> bool:
        return isinstance(self._engine, OtEngine) and self._engine.settings.saves

    def _feed(self) -> float:
        """A feed in each direction, halved; the first of a session takes more and is not timed."""
        if not self._saves:
            return 0.0
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

    def _value(self) -> float:
        group = Ed25519(b"accord plan")
        points = group.hash_items(np.arange(_VALUES * 32, dtype=np.uint8).reshape(_VALUES, 32))
        began = self._clock()
        group.times(group.secret(self._random), points)
        return (self._clock() - began) / _VALUES

    def _time(self, a: Party[object], b: Party[object]) -> float:
        began = self._clock()
        run_pair(a, b)
        return self._clock() - began

    def _pace(self, circuit: Node, silent: bool) -> PairSeconds:
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
