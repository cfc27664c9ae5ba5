"""Yao's garbled circuits: how the Paillier engines compare shares of distances, in few rounds.

Semi-honest, κ = 128, no third party. A circuit becomes XORs and ANDs (`compiler.py`), these become a
tape (`tape.py`), and each batch of pairs is garbled by one side and evaluated by the other
(`batch.py`). The sides take turns: garbling hashes twice as much as evaluating, so batches garbled by
A and by B alternate and, interleaved, keep both busy. Memory is bounded by the batches under way.

Learns: both sides the match bits, and nothing else; `docs/engines.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import Blocks, StripBatch, Table, batches
from accord.secure.circuit import Node, inputs
from accord.secure.garbled.batch import TAG, WINDOW, BatchSide, K, batch_limit, run_evaluator, run_garbler
from accord.secure.garbled.compiler import boolean_circuit, check_supported
from accord.secure.garbled.tape import Tape, tapes_of
from accord.secure.party import Party, interleave
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import Session, set_up
from accord.side import Side


@dataclass(eq=False, repr=False)
class GarbledSession:
    """The two OT extensions, the number of the next table, and the tapes of the circuits so far."""

    ot: Session
    tables: int = 0
    _tapes: dict[Node, tuple[Tape, Tape]] = field(default_factory=dict)

    @property
    def aes_blocks(self) -> int:
        return self.ot.aes_blocks

    def tapes(self, circuit: Node) -> tuple[Tape, Tape]:
        """The tapes of a circuit where A garbles and where B does, made once."""
        if circuit not in self._tapes:
            self._tapes[circuit] = tapes_of(boolean_circuit(circuit))
        return self._tapes[circuit]


@dataclass(frozen=True)
class GarbledEngine:
    """The engine."""

    @property
    def name(self) -> str:
        return "garbled"

    def supports(self, circuit: Node) -> None:
        check_supported(circuit, self.name)
        boolean_circuit(circuit)

    def set_up(
        self, side: Side, entropy: Entropy, permutation: Permutation | None = None
    ) -> Party[GarbledSession]:
        return GarbledSession((yield from set_up(side, K, entropy, permutation, TAG)))

    def evaluate(
        self, session: GarbledSession, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        check_supported(circuit, self.name)
        tapes = session.tapes(circuit)
        rows = {of.name: table.read(of) for of in inputs(circuit, session.ot.side)}
        result = np.zeros(blocks.pairs, dtype=np.bool_)

        def work(batch: StripBatch, garbler: Side, number: int) -> Party[None]:
            own = BatchSide(session.ot, tapes[garbler is Side.B], batch, rows, table.real, number)
            bits = yield from (run_garbler if garbler is session.ot.side else run_evaluator)(own)
            batch.put(bits, result)

        def works() -> Iterator[Party[None]]:
            for place, batch in enumerate(batches(blocks, batch_limit(tapes[0]))):
                first, session.tables = session.tables, session.tables + tapes[0].tables * batch.pairs
                yield work(batch, (Side.A, Side.B)[place % 2], first)

        with session.ot.evaluating():
            yield from interleave(works(), WINDOW)
        return result
