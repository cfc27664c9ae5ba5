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
from accord.secure.paillier import engine as engine_paillier
from accord.secure.paillier.distance import pack_sizes, packs
from accord.secure.paillier.engine import PaillierEngine, plan_of
from accord.secure.transfer import setup as ot_setup

SETUP_ROUNDS = 7


@dataclass(frozen=True)
class Price:
    """`bytes` in both directions; `rounds` messages that wait for each other; `comparisons` secure pairs."""

    bytes: int
    rounds: int
    comparisons: int


def price(circuit: Node, blocks: Blocks, engine: str = "ot", k: int = 4) -> Price:
    """The cost of evaluating a circuit over blocks, without the set-up."""
    if engine == "ot":
        total, rounds = _ot(circuit, blocks, k)
    elif engine == "garbled":
        total, rounds = _garbled(circuit, blocks)
    else:
        total, rounds = _paillier(circuit, blocks, engine)
    return Price(total, rounds, blocks.pairs)


def _ot(circuit: Node, blocks: Blocks, k: int) -> tuple[int, int]:
    program = compile_circuit(circuit, "ot")
    sizes = shapes(blocks, ot_sizes.batch_limit(program))
    total = 0
    kinds, counts = np.unique(np.stack([sizes.strips, sizes.pairs]), axis=1, return_counts=True)
    for (strips, pairs), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * ot_sizes.batch_sizes(program, k, strips, pairs).total
    return total, ot_sizes.message_count(program) * -(-len(sizes.pairs) // ot_sizes.WINDOW)


def _garbled(circuit: Node, blocks: Blocks) -> tuple[int, int]:
    tapes = tapes_of(boolean_circuit(circuit))
    sizes = shapes(blocks, garbled_batch.batch_limit(tapes[0]))
    # Batches garbled by A take labels for B's rows, those garbled by B for A's.
    by_b = np.arange(len(sizes.pairs)) % 2
    total = 0
    kinds = np.stack([by_b, np.where(by_b, sizes.strips, sizes.b_rows), sizes.pairs])
    kinds, counts = np.unique(kinds, axis=1, return_counts=True)
    for (other, rows, pair), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * garbled_batch.batch_sizes(tapes[other], garbled_batch.K, rows, pair).total
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


def setup_price(engine: str = "ot") -> Price:
    """The cost of a set-up, once for a session."""
    if engine == "ot":
        return Price(sum(ot_setup.message_sizes()), SETUP_ROUNDS, 0)
    garbled = Price(sum(ot_setup.message_sizes(garbled_batch.TAG)), SETUP_ROUNDS, 0)
    if engine == "garbled":
        return garbled
    made = PaillierEngine(packed=engine == "paillier-packed")
    return Price(2 * len(made.hello) + garbled.bytes + made.bits // 8, SETUP_ROUNDS + 2, 0)
