"""The partners one knows: a name, and the one card that stands for it.

Nothing else is trusted: no authority, no other card, not even a new card of the same partner before it was
taken here.
"""

from __future__ import annotations

import shlex

from accord.errors import TrustError, UsageError
from accord.peer.identity import Card, parse_card
from accord.state.folder import State
from accord.state.store import Row, Transaction


def add_partner(state: State, name: str, card: Card) -> None:
    """Trust this card, and no other, for this partner."""
    if not 0 < len(name) <= 100 or not name.isprintable() or name != name.strip():
        raise UsageError(problem="A partner is named by up to 100 printable characters, as in the agreement.")
    with state.store.writing() as opened:
        opened.put("partner", name=name, card=card.pem.decode(), lost=0)


def remove_partner(state: State, name: str) -> None:
    """Stop trusting this partner."""
    with state.store.writing() as opened:
        require_known(opened, name)
        opened.drop("partner", "name = ?", name)


def require_known(opened: Transaction, name: str) -> Row:
    """The row of a partner."""
    known = {row["name"]: row for row in opened.rows("partner")}
    if name not in known:
        names = ", ".join(known) or "nobody"
        raise UsageError(problem=f"You have no card of '{name}'; you know {names}.")
    return known[name]


def acknowledge(state: State, name: str) -> None:
    """Say that state was lost, here or at this partner's: the next run begins though fewer runs are stated
    than before, if both say so."""
    with state.store.writing() as opened:
        opened.put("partner", **require_known(opened, name) | {"lost": 1})


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
    with state.store.reading() as opened:
        known = list(opened.rows("partner"))
    return {row["name"]: parse_card(row["card"].encode(), state.store.path) for row in known}
