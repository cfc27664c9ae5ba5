"""The journal of a run: the answers of its steps in their order, each a transaction of its own.

The invariant: no answer that was kept is ever taken away, but for a share that both make anew (`meet`), and
none is believed that is not what was kept.
"""

from __future__ import annotations

from accord.errors import PeerError
from accord.protocols.parts.journal import Answer, unfit
from accord.secure.party import Buffer
from accord.state.store import Store


class StoredJournal:
    """A journal to go on with. *Requires*: the run is locked."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run = store, run
        self.steps = count_steps(store, run)
        """How many answers are kept."""
        self._next = 0
        self._shared = self.steps
        """The steps that the partner has kept, too."""

    def require_whole(self) -> None:
        """Raise unless every answer is there as it was kept."""
        for number in range(self.steps):
            self._read(number)

    def first(self) -> bytes | None:
        """The answer of the first step, the partner's commitments."""
        return bytes(self._read(0)) if self.steps else None

    def meet(self, partner_steps: int, at_once: int = 1, anew: bool = False) -> None:
        """Go on where both sides are; the partner may be as many steps behind or ahead as can have been under
        way, see `journal.py`. `anew`: the last step of who is ahead is made anew, and its answer dropped."""
        if abs(partner_steps - self.steps) > at_once:
            raise unfit()
        self._shared = min(self.steps, partner_steps)
        if anew and self.steps > self._shared:
            with self._store.writing() as state:
                state.drop("step", "run = ? AND number >= ?", self._run, self._shared)
            self.steps = self._shared

    @property
    def again(self) -> int:
        return self.steps - self._next

    def recall(self) -> Buffer | None:
        if self._next >= self._shared:
            return None
        self._next += 1
        return self._read(self._next - 1)

    def keep(self, answer: Answer) -> None:
        """Keep an answer; a step that is done again must have the answer that it had."""
        if self._next < self.steps:
            if self._read(self._next) != b"".join(answer):
                raise PeerError(problem="another answer than before the connection was cut")
        else:
            with self._store.writing() as state:
                state.keep("step", self._run, self.steps, answer)
            self.steps += 1
        self._next += 1

    def _read(self, number: int) -> bytearray:
        with self._store.reading() as state:
            found = state.content("step", self._run, number)
        if found is None:
            raise state.damaged(f"step {number + 1} of the run {self._run} is missing")
        return found


def count_steps(store: Store, run: str) -> int:
    """How many steps of a run are kept."""
    with store.reading() as state:
        return state.steps(run)
