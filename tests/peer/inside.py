"""Two ends of a connection at which a test says what it likes, inside TLS and the layer in it."""

from __future__ import annotations

import ssl
import threading
from typing import Any

from accord.notices import Listening, Notice, tell_nobody
from accord.peer.channel import Patience, TlsChannel
from accord.peer.connect import HostPort, connect, exchange_keys
from accord.peer.encryption import PACKET, Decrypter, Encrypter, Ends, Keys
from accord.peer.identity import require_identity
from accord.peer.listener import listen
from tests.run import worlds


class Inside:
    """An end; a channel may take its place before anything was said here."""

    def __init__(self, connection: ssl.SSLSocket, keys: Keys) -> None:
        self.connection, self.keys = connection, keys
        self._encrypter, self._decrypter = Encrypter(keys.sent), Decrypter(keys.received)
        self._came = b""
        # A channel never waits in a call; what a test does with an end itself may.
        connection.settimeout(worlds.PATIENCE)

    def channel(self, partner: str, patience: Patience | None = None) -> TlsChannel:
        return TlsChannel(self.connection, self.keys, partner, patience)

    def sendall(self, content: bytes) -> None:
        for start in range(0, len(content), PACKET):
            self.connection.sendall(self._encrypter.encrypt(content[start : start + PACKET]))

    def recv(self, size: int) -> bytes:
        while not self._came:
            count = self.connection.recv_into(self._decrypter.room)
            if not count:
                return b""
            self._came = b"".join(self._decrypter.decrypt(count))
        found, self._came = self._came[:size], self._came[size:]
        return found

    def close(self) -> None:
        self.connection.close()


def meet(a: worlds.Organisation, b: worlds.Organisation) -> tuple[Any, Any]:
    """A listens and B connects, by TLS; the two ends."""
    ready, port = threading.Event(), [0]

    def tell(notice: Notice) -> None:
        assert isinstance(notice, Listening)
        port[0] = notice.port
        ready.set()

    def reach() -> ssl.SSLSocket:
        assert ready.wait(worlds.PATIENCE)
        return connect(HostPort("127.0.0.1", port[0]), b.state, a.card, "alice", worlds.PATIENCE, tell_nobody)

    first, second = worlds.in_threads(
        lambda: listen(HostPort("127.0.0.1", 0), a.state, b.card, "bob", worlds.PATIENCE, tell), reach
    )
    return first, second


def meet_inside(a: worlds.Organisation, b: worlds.Organisation) -> tuple[Inside, Inside]:
    """The two ends, inside both layers."""
    first, second = meet(a, b)
    ends = Ends(require_identity(a.state), b.card, "bob", listens=True)
    others = Ends(require_identity(b.state), a.card, "alice", listens=False)
    keys = worlds.in_threads(lambda: exchange_keys(first, ends), lambda: exchange_keys(second, others))
    return Inside(first, keys[0]), Inside(second, keys[1])
