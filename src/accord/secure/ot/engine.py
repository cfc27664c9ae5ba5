"""The default engine: distances and lookups from oblivious transfer.

Semi-honest, κ = 128, no third party, no dealer. A circuit becomes a program (`compiler.py`); the pairs are
cut into batches, and each batch is one exchange of messages (`batch.py`). Batches are interleaved, so that
both sides work at the same time, and bounded, so that memory does not grow with the number of pairs.

Learns: both sides the match bits, and nothing else; `docs/engines.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import Batch, Blocks, Table, batches
from accord.secure.circuit import Node, inputs
from accord.secure.ot.batch import BatchSide, run_a, run_b
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.sizes import WINDOW, batch_limit
from accord.secure.party import Party, interleave
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import Session, set_up
from accord.side import Side


@dataclass(frozen=True)
class OtEngine:
    """The engine with SoftSpoken's field of 2ᵏ elements: a larger k sends less and computes more."""

    k: int = 4

    @property
    def name(self) -> str:
        return "ot"

    def supports(self, circuit: Node) -> None:
        compile_circuit(circuit, self.name)

    def set_up(self, side: Side, entropy: Entropy, permutation: Permutation | None = None) -> Party[Session]:
        return set_up(side, self.k, entropy, permutation)

    def evaluate(
        self, session: Session, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        program = compile_circuit(circuit, self.name)
        rows = {of.name: table.checked(of) for of in inputs(circuit, session.side)}
        result = np.zeros(blocks.pairs, dtype=np.bool_)
        side = run_a if session.side is Side.A else run_b

        def work(batch: Batch) -> Party[None]:
            bits = yield from side(BatchSide(session, program, batch, rows, table.real))
            batch.put(bits, result)

        def works() -> Iterator[Party[None]]:
            return (work(batch) for batch in batches(blocks, batch_limit(program)))

        with session.evaluating():
            yield from interleave(works(), WINDOW)
        return result
