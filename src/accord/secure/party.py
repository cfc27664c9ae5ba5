"""A party is a generator that yields what it wants done on the wire and never sees a socket, thread or clock.

It yields `Send(buffer)` or `Receive(size)`; the driver answers a `Receive` with the peer's bytes. Parties
compose with `yield from`. Two rules keep this sound: a buffer that was sent is never written again (it
travels without a copy), and the size of every message is known to the receiver before it arrives, so a
message can carry nothing by its length and a hostile one is refused before it is read.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from accord.errors import PeerError
from accord.side import Side

T = TypeVar("T")
U = TypeVar("U")

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True)
class Send:
    """Send these bytes; whoever yields this gives the buffer away."""

    buffer: Buffer


@dataclass(frozen=True)
class Receive:
    """Wait for one message of exactly this many bytes."""

    size: int
    look: Callable[[Buffer], None] | None = None
    """Shown what has come so far by a driver that gets a message in pieces; it may refuse a long message
    before all of it takes memory. Others answer with the whole, which the party judges anyway."""


Effect = Send | Receive
Party = Generator[Effect, Buffer, T]


class Deadlock(RuntimeError):
    """Two parties that wait for each other, or one that was left alone: a bug of the protocol."""


def send(array: NDArray[Any]) -> Party[None]:
    """Send an array as its little-endian bytes."""
    yield Send(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def receive(size: int, look: Callable[[Buffer], None] | None = None) -> Party[NDArray[np.uint8]]:
    """Wait for one message and refuse it unless it has exactly this size."""
    buffer = yield Receive(size, look)
    if len(buffer) != size:
        raise PeerError(problem=f"a message of {len(buffer):,} bytes where {size:,} were due")
    array = np.frombuffer(buffer, dtype=np.uint8)
    # Kernels are compiled for arrays that can be written; only a small constant message cannot.
    return array if array.flags.writeable else array.copy()


@dataclass
class Wire:
    """What passed between two parties: for tests, baselines and cost.

    `rounds` is the longest chain of messages of which each could depend on the one before.
    """

    sizes: dict[Side, list[int]] = field(default_factory=lambda: {Side.A: [], Side.B: []})
    rounds: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)

    def record(self, sender: Side, buffer: Buffer, depth: int) -> None:
        self.sizes[sender].append(len(buffer))
        self.rounds = max(self.rounds, depth)
        self._digest.update(f"{sender.value}{len(buffer)}:".encode())
        self._digest.update(buffer)

    @property
    def bytes(self) -> int:
        return sum(map(sum, self.sizes.values()))

    @property
    def messages(self) -> int:
        return sum(map(len, self.sizes.values()))

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


class _Driven:
    """One side of a pair: its generator, what waits for it, and how deep in the exchange it is."""

    def __init__(self, side: Side, party: Party[Any]) -> None:
        self.side, self.party = side, party
        self.inbox: deque[tuple[Buffer, int]] = deque()
        self.depth = 0
        self.waiting = False
        self.done = False
        self.result: Any = None

    def advance(self, peer: _Driven, wire: Wire | None) -> bool:
        """Run until it waits for a message that is not there; say whether anything happened."""
        moved = False
        while not self.done and not (self.waiting and not self.inbox):
            moved = True
            try:
                effect = self._resume()
            except StopIteration as end:
                self.done, self.result = True, end.value
                break
            self.waiting = isinstance(effect, Receive)
            if isinstance(effect, Send):
                peer.inbox.append((effect.buffer, self.depth + 1))
                if wire is not None:
                    wire.record(self.side, effect.buffer, self.depth + 1)
        return moved

    def _resume(self) -> Effect:
        if not self.waiting:
            return next(self.party)
        buffer, depth = self.inbox.popleft()
        self.depth = max(self.depth, depth)
        return self.party.send(buffer)


def run_pair(a: Party[T], b: Party[U], *, wire: Wire | None = None) -> tuple[T, U]:
    """Drive both sides in this thread and return both results."""
    left, right = _Driven(Side.A, a), _Driven(Side.B, b)
    try:
        while left.advance(right, wire) | right.advance(left, wire):
            pass
    finally:
        a.close()
        b.close()
    if not (left.done and right.done):
        missing = " and ".join(end.side.value for end in (left, right) if not end.done)
        raise Deadlock(f"{missing} waits for a message that will not come")
    if left.inbox or right.inbox:
        raise Deadlock("a message was sent that nobody reads")
    return left.result, right.result


class Channel(Protocol):
    """One's own end of an ordered connection. `send` must not wait for the peer to receive, unless very much
    of what was sent before is not received yet."""

    def send(self, buffer: Buffer) -> None: ...

    def receive(self, size: int, look: Callable[[Buffer], None] | None = None) -> Buffer: ...


def run(party: Party[T], channel: Channel) -> T:
    """Drive one side over a channel; what fails in the channel is raised in the party, where it waits."""
    try:
        effect = next(party)
        while True:
            try:
                answer = _do(effect, channel)
            except BaseException as error:
                effect = party.throw(error)
            else:
                effect = next(party) if answer is None else party.send(answer)
    except StopIteration as end:
        return end.value
    finally:
        party.close()


def _do(effect: Effect, channel: Channel) -> Buffer | None:
    if isinstance(effect, Receive):
        return channel.receive(effect.size, effect.look)
    channel.send(effect.buffer)
    return None


@dataclass
class Meter:
    """One party's own count of what it sent and received."""

    sent: int = 0
    received: int = 0
    messages: int = 0


def meter_party(party: Party[T], meter: Meter) -> Party[T]:
    """The same party, counted."""
    answer: Buffer = b""
    started = False
    while True:
        try:
            effect = party.send(answer) if started else next(party)
        except StopIteration as end:
            return end.value
        started = True
        answer = yield effect
        meter.messages += 1
        if isinstance(effect, Send):
            meter.sent += len(effect.buffer)
        else:
            meter.received += len(answer)


class _Suspended:
    """A party that was run up to its next `Receive`."""

    def __init__(self, party: Party[Any]) -> None:
        self.party = party
        self.due: Receive | None = None
        self.result: Any = None

    def step(self, buffer: Buffer | None) -> Party[bool]:
        """Deliver a message, pass on what the party sends, stop at its next wait; true when it ended."""
        try:
            effect = next(self.party) if buffer is None else self.party.send(buffer)
            while isinstance(effect, Send):
                yield effect
                effect = next(self.party)
        except StopIteration as end:
            self.result = end.value
            return True
        self.due = effect
        return False


def interleave(parties: Iterator[Party[T]], window: int) -> Party[list[T]]:
    """Run several parties in turns, at most `window` at a time; results in their order.

    While the peer works on one, this side works on another. Both sides must interleave parties that exchange
    messages in the same pattern, with the same window: then the order of messages is the same on both.
    """
    results: list[T] = []
    waiting: deque[_Suspended] = deque()
    source = iter(parties)
    for _ in range(window):
        yield from _refill(source, waiting, results)
    while waiting:
        one = waiting.popleft()
        assert one.due is not None
        buffer = yield one.due
        if (yield from one.step(buffer)):
            results.append(one.result)
            yield from _refill(source, waiting, results)
        else:
            waiting.append(one)
    return results


def _refill(source: Iterator[Party[T]], waiting: deque[_Suspended], results: list[T]) -> Party[None]:
    """Start the next party that has to wait for something."""
    for party in source:
        one = _Suspended(party)
        if not (yield from one.step(None)):
            waiting.append(one)
            return
        results.append(one.result)
