"""What stands in for the partner, the journal and the workers while one side of a run is replayed.

A *replayed connection* is a channel that gives what was received and notes what is sent. The journal of a
replay is in memory: its answers follow from the messages, attempt after attempt. Workers are replayed in this
process, each over a connection of its own; how they share the rounds is the very program of the workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from accord.accountable.transcript import Chain, Meeting, around
from accord.entropy import MASKS, Derived, Entropy
from accord.errors import NoRoomError, PeerError
from accord.peer.handshake import Hello
from accord.protocols.parts.journal import Answer
from accord.protocols.parts.shares import Share
from accord.replay.evidence import Signatures
from accord.secure.blocks import Table
from accord.secure.circuit import Circuit
from accord.secure.engine import Engine, find_matches
from accord.secure.party import Buffer, Party, Receive, Send, run
from accord.secure.renewal import Renewing
from accord.side import Side
from accord.workers.sharing import SharedRound

T = TypeVar("T")


class EndOfRecord(Exception):
    """There is no further message."""


class ReplayedConnection:
    """One connection: what was received, and the links of what is sent again."""

    def __init__(
        self,
        meeting: Meeting,
        number: int,
        side: Side,
        inbox: Iterator[Buffer],
        signed: Signatures | None,
    ) -> None:
        self.number, self._side = number, side
        self._inbox, self._known = inbox, {} if signed is None else signed.known
        self._sent, self._received = (Chain(meeting, number, s) for s in (side, side.other))
        self.links: list[bytes] = []
        self.came: list[bytes] = []
        self.sizes: list[int] = []
        """Of the messages that were sent."""
        self.off: list[int] = []
        """Which messages, from 1 on, have another link than is known of them."""
        self.marks: set[tuple[int, int]] = set()
        """Where the side signs: behind how many messages sent and received."""
        self.starved = False
        """Whether the party waited for a message that is not there."""

    @property
    def last(self) -> dict[Side, bytes]:
        """The last links of what A and B sent."""
        return {self._side: self._sent.last, self._side.other: self._received.last}

    def send(self, buffer: Buffer) -> None:
        self.sizes.append(len(buffer))
        self.links.append(self._sent.add(buffer))
        at = len(self.links)
        if self._known.get(at, self.links[-1]) != self.links[-1]:
            self.off.append(at)

    def mark(self) -> None:
        """The side signs here."""
        self.marks.add((len(self.links), len(self.came)))

    def receive(self, size: int, look: Callable[[Buffer], None] | None = None) -> Buffer:
        try:
            message = self._next()
        except EndOfRecord:
            self.starved = True
            raise
        if len(message) != size:
            raise PeerError(problem="a message of another size than was due")
        return message

    def read_on(self, count: int) -> None:
        """Take what was received, up to so many messages, though nobody waits for it any more."""
        try:
            while len(self.came) < count:
                self._next()
        except EndOfRecord:
            return

    def _next(self) -> Buffer:
        message = next(self._inbox, None)
        if message is None:
            raise EndOfRecord
        self.came.append(self._received.add(message))
        return message


def run_noted(party: Party[T], connection: ReplayedConnection, signs_at_end: bool = False) -> T:
    """Run a party over a connection, and note where it signs: behind messages, or also at its end."""
    found = run(around(party, lambda effect: _note(effect, connection)), connection)
    if signs_at_end:
        connection.mark()
    return found


def _note(effect: Send | Receive, connection: ReplayedConnection) -> Party[Buffer | None]:
    answer = yield effect
    if isinstance(effect, Send) and effect.signed:
        connection.mark()
    return answer


class MemoryJournal:
    """The journal of a replay."""

    def __init__(self) -> None:
        self._answers: list[bytes] = []
        self._next = self._shared = 0

    def meet(self, own: Hello, partner: Hello) -> None:
        """Begin an attempt with these hellos: they say how many steps each had kept, and the commitments
        again, which are the answer of the first."""
        if own.steps > len(self._answers):
            raise EndOfRecord
        del self._answers[own.steps :]
        if self._answers and self._answers[0] != partner.commitments:
            raise EndOfRecord
        self._next, self._shared = 0, min(own.steps, partner.steps)

    @property
    def again(self) -> int:
        return len(self._answers) - self._next

    def recall(self) -> Buffer | None:
        if self._next >= self._shared:
            return None
        self._next += 1
        return self._answers[self._next - 1]

    def keep(self, answer: Answer) -> None:
        whole = b"".join(bytes(part) for part in answer)
        if self._next == len(self._answers):
            self._answers.append(whole)
        elif self._answers[self._next] != whole:
            raise PeerError(problem="another answer than before the connection was cut")
        self._next += 1


class ReplayedWorkers:
    """Those who compared in an attempt (workers/sharing.py), each replayed over a connection of its own."""

    def __init__(
        self, cards: list[bytes], connect: Callable[[int], ReplayedConnection], key: Callable[[int], bytes]
    ) -> None:
        self._cards = cards
        """The certificates of the own workers."""
        self._connect, self._key = connect, key
        """The connection of this number, and its key."""
        self._started: Callable[[int], _ReplayedWorker]
        self._workers: list[_ReplayedWorker] = []

    def dismiss(self) -> None:
        pass

    def start(self, count: int, side: Side, engine: Engine, circuit: Circuit) -> list[bytes]:
        if len(self._cards) != count:
            raise EndOfRecord
        self._started = lambda number: _ReplayedWorker(
            side, engine, circuit, self._connect(number), self._key(number)
        )
        return self._cards

    def meet(self, cards: list[bytes], tokens: list[bytes]) -> None:
        self._workers += map(self._started, range(1, len(cards) + 1))

    def give(self, shared: SharedRound, rows: list[Table]) -> None:
        for share, own in zip(shared.shares, rows, strict=True):
            self._workers[share.worker].give(shared, share, own)

    def finish(self, shared: SharedRound) -> None:
        for share in shared.shares:
            self._workers[share.worker].answer_up_to(shared)
        for share in shared.shares:
            self._workers[share.worker].require(shared)

    def end(self) -> None:
        """What workers did for rounds of which nobody took the answers."""
        for worker in self._workers:
            worker.answer_all()


class _ReplayedWorker:
    """One worker: it does its shares in their order until its record ends."""

    def __init__(
        self, side: Side, engine: Engine, circuit: Circuit, connection: ReplayedConnection, key: bytes
    ) -> None:
        self._side, self._engine, self._circuit, self._connection = (
            side,
            Renewing(engine),
            circuit,
            connection,
        )
        self._tasks: deque[tuple[SharedRound, Share, Table]] = deque()
        self._session: Any = None
        self._ended: EndOfRecord | PeerError | None = None
        self._try(self._set_up, Derived(key).stream(MASKS))

    def _set_up(self, masks: Entropy) -> None:
        self._session = run_noted(self._engine.set_up(self._side, masks), self._connection)

    def give(self, shared: SharedRound, share: Share, own: Table) -> None:
        self._tasks.append((shared, share, own))

    def answer_up_to(self, shared: SharedRound) -> None:
        """All shares up to that of a round, as far as the record has them."""
        while self._can_go_on and not self._is_answered(shared):
            self._try(self._one, *self._tasks.popleft())

    def answer_all(self) -> None:
        while self._can_go_on:
            self._try(self._one, *self._tasks.popleft())

    @property
    def _can_go_on(self) -> bool:
        return bool(self._tasks) and self._ended is None

    def _is_answered(self, shared: SharedRound) -> bool:
        return self._connection.number - 1 in shared.found

    def _one(self, shared: SharedRound, share: Share, own: Table) -> None:
        party = find_matches(self._engine, self._session, self._circuit, share.blocks, own)
        shared.answer(share, run_noted(party, self._connection, signs_at_end=True))

    def _try(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except NoRoomError:
            raise
        except (EndOfRecord, PeerError) as end:
            self._ended = end

    def require(self, shared: SharedRound) -> None:
        """Raise why a share has no answer. *Requires*: there is a share for this worker."""
        if self._ended is not None and not self._is_answered(shared):
            raise self._ended
