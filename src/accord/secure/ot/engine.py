"""The default engine: distances and lookups from oblivious transfer.

Semi-honest, κ = 128, no third party, no dealer. A circuit becomes a program (`compiler.py`); the pairs are
cut into batches, and each batch is one exchange of messages (`batch.py`). Batches are interleaved, so that
both sides work at the same time, and bounded, so that memory does not grow with the number of pairs.

Learns: both sides the match bits, and nothing else; `docs/engines.md` has the argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import Blocks, StripBatch, Table, batches, shapes
from accord.secure.circuit import Node, inputs
from accord.secure.ot.batch import BatchSide, OwnRows, run_a, run_b
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.ot.sizes import WINDOW, batch_limit
from accord.secure.ot.supply import OtSession, needs, schedule
from accord.secure.party import Party, interleave
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import set_up
from accord.side import Side

TAG = b"accord/ot/3 "


@dataclass(frozen=True)
class OtEngine:
    """The engine for a network, with or without silent OTs."""

    settings: Settings = USUAL

    @property
    def name(self) -> str:
        return "ot"

    def supports(self, circuit: Node) -> None:
        compile_circuit(circuit, self.name)

    def set_up(
        self, side: Side, entropy: Entropy, permutation: Permutation | None = None
    ) -> Party[OtSession]:
        hello = TAG + self.settings.hello
        made = yield from set_up(side, self.settings.k, entropy, permutation, hello, doubles=True)
        return OtSession(made, self.settings)

    def evaluate(
        self, session: OtSession, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        program = compile_circuit(circuit, self.name)
        own = OwnRows({of.name: table.read(of) for of in inputs(circuit, session.side)}, table.real)
        result = np.zeros(blocks.pairs, dtype=np.bool_)
        side = run_a if session.side is Side.A else run_b
        groups, limit = self.settings.groups(program, blocks), batch_limit(program, blocks.alone)
        plan = schedule(needs(program, shapes(blocks, limit, groups)), session.used, self.settings)
        ends, entropy = session.ends(plan.silent), session.ot.entropy

        def work(batch: StripBatch) -> Party[None]:
            bits = yield from side(BatchSide(ends, entropy, program, batch, own))
            batch.put(bits, result)

        every, done = batches(blocks, limit, groups), 0
        with session.ot.evaluating():
            for stage in plan.stages:
                yield from session.feed(stage.feeds)
                some = islice(every, stage.last - done)
                yield from interleave((work(batch) for batch in some), WINDOW)
                done = stage.last
            session.used = plan.after
        return result
