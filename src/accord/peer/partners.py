"""The partners one knows: a name, and the one card that stands for it.

    <state>/partners/<digest of the name>.pem   0600   the name in the first line, then the card

Nothing else is trusted: no authority, no other card, not even a new card of the same partner before it was
taken here.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from accord.errors import TrustError, UsageError
from accord.peer.identity import Card, parse_card
from accord.state.folder import State, write_private

_LINE = b"partner: "


def add_partner(state: State, name: str, card: Card) -> None:
    """Trust this card, and no other, for this partner."""
    if not 0 < len(name) <= 100 or not name.isprintable() or name != name.strip():
        raise UsageError(problem="A partner is named by up to 100 printable characters, as in the agreement.")
    write_private(_path(state, name), _LINE + name.encode() + b"\n" + card.pem)


def remove_partner(state: State, name: str) -> None:
    """Stop trusting this partner."""
    known = partners(state)
    if name not in known:
        raise UsageError(problem=f"You have no card of '{name}'; you know {', '.join(known) or 'nobody'}.")
    _path(state, name).unlink()


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
    found = {}
    for path in sorted(state.partners.glob("*.pem")):
        line, _, pem = path.read_bytes().partition(b"\n")
        found[read_name(line, path)] = parse_card(pem, path)
    return dict(sorted(found.items()))


def read_name(line: bytes, path: Path) -> str:
    """The partner whom the first line of a file names."""
    if not line.startswith(_LINE):
        raise TrustError(problem=f"{path} names no partner.", mend="Remove it and add the partner again.")
    return line.removeprefix(_LINE).decode(errors="replace")


def _path(state: State, name: str) -> Path:
    """A file name that any name can have."""
    return state.partners / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.pem"
