"""A series of runs in one process: what it finds, what it compares, and what it would tell.

`rehearse` is given the tables of both sides as they were at each run, and does what two parties do over the
months: the same looks, batches, slots and rounds, with a queue in memory for the wire. Like `simulate` it is
for data that one may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from accord.agreement.document import Agreement
from accord.entropy import Entropy
from accord.errors import UsageError
from accord.fields.columns import Records
from accord.protocols.base import Ints, Release, Task
from accord.protocols.parts.batches import Changes, Known, Look
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.shown import Shown
from accord.protocols.parts.standing import BatchMeeting
from accord.protocols.series import Entered, Entering, Series, enter
from accord.secure.engine import Engine
from accord.secure.ideal import IdealEngine
from accord.secure.party import Wire, run_pair
from accord.side import Side


@dataclass(frozen=True)
class Rehearsed:
    """One run of the series."""

    outcomes: tuple[Outcome, Outcome]
    """Of A and of B."""
    changes: tuple[Changes, Changes]
    wire: Wire

    @property
    def comparisons(self) -> int:
        return self.outcomes[0].comparisons

    def pairs(self) -> set[tuple[str, str]]:
        """The ids of the pairs that were found."""
        outcome = self.outcomes[0]
        own, partner = self._ids, outcome.partner_ids.to_pylist()
        return {(own[i], partner[j]) for i, j in zip(outcome.own, outcome.partner, strict=True)}

    _ids: list[str] = field(default_factory=list, repr=False)


@dataclass
class SeriesSide:
    """One side of a series, in memory."""

    agreement: Agreement
    side: Side
    looks: list[Look] = field(default_factory=list)
    task: Task = field(init=False, repr=False)
    shown: Shown = field(init=False)

    def __post_init__(self) -> None:
        self.task = self.agreement.task
        self.shown = Shown.nothing(self.task.shape(self.side.other, 0))

    def take_part(
        self, table: Records, partner_batches: int, entropy: Entropy, noise: Ints | None = None
    ) -> tuple[OwnSide, Entered]:
        """Look at a table, draw the noise of its batch, fix the slots: one side of the next run, which goes
        on from what stands then. `noise` replaces what would be drawn."""
        series, task = require_series(self.agreement), self.task
        entered = enter(task, series, self.side, self.looks, table, Entering())
        size = series.declared(self.side, entered.known.batches)
        drawn = self._release(size).draw(table, entropy) if noise is None else noise
        self.looks.append(entered.look(entered.arrived + drawn))
        slots = entered.slots(self.looks[-1], self.shown, entropy.stream("slots"))
        partner = series.announced(self.side.other, partner_batches)
        return OwnSide(self.side, entered.records, partner, slots, entropy.stream("run")), entered

    @property
    def counts(self) -> Ints:
        """The noisy counts of all batches so far."""
        return np.concatenate([np.zeros(0, np.int64), *Known.of(self.looks).counts])

    @property
    def left(self) -> Ints:
        """The same without the slots of records that the partner was shown."""
        return self.shown.left(self.counts)

    def _release(self, records: int) -> Release:
        return self.agreement.protocol.release(self.task, self.side, records)


def require_series(agreement: Agreement) -> Series:
    """What the agreement declares of a series."""
    if agreement.series is None:
        raise UsageError(problem="The agreement declares no series. Add [series] to it.")
    return agreement.series


def rehearse(
    agreement: Agreement,
    tables: Sequence[tuple[Records, Records]],
    entropy: Entropy,
    engine: Engine | None = None,
) -> list[Rehearsed]:
    """Run after run, each over the tables of A and B as they were then."""
    sides = SeriesSide(agreement, Side.A), SeriesSide(agreement, Side.B)
    return [
        rehearse_run(sides, both, number, entropy.stream(f"run {number}"), engine or IdealEngine())
        for number, both in enumerate(tables)
    ]


def rehearse_run(
    sides: tuple[SeriesSide, SeriesSide],
    tables: tuple[Records, Records],
    number: int,
    entropy: Entropy,
    engine: Engine,
    noise: tuple[Ints | None, Ints | None] = (None, None),
) -> Rehearsed:
    """One run, the first of which is 0; both sides remember it."""
    wire, task = Wire(), sides[0].task
    old = sides[0].left, sides[1].left
    meeting = BatchMeeting((number, number), (number + 1, number + 1))
    made = [
        side.take_part(table, number + 1, entropy.stream(side.side.value), drawn)
        for side, table, drawn in zip(sides, tables, noise, strict=True)
    ]
    parties = []
    for place, (mine, entered) in enumerate(made):
        standing = entered.standing(meeting, old[1 - place], sides[place].shown)
        parties.append(task.protocol.party(task, replace(mine, standing=standing), engine))
    outcomes = run_pair(parties[0], parties[1], wire)
    for side, outcome in zip(sides, outcomes, strict=True):
        assert outcome.shown is not None
        side.shown = outcome.shown
    ids = made[0][0].records.ids.to_pylist()
    return Rehearsed(outcomes, (made[0][1].changes, made[1][1].changes), wire, ids)
