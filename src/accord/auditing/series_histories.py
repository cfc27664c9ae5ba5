"""Series under audit: what a partner sees of one owner over all runs of a series, against one promise.

Two histories of the owner's table are neighbours in the sense of [MATHS §4.6]: they differ in the history of
one id that never matches a record that is there in the same run. What is judged is all that the partner
receives in all runs, pooled, against what the whole series is charged.

    replaced   in every run a record is in one bin, or in another
    moved      it comes with the first run, or with the second
    nothing    a record comes with the second run, or nothing does
    gone       it goes after the first run, or stays
    returned   it goes and comes back every other run, or stays
    disclosed  a new record is like a disclosed one of the partner that is gone, or unlike any (greedy)

The programs that are to be convicted each leave out one thing:

    true sizes   the number of arrivals is announced
    redrawn      all batches are padded anew for every run
    dropped      a record that is gone leaves no dummy
    unnamed      disclosed records that are gone are not named, so that the other side goes on matching them

A partner that follows the protocol refuses counts that are not those of before, and a record that matches
none of its own. Here it lets the former pass; the latter ends what it sees, and does not undo it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa

from accord.agreement.document import Agreement
from accord.auditing.cases import agree_by_key
from accord.auditing.views import View, record_view, watched_engines
from accord.entropy import Entropy
from accord.errors import PeerError
from accord.fields.columns import Records
from accord.fields.load import Loading, load_records
from accord.protocols.base import Ints, Release
from accord.protocols.parts.batches import Released
from accord.protocols.parts.own_side import OwnSide
from accord.protocols.parts.slots import Slots
from accord.protocols.parts.standing import BatchMeeting
from accord.protocols.series import Entered, series_slots
from accord.secure.party import Party, Send, receive, run_pair
from accord.side import Side
from accord.simulation.series import SeriesSide
from accord.table.layout import Layout

T = TypeVar("T")
Table = dict[str, tuple[int, int]]
"""A record by its id."""
Broken = Literal["", "true sizes", "redrawn", "dropped", "unnamed"]
RUNS = 12


@dataclass(frozen=True, eq=False)
class SeriesHistory:
    """A question over a whole series."""

    name: str
    why: str
    side: Side
    agreement: Agreement
    worlds: tuple[list[Table], list[Table]]
    """The owner's table in each run, in the two worlds."""
    partner: list[Table]
    broken: Broken = ""

    @property
    def promise(self) -> tuple[Fraction, Fraction]:
        told = self.agreement.leakage(self.side)
        assert told.epsilon is not None
        assert told.delta is not None
        return told.epsilon, told.delta

    @property
    def unless(self) -> str:
        return self.agreement.leakage(self.side).unless

    def view(self, world: int, entropy: Entropy, coins: Entropy) -> View:
        seen, looks = View(), self.side.other
        owner = _Owner(self.agreement, self.side, broken=self.broken)
        other = _Owner(self.agreement, looks)
        try:
            for number, tables in enumerate(zip(self.worlds[world], self.partner, strict=True)):
                seen.runs.append(len(seen.messages))
                self._link(number, (owner, other), tables, (entropy, coins), seen)
        except PeerError:
            if self.broken != "unnamed":
                raise
        return seen

    def _link(
        self,
        number: int,
        sides: tuple[_Owner, _Owner],
        tables: tuple[Table, Table],
        entropy: tuple[Entropy, Entropy],
        seen: View,
    ) -> None:
        """One run; both sides remember it."""
        old, engines = [side.left for side in sides], watched_engines(seen)
        meeting = BatchMeeting((number, number), (number + 1, number + 1))
        made = [
            side.announce_and_take_part(self._load(table), number, random.stream(f"run {number}"))
            for side, table, random in zip(sides, tables, entropy, strict=True)
        ]
        if self.broken in ("redrawn", "dropped"):
            old[0] = made[0][1].slots.counts[: len(old[0])]
        parties = []
        for place, (size, mine, entered) in enumerate(made):
            task, shown = sides[place].task, sides[place].shown
            if self.broken == "unnamed":
                shown = replace(shown, own=shown.own[np.isin(shown.own, entered.rows.member)])
            mine = replace(mine, standing=entered.standing(meeting, old[1 - place], shown))
            parties.append(_announce(size, task.protocol.party(task, mine, engines[place])))
        parties[1] = record_view(parties[1], seen)
        first, second = parties if self.side is Side.A else parties[::-1]
        ends = run_pair(first, second)
        for side, outcome in zip(sides, ends if self.side is Side.A else ends[::-1], strict=True):
            assert outcome.shown is not None
            side.shown = outcome.shown

    @cached_property
    def _loaded(self) -> dict[int, Records]:
        """Tables that were read, by what they are in memory: the same one stands in many runs."""
        return {}

    def _load(self, table: Table) -> Records:
        if id(table) not in self._loaded:
            self._loaded[id(table)] = self._read(table)
        return self._loaded[id(table)]

    def _read(self, table: Table) -> Records:
        rows = {
            "id": pa.array(list(table), pa.string()),
            "x": pa.array([x for x, _ in table.values()], pa.int64()),
            "y": pa.array([y for _, y in table.values()], pa.int64()),
        }
        # Every record is another person's, where the promise is to people.
        people = any((self.agreement.protocol.records_per_person(side) or 1) > 1 for side in Side)
        own = self.agreement.fields, self.agreement.salt, ["x", "y"], Layout(person="id")
        return load_records(pa.table(rows), *own, 1, Loading(keep_people=people))


@dataclass
class _Owner(SeriesSide):
    """The side whose record is at stake: as it is, or broken in one thing."""

    broken: Broken = ""
    noise: list[Ints] = field(default_factory=list)
    """Of each batch."""

    def announce_and_take_part(
        self, table: Records, number: int, entropy: Entropy
    ) -> tuple[int, OwnSide, Entered]:
        """The size that it announces, its side of the run, and what takes part."""
        release = self.task.protocol.release(self.task, self.side, 1)
        self.noise.append(release.draw(table, entropy.stream("noise")))
        mine, entered = self.take_part(table, number + 1, entropy, self.noise[-1])
        if self.broken in ("redrawn", "dropped"):
            mine = replace(mine, slots=self._other_slots(mine, entered.rows, release, entropy))
        arrived = len(entered.changes.arrived)
        return arrived if self.broken == "true sizes" else mine.records.size, mine, entered

    def _other_slots(self, mine: OwnSide, rows: Released, release: Release, entropy: Entropy) -> Slots:
        """Of batches whose noise is drawn anew, or that lose what is gone."""
        plan, noise = self.task.blocking, np.concatenate(self.noise)
        if self.broken == "redrawn":
            again = [release.draw(mine.records, entropy.stream(f"again {b}")) for b in range(len(self.noise))]
            counts = self.counts - noise + np.concatenate(again)
        else:
            record, bins = plan.place(self.side, mine.records.columns, len(mine.records))
            counts = noise + np.bincount(rows.batch[record] * plan.bins + bins, minlength=len(noise))
        return series_slots(plan, self.side, mine.records, rows.batch, counts, entropy.stream("slots again"))


def _announce(records: int, party: Party[T]) -> Party[T]:
    yield Send(records.to_bytes(8, "little"))
    yield from receive(8)
    return (yield from party)


def series_histories(
    protocol: Mapping[str, object], broken: Broken = "", count: int = RUNS
) -> tuple[SeriesHistory, ...]:
    """The built-in series of so many runs under the Laplace Protocol with these options, without greedy but
    for one, which has two runs."""
    matched, here, there = ("m", (2, 8)), ("x", (0, 9)), ("x", (1, 30))
    usual = dict([matched])
    worlds: dict[str, tuple[list[Table], list[Table]]] = {
        "replaced": ([usual | dict([here])] * count, [usual | dict([there])] * count),
        "moved": ([usual | dict([here])] * count, [usual, *[usual | dict([here])] * (count - 1)]),
        "nothing": ([usual, *[usual | dict([here])] * (count - 1)], [usual] * count),
        "gone": ([usual | dict([here])] * count, [usual | dict([here]), *[usual] * (count - 1)]),
        "returned": (
            [usual | dict([here])] * count,
            [usual | (dict([here]) if run % 2 == 0 else {}) for run in range(count)],
        ),
    }
    agreed = _agree({**protocol, "greedy": False})
    partner: list[Table] = [{"p": (2, 8)}] * count
    found = [
        SeriesHistory(name, _WHY[name], side, agreed, both, partner, broken)
        for name, both in worlds.items()
        for side in Side
    ]
    # The partner's record is disclosed in the first run and gone in the second; then the owner's comes.
    theirs: list[Table] = [{"p": (2, 8)}, {"q": (2, 40)}]
    new = [usual, usual | {"x": (2, 9)}], [usual, usual | {"x": (2, 20)}]
    greedy = _agree({**protocol, "greedy": True})
    found += [
        SeriesHistory("disclosed", _WHY["disclosed"], side, greedy, new, theirs, broken) for side in Side
    ]
    return tuple(found)


def _agree(protocol: Mapping[str, object]) -> Agreement:
    sizes = {"first": {"A": 4, "B": 4}, "arrivals": {"A": 2, "B": 2}}
    plain = agree_by_key(protocol).model_dump(mode="json")
    return Agreement.model_validate(plain | {"series": sizes})


_WHY = {
    "replaced": "in every run a record is in one bin, or in another",
    "moved": "a record comes with the first run, or with the second",
    "nothing": "a record comes with the second run, or nothing ever does",
    "gone": "a record goes after the first run, or stays",
    "returned": "a record goes and comes back every other run, or stays",
    "disclosed": "a new record is like one that was disclosed and is gone, or unlike any",
}
