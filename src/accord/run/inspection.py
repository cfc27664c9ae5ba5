"""What is damaged in a state: its file, row by row, and what only those who know what a run is can judge.

    identity      the card holds, and the key is that of the card
    partners      each card holds
    runs          what is kept of each can be read
    receipts      both signatures hold, and are of the run

Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from accord.errors import AccordError, StateError
from accord.peer.identity import Card, own_card, parse_card
from accord.peer.partners import partners
from accord.run.receipt import receipt_of
from accord.state.folder import State
from accord.state.runs import list_runs


@dataclass(frozen=True)
class Inspection:
    """What was read, and what of it is damaged."""

    runs: int
    bytes: int
    damages: tuple[str, ...]


def inspect_state(state: State) -> Inspection:
    """Everything in a state, read and judged."""
    try:
        with state.store.reading() as opened:
            damages = list(opened.inspect())
            runs = opened.count("run")
    except StateError as error:
        damages, runs = [str(error.reason)], 0
    if not damages:
        damages = list(_judge(state))
    return Inspection(runs, state.store.path.stat().st_size, tuple(damages))


def _judge(state: State) -> Iterator[str]:
    """What is as it was written, and yet wrong."""
    for what, read in (("your identity", own_card), ("the card of a partner", partners)):
        try:
            read(state)
        except AccordError as error:
            yield f"{what} does not hold: {error}"
    found, broken = list_runs(state)
    for name in broken:
        yield f"what is kept of the run {name} cannot be read"
    cards: dict[bytes, Card] = {}

    def parse(pem: bytes, path: Path) -> Card:
        """Most receipts have the same two cards."""
        if pem not in cards:
            cards[pem] = parse_card(pem, path)
        return cards[pem]

    with state.store.reading() as opened:
        for run in found:
            name = run.manifest.run
            if run.manifest.done:
                try:
                    receipt_of(run, bytes(opened.content("part", name, "receipt") or b""), parse)
                except AccordError:
                    yield f"the receipt of the run {name} is none that both sides signed"
