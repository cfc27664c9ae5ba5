"""The default engine: distances and lookups from oblivious transfer.

Semi-honest, κ = 128, no third party, no dealer. A circuit becomes a program (`compiler.py`); the pairs are
cut into batches, and each batch is one exchange of messages (`batch.py`). Batches are interleaved, so that
both sides work at the same time, and bounded, so that memory does not grow with the number of pairs.

Learns: both sides the match bits, and nothing else, or what `open` says; `docs/engines.md` has the argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.secure.blocks import Blocks, StripBatch, Table, batches, join_halves, shapes
from accord.secure.circuit import Input, Node, Opened, Tally, inputs, own_inputs
from accord.secure.ot.batch import BatchSide, open_a, open_b, run_a, run_b, tally_a, tally_b
from accord.secure.ot.compiler import compile_circuit
from accord.secure.ot.held import HeldRows, layout_of, payloads
from accord.secure.ot.program import Program
from accord.secure.ot.rows import OwnRows, Rows
from accord.secure.ot.settings import USUAL, Settings
from accord.secure.ot.single import stands_alone
from accord.secure.ot.sizes import WINDOW, batch_limit
from accord.secure.ot.supply import OtSession, needs, schedule
from accord.secure.party import Party, interleave
from accord.secure.payloads import TOKEN
from accord.secure.transfer.permutation import Permutation
from accord.secure.transfer.setup import set_up
from accord.side import Side

Words = NDArray[np.uint64]

TAG = b"accord/ot/4 "


@dataclass(frozen=True)
class OtEngine:
    """The engine for a network, with or without silent OTs."""

    settings: Settings = USUAL

    @property
    def name(self) -> str:
        return "ot"

    def supports(self, circuit: Node) -> None:
        compile_circuit(circuit, self.name)

    def hold(self, circuit: Node, tally: Tally | None = None) -> Opened:
        program = compile_circuit(Opened(circuit, 0, tally), self.name)
        return Opened(circuit, layout_of(program).words, tally)

    def payloads(self, circuit: Opened, table: Table) -> tuple[Words, Words]:
        program = compile_circuit(circuit, self.name)
        return payloads(program, _own(own_inputs(circuit, Side.A), table)), layout_of(program).tops

    def set_up(
        self, side: Side, entropy: Entropy, permutation: Permutation | None = None
    ) -> Party[OtSession]:
        hello = TAG + self.settings.hello
        made = yield from set_up(side, self.settings.k, entropy, permutation, hello, doubles=True)
        return OtSession(made, self.settings)

    def evaluate(
        self, session: OtSession, circuit: Node, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.bool_]]:
        program, own = compile_circuit(circuit, self.name), _own(inputs(circuit, session.side), table)
        result = np.zeros(blocks.pairs, dtype=np.bool_)
        side = run_a if session.side is Side.A else run_b

        def work(make: Make, batch: StripBatch) -> Party[None]:
            bits = yield from side(make(own, batch))
            batch.put(bits, result)

        yield from self._each(session, program, blocks, work)
        return result

    def open(
        self, session: OtSession, circuit: Opened, blocks: Blocks, table: Table
    ) -> Party[NDArray[np.int64]]:
        program, held = compile_circuit(circuit, self.name), join_halves(table.read(circuit.held))
        own = None if session.side is Side.A else _own(inputs(circuit.of, Side.B), table)
        rows = HeldRows(held, own)
        if circuit.tally is not None:
            return (yield from self._tally(session, program, circuit.tally, blocks, rows, table))
        side = open_a if session.side is Side.A else open_b
        found = [np.zeros((0, 1 + TOKEN), np.int64)]

        def work(make: Make, batch: StripBatch) -> Party[None]:
            _require_alone(batch)
            some = batch.a_rows if session.side is Side.A else batch.b_rows
            places, last = yield from side(make(rows, batch), held[some])
            found.append(np.column_stack([batch.place[places], last]))

        yield from self._each(session, program, blocks, work)
        return np.concatenate(found)

    def _tally(
        self, session: OtSession, program: Program, of: Tally, blocks: Blocks, rows: Rows, table: Table
    ) -> Party[NDArray[np.int64]]:
        total = np.zeros(of.cells, np.uint64)

        def work(make: Make, batch: StripBatch) -> Party[None]:
            _require_alone(batch)
            mine = make(rows, batch)
            if session.side is Side.A:
                sums = yield from tally_a(mine)
            else:
                sums = yield from tally_b(mine, table.read(of.weights)[batch.b_rows])
            total[:] += sums

        yield from self._each(session, program, blocks, work)
        return (total & np.uint64((1 << of.bits) - 1)).astype(np.int64)[None]

    def _each(
        self,
        session: OtSession,
        program: Program,
        blocks: Blocks,
        work: Callable[[Make, StripBatch], Party[None]],
    ) -> Party[None]:
        """Do all batches of some blocks, and feed what they take."""
        groups, limit = self.settings.groups(program, blocks), batch_limit(program, blocks.alone)
        plan = schedule(needs(program, shapes(blocks, limit, groups)), session.used, self.settings)
        ends, entropy = session.ends(plan.silent), session.ot.entropy
        every, done = batches(blocks, limit, groups), 0

        def make(rows: Rows, batch: StripBatch) -> BatchSide:
            return BatchSide(ends, entropy, program, batch, rows)

        with session.ot.evaluating():
            for stage in plan.stages:
                yield from session.feed(stage.feeds)
                some = islice(every, stage.last - done)
                yield from interleave((work(make, batch) for batch in some), WINDOW)
                done = stage.last
            session.used = plan.after


Make = Callable[[Rows, StripBatch], BatchSide]


def _require_alone(batch: StripBatch) -> None:
    if not stands_alone(batch):
        raise ValueError("a row that is held in shares meets one other")


def _own(of: tuple[Input, ...], table: Table) -> OwnRows:
    return OwnRows({one.name: table.read(one) for one in of}, table.real)
