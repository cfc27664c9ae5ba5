"""The foreman: a process between a coordinator and its workers on a cluster.

`python -m accord.workers.foreman` is started by a coordinator, with a socket as its standard input
(messages.py). It joins the cluster, has workers started there, and carries messages: for each worker it holds
one end of a socket, whose other end is the coordinator's, as if the worker were a process on this machine.
What the partner's workers send comes through it, too, as ciphertext (relay.py).

Why a process of its own: Ray takes over signals, ends the process when a cluster is lost, and reads what
comes from it with pickle. The coordinator, which holds the identity, the ledger and the journal, does none
of that, and tells its partner in order what happened whatever becomes of Ray.

When the coordinator closes its socket, or is killed, the workers are ended and the cluster is left; if this
process is killed, Ray ends them, since none is detached.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import threading
from contextlib import suppress
from typing import Any

from accord.entropy import System
from accord.errors import AccordError, TrustError
from accord.wording import counted
from accord.workers import messages
from accord.workers.cluster import Cluster, in_words
from accord.workers.messages import Cause, Count, Failure, Join, Kind
from accord.workers.ray_worker import PROGRAM
from accord.workers.relay import Relay
from accord.workers.routing import TOKEN

PLACE_SECONDS = 60.0
"""For the cluster to make room; less than the coordinator waits for its workers to start."""
_RELAY_SECONDS = 300.0
_WATCH_SECONDS = 1.0


class _CoordinatorSocket:
    """The socket to the coordinator that is one worker's; a failure is the last word on it."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._lock = threading.Lock()
        self._is_over = False

    def send(self, kind: Kind, body: bytes) -> None:
        with self._lock, suppress(OSError):
            if not self._is_over:
                self._is_over = kind is Kind.FAILURE
                messages.send(self.end, kind, body)

    def fail(self, problem: str) -> None:
        self.send(Kind.FAILURE, messages.encode_failure(Failure(Cause.FAULT, problem)))


class _PlacedWorkers:
    """Workers from their start to their end."""

    def __init__(self, cluster: Cluster, ends: list[socket.socket], listens: bool) -> None:
        self._cluster, self._sockets = cluster, [_CoordinatorSocket(end) for end in ends]
        self._tokens = [System().bytes(TOKEN) for _ in ends]
        self.relay = Relay(cluster.host, self._tokens, _RELAY_SECONDS) if listens else None
        _start(self._run)

    def _run(self) -> None:
        """Have the workers started, and tell who is gone, as long as there is a cluster."""
        try:
            if not (actors := self._cluster.place(len(self._sockets), PLACE_SECONDS)):
                room = f"the cluster had no room for {counted(len(self._sockets), 'worker')}"
                return self._sockets[0].fail(f"{room} in {PLACE_SECONDS:.0f} seconds")
            for number, actor in enumerate(actors):
                _start(self._serve, number, actor)
            while True:
                for number, problem in self._cluster.watch(_WATCH_SECONDS).items():
                    self._sockets[number].fail(problem)
        except Exception as error:
            for coordinator in self._sockets:
                coordinator.fail(in_words(error))

    def _serve(self, number: int, actor: Any) -> None:
        """Tell the coordinator what a worker says, in order."""
        coordinator, asked = self._sockets[number], queue.SimpleQueue[Any]()
        try:
            found = self._cluster.wait(actor.program.remote())
            if found != PROGRAM:
                return coordinator.fail(
                    f"its node has another version of accord: {found} instead of {PROGRAM}"
                )
            _start(self._forward, number, actor, asked)
            while (call := asked.get()) is not None:
                said = self._cluster.wait(call)
                if said is not None:
                    coordinator.send(Kind(said[0]), said[1])
        except Exception as error:
            coordinator.fail(in_words(error))

    def _forward(self, number: int, actor: Any, asked: queue.SimpleQueue[Any]) -> None:
        """Tell a worker what the coordinator says; calls of one actor are done in order."""
        coordinator = self._sockets[number]
        try:
            while (message := messages.receive(coordinator.end)) is not None:
                if message.kind is Kind.SOCKET:
                    assert self.relay is not None
                    with socket.socket(fileno=message.descriptors[0]) as partner:
                        self.relay.bring(number, partner)
                    continue
                asked.put(actor.answer.remote(int(message.kind), bytes(message.body)))
                if message.kind is Kind.MEET and self.relay is not None:
                    where = self.relay.where
                    asked.put(actor.call.remote(where.host, where.port, self._tokens[number]))
        except Exception as error:
            # Nobody hears it if it is the socket that was cut.
            coordinator.fail(in_words(error))
        asked.put(None)


def _start(run: Any, *arguments: object) -> None:
    threading.Thread(target=run, args=arguments, daemon=True).start()


def _join(control: socket.socket) -> tuple[Cluster, Join] | None:
    message = messages.receive(control)
    if message is None or message.kind is not Kind.JOIN:
        return None
    join = messages.decode_facts(Join, message.body)
    try:
        cluster = Cluster(join.address, join.vouched)
        messages.send(control, Kind.ROOM, messages.encode_facts(Count(cluster.room)))
        return cluster, join
    except Exception as error:
        cause = Cause.TRUST if isinstance(error, TrustError) else Cause.FAULT
        problem = str(error) if isinstance(error, AccordError) else type(error).__name__
        messages.send(control, Kind.FAILURE, messages.encode_failure(Failure(cause, problem)))
        return None


def _lead(control: socket.socket, cluster: Cluster, listens: bool) -> None:
    """Until the coordinator closes its socket."""
    ends: list[socket.socket] = []
    wanted = 0
    while (message := messages.receive(control)) is not None:
        if message.kind is Kind.HIRE:
            wanted = messages.decode_facts(Count, message.body).workers
            continue
        ends += [socket.socket(fileno=descriptor) for descriptor in message.descriptors]
        if len(ends) == wanted:
            _PlacedWorkers(cluster, ends, listens)


def main() -> None:
    """A foreman over its standard input."""
    # The coordinator hears of an interrupt, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=0)
    joined = _join(control)
    if joined is not None:
        cluster, join = joined
        with suppress(OSError, ValueError):
            _lead(control, cluster, join.listens)
        cluster.leave()
    # Threads that carry messages are in the middle of something; there is nobody left to hear it.
    os._exit(0)


if __name__ == "__main__":
    main()
