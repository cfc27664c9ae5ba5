"""What a run releases of its owner's table, and the name under which the noise of that is kept.

none        drawn for this run and for no other; a second run draws, and is charged, again
a snapshot  drawn once for the table as it is under that name, and repeated as it is
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.fields.columns import Records
from accord.privacy.events import Event, is_free
from accord.privacy.release import Snapshot
from accord.protocols.base import Release, Task
from accord.protocols.parts.slots import Slots, content_digest
from accord.side import Side
from accord.state.ledger import check_name

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class OwnRelease:
    """One side's release in a run."""

    task: Task
    side: Side
    records: Records = field(repr=False)
    release: Release
    entropy: Entropy = field(repr=False)
    snapshot: Snapshot | None = None
    """What its owner declares the table to be."""

    @property
    def event(self) -> Event:
        """What the ledger is told."""
        # Only what leaks tells the ledger nothing, and no agreement may name that.
        assert self.release.event is not None
        return self.release.event

    def draw(self) -> Ints:
        """Fresh noise for this table."""
        return self.release.draw(self.records, self.entropy)

    def fix(self, noise: Ints) -> Slots:
        """The slots, with the noise that was charged."""
        # What costs nothing has no name in the ledger, and is drawn as it is needed.
        drawn = self.draw() if is_free(self.event.cost) else noise
        return self.task.protocol.make_slots(self.task, self.side, self.records, drawn, self.entropy)

    def holds(self, slots: Slots, noise: Ints) -> bool:
        """Whether these slots hold the noise that the ledger keeps: another one would weaken the first."""
        if is_free(self.event.cost):
            return True
        made = self.task.protocol.counts(self.task, self.side, self.records, noise)
        return np.array_equal(slots.counts, made)


def name_table(name: str | None, task: Task, side: Side, records: Records) -> Snapshot | None:
    """What the owner declares the table to be."""
    if name is None:
        return None
    check_name("snapshot", name)
    return Snapshot(name, content_digest(task.blocking, side, records))
