"""The one door to all protocols: fix a side's part, then run it; which protocol it is stands in the task.

Every protocol ends in the same `Outcome`, after both sides have compared a keyed digest of it. The noise is
an argument, since it is sticky: whoever calls has stored it, and paid for it, before anything is sent.

    laplace            how many dummies each bin gets
    local-dp           the bin that each record reports, in the order of the ids            (local_dp.py)
    laplace-suppress   how many dummies each bin gets, or below 0 how many records it loses
    all-pairs, blocking, psi, psi-expand      nothing: zeros for each bin, which `no_noise` gives
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy
from accord.privacy.events import Event
from accord.protocols import linkage, local_dp
from accord.protocols.linkage import Own
from accord.protocols.outcome import Outcome
from accord.protocols.psi import psi
from accord.protocols.slots import shuffled
from accord.protocols.spec import LocalDp, Psi, PsiExpand, Suppress
from accord.protocols.suppress import suppressed_slots
from accord.protocols.task import Task
from accord.records.columns import Records
from accord.secure.engine import Engine
from accord.secure.party import Party
from accord.side import Side

Ints = NDArray[np.int64]


def no_noise(task: Task) -> Ints:
    """What a protocol without noise is prepared with."""
    return np.zeros(task.blocking.bins, np.int64)


def prepare(
    task: Task,
    side: Side,
    records: Records,
    partner_size: int,
    noise: Ints,
    entropy: Entropy,
    released: tuple[Event, ...] = (),
) -> Own:
    """Fix this side's part of a run. *Requires* noise that was drawn for this very table, or `no_noise`."""
    if isinstance(task.protocol, Psi | PsiExpand):
        nothing = np.zeros(0, np.int64)
        slots = shuffled(nothing, nothing, 0, records, entropy)
        return Own(side, records, partner_size, slots, entropy, released)
    if isinstance(task.protocol, LocalDp):
        return local_dp.prepare(task, side, records, partner_size, noise, entropy, released)
    if isinstance(task.protocol, Suppress):
        slots = suppressed_slots(task.blocking, side, records, noise, entropy)
        return Own(side, records, partner_size, slots, entropy, released)
    return linkage.prepare(task, side, records, partner_size, noise, entropy, released)


def run(task: Task, own: Own, engine: Engine) -> Party[Outcome]:
    """One side of the protocol that the task names."""
    if isinstance(task.protocol, Psi | PsiExpand):
        return psi(task, own, engine)
    return linkage.linkage(task, own, engine)
