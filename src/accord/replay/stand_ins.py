"""What stands in for the partner, the journal and the workers while one side of a run is replayed.

A *line* is a channel that gives what was received and notes what is sent. The journal of a replay is in
memory: its answers follow from the messages, attempt after attempt. Workers are replayed in this process,
each over a line of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.accountable.transcript import Chain, Meeting
from accord.entropy import MASKS, Derived, Entropy
from accord.errors import NoRoomError, PeerError
from accord.peer.handshake import Hello
from accord.protocols.comparers import Comparer, InTurn
from accord.protocols.journal import UNDER_WAY, Answer
from accord.protocols.shares import Share, cut
from accord.replay.evidence import Said
from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import Node
from accord.secure.engine import Engine
from accord.secure.party import Buffer, Party, Send, run
from accord.secure.renewal import Renewing
from accord.side import Side
from accord.workers.certificates import Badge, exchange_badges
from accord.workers.pool import count_workers
from accord.workers.routing import TOKEN

T = TypeVar("T")
Ints = NDArray[np.int64]


class EndOfRecord(Exception):
    """There is no further message."""


class Line:
    """One connection: what was received, and the links of what is sent again."""

    def __init__(
        self,
        meeting: Meeting,
        number: int,
        side: Side,
        inbox: Iterator[Buffer],
        said: Said | None,
    ) -> None:
        self.number = number
        self._inbox, self._known = inbox, {} if said is None else said.known
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


def run_noted(party: Party[T], line: Line, closes: bool = False) -> T:
    """Run a party over a line, and note where it signs: if it `closes` its book, also at its end."""
    found = run(_note(party, line), line)
    if closes:
        line.mark()
    return found


def _note(party: Party[T], line: Line) -> Party[T]:
    try:
        effect = next(party)
        while True:
            try:
                answer = yield effect
            except GeneratorExit:
                raise
            except BaseException as error:
                effect = party.throw(error)
                continue
            if isinstance(effect, Send) and effect.signed:
                line.mark()
            effect = next(party) if answer is None else party.send(answer)
    except StopIteration as end:
        return end.value
    finally:
        party.close()


class Remembered:
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


@dataclass(eq=False)
class Staff:
    """Those who compared in an attempt: this side alone, or its workers."""

    hellos: dict[Side, Hello]
    cards: list[bytes]
    """The certificates of the own workers."""
    line: Callable[[int], Line]
    key: Callable[[int], bytes]
    """The line and the key of the connection of this number."""
    hired: list[_Worker] = field(default_factory=list)

    def gather(
        self, side: Side, engine: Engine, circuit: Node, entropy: Entropy, most: int
    ) -> Party[Comparer]:
        count = count_workers(self.hellos[side].wish, self.hellos[side.other].wish, most)
        if count == 1:
            return (yield from InTurn().gather(side, engine, circuit, entropy, most))
        if len(self.cards) != count:
            raise EndOfRecord
        yield from exchange_badges([Badge(card, entropy.bytes(TOKEN)) for card in self.cards])
        for number in range(1, count + 1):
            self.hired.append(_Worker(side, engine, circuit, self.line(number), self.key(number)))
        return _Shared(self.hired)

    def finish(self) -> None:
        """What workers did for rounds of which nobody heard the answers."""
        for worker in self.hired:
            worker.do(None)


class _Worker:
    """One worker, replayed: it does its shares in their order until its record ends."""

    def __init__(self, side: Side, engine: Engine, circuit: Node, line: Line, key: bytes) -> None:
        self.side, self._engine, self._circuit, self._line = side, Renewing(engine), circuit, line
        self._tasks: deque[tuple[_Asked, Share, Table]] = deque()
        self._session: Any = None
        self._ended: EndOfRecord | PeerError | None = None
        self._try(self._set_up, Derived(key).stream(MASKS))

    def _set_up(self, masks: Entropy) -> None:
        self._session = run_noted(self._engine.set_up(self.side, masks), self._line)

    def give(self, asked: _Asked, share: Share, table: Table) -> None:
        self._tasks.append((asked, share, share.rows(table, self.side is Side.A)))

    def do(self, until: _Asked | None) -> None:
        """All shares up to that of a round, or all of them, as far as the record has them."""
        while self._tasks and self._ended is None:
            if until is not None and any(share.worker in until.found for share in self._own(until)):
                return
            self._try(self._one, *self._tasks.popleft())

    def _own(self, asked: _Asked) -> list[Share]:
        return [share for share in asked.shares if share.worker == self._line.number - 1]

    def _one(self, asked: _Asked, share: Share, own: Table) -> None:
        party = self._engine.evaluate(self._session, self._circuit, share.blocks, own)
        matches = run_noted(party, self._line, closes=True)
        asked.found[share.worker] = share.first + np.flatnonzero(matches)

    def _try(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except NoRoomError:
            raise
        except (EndOfRecord, PeerError) as end:
            self._ended = end

    def require(self, asked: _Asked) -> None:
        """Raise why a share has no answer."""
        if self._ended is not None and any(share.worker not in asked.found for share in self._own(asked)):
            raise self._ended


@dataclass(frozen=True, eq=False)
class _Asked:
    """A round that is shared out."""

    shares: tuple[Share, ...]
    found: dict[int, Ints] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Shared:
    """The workers as a comparer."""

    workers: list[_Worker]
    under_way: int = UNDER_WAY
    _asked: deque[_Asked] = field(default_factory=deque)

    def ask(self, blocks: Blocks, table: Table) -> None:
        asked = _Asked(cut(blocks.a_counts, blocks.b_counts, len(self.workers)))
        self._asked.append(asked)
        for share in asked.shares:
            self.workers[share.worker].give(asked, share, table)

    def answer(self) -> Party[Ints]:
        asked = self._asked.popleft()
        for share in asked.shares:
            self.workers[share.worker].do(asked)
        for share in asked.shares:
            self.workers[share.worker].require(asked)
        yield from ()
        return np.concatenate([np.zeros(0, np.int64), *(asked.found[share.worker] for share in asked.shares)])
