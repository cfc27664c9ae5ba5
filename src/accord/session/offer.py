"""What a run would release and spend: everything its owner should know before saying yes.

A release is an event, the key under which its noise is kept, and the way to draw the noise if there is none
yet. Nothing is drawn here and nothing is charged.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from accord.agreement.disclosure import learned_about
from accord.agreement.document import Agreement
from accord.entropy import Entropy
from accord.privacy import events
from accord.privacy.calibration import calibrate, warnings
from accord.privacy.events import Cost, Event
from accord.privacy.noise import draw
from accord.privacy.release import release_key
from accord.protocols import local_dp
from accord.protocols.protocol import no_noise
from accord.protocols.spec import LocalDp, Psi, PsiExpand
from accord.records.columns import Records
from accord.session.accounts import Account, account
from accord.session.ledger import Ask, Charge, Ledger
from accord.side import Side


@dataclass(frozen=True)
class Release:
    """What a side is about to release about its table."""

    event: Event
    key: bytes | None = field(repr=False)
    """None where the noise is no secret and need not be kept."""
    draw: Callable[[], NDArray[np.int64]] = field(repr=False)

    def ask(self, run: str, dataset: str, agreement: Agreement, side: Side) -> Ask:
        """The question to the ledger."""
        digest = bytes.fromhex(agreement.digest)
        return Ask(run, dataset, agreement.party(side.other), digest, self.key, self.event)

    def noise(self, charged: Charge) -> NDArray[np.int64]:
        """What the protocol is prepared with: the noise that is kept, or what needs no keeping."""
        return charged.noise if self.key is not None else self.draw()


@dataclass(frozen=True)
class Offer:
    """What the owner of the data is asked to agree to."""

    agreement: Agreement
    side: Side
    dataset: str
    records: int
    left_out: int
    event: Event
    cost: Cost
    """What this run would be charged: nothing if the same release was paid for before."""
    account: Account
    """The data set's account before the run."""

    @property
    def partner(self) -> str:
        return self.agreement.party(self.side.other)

    @property
    def learned(self) -> list[str]:
        """What the partner will learn, in words."""
        return learned_about(self.agreement, self.side)

    @property
    def warnings(self) -> tuple[str, ...]:
        privacy = self.agreement.privacy(self.side)
        return warnings(privacy.delta, self.records) if privacy else ()


def release(agreement: Agreement, side: Side, records: Records, entropy: Entropy) -> Release:
    """The release that a run of this agreement makes about this table."""
    task, privacy = agreement.task, agreement.privacy(side)
    if isinstance(agreement.protocol, LocalDp):
        key = local_dp.key(task, side, records, blocking_bytes(agreement))
        return Release(
            local_dp.released(task, side), key, lambda: local_dp.draw(task, side, records, entropy)
        )
    if privacy is None:
        exact = isinstance(agreement.protocol, Psi | PsiExpand)
        return Release(events.Intersection() if exact else events.AllPairs(), None, lambda: no_noise(task))
    plan = task.blocking
    setting = calibrate(privacy.noise, privacy.epsilon, privacy.delta, plan.per_record(side), len(records))
    counts = plan.counts(side, records.columns, len(records))
    key = release_key(
        counts, blocking_bytes(agreement), side.value, privacy.noise, privacy.epsilon, privacy.delta
    )
    return Release(events.released(setting), key, lambda: draw(setting.noise, plan.bins, entropy))


def blocking_bytes(agreement: Agreement) -> bytes:
    """Everything of the agreement on which a record's bins depend: parts, their fields, the salt."""
    plain = agreement.model_dump(mode="json")
    names = sorted({name for part in agreement.blocking for name in part.names})
    parts = {
        "blocking": plain["blocking"],
        "fields": {name: plain["fields"][name] for name in names},
        "salt": plain["salt"],
    }
    return json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()


def make_offer(
    agreement: Agreement, side: Side, records: Records, released: Release, ledger: Ledger, dataset: str
) -> Offer:
    """The offer; raises if the budget does not allow the run."""
    cost = ledger.quote(released.ask("offer", dataset, agreement, side))
    found = account(dataset, ledger.runs(), ledger.budgets())
    return Offer(agreement, side, dataset, len(records), records.left_out, released.event, cost, found)
