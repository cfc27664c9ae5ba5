"""What an evaluation costs, with no data: bytes, rounds, comparisons.

The engines' messages have sizes that follow from the circuit and the sizes of the blocks, so the price
is exact, not an estimate: it is the sum of the very sizes that an engine sends and insists on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord.secure.blocks import Blocks, shapes
from accord.secure.circuit import Node
from accord.secure.garbled import batch as garbled_batch
from accord.secure.garbled.compiler import boolean_circuit
from accord.secure.garbled.tape import tapes_of
from accord.secure.ot import sizes as ot_sizes
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.ot.supply import Use, needs, schedule
from accord.secure.paillier import engine as engine_paillier
from accord.secure.paillier.distance import pack_sizes, packs
from accord.secure.paillier.engine import PaillierEngine, plan_of
from accord.secure.transfer.silent import feed_bytes
from accord.side import Side


@dataclass(frozen=True)
class Price:
    """`bytes` in both directions; `rounds` messages that wait for each other; `comparisons` secure pairs."""

    bytes: int
    rounds: int
    comparisons: int


def price(circuit: Node, blocks: Blocks, engine: str = "ot", settings: Settings = USUAL) -> Price:
    """The cost of evaluating a circuit over blocks in a new session, without the set-up."""
    if engine == "ot":
        total, rounds = _ot(circuit, blocks, settings)
    elif engine == "garbled":
        total, rounds = _garbled(circuit, blocks)
    else:
        total, rounds = _paillier(circuit, blocks, engine)
    return Price(total, rounds, blocks.pairs)


def _ot(circuit: Node, blocks: Blocks, settings: Settings) -> tuple[int, int]:
    program = compile_circuit(circuit, "ot")
    sizes = shapes(blocks, ot_sizes.batch_limit(program), settings.groups(program, blocks))
    plan = schedule(needs(program, sizes), (Use(), Use()), settings)
    rate = 128 // settings.k
    rates = (1 if plan.silent[0] else rate, 1 if plan.silent[1] else rate)
    kinds = np.stack([sizes.strips, sizes.groups, sizes.columns, sizes.pairs])
    kinds, counts = np.unique(kinds, axis=1, return_counts=True)
    total = 0
    for kind, count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * ot_sizes.batch_sizes(program, rates, ot_sizes.Shape(*kind)).total
    chain, done, fed = _Chain(), 0, [0, 0]
    for stage in plan.stages:
        for way, receiver in enumerate((Side.A, Side.B)):
            for _ in range(stage.feeds[way]):
                if not fed[way]:
                    chain.send(receiver)
                chain.send(receiver.other)
                total += feed_bytes(not fed[way], rate, settings.code)
                fed[way] += 1
        for _ in range(-(-(stage.last - done) // ot_sizes.WINDOW)):
            for message in range(ot_sizes.message_count(program)):
                chain.send(Side.B if message % 2 else Side.A)
        done = stage.last
    return total, chain.rounds


class _Chain:
    """The longest chain of messages of which each could depend on the one before, as `Wire` counts it."""

    def __init__(self) -> None:
        self.depth = {side: 0 for side in Side}

    def send(self, sender: Side) -> None:
        self.depth[sender.other] = max(self.depth[sender.other], self.depth[sender] + 1)

    @property
    def rounds(self) -> int:
        return max(self.depth.values())


def _garbled(circuit: Node, blocks: Blocks) -> tuple[int, int]:
    tapes = tapes_of(boolean_circuit(circuit))
    sizes = shapes(blocks, garbled_batch.batch_limit(tapes[0]))
    # Batches garbled by A take labels for B's rows, those garbled by B for A's.
    by_b = np.arange(len(sizes.pairs)) % 2
    total = 0
    kinds = np.stack([by_b, np.where(by_b, sizes.strips, sizes.b_rows), sizes.pairs])
    kinds, counts = np.unique(kinds, axis=1, return_counts=True)
    for (other, rows, pair), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * garbled_batch.batch_sizes(tapes[other], 128 // garbled_batch.K, rows, pair).total
    return total, garbled_batch.MESSAGES * -(-len(sizes.pairs) // garbled_batch.WINDOW)


def _paillier(circuit: Node, blocks: Blocks, engine: str) -> tuple[int, int]:
    made = PaillierEngine(packed=engine == "paillier-packed")
    plan, total, rounds = plan_of(circuit, engine), 0, 0
    if plan.distances:
        every = list(packs(blocks, plan.rows_at_once(made.bits, made.packed)))
        total = sum(sum(pack_sizes(plan.distances, made.bits // 4, len(pack.b_rows))) for pack in every)
        rounds = 2 * -(-len(every) // engine_paillier.WINDOW)
    one = np.ones(blocks.pairs, dtype=np.int64)
    compared, more = _garbled(plan.circuit, Blocks.of_sizes(one, one))
    return total + compared, rounds + more
