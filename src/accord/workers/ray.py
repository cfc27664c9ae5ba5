"""Workers on the owner's Ray cluster, as their coordinator sees them: sockets, served by a foreman.

The invariant is that of all workers: when `end` returns the foreman (foreman.py) has left the cluster, and
Ray has ended what ran there; if it does not in time it is killed, upon which Ray ends them by itself.
"""

from __future__ import annotations

import importlib.util
import socket
import time
from contextlib import suppress

from accord.errors import TrustError, UsageError
from accord.workers import messages
from accord.workers.connections import WorkerSockets
from accord.workers.local import end_process, start_module
from accord.workers.messages import Cause, Count, Join, Kind

_JOIN_SECONDS = 60.0
_LEAVE_SECONDS = 15.0


class RayWorkers(WorkerSockets):
    """Actors by their numbers from 0 on; the cluster has been joined."""

    def __init__(self, address: str, vouched: bool, listens: bool) -> None:
        super().__init__()
        if importlib.util.find_spec("ray") is None:
            raise UsageError(problem="Workers on a cluster need Ray: `pip install 'accord[ray]'`.")
        self._control, theirs = socket.socketpair()
        # Ray tells every worker where its driver started, for it to find modules there: nothing of ours.
        self._foreman = start_module("accord.workers.foreman", theirs, folder="/")
        try:
            self.room = self._join(Join(address, vouched, listens))
            """How many workers the cluster has room for."""
        except BaseException:
            # It has started nothing yet that would have to be ended in order.
            self._foreman.kill()
            self.end()
            raise

    def start(self, count: int) -> None:
        """Start so many."""
        with suppress(OSError):
            messages.send(self._control, Kind.HIRE, messages.encode_facts(Count(count)))
        for _ in range(count):
            with self.open() as theirs, suppress(OSError):
                messages.hand_over(self._control, theirs)

    def how_it_ended(self, worker: int) -> str:
        """In words."""
        return "Ray ended the process that leads the workers, as it does when a cluster is lost"

    def end(self) -> None:
        """End all of them."""
        self.shut_down()
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        end_process(self._foreman, time.monotonic() + _LEAVE_SECONDS)
        self._control.close()
        self.close()

    def _join(self, join: Join) -> int:
        """How many workers have room on the cluster; raises why it cannot be joined, or should not be."""
        self._control.settimeout(_JOIN_SECONDS)
        message = None
        with suppress(OSError):
            messages.send(self._control, Kind.JOIN, messages.encode_facts(join))
            message = messages.receive(self._control)
        self._control.settimeout(None)
        if message is None:
            problem = f"The Ray cluster did not answer in {_JOIN_SECONDS:.0f} seconds. Does it still run?"
            raise UsageError(problem=f"{problem} `ray status` tells, with the same settings.")
        if message.kind is Kind.ROOM:
            return messages.decode_facts(Count, message.body).workers
        failure = messages.decode_failure(message.body)
        if failure.cause is Cause.TRUST:
            raise TrustError(problem=failure.problem, mend="")
        raise UsageError(problem=failure.problem)
