"""What a run would release and spend: everything its owner should know before saying yes.

Nothing is drawn here and nothing is charged.
"""

from __future__ import annotations

from dataclasses import dataclass

from accord.agreement.disclosure import learned_about
from accord.agreement.document import Agreement
from accord.privacy.events import Cost, Event
from accord.records.columns import Records
from accord.session.accounts import Account, account
from accord.session.ledger import Ask, Ledger
from accord.side import Side


@dataclass(frozen=True)
class Offer:
    """What the owner of the data is asked to agree to."""

    agreement: Agreement
    side: Side
    dataset: str
    snapshot: str | None
    records: int
    left_out: int
    event: Event
    cost: Cost
    """What this run would be charged: nothing if the release of the snapshot was paid for before."""
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
        return self.agreement.leakage(self.side).warnings(self.records)


def make_offer(agreement: Agreement, side: Side, records: Records, ledger: Ledger, ask: Ask) -> Offer:
    """The offer; raises if the budget does not allow the run."""
    cost = ledger.quote(ask)
    found = account(ask.dataset, ledger.runs(), ledger.budgets())
    snapshot = ask.snapshot.name if ask.snapshot is not None else None
    return Offer(
        agreement, side, ask.dataset, snapshot, records.size, records.left_out, ask.event, cost, found
    )
