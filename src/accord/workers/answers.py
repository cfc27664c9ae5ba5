"""What workers say. While this side waits for them it listens to the partner's coordinator, too, which may
have stopped.

A worker that fails, or dies, is an error here: which one tells who is to blame, this side, the partner, or
the line between them.
"""

from __future__ import annotations

import math
import socket
import time
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

    def say(self, worker: int, kind: Kind, *parts: bytes | memoryview) -> None:
        """Tell a worker something; does not raise if it is gone."""

    def hand_over(self, worker: int, connection: socket.socket) -> None:
        """Give a connection to a worker; does not raise if it is gone."""

    def hear(self, seconds: float) -> tuple[int, Message | None] | None:
        """What a worker says next, within so many seconds; no message if it has ended."""

    def how_it_ended(self, worker: int) -> str:
        """In words."""

    def end(self) -> None:
        """End all of them; none is left when this returns."""


class Line(Protocol):
    """The connection to the partner's coordinator."""

    def attend(self) -> None:
        """Raise if the partner stopped, or is gone."""

    def lost(self, problem: str) -> ConnectionLostError:
        """What to raise when a connection to the partner ended."""


@dataclass(frozen=True)
class Heard:
    """Listens to the workers, and to the partner meanwhile."""

    workers: Workers
    line: Line

    def next(self, until: float = math.inf) -> tuple[int, Message] | None:
        """What a worker says next, in time; raises what became of one that ended."""
        while time.monotonic() < until:
            self.line.attend()
            heard = self.workers.hear(_AGAIN_SECONDS)
            if heard is None:
                continue
            worker, message = heard
            if message is None:
                raise WorkerError(number=worker + 1, problem=self.workers.how_it_ended(worker))
            if message.kind is Kind.FAILURE:
                self._raise(worker, message)
            return worker, message
        return None

    def all_say(self, kind: Kind, count: int) -> list[bytearray]:
        """What each of the workers says, once, of this kind."""
        found: dict[int, bytearray] = {}
        until = time.monotonic() + MEET_SECONDS
        while len(found) < count:
            heard = self.next(until)
            if heard is None:
                raise self._late(kind, min(set(range(count)) - set(found)))
            worker, message = heard
            if message.kind is not kind or worker in found:
                raise WorkerError(number=worker + 1, problem=f"it said {message.kind.name}")
            found[worker] = message.body
        return [found[worker] for worker in range(count)]

    def _late(self, kind: Kind, worker: int) -> Exception:
        """Who has not said it in time: a worker of this side, unless it waits for one of the partner's."""
        if kind is Kind.BADGE:
            return WorkerError(number=worker + 1, problem="it did not start in time")
        return self.line.lost("did not bring all of its workers in time")

    def _raise(self, worker: int, message: Message) -> NoReturn:
        failure = messages.decode_failure(message.body)
        if failure.cause is Cause.PARTNER:
            raise PeerError(problem=failure.problem)
        if failure.cause is Cause.FAULT:
            raise WorkerError(number=worker + 1, problem=failure.problem)
        until = time.monotonic() + _REASON_SECONDS
        while time.monotonic() < until:
            self.line.attend()
            time.sleep(_AGAIN_SECONDS / 10)
        raise self.line.lost("was cut between two workers")
