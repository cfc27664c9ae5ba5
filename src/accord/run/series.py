"""One side of a series between its runs: what the ledger and the runs on disk say, and what the table is now.

    the account   its batches, as they were released, to whomever                       (ledger_series.py)
    a partner     the runs with it that are done: which batches have met, and its counts      (runs.py)

A run with a partner that has seen all batches so far brings a new one; with a partner that has not, it brings
those as they are, and nothing new is drawn. So whether anything is drawn follows from the runs alone, and a
batch that was drawn for a run that was cut is what the next run uses.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.accountable.pledge_series import digest_series, digest_standing
from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import Entropy
from accord.errors import SeriesError, StateError, UsageError
from accord.fields.columns import Records
from accord.peer.handshake_series import Opening, counts_digest
from accord.privacy.events import NoisyCounts
from accord.privacy.release import fold_name, series_key
from accord.protocols.base import Release, Task
from accord.protocols.batches import (
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
from accord.protocols.series import Meeting, Series, series_slots
from accord.protocols.series_greedy import Shown, encode_shown
from accord.protocols.series_linkage import SeriesRun
from accord.protocols.slots import Slots
from accord.run.offer import SeriesOffer
from accord.run.series_table import Part, require_plausible
from accord.side import Side
from accord.state.folder import State
from accord.state.ledger import Ledger, check_name
from accord.state.ledger_series import SeriesBook, SeriesLook, require_same
from accord.state.runs import Manifest, RunFolder, is_overtaken, list_runs

Ints = NDArray[np.int64]
NO_COUNTS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Past:
    """What was done of a series with one partner."""

    runs: int = 0
    seen: tuple[int, int] = (0, 0)
    """Batches of A and of B that have met."""
    heard: int = 0
    """Batches of the partner whose counts were ever received, in a run that was cut, too."""
    counts: Ints = field(default_factory=lambda: NO_COUNTS, repr=False)
    """The partner's, of those, without what is out of them."""


@dataclass(frozen=True)
class OwnSeries:
    """One side of a run of a series: everything that is known before the partner is there."""

    name: str
    series: Series
    side: Side
    key: bytes = field(repr=False)
    event: NoisyCounts
    past: Past
    looks: tuple[Look, ...] = field(repr=False)
    """What was found in the table before; of a run that was cut, by itself, too."""
    due: bool
    """Whether this run brings a new batch."""
    changes: Changes = field(repr=False)
    members: Members = field(repr=False)
    rows: Released = field(repr=False)
    """Of the table, that take part."""
    shown: Shown = field(repr=False)
    """What both had shown before."""
    counts: tuple[Ints, ...] = field(repr=False)
    """The noisy counts of the batches that are there."""
    arrived: Ints = field(repr=False)
    """The true counts of the new batch."""
    versions: int
    """Of an id that take part, ever: those that are declared, or the first alone."""
    standing: bytes = b""
    """A digest of the series as it stands, where a run is accountable and new."""

    @property
    def number(self) -> int:
        """Of this run with this partner, from 1 on."""
        return self.past.runs + 1

    @property
    def total(self) -> int:
        """Own batches, with the new one."""
        return len(self.counts) + self.due

    def opening(self) -> Opening:
        """Where this side stands."""
        bins = len(self.arrived)
        own = self.left[: self.past.seen[_place(self.side)] * bins]
        counts = (own, self.past.counts) if self.side is Side.A else (self.past.counts, own)
        drawn, heard = len(self.counts), self.past.heard
        return Opening(
            self.name, self.number, self.past.seen, self.total, counts_digest(*counts), heard, drawn
        )

    def offered(self) -> SeriesOffer:
        """What the owner is told of the run before anything leaves."""
        found, due = self.changes, self.series.declared(self.side, len(self.counts))
        return SeriesOffer(
            name=self.name,
            run=self.number,
            declared=due if self.due else 0,
            arrived=len(found.arrived),
            gone=len(found.gone),
            waiting=found.waiting,
            late=found.late,
            versions=self.versions,
            per_person=self.event.records_per_person,
        )

    @property
    def left(self) -> Ints:
        """The noisy counts of the batches that are there, without what the partner was shown."""
        return self.shown.left(np.concatenate([NO_COUNTS, *self.counts]))

    def look(self, release: Release, records: Records, entropy: Entropy) -> SeriesLook:
        """What the ledger keeps of this run, with the noise that is drawn when it does."""

        def make() -> Look:
            counts = self.arrived + release.draw(records, entropy) if self.due else None
            return look_at(self.changes, self.members, counts)

        return SeriesLook(self.name, self.key, len(self.looks), make)

    def slots(self, task: Task, records: Records, look: Look, entropy: Entropy) -> Slots:
        """The slots of all batches, that of this run included."""
        new = () if look.batch is None else (look.batch.counts,)
        left = self.shown.left(np.concatenate([*self.counts, *new]))
        shown = self.shown.rows(self.rows.member)
        return series_slots(task.blocking, self.side, records, self.rows.batch, left, entropy, shown)

    def files(self) -> dict[str, bytes]:
        """What the run keeps from its beginning on."""
        counts = self.past.counts.astype("<i8").tobytes()
        return {"counts": counts, "before": encode_shown(self.shown)}

    def pledged(self, table: bytes, run: SeriesRun) -> bytes:
        """The digest that an accountable run is committed to; `table` is that of the records in it."""
        return digest_series(table, self.standing, self.number, run.meeting)

    def run(self, partner_total: int) -> SeriesRun:
        """What is public of the run, once the partner has told how many batches it has."""
        own, other = self.total, partner_total
        total = (own, other) if self.side is Side.A else (other, own)
        meeting = Meeting(self.past.seen, total)
        return SeriesRun(self.series, meeting, self.past.counts, self.shown, self.rows)


def _place(side: Side) -> int:
    return 0 if side is Side.A else 1


def take_part(
    state: State,
    agreement: Agreement,
    side: Side,
    dataset: str,
    part: Part | RunFolder,
    table: Records,
    release: Release,
) -> tuple[OwnSeries, Records]:
    """This side of a new run of a series, or of one that was cut; and the records that take part in it."""
    if isinstance(part, RunFolder):
        return _reenter(state, agreement, part, table, release)
    check_name("series", part.name)
    return _enter(state, agreement, side, dataset, part, table, release)


def series_facts(name: str, run: Manifest, agreement: Agreement) -> dict[str, Any]:
    """What a receipt says of a run of a series, the same on both sides."""
    series = agreement.series
    assert series is not None
    met, batches = (dict(zip(Side, of, strict=True)) for of in (run.seen, run.total))
    return {
        "name": fold_name(name),
        "run": run.series_run,
        "met": {side.value: count for side, count in met.items()},
        "batches": {side.value: count for side, count in batches.items()},
        "announced": {side.value: series.announced(side, count) for side, count in batches.items()},
        "versions": series.versions,
    }


def require_declared(agreement: Agreement, series: str | None, snapshot: str | None) -> None:
    """Raise unless a series is named where the agreement declares one, and nowhere else."""
    if agreement.series is None and series is not None:
        raise UsageError(
            problem="This agreement declares no series: add [series] to it, or leave out `series=`."
        )
    if agreement.series is not None and series is None:
        raise UsageError(
            problem="This agreement declares a series, whose runs go on from each other. Name it: `series=`."
        )
    if series is not None and snapshot is not None:
        raise UsageError(
            problem="A series keeps the noise of all its runs, so there is no snapshot in it: leave out "
            "`snapshot=`."
        )


def _enter(
    state: State,
    agreement: Agreement,
    side: Side,
    dataset: str,
    part: Part,
    table: Records,
    release: Release,
) -> tuple[OwnSeries, Records]:
    """This side of the next run of a series, and the records that take part in it."""
    series, name = agreement.series, part.name
    assert series is not None
    event = series.event(release.event)
    key = series_key(dataset, name, _terms(agreement, side, release), event)
    book = Ledger(state.ledger).series(dataset, name)
    require_same(book, dataset, key)
    past, shown = find_past(state, agreement, side, dataset, name, book)
    looks = () if book is None else book.looks
    known, members = Known.of(looks), members_of(table, agreement.salt)
    due = past.seen[_place(side)] == known.batches
    declared = series.declared(side, known.batches)
    changes = find_changes(
        known, members, declared if due else 0, series.versions, part.unchanged_only, event.records_per_person
    )
    require_plausible(changes, known, part, dataset, declared, due)
    rows = rows_released(changes, known, due)
    new = take_rows(table, changes.arrived, len(changes.arrived))
    own = OwnSeries(
        name=name if book is None else book.name,
        series=series,
        side=side,
        key=key,
        event=event,
        past=past,
        looks=looks,
        due=due,
        changes=changes,
        members=members,
        rows=rows,
        shown=shown,
        counts=known.counts,
        arrived=agreement.task.blocking.counts(side, new.columns, len(new)),
        versions=1 if part.unchanged_only else series.versions,
    )
    if agreement.accountable:
        found = look_at(changes, members, own.arrived if due else None)
        own = replace(own, standing=digest_standing(own.name, (*looks, found), own.files()))
    return own, take_rows(table, rows.rows, series.announced(side, own.total))


def _reenter(
    state: State, agreement: Agreement, run: RunFolder, table: Records, release: Release
) -> tuple[OwnSeries, Records]:
    """This side of a run of a series that was cut, as it was: nothing is looked for again."""
    series, known = agreement.series, run.manifest
    assert series is not None
    book = Ledger(state.ledger).series(known.dataset, known.series)
    if book is None or len(book.looks) < known.look or book.runs[known.look - 1] != known.run:
        raise StateError(
            path=state.folder,
            reason="the run and the ledger do not belong together",
            mend="Restore both from the same copy.",
        )
    if is_overtaken(known, [one.manifest for one in list_runs(state)[0]]):
        reason = f"its run {known.run} was linked again since, and is done. Go on with the next run"
        raise SeriesError(series=known.series, dataset=known.dataset, reason=reason)
    looks = book.looks[: known.look]
    found, members = Known.of(looks), members_of(table, agreement.salt)
    changes = find_changes(found, members, 0, series.versions)
    rows, side = rows_released(changes, found, due=False), Side(known.side)
    own = OwnSeries(
        name=book.name,
        series=series,
        side=side,
        key=book.key,
        event=series.event(release.event),
        past=Past(
            known.series_run - 1, known.seen, _heard([run], side), run.counts_before(agreement.plan.bins)
        ),
        looks=looks,
        due=False,
        changes=changes,
        members=members,
        rows=rows,
        shown=run.shown("before", agreement.task, side),
        counts=found.counts,
        arrived=np.zeros(agreement.plan.bins, np.int64),
        versions=series.versions,
    )
    return own, take_rows(table, rows.rows, series.announced(side, own.total))


def find_past(
    state: State, agreement: Agreement, side: Side, dataset: str, name: str, book: SeriesBook | None
) -> tuple[Past, Shown]:
    """What was done of a series with the partner, by the last of its runs that is done; and what both have
    shown by then."""
    found, broken = list_runs(state)
    partner, runs = agreement.party(side.other), () if book is None else book.runs
    if lost := [run for run in broken if run in runs]:
        raise SeriesError(series=name, dataset=dataset, reason=f"its run {lost[0]} cannot be read")
    named = [run for run in found if run.manifest.is_of(name, dataset)]
    if unknown := [run.manifest.run for run in named if run.manifest.run not in runs]:
        reason = f"the ledger does not know its run {unknown[0]}: it was restored from an older copy"
        raise SeriesError(series=name, dataset=dataset, reason=f"{reason}. Restore the latest one")
    ours = [run for run in named if run.manifest.partner == partner]
    if any(not _goes_on(run.manifest.agreement, agreement) for run in ours):
        reason = f"its runs with {partner} were under another agreement. Go on with that one"
        raise SeriesError(series=name, dataset=dataset, reason=reason)
    done = [run for run in ours if run.manifest.done]
    heard = _heard(ours, side)
    if not done:
        return Past(heard=heard), Shown.nothing(agreement.task, side)
    last = max(done, key=lambda run: run.manifest.series_run)
    known, counts = last.manifest, last.partner_counts()
    if counts is None or len(counts) != known.total[1 - _place(side)] * agreement.plan.bins:
        raise SeriesError(series=name, dataset=dataset, reason=f"its run {known.run} cannot be read")
    before, after = (last.shown(name, agreement.task, side) for name in ("before", "shown"))
    for removed, sign in ((after.removed[1], -1), (before.removed[1], 1)):
        counts[: len(removed)] += sign * removed
    return Past(known.series_run, known.total, heard, counts), after


def _heard(runs: list[RunFolder], side: Side) -> int:
    """Of how many batches the partner has opened the counts, in whichever of these runs."""
    # A run that is done has them; of one that was cut its journal says so, which is read only then.
    opened = [run.manifest for run in runs if run.manifest.done or run.partner_counts() is not None]
    return max((run.total[1 - _place(side)] for run in opened), default=0)


def _goes_on(before: str, agreement: Agreement) -> bool:
    """Whether runs under an agreement go on under this one, which may have another bound on matches: one
    that a run has reached would be reached again, for ever."""
    if before == agreement.to_toml():
        return True
    return _unbounded(parse_agreement(before)) == _unbounded(agreement)


def _unbounded(agreement: Agreement) -> str:
    return agreement.model_copy(update={"most_matches": None}).to_toml()


def _terms(agreement: Agreement, side: Side, release: Release) -> bytes:
    """All on which the batches of a side depend: what places and encodes a record, and the declared sizes."""
    series = agreement.series
    assert series is not None
    sizes = [series.declared(side, batch) for batch in (0, 1)]
    agreed = agreement.model_dump(mode="json", include={"fields", "salt"})
    return release.place + json.dumps([agreed, sizes, series.versions], sort_keys=True).encode()
