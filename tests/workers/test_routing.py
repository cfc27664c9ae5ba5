"""The partner's workers at a port where anybody calls: each reaches its own, once, and nobody else any."""

from __future__ import annotations

import random
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from accord.errors import StoppedError
from accord.notices import Dropped, Notice
from accord.peer import port as ports
from accord.peer.connect import HostPort
from accord.peer.port import CALLERS, open_port
from accord.workers.routing import _MOST_CALLERS, TAG, encode_token, make_token, route

TOKENS = [make_token(bytes([n]) * 32, bytes(32)) for n in range(3)]


class Routed:
    """A port that routes, in a thread; what each worker was handed said after its token."""

    def __init__(self, seconds: float = 20.0, attend: Callable[[], None] = lambda: None) -> None:
        self.said: dict[int, bytes] = {}
        self.told: list[Notice] = []
        self.result: Any = None
        self._server = open_port(HostPort("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(seconds, attend))
        self._thread.start()

    def _run(self, seconds: float, attend: Callable[[], None]) -> None:
        try:
            self.result = route(self._server, TOKENS, seconds, self._take, attend, "bob", self.told.append)
        except Exception as error:
            self.result = error

    def _take(self, worker: int, connection: socket.socket) -> None:
        assert worker not in self.said
        connection.setblocking(True)
        self.said[worker] = connection.recv(4)

    def call(self, content: bytes = b"") -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), 10)
        made.sendall(content)
        return made

    def end(self) -> Any:
        self._thread.join(120)
        assert not self._thread.is_alive()
        self._server.close()
        return self.result


def enter_all(routed: Routed, stack: ExitStack) -> None:
    """Every worker calls, in another order; what follows the token is not read at the door."""
    for number in (2, 0, 1):
        stack.enter_context(routed.call(encode_token(TOKENS[number]) + b"tls%d" % number))


def require_all(routed: Routed) -> None:
    assert routed.end() is True
    assert routed.said == {number: b"tls%d" % number for number in range(3)}


def test_every_worker_is_handed_its_own_connection() -> None:
    routed = Routed()
    with ExitStack() as stack:
        enter_all(routed, stack)
        require_all(routed)
    assert not routed.told


def test_a_token_in_pieces() -> None:
    routed = Routed()
    with ExitStack() as stack:
        slow = stack.enter_context(routed.call())
        for octet in encode_token(TOKENS[1]):
            slow.sendall(bytes([octet]))
        slow.sendall(b"tls1")
        for number in (0, 2):
            stack.enter_context(routed.call(encode_token(TOKENS[number]) + b"tls%d" % number))
        require_all(routed)


STRANGERS = {
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a health check": b"GET /health HTTP/1.0\r\n\r\n",
    "a wrong token": encode_token(bytes(32)),
    "nearly a token": encode_token(TOKENS[0][:-1] + bytes([TOKENS[0][-1] ^ 1])),
    "another version": TAG.replace(b"1", b"2") + TOKENS[0],
    "a used token": encode_token(TOKENS[2]) + b"again",
}


def test_nobody_else_is_let_in() -> None:
    """Whoever says anything else is dropped and noted; a token counts once, for whoever was first."""
    routed = Routed()
    with ExitStack() as stack:
        stack.enter_context(routed.call(encode_token(TOKENS[2]) + b"tls2"))
        while 2 not in routed.said:
            pass
        for content in STRANGERS.values():
            with routed.call(content) as stranger, suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        with routed.call():
            pass
        for number in (0, 1):
            stack.enter_context(routed.call(encode_token(TOKENS[number]) + b"tls%d" % number))
        require_all(routed)
    dropped = [notice for notice in routed.told if isinstance(notice, Dropped)]
    assert {notice.reason for notice in dropped} <= {"it is no worker of the partner", "it went away"}
    assert dropped


def test_random_bytes_at_the_door() -> None:
    """Garbage of any length, with the beginning of what is awaited or not; the workers still come in."""
    routed, chance = Routed(), random.Random(7)
    with ExitStack() as stack:
        for _ in range(60):
            right = encode_token(TOKENS[chance.randrange(3)])
            content = right[: chance.randrange(len(right) - 8)] + chance.randbytes(chance.randrange(60))
            made = routed.call()
            with suppress(OSError):
                made.sendall(content)
            made.close()
        enter_all(routed, stack)
        require_all(routed)


def test_a_silent_crowd_does_not_keep_workers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "CROWDED_SECONDS", 0.1)
    routed = Routed()
    with ExitStack() as stack:
        for _ in range(3 * CALLERS):
            stack.enter_context(routed.call())
        enter_all(routed, stack)
        require_all(routed)


@pytest.fixture
def many_descriptors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both ends of every connection are in this process; on a busy machine a crowd takes a while to come."""
    monkeypatch.setattr(ports, "CALLER_SECONDS", 300.0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_more_than_512_who_say_nothing_do_not_keep_workers_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are let in at a time stand at the door, more wait outside, and the workers come last."""
    monkeypatch.setattr(ports, "CROWDED_SECONDS", 0.0)
    routed = Routed(seconds=300.0)
    with ExitStack() as stack:
        for _ in range(_MOST_CALLERS + 40):
            stack.enter_context(routed.call())
        enter_all(routed, stack)
        require_all(routed)
    (dropped,) = (notice for notice in routed.told if isinstance(notice, Dropped))
    assert dropped.reason.endswith("and others wait")


@pytest.mark.usefixtures("many_descriptors")
def test_fewer_than_512_need_not_make_room() -> None:
    routed = Routed(seconds=300.0)
    with ExitStack() as stack:
        for _ in range(_MOST_CALLERS - 3):
            stack.enter_context(routed.call())
        enter_all(routed, stack)
        require_all(routed)
    assert not routed.told


def test_the_door_closes_when_its_time_is_over() -> None:
    routed = Routed(seconds=0.5)
    with routed.call(encode_token(TOKENS[0]) + b"tls0"):
        assert routed.end() is False


def test_a_partner_that_stops_is_heard() -> None:
    def attend() -> None:
        raise StoppedError(partner="bob", reason="it was interrupted", mend="")

    assert isinstance(Routed(attend=attend).end(), StoppedError)
