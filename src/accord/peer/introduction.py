"""How two organisations get to know each other: each makes an identity and trusts the other's card.

Both functions are of the public face, and `accord identity` and `accord partner add` are the same on the
command line. The one rule: a key is never replaced, and a known partner's card never exchanged, unless its
owner says so.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from accord.arguments import as_path, as_path_or_none, require_flag, require_text, require_text_or_none
from accord.errors import OutputError, UsageError
from accord.peer.identity import Card, make_identity, own_card, read_card, require_name
from accord.peer.partners import add_partner, partners
from accord.state.folder import State, open_state
from accord.table.sinks.files import require_target, require_writable, write_file


def identity(
    name: str | None = None,
    *,
    out: Path | str | None = None,
    renew: bool = False,
    force: bool = False,
    state: Path | str | None = None,
) -> Card:
    """Make your identity, once, and write the card for partners; the card.

    The key stays in the state folder. The card is written to `out`, by default `NAME.card`; a different
    existing file is replaced only with `force`. Later calls write the same card again; `renew` makes a new
    key and card, and partners have to take the new one.
    """
    require_text_or_none("name", name, "Hospital A")
    require_flag("renew", renew)
    require_flag("force", force)
    path, folder = as_path_or_none("out", out), as_path_or_none("state", state)
    opened = open_state(folder, os.environ)
    card = own_card(opened)
    chosen = _choose_name(name, card, renew)
    require_name(chosen)
    path = path or default_place(chosen)
    # Before a key is made: the old one would be gone, and the new card not written.
    is_there = _judge_place(path, opened, None if renew else card, force)
    if card is None or renew:
        card = make_identity(opened, chosen, datetime.now(UTC))
    if not is_there:
        write_file(path, card.pem, replace=force)
    return card


def default_place(name: str) -> Path:
    """The file for a card that calls its owner so."""
    return Path(re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") + ".card")


def _choose_name(name: str | None, card: Card | None, renew: bool) -> str:
    """What the card calls its owner: who has a name keeps it, but for a new card."""
    if card is not None and name not in (None, card.name) and not renew:
        raise UsageError(
            problem=f"You are '{card.name}' already. A new name needs a new card, which `renew=True` makes."
        )
    chosen = name or (card.name if card is not None else None)
    if chosen is None:
        raise UsageError(problem="Say with `name=` what your card is to call you, such as 'Hospital A'.")
    return chosen


def _judge_place(path: Path, state: State, card: Card | None, force: bool) -> bool:
    """Whether the card is there already; raises if it cannot be written, or if something would be lost."""
    require_writable(path, endings=())
    if path.parent.resolve().is_relative_to(state.folder.resolve()):
        raise OutputError(path=path, reason="nothing but Accord itself writes into the state folder")
    if card is not None and path.is_file() and path.read_bytes() == card.pem:
        return True
    require_target(path, [], force, endings=())
    return False


def trust(partner: str, card: Path | str, *, force: bool = False, state: Path | str | None = None) -> Card:
    """Trust the card in this file, and no other, for this partner; the card.

    `partner` is the other party as the agreement names it. Compare the card's `fingerprint` with the partner
    over the phone before you link. The known card of a partner is replaced only with `force`.
    """
    require_text("partner", partner, "south-shop")
    path, folder = as_path("card", card), as_path_or_none("state", state)
    require_flag("force", force)
    found, opened = read_card(path), open_state(folder, os.environ)
    own = own_card(opened)
    if own is not None and own.der == found.der:
        raise UsageError(
            problem=f"{path} is your own card: you are '{own.name}'. Name the card that the partner sent you."
        )
    old = partners(opened).get(partner)
    if old is not None and old.der != found.der and not force:
        raise UsageError(
            problem=f"You know {partner} by another card. Known: {old.fingerprint}. New: "
            f"{found.fingerprint}. Compare the new one with the partner over the phone; then `force=True` "
            "replaces the old one."
        )
    add_partner(opened, partner, found)
    return found
