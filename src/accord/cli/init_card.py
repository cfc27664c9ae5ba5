"""The cards that `accord init --from` writes beside an agreement: a page a side, to read and to print."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from accord.cli.terminal import say
from accord.errors import AccordError
from accord.side import Side
from accord.wording import sized

if TYPE_CHECKING:
    from accord.agreement.document import Agreement
    from accord.cli.init_told import Told
    from accord.forecast.expected import Outlook
    from accord.table.layout import Layout


def card_of(agreement: Path, party: str) -> Path:
    """Where the page of a party is: beside the agreement."""
    return agreement.with_name(f"{agreement.stem}.{party}.html")


def own_card(layout: Path) -> Path:
    """Where the page of whoever fitted a table is: beside its layout. It is called after the table, so that
    it never takes the place of a page that is handed over."""
    return layout.with_name(f"{layout.name.removesuffix('.layout.toml')}.card.html")


def require_cards(cards: Iterable[Path], inputs: Iterable[Path], force: bool) -> None:
    """Raise before any work if a page cannot be written, or would replace something."""
    from accord.table.sinks.files import require_target

    read = [*inputs]
    for card in cards:
        require_target(card, read, force, endings=())


def write_cards(agreed: Agreement, out: Path, typed: str, layout: Layout, outlook: Outlook | None) -> None:
    """A page for the owner, with its layout, and one for the partner, made of the agreement alone."""
    from accord.report.card import OwnTable, describe_card
    from accord.table.sinks.files import write_file

    mine, theirs = (card_of(out, agreed.party(side)) for side in Side)
    own = describe_card(agreed, str(out), Side.A, _tell(outlook), OwnTable(typed, layout))
    write_file(mine, own.encode(), replace=True)
    other = describe_card(agreed, out.name, Side.B, _tell_public(outlook))
    write_file(theirs, other.encode(), replace=True)
    partner = agreed.party(Side.B)
    say(f"Wrote {mine}: your card, with what you type next. It stays with you.", err=True)
    say(f"Wrote {theirs}: the card of {partner}. Hand it over with {out}.", err=True)


def write_own_card(agreed: Agreement, agreement: Path, beside: Path, told: Told, layout: Layout) -> None:
    """The page of whoever fitted a table to an agreement that is there."""
    from accord.forecast.expected import look_ahead
    from accord.report.card import OwnTable, describe_card
    from accord.table.sinks.files import write_file

    side = _own_side(agreed, agreement, beside, told.state)
    card, cost = own_card(beside), _tell(look_ahead(agreed, None, None))
    made = describe_card(agreed, str(agreement), side, cost, OwnTable(told.typed, layout))
    write_file(card, made.encode(), replace=True)
    me = agreed.party(side)
    say(f"Wrote {card}: your card as {me}, with what you type next. It stays with you.", err=True)


def _own_side(agreed: Agreement, agreement: Path, beside: Path, state: Path | None) -> Side:
    """By the name of one's identity, where it is of one side; else whoever has table, agreement and the page
    of its owner in one folder drafted it, since that page is never handed over."""
    from accord.peer.identity import own_card as own_identity
    from accord.state.folder import State, state_folder

    named: list[Side] = []
    with suppress(AccordError):
        identity = own_identity(State(state_folder(state, os.environ)))
        named = [side for side in Side if identity and identity.name == agreed.party(side)]
    drafted = card_of(agreement, agreed.party(Side.A)).exists() and agreement.parent.samefile(beside.parent)
    return (named or [Side.A if drafted else Side.B])[0]


def _tell(outlook: Outlook | None) -> str:
    return outlook.describe() if outlook else ""


def _tell_public(outlook: Outlook | None) -> str:
    """What a run takes on any machine: how long it takes on this one is no business of the partner's."""
    if outlook is None:
        return ""
    made, sent = outlook.plan.agreed.comparisons.expected, outlook.plan.agreed.bytes.expected
    return f"{made:,.0f} comparisons, {sized(round(sent))}; how long, `accord plan` says on your machine"
