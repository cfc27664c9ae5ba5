"""One side of a series between its runs: what the ledger and the runs on disk say, and what the table is now.

    the account   its batches, as they were released, to whomever                       (ledger_series.py)
    a partner     the runs with it that are done: which batches have met, and its counts       (runs.py)

A run with a partner that has seen all batches so far brings a new one; with a partner that has not, it brings
those as they are, and nothing new is drawn. So whether anything is drawn follows from the runs alone, and a
batch that was drawn for a run that was cut is what the next run uses.

All of a table is judged before anybody is called, so that no partner sees whether it was refused, or what its
owner answered. Three things are not done unasked:

    a table that a series hardly knows again    whoever goes on by mistake releases all of it once more
    more arrivals than a run has room for       who waits depends on who else came, which no ε covers
    a first table that is larger than declared  it has no later run in which the rest would be expected
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.entropy import Entropy
from accord.errors import (
    DataError,
    Fault,
    FullBatchError,
    OtherIdsError,
    SeriesError,
)
from accord.fields.columns import Records
from accord.naming import fold_name
from accord.peer.handshake_series import Opening, counts_digest, exchange_openings
from accord.privacy.events import NoisyCounts
from accord.privacy.release import series_key
from accord.protocols.base import Release
from accord.protocols.parts.batches import Changes, Known, Look
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.shown import Shown, encode_shown
from accord.protocols.parts.slots import Slots
from accord.protocols.parts.standing import BatchMeeting, Standing
from accord.protocols.series import NO_COUNTS, Entered, Entering, enter
from accord.run.offer import Offer, SeriesOffer
from accord.run.request import SeriesPart
from accord.secure.party import Party
from accord.side import Side
from accord.state.folder import State
from accord.state.ledger import Ask, Charge, Ledger, check_name
from accord.state.ledger_series import SeriesLook, require_same
from accord.state.manifest import Manifest
from accord.state.runs import StoredRun, is_named, is_overtaken, list_runs
from accord.table.pairs import PairTable

Ints = NDArray[np.int64]


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
    agreement: Agreement
    key: bytes = field(repr=False)
    event: NoisyCounts
    release: Release
    past: Past
    looks: tuple[Look, ...] = field(repr=False)
    """What was found in the table before; of a run that was cut, by itself, too."""
    entered: Entered = field(repr=False)
    shown: Shown = field(repr=False)
    """What both had shown before."""
    entropy: Entropy = field(repr=False)
    part: SeriesPart

    @property
    def side(self) -> Side:
        return self.entered.side

    @property
    def number(self) -> int:
        """Of this run with this partner, from 1 on."""
        return self.past.runs + 1

    @property
    def first(self) -> bool:
        return self.number == 1

    @property
    def left(self) -> Ints:
        """The noisy counts of the batches that are there, without what the partner was shown."""
        return self.shown.left(np.concatenate([NO_COUNTS, *self.entered.known.counts]))

    @property
    def files(self) -> dict[str, bytes]:
        counts = self.past.counts.astype("<i8").tobytes()
        return {"counts": counts, "before": encode_shown(self.shown)}

    def named(self, ask: Ask) -> Ask:
        return replace(ask, series=SeriesLook(self.name, self.key, len(self.looks), self._look))

    def _look(self) -> Look:
        """What the ledger keeps of this run, with noise that is drawn when it does."""
        entered = self.entered
        return entered.look(
            entered.arrived + self.release.draw(entered.records, self.entropy) if entered.due else None
        )

    def join(self, partner: str) -> Party[Standing]:
        return self._standing((yield from exchange_openings(self._opening(), self.side, partner)))

    def rejoin(self, known: Manifest) -> Standing:
        return self._standing(known.total[1 - _place(self.side)])

    def _opening(self) -> Opening:
        """Where this side stands."""
        bins = self.agreement.plan.bins
        own = self.left[: self.past.seen[_place(self.side)] * bins]
        counts = (own, self.past.counts) if self.side is Side.A else (self.past.counts, own)
        drawn, heard = self.entered.known.batches, self.past.heard
        total, digest = self.entered.batches, counts_digest(*counts)
        return Opening(self.name, self.number, self.past.seen, total, digest, heard, drawn)

    def _standing(self, other: int) -> Standing:
        """With so many batches of the partner; how many the own ones are, the ledger says."""
        own = self.entered.batches
        total = (own, other) if self.side is Side.A else (other, own)
        return self.entered.standing(BatchMeeting(self.past.seen, total), self.past.counts, self.shown)

    def refuse_size(self, standing: Standing, announced: int) -> str:
        partner = self.side.other
        declared = self.entered.series.announced(partner, standing.meeting.of(partner)[1])
        return "" if announced == declared else "a size other than the agreement declares"

    def fix(self, charge: Charge) -> Slots:
        assert charge.look is not None
        return self.entered.slots(charge.look, self.shown, self.entropy)

    def holds(self, slots: Slots, noise: Ints) -> bool:
        return np.array_equal(slots.counts, self.left)

    def manifest(self, standing: Standing) -> dict[str, Any]:
        numbers = {"series_run": self.number, "look": len(self.looks) + 1}
        return {"series": self.name, **numbers, **asdict(standing.meeting)}

    def offered(self, offer: Offer) -> Offer:
        found, series = self.entered.changes, self.entered.series
        told = SeriesOffer(
            name=self.name,
            run=self.number,
            declared=series.declared(self.side, self.entered.known.batches) if self.entered.due else 0,
            arrived=len(found.arrived),
            gone=len(found.gone),
            waiting=found.waiting,
            late=found.late,
            versions=1 if self.part.unchanged_only else series.versions,
            per_person=self.event.records_per_person,
        )
        return replace(offer, series=told)

    def facts(self, run: Manifest) -> dict[str, Any] | None:
        series = self.entered.series
        met, batches = (dict(zip(Side, of, strict=True)) for of in (run.seen, run.total))
        return {
            "name": fold_name(self.name),
            "run": run.series_run,
            "met": {side.value: count for side, count in met.items()},
            "batches": {side.value: count for side, count in batches.items()},
            "announced": {side.value: series.announced(side, count) for side, count in batches.items()},
            "versions": series.versions,
        }

    def keep(self, run: StoredRun, found: PairTable, outcome: Outcome) -> None:
        assert outcome.shown is not None
        run.keep_series(found, outcome.shown)


def _place(side: Side) -> int:
    return 0 if side is Side.A else 1


def go_on_with(
    state: State,
    account: str,
    agreement: Agreement,
    part: SeriesPart,
    table: Records,
    release: Release,
    entropy: Entropy,
) -> OwnSeries:
    """This side of the next run of a series."""
    check_name("series", part.name)
    series, side = agreement.series, release.side
    assert series is not None
    event = series.event(release.event)
    key = series_key(account, part.name, _terms(agreement, release), event)
    book = Ledger(state.database).series(account, part.name)
    require_same(book, account, key)
    past, shown = find_past(state, agreement, side, account, part.name)
    looks = () if book is None else book.looks
    batches = sum(look.batch is not None for look in looks)
    how = Entering(past.seen[_place(side)] == batches, part.unchanged_only)
    entered = enter(release.task, series, side, looks, table, how)
    declared = series.declared(side, batches)
    require_plausible(entered.changes, entered.known, part, account, declared, how.due)
    name = part.name if book is None else book.name
    return OwnSeries(name, agreement, key, event, release, past, looks, entered, shown, entropy, part)


def take_up(
    state: State,
    run: StoredRun,
    agreement: Agreement,
    part: SeriesPart,
    table: Records,
    release: Release,
    entropy: Entropy,
) -> OwnSeries:
    """This side of a run of a series that was cut, as it was: nothing is looked for again once it is
    charged."""
    series, known, side = agreement.series, run.manifest, release.side
    assert series is not None
    if not run.charged:
        own = go_on_with(state, known.dataset, agreement, part, table, release, entropy)
        stood = known.series_run, known.look, known.seen, known.total[_place(side)]
        if stood != (own.number, len(own.looks) + 1, own.past.seen, own.entered.batches):
            reason = f"its run {known.run} was begun before others that are charged. Link again"
            raise SeriesError(series=known.series, dataset=known.dataset, reason=reason)
        return own
    book = Ledger(state.database).series(known.dataset, known.series)
    assert book is not None
    others = list_runs(state, lambda one: is_named(one, known.series, known.dataset))[0]
    if is_overtaken(known, [one.manifest for one in others]):
        reason = f"its run {known.run} was linked again since, and is done. Go on with the next run"
        raise SeriesError(series=known.series, dataset=known.dataset, reason=reason)
    looks = book.looks[: known.look]
    entered = enter(release.task, series, side, looks, table, Entering(due=False))
    counts = run.counts_before(agreement.plan.bins)
    past = Past(known.series_run - 1, known.seen, _heard([run], side), counts)
    event, shown = series.event(release.event), run.shown("before", agreement.task, side)
    return OwnSeries(
        book.name, agreement, book.key, event, release, past, looks, entered, shown, entropy, part
    )


def require_plausible(
    changes: Changes, known: Known, part: SeriesPart, dataset: str, declared: int, due: bool
) -> None:
    """Raise for a table that its owner should look at first. `declared` is the size of the next batch, which
    is `due` in this run, or whatever is new waits for it anyway."""
    if known.batches == 0 and changes.waiting:
        problem = (
            f"It has {len(changes.arrived) + changes.waiting:,} records, but for the first run of a series "
            f"the agreement declares {declared:,}."
        )
        raise DataError("the table", [Fault("", problem, "Agree on a larger `first` under [series].")])
    named = {"series": part.name, "dataset": dataset, "declared": declared}
    if changes.mostly_gone and not part.mostly_new:
        raise OtherIdsError(
            **named,
            there=changes.there,
            stayed=len(changes.stayed),
            changed=changes.changed,
            gone=len(changes.gone) - changes.changed,
            new=changes.fresh - changes.changed,
        )
    if due and changes.waiting and not part.let_wait:
        arrived = len(changes.arrived) + changes.waiting
        raise FullBatchError(**named, arrived=arrived, waiting=changes.waiting)


def find_past(state: State, agreement: Agreement, side: Side, dataset: str, name: str) -> tuple[Past, Shown]:
    """What was done of a series with the partner, by the last of its runs that is done; and what both have
    shown by then."""
    named, broken = list_runs(state, lambda run: is_named(run, name, dataset))
    partner = agreement.party(side.other)
    if broken:
        raise SeriesError(series=name, dataset=dataset, reason=f"its run {broken[0]} cannot be read")
    ours = [run for run in named if run.manifest.partner == partner]
    if any(not _goes_on(run.manifest.agreement, agreement) for run in ours):
        reason = f"its runs with {partner} were under another agreement. Go on with that one"
        raise SeriesError(series=name, dataset=dataset, reason=reason)
    done = [run for run in ours if run.manifest.done]
    heard = _heard(ours, side)
    if not done:
        return Past(heard=heard), Shown.nothing(agreement.task.shape(side.other, 0))
    last = max(done, key=lambda run: run.manifest.series_run)
    known, counts = last.manifest, last.partner_counts()
    if counts is None or len(counts) != known.total[1 - _place(side)] * agreement.plan.bins:
        raise SeriesError(series=name, dataset=dataset, reason=f"its run {known.run} cannot be read")
    before, after = (last.shown(name, agreement.task, side) for name in ("before", "shown"))
    for removed, sign in ((after.removed[1], -1), (before.removed[1], 1)):
        counts[: len(removed)] += sign * removed
    return Past(known.series_run, known.total, heard, counts), after


def _heard(runs: list[StoredRun], side: Side) -> int:
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


def _terms(agreement: Agreement, release: Release) -> bytes:
    """All on which the batches of a side depend: what places and encodes a record, and the declared sizes."""
    series = agreement.series
    assert series is not None
    sizes = [series.declared(release.side, batch) for batch in (0, 1)]
    agreed = agreement.model_dump(mode="json", include={"fields", "salt"})
    return release.place + json.dumps([agreed, sizes, series.versions], sort_keys=True).encode()
