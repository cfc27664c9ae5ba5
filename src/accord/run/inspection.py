"""What is damaged in a state folder, with what only those who know what a run is can judge.

    identity      the card holds, and the key is that of the card
    partners      each card holds
    receipts      both signatures hold, and are of the run

Nothing is changed but the copy of a receipt, which is written again if it is not the one that was signed.
"""

from __future__ import annotations

from contextlib import suppress

from accord.errors import AccordError, UsageError
from accord.peer.identity import own_card, parse_card
from accord.run.receipt import receipt_of
from accord.state.files import write_private
from accord.state.folder import State
from accord.state.inspection import Advance, InspectedRun, Inspection, tell_run
from accord.state.runs import hold, open_run


def inspect_state(state: State, advance: Advance = lambda read, total: None) -> Inspection:
    """Everything in a state folder, read and judged."""
    found = Inspection(state, advance)
    found.inspect()
    for run in found.runs:
        _inspect_receipt(found, run)
    _inspect_identity(found)
    _inspect_partners(found)
    found.settle()
    return found


def _inspect_identity(found: Inspection) -> None:
    path = found.state.identity
    meaning = "Runs can neither begin nor be signed. Restore it from a copy, or `accord identity --renew`."
    if not path.exists():
        if found.kept:
            found.tell("identity.pem", "it is missing, though runs were made with it", meaning)
        return
    try:
        own_card(found.state)
        found.tick(path.stat().st_size)
    except AccordError:
        found.tell("identity.pem", "it does not hold a card and its key", meaning)


def _inspect_partners(found: Inspection) -> None:
    for name, card in found.register.partners.items():
        try:
            parse_card(card.encode(), found.state.database.path)
        except AccordError:
            meaning = f"Nothing can be linked with them: `accord partner add '{name}' CARD --force`."
            found.tell("state.sqlite", f"the card of {name} does not hold", meaning)


def _inspect_receipt(found: Inspection, run: InspectedRun) -> None:
    """That of a run that is done, and its copy."""
    if not run.manifest.done or not run.is_sound("receipt"):
        if run.manifest.done and "receipt" not in run.names():
            _tell(found, run, "state.sqlite", "has no receipt, though it is done", "The partner has it.")
        return
    try:
        receipt_of(run)
    except AccordError:
        _tell(found, run, "state.sqlite", "has a receipt that both sides did not sign", "The partner has it.")
        return
    # Whoever works on the run may just be writing it.
    with suppress(UsageError), hold(run.path):
        _inspect_receipt_copy(found, run)


def _inspect_receipt_copy(found: Inspection, run: InspectedRun) -> None:
    now = open_run(found.state, run.manifest.run) if found.whole else run
    content, copy = now.read("receipt"), run.receipt
    if copy.exists() and copy.read_bytes() == content:
        return
    if copy.exists():
        meaning = "Nothing here reads it; it was written again as it was signed."
        _tell(found, run, f"runs/{run.manifest.run}/receipt", "has a copy that is another", meaning)
    write_private(copy, content)


def _tell(found: Inspection, run: InspectedRun, place: str, problem: str, meaning: str) -> None:
    name = run.manifest.run
    found.tell(place, f"{tell_run(found.register.runs[name])} {problem}", meaning, name)
