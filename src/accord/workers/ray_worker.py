"""A worker as an actor of Ray: on a node of the owner's cluster, with messages as its calls.

Bytes in, bytes out, as over a socket (messages.py); Ray knows of no object of ours. The class is found on the
node, not sent there: what runs is the program that the owner of the node has installed, and it must be the
same as the coordinator's.

Ray starts it once and never again, and repeats no call: a second attempt would be another worker, with other
masks, for which both sides must begin anew.
"""

from __future__ import annotations

import threading

import ray

from accord.peer.connect import HostPort
from accord.peer.handshake import WIRE
from accord.version import __version__
from accord.workers.messages import Cause, Failure, Kind, Message, encode_failure
from accord.workers.relay import call_relay
from accord.workers.resources import Peak
from accord.workers.worker import Service

PROGRAM = f"{__version__}, wire {WIRE}"
"""What must be the same on all machines of a side."""
WATCH = "watch"
"""Calls of this group do not wait for the others, which are done one by one."""


class RayWorker:
    """What Ray starts on a node."""

    def __init__(self) -> None:
        # For as long as the actor is there: Ray ends it with its process.
        self._service = Service(Peak().__enter__().read)

    def program(self) -> str:
        """Which version this node has."""
        return PROGRAM

    def answer(self, kind: int, body: bytes) -> tuple[int, bytes] | None:
        """What the worker says to a message."""
        return self._service.answer(Message(Kind(kind), bytearray(body)))

    def call(self, host: str, port: int, token: bytes) -> tuple[int, bytes] | None:
        """Call the relay, upon which the partner's worker is at the other end; what the worker says to it."""
        try:
            made = call_relay(HostPort(host, port), token)
        except OSError as error:
            problem = f"its node cannot call this machine at {host} ({error.strerror or 'no answer in time'})"
            return Kind.FAILURE, encode_failure(Failure(Cause.FAULT, problem))
        return self._service.answer(Message(Kind.SOCKET, bytearray(), (made.detach(),)))

    @ray.method(concurrency_group=WATCH)  # type: ignore[untyped-decorator]
    def stay(self) -> None:
        """Never returns: who waits for it hears at once that this worker is gone."""
        threading.Event().wait()
