"""What a linkage remembers, so that it can go on after a cut as if nothing had happened.

The program of a party is deterministic between its *steps*: exchanges whose answer comes from the partner. A
journal keeps every answer before anything that follows from it is sent. To resume, the same program runs
again from its beginning and is given the kept answers instead of asking; it arrives at the first step that
was not done with the very state that it had. Masks are no part of this: they are drawn anew.

Every step needs a message from each side to the other. Up to `UNDER_WAY` steps, rounds of a linkage without
greedy, may be under way at once; they are kept in their order, and every other step begins when all before it
are kept. So step n begins on a side that has kept step n − `UNDER_WAY`. Who has kept step n had a message of
step n from the partner, which had therefore begun it, and kept step n − `UNDER_WAY`: two journals that were
cut at any moment differ by at most `UNDER_WAY` steps, and by more than one only where all of these are
rounds. Who is ahead does those steps again with a partner that has not kept them, and must come to the
answers that it had; a partner that asks for more than an honest one can lack is refused before it learns any.

An answer belongs to a round, not to whoever compared it: a run goes on with any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from accord.errors import PeerError
from accord.secure.party import Buffer, Party

T = TypeVar("T")
UNDER_WAY = 4
"""Steps that may be under way at once. Fixed, since both sides judge the other's journal by it."""
Answer = tuple[Buffer, ...]
"""The bytes of an answer, in one part or in several: to join what may be long would copy it."""


class Journal(Protocol):
    """The answers of one run, in their order."""

    @property
    def again(self) -> int:
        """How many steps, from the next one on, were done before and are done again."""

    def recall(self) -> Buffer | None:
        """The answer of the next step if it was done before and the partner has kept it, too."""

    def keep(self, answer: Answer) -> None:
        """Keep the answer of this step; it is on disk when this returns."""


class Forgetful:
    """A journal for runs that are never resumed."""

    again = 0

    def recall(self) -> Buffer | None:
        return None

    def keep(self, answer: Answer) -> None:
        pass


def step(journal: Journal, party: Party[Answer], read: Callable[[Answer], T]) -> Party[T]:
    """Do a step once, and give what is read in its answer.

    `read` judges the answer by all that can be known of it without sending anything, and raises before it is
    kept: a wrong answer that was kept would be found wrong again by every resume.
    """
    known = journal.recall()
    if known is not None:
        party.close()
        return read((known,))
    if journal.again > 1:
        raise unfit()
    answer = yield from party
    found = read(answer)
    journal.keep(answer)
    return found


def unfit() -> PeerError:
    """What to raise at a partner that says it lacks steps which it must have kept."""
    return PeerError(problem="a number of finished steps that does not fit this run")


def whole(party: Party[bytes]) -> Party[Answer]:
    """An answer in one part."""
    return ((yield from party),)


def halve(answer: Answer, at: int) -> tuple[Buffer, Buffer]:
    """The first bytes of an answer, and the rest: as they came in two parts, or were recalled in one."""
    if len(answer) == 1:
        whole = memoryview(answer[0])
        return whole[:at], whole[at:]
    head, rest = answer
    return head, rest
