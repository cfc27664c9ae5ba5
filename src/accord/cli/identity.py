"""`accord identity` and `accord partner`: who one is, and whom one trusts."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.completion import complete_partner
from accord.cli.options import Json, StateOption, example
from accord.cli.table import print_table
from accord.cli.terminal import say
from accord.errors import OutputError, UsageError

if TYPE_CHECKING:
    from accord.session.identity import Card
    from accord.session.state import State

partner = typer.Typer(
    help="The partners you know, each by one card.",
    epilog=example("accord partner add south-shop south-shop.card"),
    no_args_is_help=True,
)


def identity(
    name: Annotated[str | None, typer.Option(help="What your card calls you.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the card; default: NAME.card")] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Make a new key and card; the old card ends.")
    ] = False,
    state: StateOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace another file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Make your identity, once, and write the card for partners."""
    from accord.records.sinks import write_file
    from accord.session.identity import make_identity, own_card, require_name

    opened = _open(state)
    card = own_card(opened)
    if card is not None and name not in (None, card.name) and not renew:
        problem = f"You are '{card.name}' already. A new name needs a new card: add --renew."
        raise UsageError(problem=problem)
    chosen = name or (card.name if card is not None else None)
    if chosen is None:
        raise UsageError(problem="Say what your card is to call you: accord identity --name 'Hospital A'.")
    require_name(chosen)
    path = out or Path(re.sub(r"[^A-Za-z0-9._-]+", "-", chosen).strip("-.") + ".card")
    # Before a key is made: the old one would be gone, and the new card not written.
    is_there = _judge_place(path, opened, None if renew else card, force)
    if card is None or renew:
        card = make_identity(opened, chosen, datetime.now(UTC))
    if not is_there:
        write_file(path, card.pem, replace=force)
    if as_json:
        typer.echo(json.dumps(_facts(card) | {"card": str(path)}, ensure_ascii=False))
        return
    say(f"{card.name}\nFingerprint  {card.fingerprint}\nCard         {path}, valid to {card.ends:%Y-%m-%d}")
    say("Hand the card to your partner, and read the fingerprint to them over the phone.", err=True)


@partner.command(epilog=example("accord partner add south-shop south-shop.card"))
def add(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The partner, as the agreement names it.",
            show_default=False,
            autocompletion=complete_partner,
        ),
    ],
    card: Annotated[
        Path, typer.Argument(metavar="CARD", help="The card that the partner sent.", show_default=False)
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace the card that you know this partner by.")
    ] = False,
    state: StateOption = None,
) -> None:
    """Trust this card, and no other, for this partner."""
    from accord.session.identity import own_card, read_card
    from accord.session.partners import add_partner, partners

    found, opened = read_card(card), _open(state)
    own = own_card(opened)
    if own is not None and own.der == found.der:
        raise UsageError(
            problem=f"{card} is your own card: you are '{own.name}'. Name the card that the partner sent you."
        )
    old = partners(opened).get(name)
    if old is not None and old.der != found.der and not force:
        raise UsageError(
            problem=f"You know {name} by another card. Known: {old.fingerprint}. New: {found.fingerprint}. "
            "Compare the new one with the partner over the phone; then add --force to replace the old one."
        )
    add_partner(opened, name, found)
    say(
        f"{name}\nFingerprint  {found.fingerprint}\nCalls itself {found.name}, valid to {found.ends:%Y-%m-%d}"
    )
    if old is not None and old.der != found.der:
        say(f"This replaces the card {old.fingerprint}.", err=True)
    say("Compare the fingerprint with the partner over the phone before you link.", err=True)


@partner.command("list", epilog=example("accord partner list"))
def list_(state: StateOption = None, as_json: Json = False) -> None:
    """List the partners you know."""
    from accord.session.partners import partners

    known = partners(_open(state, new=False))
    if as_json:
        typer.echo(json.dumps({name: _facts(card) for name, card in known.items()}, ensure_ascii=False))
        return
    if known:
        rows = [(name, card.fingerprint, card.name, f"{card.ends:%Y-%m-%d}") for name, card in known.items()]
        print_table("Partners", ("partner", "fingerprint", "calls itself", "valid to"), rows)
    else:
        say("You know no partner yet: `accord partner add NAME CARD`.", err=True)


@partner.command(epilog=example("accord partner remove south-shop"))
def remove(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="The partner.", show_default=False, autocompletion=complete_partner
        ),
    ],
    state: StateOption = None,
) -> None:
    """Trust this partner no longer."""
    from accord.session.partners import remove_partner

    remove_partner(_open(state, new=False), name)
    say(f"{name}: removed.")


def _open(state: Path | None, *, new: bool = True) -> State:
    from accord.session.state import open_state

    return open_state(state, os.environ, new=new)


def _facts(card: Card) -> dict[str, str]:
    return {"name": card.name, "fingerprint": card.fingerprint, "valid_to": card.ends.isoformat()}


def _judge_place(path: Path, state: State, card: Card | None, force: bool) -> bool:
    """Whether the card is there already; raises if it cannot be written, or if something would be lost."""
    from accord.records.sinks import require_target, require_writable

    require_writable(path, endings=())
    if path.parent.resolve().is_relative_to(state.folder.resolve()):
        raise OutputError(path=path, reason="nothing but Accord itself writes into the state folder")
    if card is not None and path.is_file() and path.read_bytes() == card.pem:
        return True
    require_target(path, [], force, endings=())
    return False
