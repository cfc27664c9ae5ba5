"""Whether a table, the slots of a run and the noise in the ledger belong together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.errors import StateError
from accord.fields.columns import Records
from accord.privacy.events import NO_COST
from accord.privacy.release import Snapshot
from accord.protocols.base import Task
from accord.protocols.slots import Slots, content_digest, table_digest
from accord.run.stages import Ready
from accord.side import Side
from accord.state.folder import State
from accord.state.ledger import check_name
from accord.state.runs import Manifest
from accord.table.address import Address
from accord.table.sources.opening import find_place
from accord.table.sources.query import Query

_OTHER = "Name the data as it was, or start a new run."
_CHANGED = (
    "Rows of a database change: name the data as it was with `data=`, such as a copy in another table, or "
    "start a new run. A table that is copied before it is linked (CREATE TABLE … AS SELECT …) stays as it is."
)


def name_table(name: str | None, task: Task, side: Side, records: Records) -> Snapshot | None:
    """What the owner declares the table to be."""
    if name is None:
        return None
    check_name("snapshot", name)
    return Snapshot(name, content_digest(task.blocking, side, records))


def require_same_table(own: Ready, known: Manifest, slots: Slots) -> None:
    """The data must be what the run began with: its slots point into that very table."""
    if table_digest(own.records) != slots.table or slots.table.hex() != known.table:
        raise StateError(
            path=own.state.run(known.run),
            reason="your data is not what the run began with",
            mend=_CHANGED if isinstance(find_place(own.data) or own.data, Address | Query) else _OTHER,
        )


def require_same_noise(own: Ready, slots: Slots, noise: NDArray[np.int64]) -> None:
    """The slots must hold the noise that the ledger keeps: a second one would weaken the first."""
    if own.event.cost == NO_COST:
        return
    if own.series is not None:
        if not np.array_equal(slots.counts, own.series.left):
            raise unfit(own.state)
        return
    task = own.agreement.task
    if not np.array_equal(slots.counts, task.protocol.counts(task, own.side, own.records, noise)):
        raise unfit(own.state)


def unfit(state: State) -> StateError:
    reason, mend = "the run's slots and the ledger do not belong together", "Restore both from the same copy"
    return StateError(path=state.folder, reason=reason, mend=f"{mend}, or start a new run.")
