"""`accord identity` and `accord partner`: who one is, and whom one trusts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import Json, example, named_state
from accord.cli.table import print_table
from accord.cli.terminal import say

if TYPE_CHECKING:
    from accord.peer.identity import Card
    from accord.state.folder import State

partner = typer.Typer(
    help="Add, list or remove the partners you trust.",
    epilog=example("accord partner add south-shop south-shop.card"),
    no_args_is_help=True,
)


def identity(
    context: typer.Context,
    name: Annotated[str | None, typer.Option(help="What your card calls you.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the card; default: NAME.card")] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Make a new key and card; the old card is no longer used.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Create your identity, once, and write the card for partners."""
    from accord.peer.introduction import default_place
    from accord.peer.introduction import identity as make

    card = make(name, out=out, renew=renew, force=force, state=named_state(context))
    path = out or default_place(card.name)
    if as_json:
        typer.echo(json.dumps(_facts(card) | {"card": str(path)}, ensure_ascii=False))
        return
    say(f"{card.name}\nFingerprint  {card.fingerprint}\nCard         {path}, valid to {card.ends:%Y-%m-%d}")
    say("Hand the card to your partner, and read the fingerprint to them over the phone.", err=True)


@partner.command(epilog=example("accord partner add south-shop south-shop.card"))
def add(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The partner, as the agreement names it.",
            show_default=False,
        ),
    ],
    card: Annotated[
        Path, typer.Argument(metavar="CARD", help="The card that the partner sent.", show_default=False)
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace the card that you know this partner by.")
    ] = False,
) -> None:
    """Trust this card, and no other, for this partner."""
    from accord.peer.introduction import trust
    from accord.peer.partners import partners

    old = partners(_open(named_state(context))).get(name)
    found = trust(name, card, force=force, state=named_state(context))
    say(
        f"{name}\nFingerprint  {found.fingerprint}\nCalls itself {found.name}, valid to {found.ends:%Y-%m-%d}"
    )
    if old is not None and old.der != found.der:
        say(f"This replaces the card {old.fingerprint}.", err=True)
    say("Compare the fingerprint with the partner over the phone before you link.", err=True)


@partner.command("list", epilog=example("accord partner list"))
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List the partners you know."""
    from accord.peer.partners import partners

    known = partners(_open(named_state(context), new=False))
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
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The partner.", show_default=False),
    ],
) -> None:
    """Stop trusting this partner."""
    from accord.peer.partners import remove_partner

    remove_partner(_open(named_state(context), new=False), name)
    say(f"{name}: removed.")


@partner.command(epilog=example("accord partner acknowledge south-shop"))
def acknowledge(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The partner.", show_default=False),
    ],
) -> None:
    """Say that state was lost, here or at this partner's.

    The next run with this partner begins although one of you goes on from an older state, if both of you say
    so. Whose state was lost first counts by hand what was spent since: nothing else knows it.
    """
    from accord.peer.partners import acknowledge as say_so

    say_so(_open(named_state(context), new=False), name)
    say(f"{name}: the next run begins also with an older state, if {name} acknowledges it, too.")


def _open(state: Path | None, *, new: bool = True) -> State:
    from accord.state.folder import open_state

    return open_state(state, os.environ, new=new)


def _facts(card: Card) -> dict[str, str]:
    return {"name": card.name, "fingerprint": card.fingerprint, "valid_to": card.ends.isoformat()}
