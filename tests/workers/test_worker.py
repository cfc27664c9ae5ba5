"""A worker by itself, and at a port or behind a relay: its key, what it is told, and that nobody else is."""

from __future__ import annotations

import gc
import os
import random
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import StoppedError
from accord.notices import Notice
from accord.peer import port as ports
from accord.peer.connect import HostPort, make_context
from accord.peer.port import open_port
from accord.secure.blocks import Table
from accord.secure.circuit import Input
from accord.secure.circuit_text import encode_circuit
from accord.workers import messages, routing, worker
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
    if in_memory and not hasattr(os, "memfd_create"):
        pytest.skip("this system has no files in memory")
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    seen: list[tuple[bool, str, int, int]] = []

    def files() -> int:
        return sum(path.is_file() for path in tmp_path.rglob("*"))

    def make(kind: int, state: Any, card: Any) -> Any:
        of = state.identity
        facts = SECRET in of.read_bytes(), os.path.realpath(of), of.stat().st_mode & 0o777, files()
        seen.append(facts)
        return make_context(kind, state, card)

    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "make_context", make)
    # What others have left is closed now, and not meanwhile.
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    Worker(START)
    ((is_key, place, mode, count),) = seen
    assert is_key
    assert (count, files()) == (0 if in_memory else 1, 0)
    assert place.startswith("/memfd:identity") if in_memory else mode == 0o600
    assert len(os.listdir("/proc/self/fd")) <= before


def test_it_has_its_own_key_and_listens_to_one_thing_at_a_time() -> None:
    """Until it is ready no job is taken, and nothing is taken twice."""
    service = Service()

    def tell(kind: Kind, body: bytes = b"") -> tuple[Kind, bytes] | None:
        return service.answer(Message(kind, bytearray(body)))

    def require_refused(*kinds: Kind) -> None:
        for kind in kinds:
            said = tell(kind)
            assert said
            assert said[0] is Kind.FAILURE
            assert messages.decode_failure(bytearray(said[1])) == Failure(Cause.FAULT, "ValueError")

    require_refused(*(kind for kind in Kind if kind is not Kind.START))
    said = tell(Kind.START, messages.encode_facts(START))
    assert said
    assert said[0] is Kind.CERTIFICATE
    assert Worker(START).certificate != said[1]
    require_refused(Kind.START, Kind.JOB, Kind.SOCKET)
    meet = Meet(card=said[1].hex(), token="aabb")
    assert "aabb" not in repr(meet)
    assert tell(Kind.MEET, messages.encode_facts(meet)) is None
    require_refused(Kind.MEET, Kind.JOB)


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


def through(*content: bytes) -> Message | None:
    """What is heard of these bytes, each sent on its own, before the end."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        with theirs:
            for part in content:
                theirs.sendall(part)

    with ours:
        thread = threading.Thread(target=send)
        thread.start()
        try:
            return messages.receive(ours)
        finally:
            thread.join()


def test_a_message_comes_whole_in_pieces_or_not_at_all() -> None:
    """And a connection is handed over with one."""
    ours, theirs = socket.socketpair()
    left, right = socket.socketpair()
    with ours, theirs, left, right:
        messages.send(theirs, Kind.CERTIFICATE, b"abc", b"def")
        content = ours.recv(1 << 16)
        for kind in (Kind.CERTIFICATE, Kind.READY, Kind.SOCKET):
            with pytest.raises(ValueError):
                messages.send(theirs, kind, bytes(2000))
            with pytest.raises(ValueError):
                through(content[:8] + (kind << 56 | 2000).to_bytes(8, "little"))
        messages.hand_over(theirs, right)
        handed: Any = messages.receive(ours)
        assert handed.kind is Kind.SOCKET
        with socket.socket(fileno=handed.descriptors[0]) as connection:
            connection.sendall(b"here")
            assert left.recv(4) == b"here"
    for pieces in ((content,), tuple(content[i : i + 1] for i in range(len(content)))):
        assert through(*pieces) == Message(Kind.CERTIFICATE, bytearray(b"abcdef"))
    assert not any(through(content[:length]) for length in range(len(content)))


# -- a port where anybody calls ---------------------------------------------------------------------------

TOKENS = [make_token(bytes([n]) * 32, bytes(32)) for n in range(3)]
SECONDS = 20.0


class Routed:
    """A port that routes, in a thread; what each worker was handed said after its token."""

    def __init__(self, seconds: float = 300.0, attend: Callable[[], None] = lambda: None) -> None:
        self.said: dict[int, bytes] = {}
        self.told: list[Notice] = []
        self.result: Any = None
        self._server = open_port(HostPort("127.0.0.1", 0))
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
        made = socket.create_connection(self._server.getsockname(), 10)
        made.sendall(content)
        return made

    def enter(self, stack: ExitStack, *numbers: int) -> None:
        """These workers call; what follows the token is not read at the door."""
        for number in numbers:
            stack.enter_context(self.call(encode_token(TOKENS[number]) + b"tls%d" % number))

    def end(self) -> Any:
        self._thread.join(120)
        assert not self._thread.is_alive()
        self._server.close()
        return self.result


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
        routed.enter(stack, 2)
        while 2 not in routed.said:
            pass
        for content in STRANGERS if not crowd else ():
            with routed.call(content) as stranger, suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        for _ in range(40 if not crowd else 0):
            right = encode_token(TOKENS[chance.randrange(3)])
            content = right[: chance.randrange(len(right) - 8)] + chance.randbytes(chance.randrange(60))
            with suppress(OSError), routed.call() as made:
                made.sendall(content)
        for _ in range(crowd):
            stack.enter_context(routed.call())
        slow = stack.enter_context(routed.call())
        for octet in encode_token(TOKENS[1]):
            slow.sendall(bytes([octet]))
        slow.sendall(b"tls1")
        routed.enter(stack, 0)
        assert routed.end() is True
    assert routed.said == {number: b"tls%d" % number for number in range(3)}
    assert bool(routed.told) == (crowd != 17)


def test_the_door_closes_when_its_time_is_over_or_the_partner_stops() -> None:
    def attend() -> None:
        raise StoppedError(partner="bob", reason="it was interrupted", mend="")

    routed = Routed(seconds=0.5)
    with routed.call(encode_token(TOKENS[0]) + b"tls0"):
        assert routed.end() is False
    assert isinstance(Routed(attend=attend).end(), StoppedError)


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
        got: dict[int, bytes] = {}

        def send(number: int) -> None:
            ends[number].sendall(sent[number])
            ends[number].shutdown(socket.SHUT_WR)

        def read(number: int) -> None:
            got[number] = b"".join(iter(lambda: ends[number].recv(1 << 16), b""))

        threads = [threading.Thread(target=act, args=(n,)) for n in range(2) for act in (send, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert got == {0: sent[1], 1: sent[0]}
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
