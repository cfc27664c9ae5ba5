"""`accord receipt`: what a run's receipt says, who signed it, and whether an output is the one it names."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.cli.options import named_state
from accord.cli.places import find_table, shown
from accord.cli.terminal import say
from accord.wording import counted, tell_kept

if TYPE_CHECKING:
    from accord.run.receipt import Receipt
    from accord.side import Side
    from accord.state.folder import State
    from accord.table.sources.opening import Place

Signers = dict[str, dict[str, str | bool | None]]


def receipt(
    context: typer.Context,
    which: Annotated[str, typer.Argument(metavar="RUN_OR_FILE", help="A run of yours, or a receipt's file.")],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="An output, a file or a table: is it the one that was signed?",
            show_default=False,
            path_type=str,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print a receipt, and verify who signed it.

    Both signatures must be valid. Each card must be your own, or that of a partner you know by the name in
    the receipt; otherwise it ends with exit code 9.

    With --out, also that a file or a table holds exactly the pairs, or the answer, that both signed, in any
    order. Disclosed columns are not part of it. It takes a run that is kept here, and not one in which the
    other side alone was given the pairs.
    """
    opened, state = _open(which, named_state(context))
    signers = {side.value: _signer(opened, side, state) for side in opened.cards}
    trusted = all(signer["trusted"] for signer in signers.values())
    place = None if out is None else find_table(out)
    if place is not None and trusted:
        _require_output(opened, state, place)
    _require_known(opened, state)
    if as_json:
        checks = {"signers": signers, "output_checked": place is not None and trusted}
        # In ASCII: a column's name may hold what steers a terminal.
        typer.echo(json.dumps({**opened.facts, **checks}, indent=2))
    else:
        _print(opened, which, state)
        _print_signers(signers)
    if not trusted:
        _refuse(opened, signers)
    if place is not None and not as_json:
        what = "answer" if opened.facts["matches"] is None else "pairs"
        say(f"{shown(place)} holds exactly the {what} that both signed.")


def _print(receipt: Receipt, which: str, state: State) -> None:
    """What the receipt says."""
    from accord.privacy.events import tell_unless

    facts = receipt.facts
    say(f"Run          {facts['run']}")
    say(f"Agreement    {facts['agreement']}")
    say(f"Protocol     {facts['protocol']}, engine {facts['engine']}")
    compared = counted(facts["comparisons"], "secure comparison")
    if facts["matches"] is None:
        say(f"Matches      not in it: no pairs were shown to both sides; {compared}")
        _say_end(which, state)
    else:
        say(f"Matches      {tell_kept(facts['matches'], facts.get('matches_found'))}, in {compared}")
    say(f"Output       {facts['output']} (a digest under a key that only the two sides have)")
    for side, party in facts["parties"].items():
        shown = ", ".join(_printable(name) for name in party["disclosed"]) or "no column"
        epsilon, delta = (party[name] or "none" for name in ("epsilon", "delta"))
        most = party.get("records_per_person")
        people = f" for each person with up to {most:,} records" if most else ""
        people += tell_unless(party["unless"])
        records = counted(party["records"], "record")
        say(
            f"{side}            {party['name']}, card {party['card']}: {records}, "
            f"noisy total {party['noisy_total']:,}; ε = {epsilon}, δ = {delta}{people}; disclosed {shown} of "
            f"matching records; Accord {party['accord']}, {party['time']}"
        )


def _say_end(which: str, state: State) -> None:
    """What came out, where it is a run of one's own that is named: a receipt has its digest alone."""
    from accord.run.answered import answer_of, tell_hidden
    from accord.state.runs import open_run

    if os.path.isfile(which):
        return
    known = open_run(state, which).manifest
    if (answer := answer_of(known)) is not None:
        for line in answer.describe():
            say(f"Answer       {_printable(line)}")
    else:
        shown = known.matches is not None
        found = f"{known.matches:,}, which only your side was told" if shown else tell_hidden(known)
        say(f"Pairs        {found}")


def _require_known(receipt: Receipt, state: State) -> None:
    """Raise where one's own side signed for a run of which nothing is known here."""
    from accord.errors import StateError
    from accord.peer.identity import own_card

    own, run = own_card(state), receipt.facts["run"]
    with state.store.reading() as opened:
        known = opened.has("run", "name = ? AND charge IS NOT NULL", run)
    if not known and own is not None and own.der in (card.der for card in receipt.cards.values()):
        raise StateError(
            path=state.store.path,
            reason=f"it does not know the run {run}, whose receipt you had signed, so it is an older copy",
            mend="Restore the latest one: what was spent since is not in it.",
        )


def _require_output(receipt: Receipt, state: State, out: Place) -> None:
    from accord.errors import DataError, Fault
    from accord.run.receipt import require_output
    from accord.simulation.truth import read_truth
    from accord.state.runs import open_run
    from accord.table.layout import Layout
    from accord.table.sources.opening import column_names

    run = open_run(state, receipt.facts["run"])
    key = run.output_key(receipt.facts["output"])
    if receipt.facts["matches"] is None:
        from accord.run.answered import agreement_of, require_answer, require_checkable

        agreed = agreement_of(run.manifest)
        require_checkable(agreed)
        return require_answer(receipt, key, agreed, out)
    if not {"id_a", "id_b"} <= set(column_names(out, Layout())):
        problem = "It has no columns id_a and id_b, so no run wrote it."
        raise DataError(shown(out), [Fault("", problem, "Name the output of the run.")])
    require_output(receipt, key, read_truth(out), out)


def _print_signers(signers: Signers) -> None:
    for side, signer in signers.items():
        known = signer["known_as"]
        trust = f"known here as {known}" if known else "not known here: compare the fingerprint"
        say(f"{side}  signed with the card '{signer['card']}', {signer['fingerprint']}, {trust}")


def _refuse(receipt: Receipt, signers: Signers) -> None:
    """Whoever makes two cards can sign a receipt for both sides: only known cards say who did."""
    from accord.errors import TrustError

    names = " and ".join(
        f"{receipt.facts['parties'][side]['name']} ({side})"
        for side, signer in signers.items()
        if not signer["trusted"]
    )
    raise TrustError(
        problem=f"The signatures hold, but nothing here says that they are those of {names}.",
        mend="Compare the fingerprint by phone and take the card with `accord partner add`.",
    )


def _printable(text: str) -> str:
    """The text with a mark in place of whatever could steer a terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _open(which: str, state: Path | None) -> tuple[Receipt, State]:
    from accord.errors import UsageError
    from accord.run.receipt import read_receipt, receipt_of
    from accord.run.remembered import no_receipt
    from accord.state.folder import open_state
    from accord.state.runs import open_run

    opened = open_state(state, os.environ, new=False)
    if os.path.isfile(which):
        return read_receipt(Path(which)), opened
    run = open_run(opened, which)
    if not run.manifest.done:
        again = f" Continue with `accord resume {which}`." if run.manifest.state == "waits" else ""
        raise UsageError(problem=f"The run {which} is not done. {no_receipt(run.manifest.state)}{again}")
    return receipt_of(run), opened


def _signer(receipt: Receipt, side: Side, state: State) -> dict[str, str | bool | None]:
    """The card of one side, as whose it is known here now, and whether that is whom the receipt names."""
    from accord.peer.identity import own_card
    from accord.peer.partners import partners

    card, name = receipt.cards[side], receipt.facts["parties"][side.value]["name"]
    own = own_card(state)
    names = [known for known, partner in partners(state).items() if partner.der == card.der]
    is_own = own is not None and own.der == card.der
    trusted = is_own or name in names
    known_as = "yourself" if is_own else name if trusted else next(iter(names), None)
    return {
        "card": card.name,
        "fingerprint": card.fingerprint,
        "known_as": known_as,
        "trusted": trusted,
    }
