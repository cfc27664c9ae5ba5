"""Ciphertext between the partner's workers, who call at the one port of this side, and workers elsewhere.

Workers on this machine are handed the partner's connection as it is. One on another machine cannot be: it
calls here, at a port that this side opens towards its own cluster, says which worker it is (routing.py, with
a token that counts once), and both connections are joined. TLS ends in the workers, so that nothing of what
passes can be read or changed here.

Why the worker calls and not the relay: a node of a cluster reaches the machine that gives it work, since Ray
needs that, too; the other way round every node would have to open a port, and say where it is.

A pair of connections is two threads, each of which moves bytes one way, through a pipe of the kernel where
there is `splice` and else through one buffer. What is not taken is not read, so memory is bounded and TCP
holds the sender back. The end of one direction is passed on as what it is; an error ends both. When `end`
returns no thread and no connection is left.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from accord.notices import tell_nobody
from accord.peer.connect import HostPort, set_options
from accord.peer.port import open_port
from accord.workers.routing import encode_token, route

_PIECE = 1 << 20
_CALL_SECONDS = 30.0


def call_relay(where: HostPort, token: bytes) -> socket.socket:
    """A worker's connection to the relay of its coordinator."""
    made = socket.create_connection((where.host, where.port), _CALL_SECONDS)
    set_options(made)
    made.sendall(encode_token(token))
    return made


class Relay:
    """Joins connections by the numbers of their workers."""

    def __init__(self, host: str, tokens: list[bytes], seconds: float) -> None:
        self._port = open_port(HostPort(host, 0))
        self.where = HostPort(host, self._port.getsockname()[1])
        """Where workers call."""
        self._lock = threading.Lock()
        self._waiting: dict[int, socket.socket] = {}
        """Who came first of a pair."""
        self._joined: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._has_ended = False
        self._start(self._let_in, tokens, seconds)

    def bring(self, number: int, connection: socket.socket) -> None:
        """One of the two ends for a worker; it stays the caller's to close. A third is not wanted."""
        with self._lock:
            if self._has_ended:
                return
            own = connection.dup()
            own.setblocking(True)
            self._joined.append(own)
            other = self._waiting.pop(number, None)
            if other is None:
                self._waiting[number] = own
                return
            self._start(_pump, own, other)
            self._start(_pump, other, own)

    def end(self) -> None:
        """Cut all connections."""
        with self._lock:
            self._has_ended = True
        for connection in self._joined:
            _shut(connection, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in [*self._joined, self._port]:
            connection.close()

    def _let_in(self, tokens: list[bytes], seconds: float) -> None:
        with suppress(_Ended):
            route(self._port, tokens, seconds, self.bring, self._attend, "the cluster", tell_nobody)

    def _attend(self) -> None:
        if self._has_ended:
            raise _Ended

    def _start(self, run: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()


class _Ended(Exception):
    pass


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Move all that comes to the other, until its end."""
    try:
        if hasattr(os, "splice"):
            _splice(source.fileno(), target.fileno())
        else:
            _copy(source, target)
        _shut(target, socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            _shut(end, socket.SHUT_RDWR)


def _splice(source: int, target: int) -> None:
    out, into = os.pipe()
    try:
        # A larger pipe is fewer calls; a user who has too many of them keeps the usual size.
        with suppress(OSError):
            fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, _PIECE)
        while moved := os.splice(source, into, _PIECE):
            while moved:
                moved -= os.splice(out, target, moved)
    finally:
        os.close(out)
        os.close(into)


def _copy(source: socket.socket, target: socket.socket) -> None:
    buffer = memoryview(bytearray(_PIECE))
    while count := source.recv_into(buffer):
        target.sendall(buffer[:count])


def _shut(connection: socket.socket, how: int) -> None:
    with suppress(OSError):
        connection.shutdown(how)
