"""What a linkage remembers, so that it can go on after a cut as if nothing had happened.

The program of a party is deterministic between its *steps*: exchanges whose answer comes from the partner. A
journal keeps every answer before anything that follows from it is sent. To resume, the same program runs
again from its beginning and is given the kept answers instead of asking; it arrives at the first step that
was not done with the very state that it had. Masks are no part of this: they are drawn anew.

Every step needs a message from each side to the other, and an answer is kept before the next step begins: who
has kept step n had a message of step n from the partner, which had therefore kept step n − 1. So two journals
that were cut at any moment differ by at most one step. Who is ahead does its last step again with a partner
that has not kept it, and must come to the answer that it had.
"""

from __future__ import annotations

from typing import Protocol

from accord.secure.party import Party


class Journal(Protocol):
    """The answers of one run, in their order."""

    def recall(self) -> bytes | None:
        """The answer of the next step if it was done before."""

    def keep(self, answer: bytes) -> None:
        """Keep the answer of this step; it is on disk when this returns."""


class Forgetful:
    """A journal for runs that are never resumed."""

    def recall(self) -> bytes | None:
        return None

    def keep(self, answer: bytes) -> None:
        pass


def step(journal: Journal, party: Party[bytes]) -> Party[bytes]:
    """Do a step once."""
    known = journal.recall()
    if known is not None:
        party.close()
        return known
    answer = yield from party
    journal.keep(answer)
    return answer
