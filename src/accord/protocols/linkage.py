"""The Laplace Protocol and all-pairs, as one party [HMFS17, Algorithms 2 and 3].

    1  commitments, then noisy counts; sizes are known          (slots.py)
    2  the engine's set-up
    3  rounds of secure comparisons, in the order of schedule.py; both sides learn the match bits
    4  greedy: after each round, matched records are disclosed, matched in the clear against *all* own
       records to a fixed point, and every copy is cleaned; otherwise disclosed once, at the end
    5  a keyed digest of the output, which must be equal on both sides                   (confirm.py)

All-pairs is the same with one bin and no noise: its count is the public size of the table.

*Learns*: each side the other's size, noisy counts and matching records. A slot that matches nothing answers
0 to every comparison and is never named, so the view is a function of those and of one's own table [MATHS
§2.1]. The paper's Algorithm 3 removes matched records before it matches them in the clear and loses pairs;
here nothing is removed before it was matched against everything.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.entropy import MASKS, Entropy
from accord.errors import PeerError
from accord.matching.evaluate import Tables
from accord.matching.join import Index
from accord.matching.rule import fields_of
from accord.privacy.events import Event
from accord.protocols.confirm import confirm
from accord.protocols.disclosed import Disclosed, Shape, exchange, partner_records, take
from accord.protocols.journal import Forgetful, Journal, step
from accord.protocols.outcome import Outcome
from accord.protocols.schedule import Round, Schedule, order_pairs
from accord.protocols.slots import (
    ANY_PADDING,
    Padding,
    Slots,
    exchange_commitments,
    exchange_counts,
    make_slots,
    partner_counts,
    require_possible,
)
from accord.protocols.spec import AllPairs, LocalDp, Sorted
from accord.protocols.task import Task
from accord.ranges import contained, distinct, ranges
from accord.records.columns import Records, rows_of
from accord.secure.blocks import Blocks, Table
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side

Ints = NDArray[np.int64]
MOST_RECORDS = (1 << 31) - 1
"""More records than this no table may have."""


@dataclass(frozen=True)
class Status:
    """How far a linkage is: public numbers only."""

    comparisons: int
    most_comparisons: int
    matches: int


Watch = Callable[[Status], None]


@dataclass
class Own:
    """One side's private part of a linkage."""

    side: Side
    records: Records
    partner_size: int
    slots: Slots
    entropy: Entropy
    released: tuple[Event, ...] = ()
    padding: Padding = ANY_PADDING
    """The most dummies that the partner can have."""
    journal: Journal = field(default_factory=Forgetful)
    watch: Watch = lambda status: None
    clock: Callable[[], float] = time.perf_counter
    seconds: dict[str, float] = field(default_factory=dict)


def prepare(
    task: Task,
    side: Side,
    records: Records,
    partner_size: int,
    dummies: Ints,
    entropy: Entropy,
    released: tuple[Event, ...] = (),
) -> Own:
    """Fix this side's slots for a run. *Requires*: as `make_slots`."""
    slots = make_slots(task.blocking, side, records, dummies, entropy)
    return Own(side, records, partner_size, slots, entropy, released)


def linkage(task: Task, own: Own, engine: Engine) -> Party[Outcome]:
    """One side of the linkage."""
    engine.supports(task.lowered.node)
    began = own.clock()
    committed = yield from step(own.journal, exchange_commitments(own.slots, own.side))
    opened = yield from step(own.journal, exchange_counts(own.slots))
    counts = partner_counts(committed, opened, own.side)
    require_possible(counts, task.blocking, own.side.other, own.partner_size, own.padding)
    if isinstance(task.protocol, AllPairs | LocalDp) and counts.sum() != own.partner_size:
        raise PeerError(problem="another number of slots than of records")
    session = yield from engine.set_up(own.side, own.entropy.stream(MASKS))
    own.seconds["set-up"] = own.clock() - began
    run = _Run(task, own, engine, session, counts)
    yield from run.rounds()
    if not task.binned.greedy:
        yield from run.disclose_matched()
    outcome = run.outcome()
    return replace(outcome, digest=(yield from confirm(own.side, own.records.ids, outcome, own.entropy)))


class _Run:
    """The state of one side between the set-up and the outcome."""

    def __init__(self, task: Task, own: Own, engine: Engine, session: object, counts: Ints) -> None:
        self.task, self.own, self.engine, self.session = task, own, engine, session
        self.partner_size = own.partner_size
        self.me = 0 if own.side is Side.A else 1
        both = (own.slots.counts, counts) if self.me == 0 else (counts, own.slots.counts)
        self.schedule = schedule_of(task, both)
        self.most = self.schedule.most_comparisons
        self.comparisons = self.round_count = self.matches = 0
        self.shape = Shape(
            task.fields,
            task.shown_fields,
            task.disclose[own.side.other],
            own.partner_size,
            int(counts.sum()),
        )
        self.shown = np.zeros(len(own.records), np.bool_)
        self.width = max(1, own.partner_size)
        self.found = [np.zeros(0, np.int64)]
        """Matches as own row · width + number of the partner's record: there may be very many."""
        self.matched_slots = [np.zeros((0, 2), np.int64)]
        """Without greedy: pairs (own slot, partner's slot) that await disclosure."""
        self.partner_slot = np.full(self.shape.slots, -1, np.int64)
        """For each slot of the partner the number of its disclosed record."""
        self.seen: list[Disclosed] = []
        self.seen_count = 0
        self.partner_ends = np.cumsum(counts)
        if task.binned.greedy:
            self.index = Index(task.rule, task.fields, own.records.columns, len(own.records))

    def rounds(self) -> Party[None]:
        while (round_ := self.schedule.next()) is not None:
            began, known = self.own.clock(), len(self.found)
            pairs = yield from self._compare(round_)
            self._spend("compare", began)
            if not self.task.binned.greedy:
                self.matched_slots.append(pairs)
                self.matches += len(pairs)
            elif len(pairs):
                began = self.own.clock()
                yield from self._clean(pairs)
                self._spend("disclose", began)
                self.matches += sum(map(len, self.found[known:]))
            self.own.watch(Status(self.comparisons, self.most, self.matches))

    def _spend(self, phase: str, began: float) -> None:
        self.own.seconds[phase] = self.own.seconds.get(phase, 0.0) + self.own.clock() - began

    def _compare(self, round_: Round) -> Party[Ints]:
        """Both sides' match bits of a round, as pairs (own slot, partner's slot)."""
        blocks = Blocks.of_sizes(round_.a_counts, round_.b_counts)
        table = self._table(round_.a if self.me == 0 else round_.b)
        answer = yield from step(self.own.journal, self._places(blocks, table))
        self.comparisons += blocks.pairs
        self.round_count += 1
        a, b = _pairs(round_, np.frombuffer(answer, "<u8").astype(np.int64))
        return np.stack([a, b] if self.me == 0 else [b, a], axis=1)

    def _places(self, blocks: Blocks, table: Table) -> Party[bytes]:
        """Which of the pairs match."""
        bits = yield from self.engine.evaluate(self.session, self.task.lowered.node, blocks, table)
        return np.flatnonzero(bits).astype("<u8").tobytes()

    def _exchange(self, own: Disclosed) -> Party[Disclosed]:
        answer = yield from step(self.own.journal, exchange(own, self.shape))
        return partner_records(answer, self.shape)

    def _table(self, slots: Ints) -> Table:
        """The circuit's inputs of these slots; a dummy carries the zeros that every code may be.

        A dummy is encoded as the first record and then overwritten, so that it takes the time of a real one.
        """
        record = self.own.slots.record[slots]
        real = record >= 0
        own = self.own.records.columns
        some = record.clip(0) if len(self.own.records) else record[:0]
        columns = {name: rows_of(own[name], some) for name in fields_of(self.task.rule)}
        inputs = self.task.lowered.inputs(self.own.side, columns)
        if not len(some):
            inputs = {name: np.zeros((len(slots), v.shape[1]), np.int64) for name, v in inputs.items()}
        return Table({name: values * real[:, None] for name, values in inputs.items()}, real)

    # -- Greedy Match & Clean -----------------------------------------------------------------------------

    def _clean(self, pairs: Ints) -> Party[None]:
        """Disclose what matched, find its other matches in the clear to a fixed point, clean every copy.

        A record of the partner is taken in only if it is due: its slot matched in this round, or it matches
        a record that it was just shown. So nobody can name values of its choice and see what they match.
        """
        known = len(self.found)
        fresh = self._real(distinct(self.own.slots.record[pairs[:, 0]]))
        due: Ints | None = None
        while True:
            fresh = fresh[~self.shown[fresh]]
            own = self._disclosure(fresh)
            theirs = yield from self._exchange(own)
            if not len(own) and not len(theirs):
                break
            self.shown[fresh] = True
            self.schedule.remove(self.me, own.slots)
            if due is None and not self._hit(theirs, distinct(pairs[:, 1])).all():
                raise PeerError(problem="a record whose slot did not match")
            fresh, due = self._take_in(theirs, due), fresh
        self._require_matches(pairs, self.found[known:])

    def _real(self, records: Ints) -> Ints:
        if len(records) and records[0] < 0:
            raise PeerError(problem="a match with a dummy")
        return records

    def _hit(self, theirs: Disclosed, slots: Ints) -> NDArray[np.bool_]:
        """Which of the records have one of these slots."""
        of = np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        return np.bincount(of[contained(theirs.slots, slots)], minlength=len(theirs)) > 0

    def _disclosure(self, records: Ints) -> Disclosed:
        """These records with all their slots, in the order of their ids."""
        records = self._by_id(records)
        of, slots = self.own.slots.of_record
        starts, stops = np.searchsorted(of, records), np.searchsorted(of, records, "right")
        shown = take(self.own.records, records, self.task.shown_fields)
        return Disclosed(stops - starts, slots[ranges(starts, stops)], *shown)

    def _by_id(self, records: Ints) -> Ints:
        """The order of the table is nobody's business; that of the ids follows from what is disclosed."""
        return records[np.asarray(pc.sort_indices(self.own.records.ids.take(pa.array(records))))]

    def _take_in(self, theirs: Disclosed, due: Ints | None) -> Ints:
        """Check the partner's records, clean them, and give one's own records that match them.

        `due`: own records of which each of them must match one; None where that has been checked.
        """
        if not len(theirs):
            return np.zeros(0, np.int64)
        self._require_bins(theirs)
        first = self._number(theirs)
        self.schedule.remove(1 - self.me, theirs.slots)
        number, row = self.index.matches(theirs.fields, len(theirs))
        if self.task.binned.closure == "candidates":
            met = self._compared(theirs, number, row)
            number, row = number[met], row[met]
        if due is not None and len(distinct(number[contained(row, np.sort(due))])) < len(theirs):
            raise PeerError(problem="a record that matches nothing it was shown")
        self.found.append(row * self.width + number + first)
        return distinct(row)

    def _number(self, theirs: Disclosed) -> int:
        """Give the partner's records their numbers; give the first."""
        first = self.seen_count
        if (self.partner_slot[theirs.slots] >= 0).any():
            raise PeerError(problem="a record that it had disclosed before")
        self.partner_slot[theirs.slots] = first + np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        self.seen.append(theirs)
        self.seen_count += len(theirs)
        if self.seen_count > self.partner_size:
            raise PeerError(problem="more disclosed records than its table holds")
        return first

    def _compared(self, theirs: Disclosed, number: Ints, row: Ints) -> NDArray[np.bool_]:
        mine, other = self.own.records.columns, theirs.fields
        if isinstance(self.task.protocol, LocalDp):
            own = np.searchsorted(np.cumsum(self.own.slots.counts), self.own.slots.of_record[1][row], "right")
            partner = np.searchsorted(self.partner_ends, theirs.slots[number], "right")
            ahead = partner - own if self.me == 0 else own - partner
            return ahead % self.task.blocking.bins < self.task.protocol.window
        if self.me == 0:
            return self.task.blocking.compares(Tables(self.task.fields, mine, other), row, number)
        return self.task.blocking.compares(Tables(self.task.fields, other, mine), number, row)

    def _require_bins(self, theirs: Disclosed) -> None:
        """The slots of a disclosed record lie in the very bins of its values, or it has one in any bin."""
        if isinstance(self.task.protocol, LocalDp):
            if (theirs.slot_counts != 1).any():
                raise PeerError(problem="a disclosed record with more or less than one report")
            return
        record, bins = self.task.blocking.place(self.own.side.other, theirs.fields, len(theirs))
        claimed = np.repeat(np.arange(len(theirs)), theirs.slot_counts)
        in_bin = np.searchsorted(self.partner_ends, theirs.slots, "right")
        expected = np.lexsort((bins, record))
        stated = np.lexsort((in_bin, claimed))
        same = len(record) == len(claimed) and (
            np.array_equal(record[expected], claimed[stated])
            and np.array_equal(bins[expected], in_bin[stated])
        )
        if not same:
            raise PeerError(problem="a disclosed record whose slots lie in other bins than its values")

    def _require_matches(self, pairs: Ints, found: list[Ints]) -> None:
        """Every pair that the engine called a match is one under the rule.

        Its two records were not disclosed before this round, or they would have been cleaned; so the pair is
        among those that were found in the clear since.
        """
        numbers = self.partner_slot[pairs[:, 1]]
        if (numbers < 0).any():
            raise PeerError(problem="a match whose record it did not disclose")
        claimed = self.own.slots.record[pairs[:, 0]] * self.width + numbers
        if not contained(claimed, np.sort(np.concatenate(found))).all():
            raise PeerError(problem="a match that the rule denies")

    # -- without greedy -----------------------------------------------------------------------------------

    def disclose_matched(self) -> Party[None]:
        """Disclose every matched slot, and only those; so copies in other bins stay unknown."""
        pairs = np.concatenate(self.matched_slots)
        slots = distinct(pairs[:, 0])
        of = self.own.slots.record[slots]
        self._real(distinct(of))
        slots, of = slots[np.argsort(of, kind="stable")], np.sort(of)
        records = self._by_id(distinct(of))
        starts, stops = np.searchsorted(of, records), np.searchsorted(of, records, "right")
        own = Disclosed(stops - starts, slots[ranges(starts, stops)], *take(self.own.records, records, ()))
        theirs = yield from self._exchange(own)
        self._number(theirs)
        numbers = self.partner_slot[pairs[:, 1]]
        if (numbers < 0).any() or len(theirs.slots) != len(distinct(pairs[:, 1])):
            raise PeerError(problem="other records than those that matched")
        # Each once: every blocking brings a pair of records together in at most one pair of bins.
        self.found.append(self.own.slots.record[pairs[:, 0]] * self.width + numbers)

    def outcome(self) -> Outcome:
        keys = np.concatenate(self.found)
        self.found.clear()
        keys.sort()
        names = self.task.disclose[self.own.side.other]
        empty = pa.table({name: pa.array([], pa.large_string()) for name in names})
        return Outcome(
            own=(keys // self.width).astype(np.int32),
            partner=(keys % self.width).astype(np.int32),
            partner_ids=pa.chunked_array([d.ids for d in self.seen], pa.large_string()).combine_chunks(),
            partner_columns=pa.concat_tables([empty, *(d.columns for d in self.seen)]),
            partner_size=self.partner_size,
            partner_slots=self.shape.slots,
            comparisons=self.comparisons,
            rounds=self.round_count,
            dummies=int((self.own.slots.record < 0).sum()),
            released=self.own.released,
            seconds=self.own.seconds,
        )


def schedule_of(task: Task, counts: tuple[Ints, Ints]) -> Schedule:
    """What is compared when, with these noisy counts of A and of B."""
    options = task.binned
    pairs = task.pairs()
    sort, prune = (options.sort, options.prune) if isinstance(options, Sorted) else (False, 0)
    per_record = [task.blocking.per_record(side) for side in Side]
    order = order_pairs(pairs, counts, sort, prune, pooled=per_record[0] == per_record[1])
    return Schedule((pairs[0][order], pairs[1][order]), counts, options.slab, options.greedy)


def _pairs(round_: Round, places: Ints) -> tuple[Ints, Ints]:
    """The slots (of A, of B) at these places of a round's answer."""
    sizes = round_.a_counts * round_.b_counts
    ends = np.cumsum(sizes)
    unit = np.searchsorted(ends, places, "right")
    within = places - (ends - sizes)[unit]
    width = round_.b_counts[unit]
    a_first, b_first = (
        np.cumsum(round_.a_counts) - round_.a_counts,
        np.cumsum(round_.b_counts) - round_.b_counts,
    )
    return round_.a[a_first[unit] + within // width], round_.b[b_first[unit] + within % width]
