"""The partner's workers come through the port at which the partner came: each says whom it wants.

    16   `accord worker 1\\n`, whose first byte no TLS connection begins with
    32   the token of the pair of workers

and then TLS, of which nothing is read here: the connection is handed over as it is, and TLS ends in the
worker. Both coordinators give half of every token over their own channel. A token is no key: it says where a
connection belongs, and who sees it on the line and is faster gets a TLS handshake with a worker that wants
one certificate only. It counts once, and no longer than workers are waited for.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import time
from collections.abc import Callable

from accord.errors import TrustError
from accord.notices import Tell
from accord.peer.port import Acceptor, Caller

TAG = b"accord worker 1\n"
TOKEN = 32
_DERIVE = b"accord token 1\n"
_AGAIN_SECONDS = 0.25
_MOST_CALLERS = 512
"""Who is let in at a time: each takes a descriptor and 48 bytes, and no handshake, so that a crowd
does not keep workers out for long."""


def make_token(of_a: bytes, of_b: bytes) -> bytes:
    """The token of a pair of workers, from the halves that A and B gave."""
    return hashlib.sha256(_DERIVE + of_a + of_b).digest()


def encode_token(token: bytes) -> bytes:
    """What a worker says before TLS."""
    return TAG + token


class _CallingWorker(Caller[socket.socket]):
    """Somebody who called, until it has named a worker that nobody named before."""

    awaited = "say which worker it wants"

    def __init__(self, connection: socket.socket, host: str, open_tokens: dict[int, bytes]) -> None:
        super().__init__(connection, host)
        self._open = open_tokens
        self._said = b""
        self.worker = -1

    def turn(self) -> bool:
        try:
            # Not a byte more: what follows is for the worker.
            said = self.connection.recv(len(TAG) + TOKEN - len(self._said))
        except (BlockingIOError, InterruptedError):
            return False
        self._said += said
        if not said:
            raise ConnectionResetError
        if not TAG.startswith(self._said[: len(TAG)]):
            raise TrustError(problem="", mend="")
        if len(self._said) < len(TAG) + TOKEN:
            return False
        # All of them, so that the time tells nothing of how near a guess was.
        found = [n for n, token in self._open.items() if hmac.compare_digest(self._said[len(TAG) :], token)]
        if not found:
            raise TrustError(problem="", mend="")
        self.worker = found[0]
        del self._open[self.worker]
        return True

    def reason(self, error: Exception) -> str:
        return "it is no worker of the partner" if isinstance(error, TrustError) else "it went away"


def route(
    server: socket.socket,
    tokens: list[bytes],
    seconds: float,
    hand_over: Callable[[int, socket.socket], None],
    attend: Callable[[], None],
    partner: str,
    tell: Tell,
) -> bool:
    """Hand every worker the connection that names it; whether all came in time.

    `attend` is called now and then, and may raise. A connection that was handed over is the worker's: here it
    is closed.
    """
    waiting, until = dict(enumerate(tokens)), time.monotonic() + seconds

    def admit(plain: socket.socket, host: str) -> _CallingWorker:
        return _CallingWorker(plain, host, waiting)

    with Acceptor(server, admit, partner, tell, _MOST_CALLERS) as acceptor:
        while waiting and time.monotonic() < until:
            found = acceptor.accept(_AGAIN_SECONDS)
            if found is not None:
                with found.connection:
                    hand_over(found.worker, found.connection)
            attend()
    return not waiting
