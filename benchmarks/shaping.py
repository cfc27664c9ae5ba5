"""A slow network on one machine: a proxy on loopback that carries bytes at a rate, and late.

Both directions are alike and independent. Bytes pass a bottleneck one after the other, at the rate, and then
travel for half the round trip. The invariant: when a piece leaves is decided when it arrives, by `Pace`;
a thread that wakes up late delays its piece and never those behind it, so that noise on the machine does not
add up to a lower rate. What waits is bounded, as in a router, and beyond that the sender is held back.

Connecting itself takes no round trip, and nothing is ever lost: what a measurement sees is rate and delay.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from types import TracebackType

from accord.network import Network

_LEAST_PIECE = 1500
_WAITING = 512


def piece_of(network: Network) -> int:
    """Bytes carried at once: a millisecond's worth, so that the first hardly wait for the last."""
    return max(_LEAST_PIECE, int(network.bytes_per_second / 1e3))


class Pace:
    """When the pieces of one direction come out at the far end.

    The bottleneck is free again when the last piece has passed; while it idles it saves up nothing.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._free = float("-inf")

    def due(self, arrived: float, size: int) -> float:
        """The second at which a piece that arrived now, after those before it, is at the far end."""
        self._free = max(self._free, arrived) + size / self._network.bytes_per_second
        return self._free + self._network.one_way


class _Direction:
    """Bytes from one socket to the other: a thread takes them in, another lets them out when due."""

    def __init__(self, source: socket.socket, target: socket.socket, network: Network) -> None:
        self._source, self._target, self._network = source, target, network
        # What is under way for the delay must fit besides what waits, or the delay would lower the rate.
        room = _WAITING + int(2 * network.milliseconds)
        self._under_way: queue.Queue[tuple[float, bytes] | None] = queue.Queue(room)
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self._take, self._let_out)]

    def _take(self) -> None:
        pace = Pace(self._network)
        with contextlib.suppress(OSError):
            while piece := self._source.recv(piece_of(self._network)):
                self._under_way.put((pace.due(time.monotonic(), len(piece)), piece))
        self._under_way.put(None)

    def _let_out(self) -> None:
        try:
            while (entry := self._under_way.get()) is not None:
                due, piece = entry
                time.sleep(max(0.0, due - time.monotonic()))
                self._target.sendall(piece)
        except OSError:
            # The target is gone; the queue is emptied, since the other thread may be waiting for room.
            while self._under_way.get() is not None:
                pass
        with contextlib.suppress(OSError):
            self._target.shutdown(socket.SHUT_WR)


class Proxy:
    """Carries one connection from a port of its own to `target` on loopback, as the network would."""

    def __init__(self, network: Network, target: int) -> None:
        self._network, self._target = network, target
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._closed = False
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what is under way and wait until nothing is."""
        self._closed = True
        with contextlib.suppress(OSError):
            # Wakes up a thread that nobody has called yet; closing its socket would not, on every system.
            socket.create_connection(("127.0.0.1", self.port)).close()
        for end in list(self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _carry(self) -> None:
        with self._server:
            caller, _ = self._server.accept()
        with caller, contextlib.suppress(ConnectionError):
            if self._closed:
                return
            with socket.create_connection(("127.0.0.1", self._target)) as called:
                self._join(caller, called)

    def _join(self, caller: socket.socket, called: socket.socket) -> None:
        """Both directions, until both have ended."""
        self._ends += [caller, called]
        if self._closed:
            return
        for end in self._ends:
            # Short messages wait for no acknowledgement.
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        directions = _Direction(caller, called, self._network), _Direction(called, caller, self._network)
        threads = [thread for direction in directions for thread in direction.threads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
