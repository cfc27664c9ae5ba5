"""A worker by itself, and at a port or behind a relay: its key, what it is told, and that nobody else is."""

from __future__ import annotations

import gc
import os
import random
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import StoppedError
from accord.notices import Notice
from accord.peer import port as ports
from accord.peer.connect import HostPort
from accord.peer.port import open_port
from accord.secure.blocks import Table
from accord.secure.circuit import Input
from accord.secure.circuit_text import encode_circuit
from accord.workers import messages, routing
from accord.workers.messages import Cause, Failure, Job, Kind, Meet, Message, Start
from accord.workers.relay import Relay, call_relay
from accord.workers.routing import TAG, encode_token, make_token, route
from accord.workers.worker import Service, Worker
from tests.run.faults import agreement

CIRCUIT = encode_circuit(agreement("plain").task.lowered.node)
START = Start("A", "alice", "bob", CIRCUIT, "ot", "100/20", True, True, 60.0, 60.0, 5.0, 5.0)
SECRET = b"PRIVATE KEY"


@pytest.mark.parametrize("in_memory", [True, False])
def test_the_key_of_a_worker_is_in_memory_or_gone_at_once(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSSL reads it from a file without a name, or else from one that is its owner's alone."""
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    elif not hasattr(os, "memfd_create"):
        pytest.skip("this system has no files in memory")
    seen: list[Path] = []

    def load(context: ssl.SSLContext, path: str) -> None:
        own = Path(path)
        assert SECRET in own.read_bytes()
        if in_memory:
            assert os.path.realpath(own).startswith("/memfd:identity")
            assert not list(tmp_path.iterdir())
        else:
            assert own.stat().st_mode & 0o777 == 0o600
        seen.append(own)
        load_cert_chain(context, path)

    load_cert_chain = ssl.SSLContext.load_cert_chain
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", load)
    # What others have left is closed now, and not meanwhile.
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    Worker(START)
    assert len(seen) == 1
    assert not list(tmp_path.rglob("*"))
    assert len(os.listdir("/proc/self/fd")) <= before


def test_it_has_its_own_key_and_listens_to_one_thing_at_a_time() -> None:
    """Until it is ready no job is taken, and nothing is taken twice."""
    service, refused = Service(), (Kind.FAILURE, messages.encode_failure(Failure(Cause.FAULT, "ValueError")))

    def answer(kind: Kind, body: bytes = b"") -> Any:
        return service.answer(Message(kind, bytearray(body)))

    assert all(answer(kind) == refused for kind in Kind if kind is not Kind.START)
    kind, certificate = answer(Kind.START, messages.encode_facts(START))
    assert kind is Kind.CERTIFICATE
    assert Worker(START).certificate != certificate
    assert all(answer(kind) == refused for kind in (Kind.START, Kind.JOB, Kind.SOCKET))
    meet = Meet(card=certificate.hex(), token="aabb")
    assert "aabb" not in repr(meet)
    assert answer(Kind.MEET, messages.encode_facts(meet)) is None
    assert all(answer(kind) == refused for kind in (Kind.MEET, Kind.JOB))


def test_a_message_comes_whole_or_not_at_all() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        messages.send(theirs, Kind.CERTIFICATE, b"abc", b"def")
        content = ours.recv(1 << 16)
        for kind in (Kind.CERTIFICATE, Kind.READY, Kind.SOCKET):
            with pytest.raises(ValueError):
                messages.send(theirs, kind, bytes(2000))
    for length in range(len(content) + 1):
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                theirs.sendall(content[:length])
            whole = Message(Kind.CERTIFICATE, bytearray(b"abcdef")) if length == len(content) else None
            assert messages.receive(ours) == whole


# -- a port where anybody calls ---------------------------------------------------------------------------

TOKENS = [make_token(bytes([n]) * 32, bytes(32)) for n in range(3)]
SECONDS = 20.0


class Routed:
    """A port that routes, in a thread; what each worker was handed said after its token."""

    def __init__(self, seconds: float = 300.0, attend: Callable[[], None] = lambda: None) -> None:
        self.said: dict[int, bytes] = {}
        self.told: list[Notice] = []
        self._server = open_port(HostPort("127.0.0.1", 0))
        self._pool = ThreadPoolExecutor(1)
        self._result = self._pool.submit(
            route, self._server, TOKENS, seconds, self._take, attend, "bob", self.told.append
        )

    def _take(self, worker: int, connection: socket.socket) -> None:
        assert worker not in self.said
        connection.setblocking(True)
        self.said[worker] = connection.recv(4)

    def call(self, content: bytes = b"") -> socket.socket:
        made = socket.create_connection(self._server.getsockname(), 10)
        made.sendall(content)
        return made

    def end(self) -> bool:
        with self._server, self._pool:
            return self._result.result(120)


STRANGERS = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /health HTTP/1.0\r\n\r\n",
    encode_token(bytes(32)),
    encode_token(TOKENS[0][:-1] + bytes([TOKENS[0][-1] ^ 1])),
    TAG.replace(b"1", b"2") + TOKENS[0],
    encode_token(TOKENS[2]) + b"again",
]


@pytest.mark.parametrize("crowd", [0, 17, 30])
def test_every_worker_is_handed_its_own_connection_and_nobody_else_any(
    crowd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among strangers, garbage and a crowd that says nothing, for which there is room or not.

    A token counts once, for whoever was first, and may come in pieces.
    """
    monkeypatch.setattr(routing, "_MOST_CALLERS", 20)
    monkeypatch.setattr(ports, "CALLER_SECONDS", 300.0)
    monkeypatch.setattr(ports, "CROWDED_SECONDS", 0.0)
    routed, chance = Routed(), random.Random(7)
    with ExitStack() as stack:
        stack.enter_context(routed.call(encode_token(TOKENS[2]) + b"tls2"))
        while 2 not in routed.said:
            pass
        for content in STRANGERS if not crowd else ():
            with routed.call(content) as stranger, suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        for _ in range(40 if not crowd else 0):
            right = encode_token(TOKENS[chance.randrange(3)])
            content = right[: chance.randrange(len(right) - 8)] + chance.randbytes(chance.randrange(60))
            with suppress(OSError), routed.call(content):
                pass
        for _ in range(crowd):
            stack.enter_context(routed.call())
        slow = stack.enter_context(routed.call())
        for octet in encode_token(TOKENS[1]):
            slow.sendall(bytes([octet]))
        slow.sendall(b"tls1")
        stack.enter_context(routed.call(encode_token(TOKENS[0]) + b"tls0"))
        assert routed.end()
    assert routed.said == {number: b"tls%d" % number for number in range(3)}
    assert bool(routed.told) == (crowd != 17)


def test_the_door_closes_when_its_time_is_over_or_the_partner_stops() -> None:
    def attend() -> None:
        raise StoppedError(partner="bob", reason="it was interrupted", mend="")

    routed = Routed(seconds=0.5)
    with routed.call(encode_token(TOKENS[0]) + b"tls0"):
        assert not routed.end()
    with pytest.raises(StoppedError):
        Routed(attend=attend).end()


# -- a relay ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["splice", "copy"])
def test_a_relay_joins_connections_until_either_is_gone(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More passes both ways than all buffers hold, and an end in one direction is no end of the other."""
    if way == "copy":
        monkeypatch.delattr(os, "splice", raising=False)
    relay = Relay("127.0.0.1", TOKENS, SECONDS)
    with ExitStack() as stack:

        def pair(number: int) -> list[socket.socket]:
            """The partner's worker, and ours."""
            partner, ours = map(stack.enter_context, socket.socketpair())
            with ours:
                relay.bring(number, ours)
            both = [partner, stack.enter_context(call_relay(relay.where, TOKENS[number]))]
            for end in both:
                end.settimeout(SECONDS)
            return both

        ends, sent = pair(2), [random.Random(n).randbytes(5 << 20) for n in range(2)]

        def send(number: int) -> None:
            ends[number].sendall(sent[number])
            ends[number].shutdown(socket.SHUT_WR)

        def read(number: int) -> bytes:
            return b"".join(iter(lambda: ends[number].recv(1 << 16), b""))

        with ThreadPoolExecutor(4) as pool:
            both = [pool.submit(send, number) for number in range(2)]
            got = list(pool.map(read, range(2)))
        assert (got, [one.result() for one in both]) == (sent[::-1], [None, None])
        partner, worker = pair(1)
        second = stack.enter_context(call_relay(relay.where, TOKENS[1]))
        second.settimeout(SECONDS)
        with suppress(ConnectionResetError):
            assert second.recv(1) == b""
        partner.close()
        assert worker.recv(1) == b""
        with pytest.raises(OSError):
            worker.sendall(bytes(64 << 20))
        relay.end()
        late, theirs = map(stack.enter_context, socket.socketpair())
        relay.bring(0, theirs)
        theirs.close()
        assert late.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        call_relay(relay.where, TOKENS[0])


def test_the_size_of_a_job_says_nothing_of_its_values() -> None:
    inputs = (Input("bits", 3, 1), Input("wide", 1, 70_000), Input("longest", 2, 1 << 40))
    sizes = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = {of.name: rng.integers(0, of.high + 1, (17, of.length)) for of in inputs}
        made = Job(1.5, np.array([9, 8]), np.array([1, 2]), Table(values, rng.integers(0, 2, 17) == 1))
        body = bytearray(b"".join(messages.encode_job(made, inputs)))
        sizes.add(len(body))
        found = messages.decode_job(body, inputs).table
        assert all(np.array_equal(found.read(of), made.table.read(of)) for of in inputs)
        assert np.array_equal(found.real, made.table.real)
    assert len(sizes) == 1
