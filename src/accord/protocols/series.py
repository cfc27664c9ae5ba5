"""Series: runs over growing tables, one ε a record for all of them.

A run of a series is one stretch of a long linkage over bins (linkage.py) to which bins are added over time:
those of a new batch (batches.py) are padded with noise of their own, those of older ones keep the noisy
counts that were released for them. What is compared are the pairs of batches that have not met:

              B's batches   seen   new
    A's seen                 –      ×
    A's new                  ×      ×

All slots of all batches are shuffled again for each run, within (bin, batch); a record that is gone leaves a
dummy. So a slot's number tells its bin, its batch, and nothing else.

*Theorem*: for the history of one id, of which at most V versions are released and none matches a record that
is present in the same run, all runs together are (V·ε, 1 − (1 − δ)^V). With noise that hides g records of a
person at once they are (ε, δ) for the history of a person, however often its records change: of a person no
more than g versions of records are ever released, so over all batches the counts rise by at most g·k' in all
and fall by at most as much, none by more than g, which is what that noise hides [MATHS §3.9].

*Learns*: besides what linkage.py says, each side the batch of every matching record. Sizes are those that the
agreement declares, never true ones, which would tell whether anything arrived. Where more arrives than is
declared a run is refused, unless its owner lets records wait; who waits then depends on who else arrives, so
the promise holds for histories in which nobody has to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StrictInt

from accord.entropy import Entropy
from accord.exact import text
from accord.fields.columns import Records, rows_of
from accord.privacy.events import MOST_VERSIONS, Cost, Event, NoisyCounts
from accord.privacy.number import show
from accord.protocols.base import Fault, Guarantee, Protocol, Task
from accord.protocols.parts.batches import (
    Changes,
    Known,
    Look,
    Members,
    Released,
    find_changes,
    look_at,
    members_of,
    rows_released,
    take_rows,
)
from accord.protocols.parts.bound import MostRecords
from accord.protocols.parts.shown import Shown
from accord.protocols.parts.slots import Slots, shuffle_slots
from accord.protocols.parts.standing import BatchMeeting, Disclosures, Standing
from accord.rules.blocking.base import Blocking
from accord.side import Side
from accord.spec import Spec

Ints = NDArray[np.int64]
NO_COUNTS = np.zeros(0, np.int64)
MOST_BATCHES = 10_000
"""Of a side: more months than anybody links."""


class First(Spec):
    """How many records each side announces in the first run of a series."""

    A: StrictInt = Field(ge=1, le=1 << 30)
    B: StrictInt = Field(ge=1, le=1 << 30)


class Arrivals(Spec):
    """How many more each side announces in every later run: a number, or a share of the first."""

    A: MostRecords
    B: MostRecords


class Series(Spec):
    """What two parties declare before the first run of a series.

    Sizes are declared and not counted, so that none tells whether anything arrived: declare more than you
    expect. A series needs `laplace` with `prune = 0` and a noise
    other than `negligible`; `one_to_one` does not go with it.
    """

    first: First
    """How many records each side announces in the first run."""
    arrivals: Arrivals
    """How many more each announces in every later run: a number, or a share of the first, `"2%"`."""
    versions: StrictInt = Field(default=1, ge=1, le=MOST_VERSIONS)
    """How many versions of one id are ever released: one that changes or comes back is another. ε and δ of
    the series are those of that many releases; with `records_per_person` above 1, of one."""

    def declared(self, side: Side, batch: int) -> int:
        """The size of a side's batch, the first of which is 0."""
        first = self.first.A if side is Side.A else self.first.B
        return first if batch == 0 else (self.arrivals.A if side is Side.A else self.arrivals.B).of(first)

    def announced(self, side: Side, batches: int) -> int:
        """The size of a side's first so many batches together."""
        if batches == 0:
            return 0
        return self.declared(side, 0) + (batches - 1) * self.declared(side, 1)

    def releases(self, per_person: int) -> int:
        """What a whole series costs, in batches: each version of a record is in another one. Noise for people
        hides all that is ever released of a person, versions included."""
        return self.versions if per_person == 1 else 1

    def cost(self, batch: Cost, per_person: int) -> Cost:
        """What a whole series costs whose every batch costs this."""
        times = self.releases(per_person)
        return Cost(times * batch.epsilon, 1 - (1 - batch.delta) ** times)

    def guarantee(self, batch: Guarantee, bins: int, per_person: int) -> Guarantee:
        """What all runs of a series promise, whose every batch is promised this."""
        assert batch.epsilon is not None
        assert batch.delta is not None
        cost = self.cost(Cost(batch.epsilon, batch.delta), per_person)
        told = (
            f"how many records of each batch fall into each of {bins:,} bins, with dummies added: "
            f"(ε, δ) = ({text(cost.epsilon)}, {show(cost.delta)}) {self._whom(per_person)}, once for all "
            "runs of the series;"
        )
        of_matches = (*batch.of_matches, "in which run of the series such a record first took part;")
        return replace(batch, epsilon=cost.epsilon, delta=cost.delta, of_all=(told,), of_matches=of_matches)

    def _whom(self, per_person: int) -> str:
        if per_person > 1:
            return (
                "for each person none of whose records matches anything, of whom no more than "
                f"{per_person} records ever take part, one that changed counted again"
            )
        versions = "" if self.versions == 1 else f" that has changed less than {self.versions} times"
        return f"for each record{versions} that matches nothing"

    def event(self, batch: Event | None) -> NoisyCounts:
        """What a whole series releases, whose every batch is released so."""
        assert isinstance(batch, NoisyCounts)
        people = batch.records_per_person
        return replace(batch, cost=self.cost(batch.cost, people), versions=self.releases(people))


@dataclass(frozen=True)
class Entering:
    """How a side enters a run, besides its table."""

    due: bool = True
    """Whether a new batch is due: not where the partner has not seen the one before."""
    unchanged_only: bool = False
    """Whether records that changed no longer take part."""


@dataclass(frozen=True, eq=False)
class Entered:
    """One side of a run of a series: what was released before, and what its table is now."""

    task: Task
    series: Series
    side: Side
    known: Known = field(repr=False)
    members: Members = field(repr=False)
    """Of the whole table."""
    changes: Changes = field(repr=False)
    rows: Released = field(repr=False)
    """Of the table, that take part."""
    records: Records = field(repr=False)
    """That take part, announced as so many as are declared."""
    arrived: Ints = field(repr=False)
    """The true counts of the new batch."""
    due: bool

    @property
    def batches(self) -> int:
        """Own batches, with the new one."""
        return self.known.batches + self.due

    def look(self, counts: Ints | None) -> Look:
        """What is kept of it, with the noisy counts of the new batch."""
        return look_at(self.changes, self.members, counts if self.due else None)

    def slots(self, look: Look, shown: Shown, entropy: Entropy) -> Slots:
        """The slots of all batches as they were released; `look` is that of this run."""
        new = () if look.batch is None else (look.batch.counts,)
        left = shown.left(np.concatenate([NO_COUNTS, *self.known.counts, *new]))
        out = shown.rows(self.rows.member)
        return series_slots(self.task.blocking, self.side, self.records, self.rows.batch, left, entropy, out)

    def standing(self, meeting: BatchMeeting, partner_counts: Ints, shown: Shown) -> Standing:
        """What the run goes on from, once it is known how many batches the partner has."""
        return stand(self.series, self.side, meeting, partner_counts, Disclosures(shown, self.rows))


def stand(
    series: Series, side: Side, meeting: BatchMeeting, partner_counts: Ints, remembered: Disclosures
) -> Standing:
    """What a side's run of a series goes on from."""
    partner = side.other
    new = tuple(series.declared(partner, batch) for batch in range(*meeting.of(partner)))
    return Standing(meeting, partner_counts, new, remembered)


def enter(
    task: Task, series: Series, side: Side, looks: Sequence[Look], table: Records, how: Entering
) -> Entered:
    """Look at a table beside what earlier looks found. Its time follows the table, so that is to be before a
    partner looks."""
    known, members = Known.of(looks), members_of(table, task.salt)
    room = series.declared(side, known.batches) if how.due else 0
    per_person = task.protocol.records_per_person(side) or 1
    changes = find_changes(known, members, room, series.versions, how.unchanged_only, per_person)
    rows = rows_released(changes, known, how.due)
    records = take_rows(table, rows.rows, series.announced(side, known.batches + how.due))
    new = np.flatnonzero(rows.batch >= known.batches)
    columns = {name: rows_of(column, new) for name, column in records.columns.items()}
    arrived = task.blocking.counts(side, columns, len(new))
    return Entered(task, series, side, known, members, changes, rows, records, arrived, how.due)


def series_slots(
    blocking: Blocking,
    side: Side,
    records: Records,
    batch: Ints,
    counts: Ints,
    entropy: Entropy,
    shown: NDArray[np.bool_] | None = None,
) -> Slots:
    """The slots of all batches, placed, padded and shuffled.

    *Requires*: `batch` has the batch of each record, `counts` the noisy counts of all batches as they were
    released, batch after batch, without the slots of records that the partner was shown; `shown` says which
    of the records these are. *Distribution*: within each bin of each batch the order is uniform and
    independent of everything else.
    """
    record, bins = blocking.place(side, records.columns, len(records))
    if shown is not None:
        record, bins = record[~shown[record]], bins[~shown[record]]
    bins = batch[record] * blocking.bins + bins
    dummies = counts - np.bincount(bins, minlength=len(counts))
    if len(dummies) and dummies.min() < 0:
        raise ValueError("more records than were released")
    record = np.concatenate([record, np.full(int(dummies.sum()), -1)], dtype=np.int32)
    bins = np.concatenate([bins, np.repeat(np.arange(len(counts)), dummies)])
    return shuffle_slots(record, bins, len(counts), records, entropy)


def series_faults(protocol: Protocol, one_to_one: bool) -> Iterator[Fault]:
    """Why a protocol cannot be run in a series, or not together with other options of an agreement."""
    if not protocol.in_series:
        yield ("series",), f"a series needs the protocol laplace, not {protocol.name}; remove [series]."
        return
    for side in Side:
        own = getattr(protocol, side.value)
        if own.noise == "negligible":
            problem = "the δ of the noise 'negligible' depends on sizes, of which a series has many"
            yield ("protocol", side.value, "noise"), f"{problem}; take 'auto'."
    if getattr(protocol, "prune", 0):
        problem = "a pair of bins that is left out of one run of a series would never be compared"
        yield ("protocol", "prune"), f"{problem}; set prune = 0."
    if one_to_one:
        problem = (
            "the best one-to-one set of a series changes with every run, and a pair that a run has shown "
            "cannot be taken back"
        )
        yield ("one_to_one",), f"{problem}; remove it and choose from all pairs, or remove [series]."
