"""What an evaluation costs, with no data: bytes, rounds, comparisons.

The engines' messages have sizes that follow from the circuit and the sizes of the blocks, so the price
is exact, not an estimate: it is the sum of the very sizes that an engine sends and insists on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord.secure import garbled_batch, ot_setup, ot_sizes
from accord.secure.blocks import Blocks, shapes
from accord.secure.circuit import Node, Side
from accord.secure.garbled_lowering import boolean_circuit
from accord.secure.garbled_tape import tape_of
from accord.secure.lowering import compile_circuit

SETUP_ROUNDS = 7


@dataclass(frozen=True)
class Cost:
    """`bytes` in both directions; `rounds` messages that wait for each other; `comparisons` secure pairs."""

    bytes: int
    rounds: int
    comparisons: int


def price(circuit: Node, blocks: Blocks, engine: str = "ot", k: int = 4) -> Cost:
    """The cost of evaluating a circuit over blocks, without the set-up."""
    bytes_, rounds = {"ot": _ot, "garbled": _garbled}[engine](circuit, blocks, k)
    return Cost(bytes_, rounds, blocks.pairs)


def _ot(circuit: Node, blocks: Blocks, k: int) -> tuple[int, int]:
    program = compile_circuit(circuit, "ot")
    sizes = shapes(blocks, ot_sizes.batch_limit(program))
    total = 0
    kinds, counts = np.unique(np.stack([sizes.runs, sizes.pairs]), axis=1, return_counts=True)
    for (run, pair), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * ot_sizes.batch_sizes(program, k, run, pair).total
    return total, ot_sizes.message_count(program) * -(-len(sizes.pairs) // ot_sizes.WINDOW)


def _garbled(circuit: Node, blocks: Blocks, k: int) -> tuple[int, int]:
    tapes = [tape_of(boolean_circuit(circuit), garbler) for garbler in Side]
    sizes = shapes(blocks, garbled_batch.batch_limit(tapes[0]))
    # Batches garbled by A take labels for B's rows, those garbled by B for A's.
    by_b = np.arange(len(sizes.pairs)) % 2
    total = 0
    kinds = np.stack([by_b, np.where(by_b, sizes.runs, sizes.b_rows), sizes.pairs])
    kinds, counts = np.unique(kinds, axis=1, return_counts=True)
    for (other, rows, pair), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * garbled_batch.batch_sizes(tapes[other], k, rows, pair).total
    return total, garbled_batch.MESSAGES * -(-len(sizes.pairs) // garbled_batch.WINDOW)


def setup_price(engine: str = "ot") -> Cost:
    """The cost of a set-up, once for a session."""
    tag = {"ot": ot_setup.TAG, "garbled": garbled_batch.TAG}[engine]
    return Cost(sum(ot_setup.message_sizes(tag)), SETUP_ROUNDS, 0)
