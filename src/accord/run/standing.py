"""The name under which the noise of a run is kept, and what stands under it already, on one's own side.

    none        drawn for this run and for no other; a second run draws, and is charged, again
    a snapshot  drawn once for the table as it is under that name, and repeated as it is
    a series    drawn once for what is new in the table since the run before                     (series.py)

A run asks its `Standing` and not which of these it is. What is told to the partner of it, and what the two
sides go on from, is protocols/parts/standing.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.fields.columns import Records
from accord.privacy.events import Event, is_free
from accord.privacy.release import Snapshot
from accord.protocols.base import Release, Task
from accord.protocols.parts.outcome import Outcome
from accord.protocols.parts.slots import Slots, content_digest
from accord.protocols.parts.standing import ALONE, Standing
from accord.run.offer import Offer
from accord.secure.party import Party
from accord.side import Side
from accord.state.ledger import Ask, Charge, check_name
from accord.state.manifest import Manifest
from accord.state.runs import StoredRun
from accord.table.pairs import PairTable

Ints = NDArray[np.int64]


class OwnStanding(Protocol):
    """One side of a run before the partner is there: what it releases, under which name."""

    @property
    def event(self) -> Event:
        """What the ledger is told."""

    @property
    def first(self) -> bool:
        """Whether nothing has met the partner's table yet, so that what is compared can be foreseen."""

    @property
    def files(self) -> dict[str, bytes]:
        """What the run keeps from its beginning on."""

    def named(self, ask: Ask) -> Ask:
        """The question to the ledger, with the name."""

    def join(self, partner: str) -> Party[Standing]:
        """Make sure that both sides go on from the same."""

    def rejoin(self, known: Manifest) -> Standing:
        """The same of a run that was cut."""

    def refuse_size(self, standing: Standing, announced: int) -> str:
        """What is wrong with the size that the partner announces; empty if nothing is."""

    def fix(self, charge: Charge) -> Slots:
        """The slots, with the noise that was charged."""

    def holds(self, slots: Slots, noise: Ints) -> bool:
        """Whether these slots hold the noise that the ledger keeps: another one would weaken the first."""

    def manifest(self, standing: Standing) -> dict[str, Any]:
        """What the run's manifest says of it."""

    def offered(self, offer: Offer) -> Offer:
        """The offer, with what its owner is told of it."""

    def facts(self, run: Manifest) -> dict[str, Any] | None:
        """What the receipt says of it, the same on both sides."""

    def keep(self, run: StoredRun, found: PairTable, outcome: Outcome) -> None:
        """Keep what later runs go on from."""


@dataclass(frozen=True)
class OwnTable:
    """A run that goes on from nothing: alone, or under a snapshot's name."""

    task: Task
    side: Side
    records: Records = field(repr=False)
    release: Release
    entropy: Entropy = field(repr=False)
    snapshot: Snapshot | None = None

    @property
    def first(self) -> bool:
        return True

    @property
    def files(self) -> dict[str, bytes]:
        return {}

    @property
    def event(self) -> Event:
        # Only what leaks tells the ledger nothing, and no agreement may name that.
        assert self.release.event is not None
        return self.release.event

    def named(self, ask: Ask) -> Ask:
        return replace(ask, snapshot=self.snapshot)

    def join(self, partner: str) -> Party[Standing]:
        yield from ()
        return ALONE

    def rejoin(self, known: Manifest) -> Standing:
        return ALONE

    def refuse_size(self, standing: Standing, announced: int) -> str:
        return ""

    def fix(self, charge: Charge) -> Slots:
        # What costs nothing has no name in the ledger, and is drawn as it is needed.
        noise = charge.noise
        if is_free(self.event.cost):
            noise = self.release.draw(self.records, self.entropy)
        return self.task.protocol.make_slots(self.task, self.side, self.records, noise, self.entropy)

    def holds(self, slots: Slots, noise: Ints) -> bool:
        if is_free(self.event.cost):
            return True
        made = self.task.protocol.counts(self.task, self.side, self.records, noise)
        return np.array_equal(slots.counts, made)

    def manifest(self, standing: Standing) -> dict[str, Any]:
        return {}

    def offered(self, offer: Offer) -> Offer:
        return offer

    def facts(self, run: Manifest) -> dict[str, Any] | None:
        return None

    def keep(self, run: StoredRun, found: PairTable, outcome: Outcome) -> None:
        return None


def name_table(name: str | None, task: Task, side: Side, records: Records) -> Snapshot | None:
    """What the owner declares the table to be."""
    if name is None:
        return None
    check_name("snapshot", name)
    return Snapshot(name, content_digest(task.blocking, side, records))
