"""routed: records that share a key are brought together in shares and compared; ε = 0 [MATHS §7].

      ◄──────────────── commitments ──────────────────────►            (slots.py)
      ◄──────────────── the engine's set-up ──────────────►            (comparers.py)
    asker (A or B)                                           lister
    pass by pass  ── queries, hidden ─────────────────────►
      ◄── a store of payloads ─────────────────────────────            (routing.py)
      ◄──────────────── comparisons on shares ────────────►            (secure/engine.py)
    tokens of what met and matches
      ── the tokens, and which own record matched which ──►            (naming.py)
      ◄──────────────── both disclose what matched ───────►            (disclosed.py)
      ◄──────────────── digest of the output ─────────────►            (confirm.py)

Nobody learns who met, nor a bit of a comparison: what does not match and what did not meet look alike. A pair
that meets in several passes is found in each and listed once. Each pass is a step of the journal, so a run
that was cut goes on with the pass in which it was; that one is done again, all of it, with masks, keys and
oblivious transfers that are fresh. Ranks and tokens are the run's own, from the key of its slots.

**Theorem.** Let two tables of one side differ in one record that is in no pair of the output, let none of its
keys have more records than the side's cap in either table, and let both run. Then the other side's views are
equal, but for computational terms and 2⁻⁴⁰. *Proof.* All sizes follow from the numbers of records, passes,
keys and caps. The asker's view: stores that are uniform to it but for the payloads' shares at its own
queries, which w makes uniform; the engine's, which shows nothing but the tokens of its matches. Given the
matches, these are random strings; in which pass and by which ranks a pair met does not depend on what else
has the key: the ranks of records of a key that is not over the cap are distinct and uniform, however many
they are. The lister's view: the function's and the engine's, which show nothing; the tokens, and the asker's
records, of the matches, in an order that follows from them. Over the cap it is another matter: there a record
that matches nothing can take the place of one that matches. That is told, and counted for the owner.

*Learns*: both sides the other's size and the pairs; the asker also in which passes a pair met, and at which
ranks. Semi-honest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from accord.entropy import MASKS, Derived
from accord.errors import DataError, PeerError, UsageError
from accord.errors import Fault as DataFault
from accord.fields.columns import Records, rows_of
from accord.privacy import events
from accord.protocols.base import Guarantee, Options, Release, Slotless, Task
from accord.protocols.confirm import confirm
from accord.protocols.lines import HALF, batches, random_rows
from accord.protocols.naming import Naming
from accord.protocols.one_to_one import keep_best, work_of
from accord.protocols.parts.comparers import Comparer
from accord.protocols.parts.journal import Answer, step, whole
from accord.protocols.parts.lanes import Lane
from accord.protocols.parts.outcome import CONFIRMED, Outcome
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.parts.phases import Phases
from accord.protocols.parts.slots import COMMITMENT, exchange_commitments
from accord.protocols.routing import (
    Placing,
    others_of,
    placed_of,
    placing,
    route_asked,
    route_listed,
)
from accord.rules.blocking.base import Cap
from accord.rules.evaluate import Tables
from accord.rules.rule import fields_of
from accord.secure.blocks import Blocks, Table, split_halves
from accord.secure.circuit import Circuit, Node, Opened, inputs, mirrored
from accord.secure.engine import Engine, HoldingEngine, moved, require_holding
from accord.secure.engines import engine_named
from accord.secure.okvs.sizes import MOST
from accord.secure.party import Party
from accord.secure.payloads import as_bytes, put_tokens
from accord.secure.prf.oblivious import Clear, Function, Oblivious
from accord.side import Side
from accord.wording import counted

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_VALUES = 1 << 24
"""Of input values in what the engine is given at once."""
_FULL = 1 << 15
"""Bins that it is given at once, at the most."""
SINGLE = 64
"""A pair that stands alone takes the time of so many that do not."""
_WORK_A_POINT, _WORK_TO_START = 200, 10**8


class Routed(Slotless):
    """Records that share a key are compared, brought together in shares: ε = 0, for keys that few share."""

    lists_bins: ClassVar[bool] = False
    replayed: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("cap",)

    name: Literal["routed"]
    cap: Cap = 2
    """How many records of a side with one key meet, in passes that do not say it."""
    over: Literal["leave-out", "refuse"] = "leave-out"
    """What becomes of a key with more records: all but so many, at random, are left out of that pass; or the
    run is refused, before anybody is called."""
    asks: Literal["A", "B"] | None = None
    """Which side asks, and so learns in which passes a pair met; by default that for which it costs less."""

    # -- in an agreement ----------------------------------------------------------------------------------

    @classmethod
    def draft(cls, epsilon: str, delta: str, noise: Mapping[Side, str]) -> Options:
        return {"name": "routed"}

    # -- before a run -------------------------------------------------------------------------------------

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        return Release(task, side, events.Routing())

    def refuse_records(self, task: Task, side: Side, records: Records) -> None:
        """Raise where a key has more records than the cap and the agreement says to refuse it."""
        if self.over != "refuse":
            return
        faults = [
            DataFault(f"pass '{name}'", f"{counted(over, 'record')} over the cap of {cap:,} for one key.")
            for name, cap, over in self.over_cap(task, side, records)
            if over
        ]
        if faults:
            mend = 'over = "refuse" was agreed. Agree on a higher cap, a finer key, or over = "leave-out".'
            raise DataError("the table", faults, mend)

    def over_cap(self, task: Task, side: Side, records: Records) -> Iterator[tuple[str, int, int]]:
        for one, caps in zip(task.blocking.passes, self._caps(task), strict=True):
            _, key = one.keys(side, records.columns, len(records))
            _, counts = np.unique(key, return_counts=True)
            yield one.name, caps[side], int(np.maximum(counts - caps[side], 0).sum())

    def uncovered(self, task: Task, side: Side, records: Records, rows: Ints) -> str:
        """Those that share a key with more than there is room for."""
        for one, caps in zip(task.blocking.passes, self._caps(task), strict=True):
            record, key = one.keys(side, records.columns, len(records))
            found, counts = np.unique(key, return_counts=True)
            if np.isin(key[np.isin(record, rows)], found[counts > caps[side]]).any():
                return (
                    f"In pass '{one.name}' more records than the cap, {caps[side]:,}, share the key of "
                    "one of these. Then a record that matches nothing can take the place of one that matches."
                )
        return ""

    # -- a run --------------------------------------------------------------------------------------------

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        return route(task, self, mine, engine)

    def require_engine(self, task: Task, engine: Engine) -> None:
        require_holding(engine).hold(task.lowered.node)

    def equal(self, task: Task) -> frozenset[str]:
        """None: one key in 2⁶⁴ is another's by chance."""
        return frozenset()

    def lanes(self, task: Task, sizes: tuple[int, int]) -> list[Lane]:
        """Every pass, for tables of A and of B of these sizes."""
        by_side = dict(zip(Side, sizes, strict=True))
        entries = [{s: by_side[s] * one.per_record(s) for s in Side} for one in task.blocking.passes]
        asker = self._asker(entries, self._caps(task))
        both = enumerate(zip(entries, self._caps(task), strict=True))
        return [Lane(number, some, caps, asker) for number, (some, caps) in both]

    def _caps(self, task: Task) -> list[dict[Side, int]]:
        return [dict(one.caps or dict.fromkeys(Side, self.cap)) for one in task.blocking.passes]

    def _asker(self, entries: list[dict[Side, int]], caps: list[dict[Side, int]]) -> Side:
        """As agreed, or the side with fewer queries, which are what is compared; A if they are as many."""
        if self.asks is not None:
            return Side(self.asks)
        both = list(zip(entries, caps, strict=True))
        asked = {s: sum(some[s] * cap[s.other] for some, cap in both) for s in Side}
        return Side.A if asked[Side.A] <= asked[Side.B] else Side.B

    def refuse_sizes(self, task: Task, side: Side, own: int, partner: int) -> str:
        sizes = (own, partner) if side is Side.A else (partner, own)
        most = max(max(lane.queries, lane.programmed) for lane in self.lanes(task, sizes))
        if most <= MOST:
            return ""
        return (
            f"routed would list {most:,} values in one pass, more than {MOST:,}. Take smaller caps or tables."
        )

    # -- what it leaks and costs --------------------------------------------------------------------------

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        caps = sorted({cap[side] for cap in self._caps(task)})
        cap = f"{caps[0]:,}" if len(caps) == 1 else f"{caps[0]:,} to {caps[-1]:,}, by pass,"
        if self.over == "refuse":
            told = f"that no more than {cap} of its records share a key: with more there would be no run;"
        else:
            told = (
                f"of a key that more than {cap} of its records share: which records it had room for. There a "
                "record that matches nothing can take the place of one that matches;"
            )
        asks = self.asks is None or Side(self.asks) is not side
        of_matches = ("to the side that asks: in which passes, and at which rank, a matching pair met;",)
        return Guarantee(
            "nothing", events.NO_COST.epsilon, events.NO_COST.delta, (told,), of_matches if asks else ()
        )

    def advice(self, task: Task) -> list[str]:
        if self.over == "refuse":
            return [
                'Whether a run is refused (over = "refuse"), or a cap was raised, tells something of a table.'
            ]
        return []

    def share_found(self, task: Task) -> float | None:
        """What full keys leave out depends on the data."""
        return None if self.over == "leave-out" else 1.0

    def expected_found(self, task: Task) -> float | None:
        """All of them: what full keys leave out is in `meets`."""
        return 1.0

    def meets(
        self, task: Task, tables: Tables, rows: Ints, sizes: tuple[int, int], like: Sequence[Tables]
    ) -> NDArray[np.float64]:
        apart = np.ones(len(rows))
        for one, caps in zip(task.blocking.passes, self._caps(task), strict=True):
            placed = 1.0
            for side, size in zip(Side, sizes, strict=True):
                placed *= placed_of(others_of(one, side, like, size), caps[side])
            apart *= 1 - placed * one.compares(tables, rows, rows)
        return 1 - apart

    def price(self, task: Task, sizes: tuple[int, int], counts: tuple[Ints, Ints]) -> int:
        return sum(lane.bins for lane in self.lanes(task, sizes))

    def sends(self, task: Task, sizes: tuple[int, int]) -> int:
        lanes = self.lanes(task, sizes)
        words = held_circuit(task, lanes[0].asker).words
        return 2 * COMMITMENT + sum(lane.sent(words) for lane in lanes) + CONFIRMED

    def circuit(self, task: Task, sizes: tuple[int, int]) -> Circuit:
        """What the engine is asked."""
        return held_circuit(task, self.lanes(task, sizes)[0].asker)


def held_circuit(task: Task, asker: Side, engine: Engine | None = None) -> Opened:
    """The circuit of the task, in which the lister is A; for the default engine if none is named."""
    node: Node = mirrored(task.lowered.node) if asker is Side.A else task.lowered.node
    return require_holding(engine or engine_named("ot")).hold(node)


def route(task: Task, options: Routed, mine: OwnSide, engine: Engine) -> Party[Outcome]:
    """One side of a routed linkage."""
    if problem := options.refuse_sizes(task, mine.side, mine.records.size, mine.partner_size):
        raise UsageError(problem=problem)
    clock = mine.stopwatch
    run = _Side(task, options, mine, require_holding(engine))
    made = whole(exchange_commitments(mine.slots, mine.side))
    yield from step(mine.journal, made, lambda answer: None)
    comparer = yield from mine.staff.gather(run.role, engine, run.circuit, mine.entropy, run.total)
    set_up = clock.lap()
    for lane in run.lanes:
        run.take((yield from step(mine.journal, run.one_pass(lane, comparer), run.read)))
    compared = clock.lap()
    ended = run.naming.tell(*run.found, run.dummies) if run.asks else run.naming.hear(run.tokens, run.dummies)
    rounds = len(run.lanes)
    outcome = yield from step(mine.journal, ended, lambda kept: run.naming.outcome(kept, run.total, rounds))
    mine.watch(Status(run.total, run.total, len(outcome.pairs)))
    mine.expect(0, work_of(task, len(outcome.pairs)))
    outcome = keep_best(task, mine, replace(outcome, phases=Phases(set_up, compared, clock.lap())))
    digest = yield from confirm(mine.records.ids, outcome, mine.entropy)
    return replace(outcome, digest=digest)


@dataclass(frozen=True)
class _Matches:
    """What the asker found in a pass: its records, and tokens of 12 bytes."""

    record: Ints
    token: NDArray[np.uint8]


class _Side:
    """What one side knows between the sizes and the outcome."""

    def __init__(self, task: Task, options: Routed, mine: OwnSide, engine: HoldingEngine) -> None:
        self.task, self.own, self.engine = task, mine, engine
        own, partner = mine.records.size, mine.partner_size
        self.lanes = options.lanes(task, (own, partner) if mine.side is Side.A else (partner, own))
        self.asks = self.lanes[0].asker is mine.side
        self.circuit = held_circuit(task, self.lanes[0].asker, engine)
        self.role = Side.B if self.asks else Side.A
        self.total, self.done = sum(lane.bins for lane in self.lanes), 0
        self.naming = Naming(task, mine)
        # Ranks and tokens are drawn once a run, whatever becomes of an attempt.
        self.fixed = Derived(mine.slots.key)
        self.tokens = random_rows(self.fixed.stream("tokens"), own, HALF)
        self.placings = [self._place(lane) for lane in self.lanes]
        """By pass."""
        entries = sum(lane.entries[mine.side] for lane in self.lanes)
        self.dummies = entries - sum(len(one.record) for one in self.placings)
        self.decoys = mine.entropy.stream("decoys")
        self.matches: list[_Matches] = []
        self._payloads: tuple[Words, Words] | None = None

    def _place(self, lane: Lane) -> Placing:
        own, side = self.own.records, self.own.side
        keys = self.task.blocking.passes[lane.number].keys(side, own.columns, len(own))
        return placing(keys, lane.caps[side], self.fixed.stream(f"pass {lane.number}"))

    # -- a pass -------------------------------------------------------------------------------------------

    def one_pass(self, lane: Lane, comparer: Comparer) -> Party[Answer]:
        """Route and compare; what the asker found, in an order that any attempt comes to."""
        self.own.expect(0, _WORK_TO_START + _WORK_A_POINT * (lane.queries + lane.programmed))
        own, entropy = self.placings[lane.number], self.own.entropy.stream(f"{MASKS} pass {lane.number}")
        clear = self.engine.name == "ideal"
        function: Function = Clear() if clear else Oblivious(self.own.side, entropy)
        record, found = np.zeros(0, np.int64), []
        if self.asks:
            record, held = yield from route_asked(function, lane, own, self.circuit.words, entropy, _silently)
        else:
            payloads, tops = self._payload()
            held = yield from route_listed(function, lane, own, payloads, tops, entropy, _silently)
        begun: deque[slice] = deque()
        for part in batches(lane.bins, self._at_once):
            if len(begun) == comparer.under_way:
                found.append((yield from self._end(comparer, begun.popleft())))
            self._begin(comparer, record, held, part)
            begun.append(part)
        while begun:
            found.append((yield from self._end(comparer, begun.popleft())))
        if not self.asks:
            return (b"",)
        some = np.concatenate(found)
        if (record[some[:, 0]] < 0).any():
            raise PeerError(problem="a token where nothing was asked")
        rows = np.column_stack([record[some[:, 0]], some[:, 1:]])
        return (rows[np.lexsort(rows.T[::-1])].astype("<i8").tobytes(),)

    def _begin(self, comparer: Comparer, record: Ints, held: Words, part: slice) -> None:
        """Have some bins of a pass compared."""
        count = part.stop - part.start
        self.own.expect(SINGLE * count, 0)
        ones, table = np.ones(count, np.int64), {"held": split_halves(held[part])}
        if self.asks:
            table |= self._inputs(record[part])
        comparer.ask(Blocks.of_sizes(ones, ones), Table(table, np.ones(count, np.bool_)))

    def _end(self, comparer: Comparer, part: slice) -> Party[Ints]:
        """What came of some bins of a pass."""
        found = yield from comparer.answer()
        self.done += part.stop - part.start
        self.own.watch(Status(self.done, self.total, sum(len(m.record) for m in self.matches) + len(found)))
        return moved(found, part.start)

    def _inputs(self, rows: Ints) -> dict[str, Ints]:
        """The circuit's inputs of these records; of none, those of some record, any: it takes as long."""
        own, size = self.own.records.columns, len(self.own.records)
        others = np.frombuffer(self.decoys.bytes(4 * len(rows)), "<u4").astype(np.int64)
        some = np.where(rows >= 0, rows, others % max(1, size))
        of = inputs(self.circuit.of, self.role)
        if not size:
            return {one.name: np.zeros((len(rows), one.length), np.int64) for one in of}
        columns = {name: rows_of(own[name], some) for name in fields_of(self.task.rule)}
        builders = self.task.lowered.builders
        return {one.name: builders[one.name, self.own.side](columns) for one in of}

    def _payload(self) -> tuple[Words, Words]:
        """The payloads of all own records, with their tokens: they are the same in every pass."""
        if self._payloads is None:
            made = []
            for part in list(batches(len(self.own.records), self._at_once)) or [slice(0, 0)]:
                rows = self._inputs(np.arange(part.start, part.stop))
                real = np.ones(part.stop - part.start, np.bool_)
                made.append(self.engine.payloads(self.circuit, Table(rows, real)))
            payloads = np.concatenate([some for some, _ in made])
            tokens = np.zeros((len(self.tokens), 16), np.uint8)
            tokens[:, :HALF] = self.tokens
            put_tokens(payloads, tokens.view("<u8")[: len(payloads)])
            self._payloads = payloads, made[0][1]
        return self._payloads

    @property
    def _at_once(self) -> int:
        """Bins that the engine is given at once: the same number on both sides."""
        values = sum(one.length for side in Side for one in inputs(self.circuit, side))
        return max(1, min(_FULL, _VALUES // values))

    # -- what comes of it ---------------------------------------------------------------------------------

    def read(self, answer: Answer) -> _Matches:
        rows = np.frombuffer(answer[0], "<i8").reshape(-1, 3)
        if len(rows) and (rows[:, 0].min() < 0 or rows[:, 0].max() >= len(self.own.records)):
            raise PeerError(problem="matches of records that do not exist")
        return _Matches(rows[:, 0].copy(), as_bytes(rows[:, 1:]))

    def take(self, matches: _Matches) -> None:
        self.matches.append(matches)

    @property
    def found(self) -> tuple[Ints, NDArray[np.uint8]]:
        """All that was found, as often as it was."""
        records = np.concatenate([one.record for one in self.matches])
        return records, np.concatenate([one.token for one in self.matches])


def _silently(count: int) -> None:
    """Of points nobody is told: they take seconds where comparisons take minutes."""
