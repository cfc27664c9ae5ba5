"""The passes of a routed linkage (routed.py), whatever comes out of it: route, compare, and hand on what the
engine says of every bin.

Ranks are the run's own, from the key of its slots, so that a pass which is done again finds every record
where it was. Which records of a full key are placed is the installation's (priorities.py). Masks, keys and
oblivious transfers are fresh each time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.entropy import MASKS, Derived
from accord.fields.columns import rows_of
from accord.protocols.base import Task
from accord.protocols.lines import batches
from accord.protocols.parts.comparers import Comparer
from accord.protocols.parts.lanes import Lane, sessions
from accord.protocols.parts.outcome import Digest, Outcome
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.parts.phases import Phases
from accord.protocols.routing import Placing, placing, route_asked, route_listed
from accord.rules.rule import fields_of
from accord.secure.blocks import Blocks, Table, split_halves
from accord.secure.circuit import And, Input, Node, Opened, Tally, inputs, mirrored, own_inputs
from accord.secure.engine import Engine, HoldingEngine, moved, no_matches, require_holding
from accord.secure.engines import engine_named
from accord.secure.party import Party
from accord.secure.prf.binned import Binned, BinnedFunction
from accord.secure.prf.oblivious import Clear
from accord.side import Side
from accord.table.pairs import IdOrder, order_pairs

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_VALUES = 1 << 24
"""Of input values in what the engine is given at once."""
_FULL = 1 << 15
"""Bins that it is given at once, at the most."""
SINGLE = 64
"""A pair that stands alone takes the time of so many that do not."""
_WORK_A_POINT, _WORK_TO_START = 200, 10**8


def held_circuit(
    task: Task,
    asker: Side,
    engine: Engine | None = None,
    also: Sequence[Node] = (),
    tally: Tally | None = None,
) -> Opened:
    """The circuit of the task, in which the lister is A, and of what else must hold; for the default engine
    if none is named."""
    node: Node = mirrored(task.lowered.node) if asker is Side.A else task.lowered.node
    return require_holding(engine or engine_named("ot")).hold(And((node, *also)) if also else node, tally)


class Passes:
    """What one side knows of its passes."""

    def __init__(
        self, task: Task, lanes: Sequence[Lane], mine: OwnSide, engine: HoldingEngine, circuit: Opened
    ) -> None:
        self.task, self.lanes, self.own, self.engine, self.circuit = task, list(lanes), mine, engine, circuit
        self.asks = lanes[0].asker is mine.side
        self.role = Side.B if self.asks else Side.A
        self.total, self.done = sum(lane.bins for lane in lanes), 0
        # Drawn once a run, whatever becomes of an attempt.
        self.fixed = Derived(mine.slots.key)
        self.placings = [self.place(lane) for lane in lanes]
        """By pass."""
        entries = sum(lane.entries[mine.side] for lane in lanes)
        self.dummies = entries - sum(len(one.record) for one in self.placings)
        self.decoys = mine.entropy.stream("decoys")
        self._payloads: tuple[Words, Words] | None = None
        self._function: BinnedFunction | None = None
        self._served = 0
        """The last pass that it serves."""

    def place(self, lane: Lane) -> Placing:
        own, side, priority = self.own.records, self.own.side, self.own.priority
        assert priority is not None
        one = self.task.blocking.passes[lane.number]
        keys, fixed = one.keys(side, own.columns, len(own)), self.fixed.stream(f"pass {lane.number}")
        return placing(keys, lane.caps[side], fixed, priority)

    def gather(self, engine: Engine) -> Party[Comparer]:
        """Whoever compares."""
        return (
            yield from self.own.staff.gather(self.role, engine, self.circuit, self.own.entropy, self.total)
        )

    def compare(self, lane: Lane, comparer: Comparer) -> Party[tuple[Ints, Ints]]:
        """Route and compare. The record of every bin, at the asker, −1 where it has none; and what the engine
        says, a part of the bins after the other."""
        self.own.expect(0, _WORK_TO_START + _WORK_A_POINT * (lane.queries + lane.programmed))
        record, held = yield from self._route(lane)
        said = yield from self.engine_says(lane, comparer, lambda part: (record[part], held[part]))
        return record, said

    def _route(self, lane: Lane) -> Party[tuple[Ints, Words]]:
        """Of every bin its record, at the asker, and the own share of a payload."""
        own, entropy = self.placings[lane.number], self.own.entropy.stream(f"{MASKS} pass {lane.number}")
        function = yield from self._function_of(lane)
        if self.asks:
            return (yield from route_asked(function, lane, own, self.circuit.words, entropy))
        payloads, tops = self.payload()
        held = yield from route_listed(function, lane, own, payloads, tops, entropy)
        return np.zeros(0, np.int64), held

    def _function_of(self, lane: Lane) -> Party[BinnedFunction]:
        """The function that serves this pass and those behind it, as far as one session may; who has met for
        the last of them keeps it no longer."""
        function = self._function
        if function is None:
            served = sessions(self.lanes[lane.number :])[0]
            self._served = served[-1].number
            if self.engine.name == "ideal":
                function = Clear()
            else:
                entropy = self.own.entropy.stream(f"{MASKS} passes from {lane.number}")
                function = Binned(self.own.side, entropy, sum(one.bins for one in served))
            yield from function.meet()
        self._function = None if lane.number == self._served else function
        return function

    def engine_says(
        self, lane: Lane, comparer: Comparer, bins: Callable[[slice], tuple[Ints, Words]]
    ) -> Party[Ints]:
        """What the engine says of all bins, given records and shares of some of them."""
        found, begun = [self.tokens_of(no_matches(self.circuit))], deque[slice]()
        for part in batches(lane.bins, self._at_once):
            if len(begun) == comparer.under_way:
                found.append((yield from self._end(comparer, begun.popleft())))
            self._begin(comparer, lane, *bins(part))
            begun.append(part)
        while begun:
            found.append((yield from self._end(comparer, begun.popleft())))
        return np.concatenate(found)

    def _begin(self, comparer: Comparer, lane: Lane, record: Ints, held: Words) -> None:
        """Have some bins of a pass compared."""
        count = len(held)
        self.own.expect(SINGLE * count, 0)
        ones, table = np.ones(count, np.int64), {"held": split_halves(held)}
        if self.asks:
            table |= self._inputs(record, lane)
        comparer.ask(Blocks.of_sizes(ones, ones), Table(table, np.ones(count, np.bool_)))

    def _end(self, comparer: Comparer, part: slice) -> Party[Ints]:
        """What came of some bins of a pass."""
        found = yield from comparer.answer()
        self.done += part.stop - part.start
        said = moved(self.circuit, self.tokens_of(found), part.start)
        self.own.watch(Status(self.done, self.total, self.matches(said)))
        return said

    def _inputs(self, rows: Ints, lane: Lane | None) -> dict[str, Ints]:
        """The circuit's inputs of these records, for a pass or for payloads; of none, those of some record,
        any: it takes as long."""
        own, size = self.own.records.columns, len(self.own.records)
        others = np.frombuffer(self.decoys.bytes(4 * len(rows)), "<u4").astype(np.int64)
        some = np.where(rows >= 0, rows, others % max(1, size))
        of = own_inputs(self.circuit, self.role)
        if not size:
            return {one.name: np.zeros((len(rows), one.length), np.int64) for one in of}
        columns = {name: rows_of(own[name], some) for name in fields_of(self.task.rule)}
        builders, side = self.task.lowered.builders, self.own.side
        return {
            one.name: builders[one.name, side](columns)
            if (one.name, side) in builders
            else self.input(one, some, lane)
            for one in of
        }

    def payload(self) -> tuple[Words, Words]:
        """The payloads of all own records: they are the same in every pass."""
        if self._payloads is None:
            made = []
            for part in list(batches(len(self.own.records), self._at_once)) or [slice(0, 0)]:
                rows = self._inputs(np.arange(part.start, part.stop), None)
                real = np.ones(part.stop - part.start, np.bool_)
                made.append(self.engine.payloads(self.circuit, Table(rows, real)))
            payloads = np.concatenate([some for some, _ in made])
            self.seal(payloads)
            self._payloads = payloads, made[0][1]
        return self._payloads

    @property
    def _at_once(self) -> int:
        """Bins that the engine is given at once: the same number on both sides."""
        values = sum(one.length for side in Side for one in inputs(self.circuit, side))
        return max(1, min(_FULL, _VALUES // values))

    def nobody(self, digest: Digest, phases: Phases) -> Outcome:
        """What comes out for a side that learns no pairs, or has not opened them."""
        none, mine = pa.array([], pa.large_string()), self.own
        order = IdOrder.of(none)
        return Outcome(
            side=mine.side,
            pairs=order_pairs(order, order, [], mine.scratch),
            partner_ids=none,
            partner_columns=pa.table(dict.fromkeys(self.task.disclose[mine.side.other], none)),
            partner_size=mine.partner_size,
            partner_slots=0,
            comparisons=self.total,
            rounds=len(self.lanes),
            dummies=self.dummies,
            released=mine.released,
            phases=phases,
            digest=digest,
            hidden=True,
        )

    # -- what differs by what comes out -------------------------------------------------------------------

    def input(self, one: Input, rows: Ints, lane: Lane | None) -> Ints:
        """Of some own records, what the circuit reads and the rule does not."""
        raise NotImplementedError

    def seal(self, payloads: Words) -> None:
        """Put what the engine leaves room for at the end of payloads."""

    @abstractmethod
    def matches(self, said: Ints) -> int | None:
        """How many matches there are so far, with this; None where nobody may know."""

    def tokens_of(self, found: Ints) -> Ints:
        """Of what the engine opened, what may be believed."""
        return found
