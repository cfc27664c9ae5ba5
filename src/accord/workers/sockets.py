"""The coordinator's lines to its workers: a socket to each, over which all is said (messages.py).

Where a worker is, and how it was started, is not known here. One thread a line does nothing but listen, so
that a worker is never kept waiting by another, and that an end is heard at once.
"""

from __future__ import annotations

import queue
import socket
import threading
from contextlib import suppress

from accord.workers import messages
from accord.workers.messages import Kind, Message


class Lines:
    """Lines by the numbers of their workers, from 0 on."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self._heard: queue.SimpleQueue[tuple[int, Message | None]] = queue.SimpleQueue()

    def say(self, worker: int, kind: Kind, *parts: bytes | memoryview) -> None:
        """Tell a worker something; that it is gone is heard by `hear`."""
        with suppress(OSError):
            messages.say(self._sockets[worker], kind, *parts)

    def hand_over(self, worker: int, connection: socket.socket) -> None:
        """Give a connection to a worker."""
        with suppress(OSError):
            messages.hand_over(self._sockets[worker], connection)

    def hear(self, seconds: float) -> tuple[int, Message | None] | None:
        """What a worker says next, within so many seconds; no message if it has ended."""
        try:
            return self._heard.get(timeout=seconds)
        except queue.Empty:
            return None

    def open(self) -> socket.socket:
        """One more line; its other end, for the worker."""
        ours, theirs = socket.socketpair()
        number = len(self._sockets)
        self._sockets.append(ours)
        threading.Thread(target=self._follow, args=(number, ours), daemon=True).start()
        return theirs

    def hang_up(self) -> None:
        """Let every worker hear that this is the end."""
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
            while (message := messages.hear(ours)) is not None:
                self._heard.put((number, message))
        self._heard.put((number, None))
