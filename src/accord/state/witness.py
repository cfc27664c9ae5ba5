"""What two organisations state of their own runs with each other, and remember of the other's.

Whoever puts an older state back, as a copy of a folder or of a machine does, would draw noise anew for the
same table. Here nobody can see that; the partner can. Each side states how many of its runs with this partner
were charged, and a running hash of their names: in the hello, and again right after each charge. The partner
remembers the last statement, and refuses one with fewer runs, or with as many and another hash.

Runs of the two may go on side by side, so a statement may be overtaken by a later one. The first of a
connection is compared with what was remembered when the connection began, the second with the first.

A statement is never compared with one's own: that one side was charged and the other was not is ordinary. It
says nothing of runs with others. It counts the runs under the names of this agreement, since a partner may
have several.

Who lost state, and has counted by hand what it spent, says so, and the partner confirms it
(`acknowledge` of peer/partners.py). Then the two go on from what they state in the next run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from accord.errors import OlderStateError
from accord.state.folder import State
from accord.state.store import Transaction

NO_LINK = bytes(32)
_TAG = b"accord statement 1\n"


@dataclass(frozen=True)
class Standing:
    """How many runs with the partner were charged, and the hash over their names."""

    runs: int = 0
    link: bytes = NO_LINK
    lost: bool = False
    """Whether the owner has said that state was lost, here or there."""


def own_standing(state: State, partner: str, own: str) -> Standing:
    """What this side, as the agreement calls it, states to a partner."""
    with state.store.reading() as opened:
        charged = opened.rows("run", "partner = ? AND own = ? AND charge IS NOT NULL", partner, own)
        names = [run["name"] for run in sorted(charged, key=lambda run: run["charge"])]
        known = opened.row("partner", "name = ?", partner)
    link = NO_LINK
    for name in names:
        link = hashlib.sha256(_TAG + link + name.encode()).digest()
    return Standing(len(names), link, bool(known and known["lost"]))


def remembered_standing(state: State, partner: str, own: str) -> Standing:
    """What a partner stated last."""
    with state.store.reading() as opened:
        return _remembered(opened, partner, own)


def witness(state: State, partner: str, own: str, told: Standing, before: Standing) -> None:
    """Remember what a partner states. Raises if it stated more `before` it spoke, or other runs."""
    with state.store.writing() as opened:
        known, card = _remembered(opened, partner, own), opened.row("partner", "name = ?", partner)
        both = told.lost and card is not None and bool(card["lost"])
        older = told.runs < before.runs or any(
            told.runs == each.runs and told.link != each.link for each in (before, known)
        )
        if older and not both:
            raise OlderStateError(partner=partner, runs=max(before.runs, known.runs), told=told.runs)
        if told.runs > known.runs or both:
            opened.put("standing", partner=partner, own=own, runs=told.runs, link=told.link.hex())


def _remembered(opened: Transaction, partner: str, own: str) -> Standing:
    row = opened.row("standing", "partner = ? AND own = ?", partner, own)
    return Standing() if row is None else Standing(row["runs"], bytes.fromhex(row["link"]))


def settle_loss(state: State, partner: str) -> None:
    """From now on what was stated counts again."""
    with state.store.writing() as opened:
        known = opened.row("partner", "name = ?", partner)
        if known is not None and known["lost"]:
            opened.put("partner", **known | {"lost": 0})
