"""Private set intersection as one party: records of A and of B with a common value find each other.

      ◄──────────────── commitments ──────────────────────►            (slots.py)
    asker  (A or B)                                          lister
    distinct values, padded to the size of its table         every value v of every record b
      ── a store of them, hidden ─────────────────────────►            (secure/prf/oblivious.py)
    F(a) for each own value a                                F(v); the m-th record with v: a line (lines.py)
      ◄── all lines, by tag ───────────────────────────────  h(F(v), m) = tag ‖ mask;  tag ‖ mask ⊕ token(b)
    looks up h(F(a), 1), h(F(a), 2), … until none is there
      ── the tokens, and which own record matched which ──►            (naming.py)
      ◄──────────────── both disclose what matched ───────►            (disclosed.py)
      ◄──────────────── digest of the output ─────────────►            (confirm.py)

The commitments are one step of the journal, all from the set-up to the last disclosure another: done
again after a cut it would be a second set of questions, so a run is resumed after it or not at all.

In `psi` a record has one value, and the larger table is listed. A protocol whose records have several lists
the smaller one. The sizes are public.

*Learns*: each side the other's size and matching records, and which pairs match. To the asker a line looks
random unless it asked for its value. Records that share a value have unlike lines, missing values are lines
of random values, and the order is that of random tags. So it learns for each of its own values which records
it matches, and not by which of their values. The lister learns the padded number of the asker's values, and
then the pairs. A token, drawn for each record, stands for the record and not for the value that led to it,
and who has not found the record cannot name it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from accord.entropy import MASKS, ORDER, Entropy
from accord.errors import UnsupportedError, UsageError
from accord.fields.columns import Bits, Columns
from accord.privacy import events
from accord.protocols.base import NOTHING_TOLD, Guarantee, Release, Slotless, Task, Values
from accord.protocols.confirm import confirm
from accord.protocols.lines import (
    CHUNK,
    HALF,
    LINE,
    Bytes,
    Places,
    batches,
    join_tokens,
    lines_by_tag,
    mark_items,
    number_equals,
    open_lines,
    random_rows,
    rank_points,
)
from accord.protocols.naming import Naming
from accord.protocols.one_to_one import keep_best, work_of
from accord.protocols.parts.journal import Answer, step, whole
from accord.protocols.parts.outcome import CONFIRMED, Outcome
from accord.protocols.parts.own_side import OwnSide, Status
from accord.protocols.parts.phases import Phases
from accord.protocols.parts.slots import COMMITMENT, exchange_commitments
from accord.secure.engine import AtOnceEngine, Engine
from accord.secure.okvs.sizes import MOST
from accord.secure.party import Party, receive, send
from accord.secure.prf.oblivious import Clear, Function, Oblivious, Points, Seeds, asked_bytes
from accord.side import Side

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]

MOST_LINES = 100_000_000
"""More values than this are not listed for a table: it would take more than 2.4 GB and ten minutes."""
STEPS = 2
"""Of the journal: the commitments, and the intersection with all that it discloses."""
_WORK_A_VALUE, _WORK_TO_START = 50, 10**8
"""To hash it, ask for it and sort its line; and to set up. The lister is silent until it has sorted all."""
_BATCH = 1 << 16
"""Values that are made into points at a time."""


@dataclass(frozen=True)
class Workload:
    """Who does what, from public numbers."""

    lists: bool
    """Whether this side lists its values."""
    lines: int
    asked: int


def values_of(names: tuple[str, ...], columns: Columns, rows: slice = slice(None)) -> tuple[Words, Mask]:
    """The encoded fields of each record as words, and whether all of them are there."""
    parts, present = [], []
    for name in names:
        column = columns[name]
        some = column.words[rows] if isinstance(column, Bits) else column.values[rows, None]
        parts.append(some.astype(np.uint64, copy=False))
        present.append(column.present[rows])
    return np.concatenate(parts, axis=1), np.logical_and.reduce(present)


class Listing:
    """The values of a side's records: one of each, of these fields."""

    size: int = 1
    """How many values are listed of a record."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def listed(self, columns: Columns, rows: slice) -> tuple[Words, Mask]:
        """The values of these records, record after record, and which of them exist."""
        return values_of(self.names, columns, rows)


class Intersecting(Slotless):
    """A protocol that finds records with common values; it compares nothing and has no bins."""

    blocked: ClassVar[bool] = False
    compares: ClassVar[bool] = False

    @abstractmethod
    def listing(self, task: Task, side: Side) -> Listing:
        """The values of a side's records."""

    def expansion(self, task: Task) -> int:
        """How many values are listed of each record."""
        return 1

    def workload(self, task: Task, side: Side, own: int, partner: int) -> Workload:
        """What tables of these sizes come to."""
        size = self.expansion(task)
        mine = lists(side, own, partner, size)
        listed, asked = (own, partner) if mine else (partner, own)
        return Workload(mine, listed * size, asked)

    def release(
        self, task: Task, side: Side, records: int, noise: str | None = None, claimed: bool = False
    ) -> Release:
        return Release(task, side, events.Intersection())

    def party(self, task: Task, mine: OwnSide, engine: Engine) -> Party[Outcome]:
        return intersect(task, self, mine, engine)

    def require_engine(self, task: Task, engine: Engine) -> None:
        """Any that is not asked for the sake of a test: none is asked."""
        if isinstance(engine, AtOnceEngine):
            node = f"{self.name}, which has no comparisons that it could test"
            raise UnsupportedError(engine=engine.name, node=node)

    def refuse_sizes(self, task: Task, side: Side, own: int, partner: int) -> str:
        work = self.workload(task, side, own, partner)
        mend = "Take a smaller threshold, larger steps, smaller tables or another protocol."
        if work.lines > MOST_LINES:
            return f"{self.name} would list {work.lines:,} values, more than {MOST_LINES:,}. {mend}"
        if work.asked > MOST:
            return f"{self.name} would ask for {work.asked:,} values, more than {MOST:,}. {mend}"
        return ""

    def refuse_resume(self, task: Task, own_steps: int, partner_steps: int, resumes: int) -> str:
        """Unless both sides have kept it, with its commitments; or neither has kept even those, and so has
        asked nothing."""
        if own_steps == partner_steps and own_steps in (0, STEPS):
            return ""
        return (
            "An interrupted intersection is not resumed: that would be a second set of questions. "
            "Both start again with `accord link`, which costs nothing and counts as a run."
        )

    def guarantee(self, task: Task, side: Side) -> Guarantee:
        return NOTHING_TOLD

    def price(self, task: Task, sizes: tuple[int, int], counts: tuple[Ints, Ints]) -> int:
        values = self.values(task, sizes)
        return values.listed + values.asked

    def values(self, task: Task, sizes: tuple[int, int]) -> Values:
        work = self.workload(task, Side.A, *sizes)
        return Values(work.lines, work.asked)

    def sends(self, task: Task, sizes: tuple[int, int]) -> int:
        work = self.workload(task, Side.A, *sizes)
        return 2 * COMMITMENT + asked_bytes(work.asked) + LINE * work.lines + CONFIRMED


def lists(side: Side, own: int, partner: int, size: int) -> bool:
    """Whether this side lists so many values of a record: the cheaper way round, from public numbers."""
    if own == partner:
        return side is Side.B
    return (own < partner) == (size > 1)


def intersect(task: Task, options: Intersecting, mine: OwnSide, engine: Engine) -> Party[Outcome]:
    """One side of an intersection."""
    clock = mine.stopwatch
    run = _Side(task, options, mine, engine)
    # Nothing is opened here; it binds both to their tables should the run be cut and go on.
    made = whole(exchange_commitments(mine.slots, mine.side))
    yield from step(mine.journal, made, lambda answer: None)
    mine.expect(0, _WORK_TO_START + _WORK_A_VALUE * run.total)
    asked = run.list_all() if run.lists else run.look_up()
    yield from step(mine.journal, asked, run.naming.take)
    outcome = replace(run.naming.outcome(run.total), phases=Phases(compare=clock.lap()))
    mine.watch(Status(run.total, run.total, len(outcome.pairs)))
    mine.expect(0, work_of(task, len(outcome.pairs)))
    outcome = keep_best(task, mine, outcome)
    digest = yield from confirm(mine.records.ids, outcome, mine.entropy)
    return replace(outcome, digest=digest)


class _Side:
    """What one side knows between the sizes and the outcome."""

    def __init__(self, task: Task, options: Intersecting, mine: OwnSide, engine: Engine) -> None:
        self.own, self.naming = mine, Naming(task, mine)
        entropy = mine.entropy.stream(MASKS)
        self.function: Function = Clear() if engine.name == "ideal" else Oblivious(mine.side, entropy)
        sizes = mine.records.size, mine.partner_size
        if problem := options.refuse_sizes(task, mine.side, *sizes):
            raise UsageError(problem=problem)
        work = options.workload(task, mine.side, *sizes)
        self.lists, self.lines, self.asked = work.lists, work.lines, work.asked
        self.listing = options.listing(task, mine.side)
        self.total, self.done, self.dummies = self.lines + self.asked, 0, 0

    def progress(self, count: int) -> None:
        self.done += count
        self.own.watch(Status(self.done, self.total, 0))

    # -- the side that lists ------------------------------------------------------------------------------

    def list_all(self) -> Party[Answer]:
        """Serve the other's values, send all lines, take its matches; what `take` reads."""
        yield from self.function.meet()
        seeds = yield from self.function.answer(self.asked, self._points(), self.progress)
        self.progress(self.asked)
        tokens = random_rows(self.own.entropy.stream("tokens"), self.own.records.size, HALF)
        for lines in self._lines(seeds, tokens):
            yield from send(lines)
        del seeds
        return (yield from self.naming.hear(tokens, self.dummies))

    def _points(self) -> Points:
        """Every value, record after record; what does not exist is a random one, and so are all values of a
        row that was left out."""
        found = np.empty((self.lines, 2), np.uint64)
        size, filler = self.listing.size, self.own.entropy.stream("filler")
        for part in batches(len(self.own.records), max(1, _BATCH // size)):
            listed, exists = self.listing.listed(self.own.records.columns, part)
            self.dummies += int((~exists).sum())
            at = part.start * size
            found[at : at + len(listed)] = self.function.points(mark_items(listed, exists, filler))
        at = len(self.own.records) * size
        self._fill(found[at:], filler)
        self.dummies += self.lines - at
        return found

    def _lines(self, seeds: Seeds, tokens: Bytes) -> Iterator[Bytes]:
        """A line for every value and record, in the order of their tags, some at a time."""
        times = number_equals(seeds, self.own.entropy.stream(ORDER))
        return lines_by_tag(self.function.pi, seeds, times, tokens, self.listing.size)

    # -- the side that asks -------------------------------------------------------------------------------

    def look_up(self) -> Party[Answer]:
        """Ask for the own values, receive all lines, tell what matched; what `take` reads."""
        yield from self.function.meet()
        rows, key_of, points = self._asked()
        values = yield from self.function.ask(points, self.progress)
        del points
        lines = np.empty((self.lines, LINE), np.uint8)
        for part in batches(self.lines, CHUNK):
            size = part.stop - part.start
            some = yield from receive(size * LINE)
            lines[part] = some.reshape(size, LINE)
            self.progress(size)
        keys, tokens = open_lines(self.function.pi, values, lines)
        del values, lines
        own, of = join_tokens(rows, key_of, keys, np.arange(len(tokens)))
        return (yield from self.naming.tell(own, tokens[of], self.dummies))

    def _asked(self) -> tuple[Places, Places, Points]:
        """(records, the places of their values), and the distinct values, padded."""
        count, filler = len(self.own.records), self.own.entropy.stream("filler")
        points, present = np.empty((count, 2), np.uint64), np.empty(count, np.bool_)
        for part in batches(count, _BATCH):
            values, present[part] = values_of(self.listing.names, self.own.records.columns, part)
            points[part] = self.function.points(mark_items(values, present[part], filler))
        rows = np.flatnonzero(present).astype(np.int32)
        points = points.take(rows, axis=0)
        first, key_of = rank_points(points)
        self.dummies = self.asked - len(first)
        padded = np.empty((self.asked, 2), np.uint64)
        points.take(first, axis=0, out=padded[: len(first)])
        self._fill(padded[len(first) :], filler)
        return rows, key_of, padded

    # -- what both do -------------------------------------------------------------------------------------

    def _fill(self, points: Points, filler: Entropy) -> None:
        """Points of random values, which are nobody's."""
        none = np.zeros((_BATCH, 0), np.uint64)
        for part in batches(len(points), _BATCH):
            some = none[: part.stop - part.start]
            points[part] = self.function.points(mark_items(some, np.zeros(len(some), np.bool_), filler))
