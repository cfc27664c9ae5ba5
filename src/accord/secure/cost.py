"""What an evaluation costs, with no data: bytes, rounds, comparisons.

The engines' messages have sizes that follow from the circuit and the sizes of the blocks, so the price
is exact, not an estimate: it is the sum of the very sizes that an engine sends and insists on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from accord.errors import UnsupportedError
from accord.secure.blocks import Blocks, Shapes, shapes
from accord.secure.circuit import Circuit, Node, Opened
from accord.secure.dual import engine as engine_dual
from accord.secure.dual.batch import batch_bytes
from accord.secure.dual.equality import ROUNDS, opened_bytes
from accord.secure.dual.labels import labels_bytes
from accord.secure.engine import PLUGGED
from accord.secure.garbled import batch as garbled_batch
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.tape import tapes_of
from accord.secure.ot import engine as engine_ot
from accord.secure.ot import sizes as ot_sizes
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.program import Program
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.ot.supply import Use, needs, schedule
from accord.secure.transfer import setup
from accord.secure.transfer.silent import feed_bytes, point_bytes
from accord.side import Side


@dataclass(frozen=True)
class Price:
    """`bytes` in both directions; `rounds` messages that wait for each other; `comparisons` secure pairs.

    Of `ot` also what its work depends on: rows of A in all blocks (`strips`), and how often a reserve of
    silent OTs is fed.
    """

    bytes: int
    rounds: int
    comparisons: int
    strips: int = 0
    feeds: int = 0


def price(circuit: Circuit, blocks: Blocks, engine: str = "ot", settings: Settings = USUAL) -> Price:
    """The cost of evaluating a circuit over blocks in a new session, without the set-up."""
    return Tab(circuit, engine, settings).add(blocks)


class Tab:
    """The price of one evaluation after another in one session: what was used before decides what follows."""

    def __init__(self, circuit: Circuit, engine: str = "ot", settings: Settings = USUAL) -> None:
        self._circuit, self._engine, self._settings = circuit, engine, settings
        self._used = (Use(), Use())
        self._fed = [0, 0]

    def add(self, blocks: Blocks) -> Price:
        """The price of the next evaluation."""
        if self._engine != "ot":
            return Price(*_other(self._circuit, blocks, self._engine), blocks.pairs)
        program, sizes = _shapes(self._circuit, blocks, self._settings)
        plan = schedule(needs(program, sizes), self._used, self._settings)
        self._used = plan.after
        total, rate = _batch_bytes(program, sizes, self._settings, plan.silent), 128 // self._settings.k
        chain, done, feeds = _Chain(), 0, 0
        for stage in plan.stages:
            for way, receiver in enumerate((Side.A, Side.B)):
                for _ in range(stage.feeds[way]):
                    first = not self._fed[way]
                    if first or point_bytes(self._settings.codes[way]):
                        chain.send(receiver)
                    chain.send(receiver.other)
                    total += feed_bytes(first, rate, self._settings.codes[way])
                    self._fed[way] += 1
                    feeds += 1
            for _ in range(-(-(stage.last - done) // ot_sizes.WINDOW)):
                for message in range(ot_sizes.message_count(program)):
                    chain.send(Side.B if message % 2 else Side.A)
            done = stage.last
        return Price(total, chain.rounds, blocks.pairs, int(sizes.strips.sum()), feeds)


def price_like(
    circuit: Circuit, sample: Blocks, times: float, engine: str = "ot", settings: Settings = USUAL
) -> Price:
    """The cost of so many times the blocks of a sample: what `price` says of all of them, as far as the
    sample is like them."""
    if engine != "ot":
        total, rounds = _other(circuit, sample, engine)
        return Price(round(times * total), math.ceil(times * rounds), round(times * sample.pairs))
    program, sizes = _shapes(circuit, sample, settings)
    needed = [times * need for need in _needs_in_all(program, sizes)]
    silent = [settings.saves and need >= settings.many for need in needed]
    feeds, fed = [], 0
    for need, way, code in zip(needed, silent, settings.codes, strict=True):
        feeds.append(math.ceil(need / code.outputs) * way)
        if feeds[-1]:
            first, later = (feed_bytes(new, 128 // settings.k, code) for new in (True, False))
            fed += first + (feeds[-1] - 1) * later
    windows = math.ceil(times * len(sizes.pairs) / ot_sizes.WINDOW)
    return Price(
        round(times * _batch_bytes(program, sizes, settings, (silent[0], silent[1]))) + fed,
        windows * ot_sizes.message_count(program) + sum(feeds),
        round(times * sample.pairs),
        round(times * int(sizes.strips.sum())),
        sum(feeds),
    )


def _needs_in_all(program: Program, sizes: Shapes) -> list[int]:
    """OTs of all batches in each direction: each kind of batch is asked for once."""
    kinds, first, counts = np.unique(
        np.stack([sizes.strips, sizes.pairs]), axis=1, return_index=True, return_counts=True
    )
    some = Shapes(kinds[0], sizes.groups[first], sizes.b_rows[first], kinds[1], sizes.columns[first])
    return (needs(program, some) * counts).sum(axis=1).tolist()


def set_up_bytes(engine: str = "ot", settings: Settings = USUAL) -> int:
    """What an engine sends once, in both directions: nearly all of it base OTs and their trees."""
    if engine == "ot":
        return setup.set_up_bytes(len(engine_ot.TAG + settings.hello), settings.k)
    if engine == "dual":
        return setup.set_up_bytes(len(engine_dual.TAG), garbled_batch.K)
    return PLUGGED[engine].engine.set_up_bytes


def _other(circuit: Circuit, blocks: Blocks, engine: str) -> tuple[int, int]:
    if isinstance(circuit, Opened):
        raise UnsupportedError(engine=engine, node="rows of which each side holds a share")
    return _dual(circuit, blocks) if engine == "dual" else PLUGGED[engine].engine.price(circuit, blocks)


def _shapes(circuit: Circuit, blocks: Blocks, settings: Settings) -> tuple[Program, Shapes]:
    program = compile_circuit(circuit, "ot")
    limit = ot_sizes.batch_limit(program, blocks.alone)
    return program, shapes(blocks, limit, settings.groups(program, blocks))


def _batch_bytes(program: Program, sizes: Shapes, settings: Settings, silent: tuple[bool, bool]) -> int:
    """All batches, without what feeds their OTs."""
    rate = 128 // settings.k
    rates = (1 if silent[0] else rate, 1 if silent[1] else rate)
    kinds = np.stack([sizes.strips, sizes.groups, sizes.columns, sizes.pairs])
    kinds, counts = np.unique(kinds, axis=1, return_counts=True)
    total = 0
    for kind, count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * ot_sizes.batch_sizes(program, rates, ot_sizes.BatchShape(*kind)).total
    return total


class _Chain:
    """The longest chain of messages of which each could depend on the one before, as `Wire` counts it."""

    def __init__(self) -> None:
        self.depth = {side: 0 for side in Side}

    def send(self, sender: Side) -> None:
        self.depth[sender.other] = max(self.depth[sender.other], self.depth[sender] + 1)

    @property
    def rounds(self) -> int:
        return max(self.depth.values())


def _dual(circuit: Node, blocks: Blocks) -> tuple[int, int]:
    if not blocks.pairs:
        return 0, 0
    by_a, by_b = tapes_of(boolean_circuit(circuit))
    rate, pairs = 128 // garbled_batch.K, blocks.pairs
    taken = pairs + len(by_b.theirs) * len(blocks.a_rows), pairs + len(by_a.theirs) * len(blocks.b_rows)
    total = sum(labels_bytes(count, rate) for count in taken) + opened_bytes(pairs, rate)
    sizes = shapes(blocks, garbled_batch.batch_limit(by_a)).pairs
    for size, count in zip(*(some.tolist() for some in np.unique(sizes, return_counts=True)), strict=True):
        total += count * (batch_bytes(by_a, size) + batch_bytes(by_b, size))
    return total, 1 + -(-len(sizes) // garbled_batch.WINDOW) + ROUNDS
