"""What an evaluation costs, with no data: bytes, rounds, comparisons.

The `ot` engine's messages have sizes that follow from the circuit and the sizes of the blocks, so the price
is exact, not an estimate: it is the sum of the very sizes that the engine sends and insists on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from accord.secure.blocks import Blocks, shapes
from accord.secure.circuit import Node
from accord.secure.lowering import compile_circuit
from accord.secure.ot_setup import message_sizes
from accord.secure.ot_sizes import WINDOW, batch_limit, batch_sizes, message_count

SETUP_ROUNDS = 7


@dataclass(frozen=True)
class Cost:
    """`bytes` in both directions; `rounds` messages that wait for each other; `comparisons` secure pairs."""

    bytes: int
    rounds: int
    comparisons: int


def price(circuit: Node, blocks: Blocks, k: int = 4) -> Cost:
    """The cost of evaluating a circuit over blocks with the `ot` engine, without its set-up."""
    program = compile_circuit(circuit, "ot")
    runs, pairs = shapes(blocks, batch_limit(program))
    total = 0
    kinds, counts = np.unique(np.stack([runs, pairs]), axis=1, return_counts=True)
    for (run, pair), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        total += count * batch_sizes(program, k, run, pair).total
    rounds = message_count(program) * -(-len(pairs) // WINDOW)
    return Cost(total, rounds, blocks.pairs)


def setup_price(k: int = 4) -> Cost:
    """The cost of a set-up, once for a session."""
    return Cost(sum(message_sizes(k)), SETUP_ROUNDS, 0)
