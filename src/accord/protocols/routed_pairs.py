"""The pairs of a routed linkage (routed.py): the asker opens tokens of what met and matches, pass by pass.

*To both*: the asker names the tokens, and both disclose what matched (naming.py).

*One-to-one*, this is done after each pass, and the passes are a cascade: whose records matched takes them out
of those that follow, whether or not the pair is kept in the end. Who is placed, and with which rank, was
drawn once on whole tables; what is taken out leaves its place empty. So the sizes of a pass follow from what
matched before. With M_p the pairs of records still there that meet in pass p and match, the output g is
(M_1, …, M_P): both also learn in which pass a pair met first, and nobody what a later pass would have said.
The theorem of routed.py holds for this g on either side [MATHS §10.4]: the records that are taken out, and
what is left, follow from it. Were placing drawn again among those that remain, a partner that adapts its
table could compare priorities. A pass has two steps of the journal: the asker's tokens, and the names, which
both keep before the next pass begins. One that is done again has the same records, places and tokens.

*To one side*, the asker: the lister has sealed each of its rows under a key of its own, drawn for this run,
and sends all of them in random order before anything is compared; of each the key and the place are what
opens in place of a token (sealed.py). So the lister learns nothing, not even how many match: all that it is
sent has sizes that follow from the tables', and both have signed before the asker opens a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.entropy import permutation, words
from accord.errors import PeerError
from accord.protocols.base import Task
from accord.protocols.confirm import confirm, confirm_answer
from accord.protocols.lines import HALF, batches, random_rows
from accord.protocols.naming import Naming
from accord.protocols.one_to_one import keep_best, work_of
from accord.protocols.parts.comparers import Comparer
from accord.protocols.parts.journal import Answer, step, whole
from accord.protocols.parts.lanes import Lane
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.parts.phases import Phases
from accord.protocols.parts.sealed import AT_ONCE, open_rows, seal_rows, sealed_bytes
from accord.protocols.parts.slots import commitments, exchange_commitments
from accord.protocols.routed_passes import Passes, held_circuit
from accord.secure.engine import Engine, HoldingEngine, require_holding
from accord.secure.party import Party, receive, send
from accord.secure.payloads import TOKEN, as_bytes, put_tokens, read_tokens
from accord.side import Side
from accord.table.pairs import IdOrder, order_pairs

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


def find_pairs(task: Task, lanes: Sequence[Lane], mine: OwnSide, engine: Engine) -> Party[Outcome]:
    """One side of a routed linkage, whose pairs both learn."""
    clock = mine.stopwatch
    run = PairPasses(task, lanes, mine, require_holding(engine))
    made = whole(exchange_commitments(mine.slots, mine.side))
    yield from step(mine.journal, made, lambda answer: None)
    comparer = yield from run.gather(engine)
    set_up = clock.lap()
    naming, cascades = Naming(task, mine), task.protocol.cascades(task)
    for number in range(len(run.lanes)):
        if number and cascades:
            run.leave(*(yield from step(mine.journal, run.name(naming), naming.take)))
        one = run.one_pass(run.lanes[number], comparer)
        run.take((yield from step(mine.journal, one, run.read)))
    compared = clock.lap()
    yield from step(mine.journal, run.name(naming), naming.take)
    outcome = naming.outcome(run.total, len(run.lanes))
    mine.watch(Status(run.total, run.total, len(outcome.pairs)))
    mine.expect(0, work_of(task, len(outcome.pairs)))
    outcome = keep_best(task, mine, replace(outcome, phases=Phases(set_up, compared, clock.lap())))
    digest = yield from confirm(mine.records.ids, outcome, mine.entropy)
    return replace(outcome, digest=digest)


def find_for_one(task: Task, lanes: Sequence[Lane], mine: OwnSide, engine: Engine) -> Party[Outcome]:
    """One side of a routed linkage whose pairs the asker alone learns."""
    clock = mine.stopwatch
    run = SealedPasses(task, lanes, mine, require_holding(engine))
    made = whole(exchange_commitments(mine.slots, mine.side))
    theirs = yield from step(mine.journal, made, lambda answer: bytes(answer[0]))
    own = commitments(mine.slots, mine.side)
    run.name = own + theirs if mine.side is Side.A else theirs + own
    sealed = yield from step(mine.journal, whole(run.hand_over()), lambda answer: answer[0])
    comparer = yield from run.gather(engine)
    set_up = clock.lap()
    for lane in run.lanes:
        run.taken.append((yield from step(mine.journal, run.one_pass(lane, comparer), run.read)))
    digest = yield from confirm_answer(b"", mine.side, mine.entropy)
    nobody = run.nobody(digest, Phases(set_up, clock.lap(), clock.lap()))
    if not run.asks:
        return nobody
    return replace(nobody, unseal=lambda: run.unseal(nobody, np.frombuffer(sealed, np.uint8)))


@dataclass(frozen=True)
class _Matches:
    """What the asker found in a pass: its records, and tokens of 12 bytes."""

    record: Ints
    token: NDArray[np.uint8]


class PairPasses(Passes):
    """Passes in which the asker finds tokens."""

    def __init__(self, task: Task, lanes: Sequence[Lane], mine: OwnSide, engine: HoldingEngine) -> None:
        super().__init__(task, lanes, mine, engine, held_circuit(task, lanes[0].asker, engine))
        self.tokens = random_rows(self.fixed.stream("tokens"), mine.records.size, HALF)
        self._taken: list[_Matches] = []
        self._told = 0
        """Of how many passes the asker has named what it found."""
        self._here = np.ones(len(mine.records), np.bool_)
        self._left = {mine.side: mine.records.size, mine.side.other: mine.partner_size}
        """The records of both sides that take part in the passes to come."""

    def one_pass(self, lane: Lane, comparer: Comparer) -> Party[Answer]:
        """What the asker found, in an order that any attempt comes to."""
        record, some = yield from self.compare(lane, comparer)
        if not self.asks:
            return (b"",)
        if (record[some[:, 0]] < 0).any():
            raise PeerError(problem="a token where nothing was asked")
        rows = np.column_stack([record[some[:, 0]], some[:, 1:]])
        return (rows[np.lexsort(rows.T[::-1])].astype("<i8").tobytes(),)

    def tokens_of(self, found: Ints) -> Ints:
        return read_tokens(found)

    def matches(self, said: Ints) -> int | None:
        return sum(len(one.record) for one in self._taken) + len(said) if self.asks else None

    def seal(self, payloads: Words) -> None:
        tokens = np.zeros((len(self.tokens), 16), np.uint8)
        tokens[:, :HALF] = self.tokens
        put_tokens(payloads, tokens.view("<u8")[: len(payloads)])

    def read(self, answer: Answer) -> _Matches:
        rows = np.frombuffer(answer[0], "<i8").reshape(-1, 3)
        if len(rows) and (rows[:, 0].min() < 0 or rows[:, 0].max() >= len(self.own.records)):
            raise PeerError(problem="matches of records that do not exist")
        return _Matches(rows[:, 0].copy(), as_bytes(rows[:, 1:]))

    def take(self, matches: _Matches) -> None:
        self._taken.append(matches)

    def leave(self, own: Ints, partners: int) -> None:
        """These own records, and so many of the partner's, take no part in the passes to come."""
        self._here[own] = False
        self._left[self.own.side] -= len(own)
        self._left[self.own.side.other] -= partners
        for number in range(len(self._taken), len(self.lanes)):
            several = self.task.blocking.passes[number].per_record
            entries = {side: left * several(side) for side, left in self._left.items()}
            self.lanes[number] = replace(self.lanes[number], entries=entries)
            self.placings[number] = self.placings[number].of(self._here)
        self.total = sum(lane.bins for lane in self.lanes)

    def name(self, naming: Naming) -> Party[Answer]:
        """Tell what was found and not told, as often as it was; or hear it."""
        if not self.asks:
            return naming.hear(self.tokens, self.dummies)
        some, self._told = self._taken[self._told :], len(self._taken)
        records = np.concatenate([one.record for one in some])
        return naming.tell(records, np.concatenate([one.token for one in some]), self.dummies)


class SealedPasses(Passes):
    """Passes in which the asker finds keys of rows that the lister has sealed."""

    name: bytes
    """Of the run, as both know it."""

    def __init__(self, task: Task, lanes: Sequence[Lane], mine: OwnSide, engine: HoldingEngine) -> None:
        super().__init__(task, lanes, mine, engine, held_circuit(task, lanes[0].asker, engine))
        self.keys = words(self.fixed.stream("keys"), 2 * mine.records.size).reshape(-1, 2)
        self.order = permutation(self.fixed.stream("rows"), mine.records.size)
        """Which record is handed over when."""
        self.width = sealed_bytes(task.output.row_bytes)
        self.taken: list[Ints] = []

    def hand_over(self) -> Party[bytes]:
        """All rows, from the lister to the asker."""
        if self.asks:
            came = yield from receive(self.own.partner_size * self.width)
            yield from send(np.zeros(1, np.uint8))
            return came.tobytes()
        own, size, left_out = self.own.records, len(self.own.records), self.fixed.stream("left out")
        rows = np.empty((len(self.order), self.width), np.uint8)
        for part in batches(len(rows), AT_ONCE):
            some = self.order[part]
            real = some < size
            rows[part][~real] = random_rows(left_out, int((~real).sum()), self.width)
            index = pa.array(some[real])
            shown = own.disclosed.take(index) if own.disclosed.num_columns else own.disclosed
            keys, most = self.keys[some[real]], self.task.output.row_bytes
            rows[part][real] = seal_rows(self.name, own.ids.take(index), shown, keys, most)
        yield from send(rows)
        yield from receive(1)
        return b""

    def one_pass(self, lane: Lane, comparer: Comparer) -> Party[Answer]:
        """What the asker found: its record, and the key and the place of a row."""
        record, some = yield from self.compare(lane, comparer)
        if not self.asks:
            return (b"",)
        rows = np.column_stack([record[some[:, 0]], some[:, 1:]])[record[some[:, 0]] >= 0]
        return (rows[np.lexsort(rows.T[::-1])].astype("<i8").tobytes(),)

    def matches(self, said: Ints) -> int | None:
        return None

    def seal(self, payloads: Words) -> None:
        place = np.empty(len(self.order), np.uint64)
        place[self.order] = np.arange(len(self.order))
        payloads[:, -TOKEN:-1] = self.keys[: len(payloads)]
        payloads[:, -1] = place[: len(payloads)]

    def read(self, answer: Answer) -> Ints:
        rows = np.frombuffer(answer[0], "<i8").reshape(-1, 1 + TOKEN)
        if len(rows) and (rows[:, 0].min() < 0 or rows[:, 0].max() >= len(self.own.records)):
            raise PeerError(problem="matches of records that do not exist")
        return rows

    def unseal(self, nobody: Outcome, sealed: NDArray[np.uint8]) -> Outcome:
        """The pairs, and what their records show. Of what opened by chance no row does."""
        rows, found = sealed.reshape(-1, self.width), np.concatenate(self.taken)
        found = found[(found[:, TOKEN] >= 0) & (found[:, TOKEN] < len(rows))]
        place, first = np.unique(found[:, TOKEN], return_index=True)
        keys = np.ascontiguousarray(found[first, 1:TOKEN]).view(np.uint64)
        shown = self.task.disclose[self.own.side.other]
        opened, ids, columns = open_rows(self.name, rows[place], keys, shown)
        number = np.full(len(rows), -1, np.int64)
        number[place[opened]] = np.arange(len(opened))
        pairs = found[:, 0], number[found[:, TOKEN]]
        pairs = pairs[0][pairs[1] >= 0], pairs[1][pairs[1] >= 0]
        orders = self.own.records.by_id, IdOrder.of(ids)
        (a, b), some = (orders, pairs) if self.own.side is Side.A else (orders[::-1], pairs[::-1])
        listed = order_pairs(a, b, [some], self.own.scratch)
        return replace(nobody, pairs=listed, partner_ids=ids, partner_columns=columns)
