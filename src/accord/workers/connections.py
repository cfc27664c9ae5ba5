"""The coordinator's connections to its workers: a socket to each, over which all is said (messages.py).

Where a worker is, and how it was started, is not known here. One thread a socket does nothing but listen, so
that a worker is never kept waiting by another, and that an end is noticed at once.

While this side waits for its workers it listens to the partner's coordinator, too, which may have stopped. A
worker that fails, or dies, is an error here: which one tells who is to blame, this side, the partner, or the
connection between them.
"""

from __future__ import annotations

import math
import queue
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn, Protocol

from accord.errors import ConnectionLostError, PeerError, WorkerError
from accord.workers import messages
from accord.workers.messages import Cause, Kind, Message

MEET_SECONDS = 90.0
"""For all workers to start; and again for them to meet those of the partner."""
_AGAIN_SECONDS = 0.25
_REASON_SECONDS = 3.0
"""For the partner's coordinator to say why its workers ended."""


class Workers(Protocol):
    """Workers by their numbers, wherever they are."""

    def start(self, count: int) -> None:
        """Start so many."""

    def send(self, worker: int, kind: Kind, *parts: bytes | memoryview) -> None:
        """Tell a worker something; does not raise if it is gone."""

    def hand_over(self, worker: int, connection: socket.socket) -> None:
        """Give a connection to a worker; does not raise if it is gone."""

    def receive(self, seconds: float) -> tuple[int, Message | None] | None:
        """What a worker says next, within so many seconds; no message if it has ended."""

    def how_it_ended(self, worker: int) -> str:
        """In words."""

    def end(self) -> None:
        """End all of them; none is left when this returns."""


class WorkerSockets:
    """Sockets by the numbers of their workers, from 0 on."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._received: queue.SimpleQueue[tuple[int, Message | None]] = queue.SimpleQueue()

    def send(self, worker: int, kind: Kind, *parts: bytes | memoryview) -> None:
        """Tell a worker something; that it is gone is told by `receive`."""
        with suppress(OSError):
            messages.send(self._sockets[worker], kind, *parts)

    def hand_over(self, worker: int, connection: socket.socket) -> None:
        """Give a connection to a worker."""
        with suppress(OSError):
            messages.hand_over(self._sockets[worker], connection)

    def receive(self, seconds: float) -> tuple[int, Message | None] | None:
        """What a worker says next, within so many seconds; no message if it has ended."""
        try:
            return self._received.get(timeout=seconds)
        except queue.Empty:
            return None

    def open(self) -> socket.socket:
        """One more socket; its other end, for the worker."""
        ours, theirs = socket.socketpair()
        number = len(self._sockets)
        self._sockets.append(ours)
        threading.Thread(target=self._follow, args=(number, ours), daemon=True).start()
        return theirs

    def shut_down(self) -> None:
        """Let every worker know that this is the end."""
        for ours in self._sockets:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for ours in self._sockets:
            ours.close()

    def _follow(self, number: int, ours: socket.socket) -> None:
        """Pass on all that one worker says."""
        message: Message | None = None
        with suppress(OSError, ValueError):
            while (message := messages.receive(ours)) is not None:
                self._received.put((number, message))
        self._received.put((number, None))


class PartnerConnection(Protocol):
    """The connection to the partner's coordinator."""

    def attend(self) -> None:
        """Raise if the partner stopped, or is gone."""

    def lost(self, problem: str) -> ConnectionLostError:
        """What to raise when a connection to the partner ended."""


@dataclass(frozen=True)
class Replies:
    """What workers say, while the partner is listened to as well."""

    workers: Workers
    partner: PartnerConnection

    def next(self, until: float = math.inf) -> tuple[int, Message] | None:
        """What a worker says next, in time; raises what became of one that ended."""
        while time.monotonic() < until:
            self.partner.attend()
            reply = self.workers.receive(_AGAIN_SECONDS)
            if reply is None:
                continue
            worker, message = reply
            if message is None:
                raise WorkerError(number=worker + 1, problem=self.workers.how_it_ended(worker))
            if message.kind is Kind.FAILURE:
                self._raise(worker, message)
            return worker, message
        return None

    def from_all(self, kind: Kind, count: int) -> list[bytearray]:
        """What each of the workers says, once, of this kind."""
        found: dict[int, bytearray] = {}
        until = time.monotonic() + MEET_SECONDS
        while len(found) < count:
            reply = self.next(until)
            if reply is None:
                raise self._late(kind, min(set(range(count)) - set(found)))
            worker, message = reply
            if message.kind is not kind or worker in found:
                raise WorkerError(number=worker + 1, problem=f"it said {message.kind.name}")
            found[worker] = message.body
        return [found[worker] for worker in range(count)]

    def _late(self, kind: Kind, worker: int) -> Exception:
        """Who has not said it in time: a worker of this side, unless it waits for one of the partner's."""
        if kind is Kind.CERTIFICATE:
            return WorkerError(number=worker + 1, problem="it did not start in time")
        return self.partner.lost("did not bring all of its workers in time")

    def _raise(self, worker: int, message: Message) -> NoReturn:
        failure = messages.decode_failure(message.body)
        if failure.cause is Cause.PARTNER:
            raise PeerError(problem=failure.problem)
        if failure.cause is Cause.FAULT:
            raise WorkerError(number=worker + 1, problem=failure.problem)
        until = time.monotonic() + _REASON_SECONDS
        while time.monotonic() < until:
            self.partner.attend()
            time.sleep(_AGAIN_SECONDS / 10)
        raise self.partner.lost("was cut between two workers")
