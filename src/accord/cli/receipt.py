"""`accord receipt`: what a run's receipt says, who signed it, and whether an output is the one it names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import StateOption

if TYPE_CHECKING:
    from accord.session.receipt import Receipt
    from accord.session.state import State

app = typer.Typer(help="Show a receipt, or verify it.", no_args_is_help=True)

Which = Annotated[str, typer.Argument(metavar="RUN_OR_FILE", help="A run of yours, or a receipt's file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def show(which: Which, as_json: Json = False, state: StateOption = None) -> None:
    """Print what a receipt says; both signatures must hold."""
    receipt, _ = _opened(which, state)
    facts = receipt.facts
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    typer.echo(f"Run          {facts['run']}")
    typer.echo(f"Agreement    {facts['agreement']}")
    typer.echo(f"Protocol     {facts['protocol']}, engine {facts['engine']}")
    typer.echo(f"Matches      {facts['matches']:,}, in {facts['comparisons']:,} secure comparisons")
    typer.echo(f"Output       {facts['output']} (a digest under a key that only the two sides have)")
    for side, party in facts["parties"].items():
        shown = ", ".join(party["disclosed"]) or "no column"
        typer.echo(
            f"{side}            {party['name']}: {party['records']:,} records, noisy total "
            f"{party['noisy_total']:,}; ε = {party['epsilon']}, δ = {party['delta']}; disclosed {shown} of "
            f"matching records; Accord {party['accord']}, {party['time']}"
        )


@app.command()
def verify(
    which: Which,
    out: Annotated[
        Path | None, typer.Option(help="An output: is it the one that was signed?", show_default=False)
    ] = None,
    as_json: Json = False,
    state: StateOption = None,
) -> None:
    """Verify both signatures and say whose they are; with --out, also that a file is the run's output."""
    from accord.session.receipt import require_output

    receipt, opened = _opened(which, state)
    signers = {side.value: _signer(receipt, side.value, opened) for side in receipt.cards}
    if out is not None:
        from accord.session.store import read_output_key
        from accord.truth import read_truth

        require_output(receipt, read_output_key(opened, receipt.facts["run"]), read_truth(out), out)
    if as_json:
        body = {"run": receipt.facts["run"], "signers": signers, "output_checked": out is not None}
        typer.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    for side, signer in signers.items():
        known = signer["known_as"]
        trust = f"known here as {known}" if known else "not known here: compare the fingerprint"
        typer.echo(f"{side}  signed with the card '{signer['card']}', {signer['fingerprint']}, {trust}")
    if out is not None:
        typer.echo(f"{out} holds the very pairs that both signed.")


def _opened(which: str, state: Path | None) -> tuple[Receipt, State]:
    from accord.errors import UsageError
    from accord.session.receipt import read_receipt
    from accord.session.state import open_state
    from accord.session.store import open_run

    opened = open_state(state, os.environ)
    if Path(which).is_file():
        return read_receipt(Path(which)), opened
    run = open_run(opened, which)
    if not run.manifest.done:
        raise UsageError(problem=f"The run {which} has no receipt yet. Go on with `accord resume {which}`.")
    return read_receipt(run.receipt), opened


def _signer(receipt: Receipt, side: str, state: State) -> dict[str, str | None]:
    """The card of one side, and under which name it is trusted here now."""
    from accord.secure.circuit import Side
    from accord.session.identity import own_card
    from accord.session.partners import partners

    card = receipt.cards[Side(side)]
    own = own_card(state)
    known = {partner.der: name for name, partner in partners(state).items()}
    if own is not None:
        known[own.der] = "yourself"
    return {"card": card.name, "fingerprint": card.fingerprint, "known_as": known.get(card.der)}
