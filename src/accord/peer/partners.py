"""The partners one knows: a name, and the one card that stands for it.

Nothing else is trusted: no authority, no other card, not even a new card of the same partner before it was
taken here.
"""

from __future__ import annotations

import shlex

from accord.errors import TrustError, UsageError
from accord.peer.identity import Card, parse_card
from accord.state.folder import State
from accord.state.register import PartnerAdded, PartnerRemoved


def add_partner(state: State, name: str, card: Card) -> None:
    """Trust this card, and no other, for this partner."""
    if not 0 < len(name) <= 100 or not name.isprintable() or name != name.strip():
        raise UsageError(problem="A partner is named by up to 100 printable characters, as in the agreement.")
    with state.database.writing() as opened:
        opened.add(PartnerAdded(name, card.pem.decode()))


def remove_partner(state: State, name: str) -> None:
    """Stop trusting this partner."""
    with state.database.writing() as opened:
        known = opened.register.partners
        if name not in known:
            names = ", ".join(sorted(known)) or "nobody"
            raise UsageError(problem=f"You have no card of '{name}'; you know {names}.")
        opened.add(PartnerRemoved(name))


def find_partner(state: State, name: str) -> Card:
    """The card of a partner."""
    known = partners(state)
    if name not in known:
        names = ", ".join(known) or "nobody"
        raise TrustError(
            problem=f"You have no card of '{name}'; you know {names}.",
            mend=f"Take the card that they sent you with `accord partner add '{name}' CARD`.",
        )
    return known[name]


def require_other(state: State, name: str, other: str, own: Card) -> None:
    """Raise if whoever was named as the partner is oneself: only their own card has this name."""
    if name == own.name and name not in partners(state):
        typed = f"`accord link … --partner {shlex.quote(other)}`"
        raise UsageError(problem=f"'{name}' is you; your partner in this agreement is '{other}': {typed}.")


def partners(state: State) -> dict[str, Card]:
    """All partners, by name."""
    with state.database.reading() as opened:
        known = sorted(opened.register.partners.items())
    return {name: parse_card(card.encode(), state.database.path) for name, card in known}
