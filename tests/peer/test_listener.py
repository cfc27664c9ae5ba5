"""Real processes at a port where others call, too; and one that connects before its partner is there."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from accord.errors import ConnectionLostError, TrustError
from accord.notices import Dropped, Listening, Notice, tell_nobody
from accord.peer import connect as connect_module
from accord.peer import port as ports
from accord.peer.connect import HostPort, connect, trust_error
from accord.peer.identity import make_identity
from accord.peer.listener import listen
from accord.peer.port import CALLERS
from accord.side import Side
from accord.state.folder import open_state
from tests.cli.terminal import accord, free_port
from tests.run import faults, processes
from tests.run.processes import link_arguments
from tests.run.test_resume import EXPECTED

PAIRS = EXPECTED["greedy"]
PATIENCE = 120
"""Seconds for what takes no time: a machine that is busy must not fail a test."""


@contextmanager
def calling(port: int, count: int = 1) -> Iterator[list[socket.socket]]:
    """So many connections to a port, which say nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(count)]


def stranger(folder: Path) -> ssl.SSLContext:
    """TLS with a card that nobody knows."""
    state = open_state(folder / "stranger", {})
    make_identity(state, "stranger", datetime.now(UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(state.identity)
    return context


REASONS = [
    "it went away",
    "it does not speak TLS 1.3 as Accord does",
    "it showed no card",
    "it showed a card other than that of bob",
]


def call_as_strangers(port: int, folder: Path) -> Iterator[None]:
    """A port scan, a health check, a missing card, a wrong one: whoever listens drops each in its turn."""
    with calling(port):
        pass
    yield
    with calling(port) as (client,):
        client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        while client.recv(4096):
            pass
    yield
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.check_hostname = False
    bare.verify_mode = ssl.CERT_NONE
    for context in (bare, stranger(folder)):
        with (
            calling(port) as (client,),
            suppress(ssl.SSLError, ConnectionError),
            context.wrap_socket(client) as secured,
        ):
            secured.recv(1)
        yield


def test_whoever_is_not_the_partner_is_dropped_and_it_is_said_why(tmp_path: Path) -> None:
    """And some who say nothing are still there when the partner comes."""
    with listening(tmp_path) as (port, enter, dropped):
        for number, _ in enumerate(call_as_strangers(port, tmp_path), 1):
            while len(dropped()) < number:
                time.sleep(0.01)
        with calling(port, CALLERS - 1):
            enter()
        assert [notice.reason for notice in dropped()] == REASONS
        assert {notice.host for notice in dropped()} == {"127.0.0.1"}


@pytest.mark.slow
def test_a_listener_among_strangers_waits_for_its_partner(tmp_path: Path) -> None:
    """A port scan, a health check, a wrong card, a missing one; and some who say nothing are still there."""
    both = faults.offices(tmp_path)
    with processes.ended() as begin:
        a = begin(both[Side.A], *link_arguments(both[Side.A]), "--wait", 60, "--listen", "127.0.0.1:0")
        port = a.event("listening")["port"]
        assert [a.event("dropped")["reason"] for _ in call_as_strangers(port, tmp_path)] == REASONS
        with calling(port, CALLERS - 1):
            b = begin(both[Side.B], *link_arguments(both[Side.B]), "--connect", f"127.0.0.1:{port}")
            ends = [process.end() for process in (a, b)]
    assert [code for code, _ in ends] == [0, 0], ends
    assert [office.out.read_bytes() for office in both.values()] == [PAIRS, PAIRS]
    assert {event["host"] for event in a.events if event["event"] == "dropped"} == {"127.0.0.1"}


@pytest.mark.slow
def test_the_wait_ends_also_with_callers_at_the_door(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    with processes.ended() as begin:
        a = begin(both[Side.A], *link_arguments(both[Side.A]), "--wait", 4, "--listen", "127.0.0.1:0")
        port = a.event("listening")["port"]
        began = time.monotonic()
        with calling(port, 2 * CALLERS) as clients:
            over = threading.Event()
            # They trickle what could become a handshake.
            thread = threading.Thread(target=trickle, args=(clients, over))
            thread.start()
            code, said = a.end()
            over.set()
            thread.join()
    assert code == 8, said
    assert "was not made" in said
    assert time.monotonic() - began < 30
    assert not both[Side.A].ledger.runs()


def trickle(clients: list[socket.socket], over: threading.Event) -> None:
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
    for octet in range(len(hello)):
        for client in clients:
            with suppress(OSError):
                client.send(hello[octet : octet + 1])
        if over.wait(0.1):
            return


@contextmanager
def listening(
    tmp_path: Path,
) -> Iterator[tuple[int, Callable[[], list[Dropped]], Callable[[], list[Dropped]]]]:
    """A listens at a port; with the first function B connects, must get in, and says who was dropped before.

    With the second: who was dropped so far.
    """
    both = faults.offices(tmp_path)
    mine, theirs = both[Side.A], both[Side.B]
    told: list[Notice] = []
    ready = threading.Event()

    def tell(notice: Notice) -> None:
        told.append(notice)
        ready.set()

    found: list[ssl.SSLSocket] = []
    card_of_b, card_of_a = (faults.card(office) for office in (theirs, mine))
    thread = threading.Thread(
        target=lambda: found.append(
            listen(HostPort("127.0.0.1", 0), mine.state, card_of_b, "bob", PATIENCE, tell)
        )
    )

    def enter() -> list[Dropped]:
        with connect(HostPort("127.0.0.1", port), theirs.state, card_of_a, "alice", PATIENCE, tell_nobody):
            thread.join(PATIENCE)
        assert len(found) == 1
        found[0].close()
        return dropped()

    def dropped() -> list[Dropped]:
        return [notice for notice in told if isinstance(notice, Dropped)]

    thread.start()
    assert ready.wait(PATIENCE)
    assert isinstance(told[0], Listening)
    port = told[0].port
    yield port, enter, dropped
    thread.join(PATIENCE)


def test_slow_callers_make_room_for_the_partner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than may try at a time come first; each is dropped when its time is over."""
    monkeypatch.setattr(ports, "CALLER_SECONDS", 1.0)
    over = threading.Event()
    with listening(tmp_path) as (port, enter, _), calling(port, CALLERS + 3) as clients:
        slow = threading.Thread(target=trickle, args=(clients, over))
        slow.start()
        dropped = enter()
        over.set()
        slow.join()
    assert [notice.reason for notice in dropped] == ["it did not show a card within 1 seconds"]


def test_a_crowd_that_says_nothing_does_not_keep_the_partner_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six times as many as may try come first: with ten seconds for each the wait would be over before."""
    monkeypatch.setattr(ports, "CALLERS", 2)
    monkeypatch.setattr(ports, "CROWDED_SECONDS", 0.2)
    with listening(tmp_path) as (port, enter, _), calling(port, 12):
        dropped = enter()
    assert {notice.reason for notice in dropped} == {
        "it did not show a card within 0 seconds, and others wait"
    }


def test_two_seconds_for_each_serve_a_whole_queue_before_who_connects_gives_up() -> None:
    assert ports._QUEUE / CALLERS * ports.CROWDED_SECONDS < connect_module._HANDSHAKE_SECONDS - 10


def serve_nothing(port: int, until: threading.Event) -> threading.Thread:
    """A tunnel whose far end is not there: it accepts, and closes."""
    server = socket.create_server(("127.0.0.1", port))
    server.settimeout(0.1)

    def work() -> None:
        with server:
            while not until.is_set():
                with suppress(TimeoutError):
                    server.accept()[0].close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("error", [ssl.SSLEOFError(), ssl.SSLZeroReturnError(), ConnectionResetError()])
def test_an_end_without_a_word_is_no_stranger(error: Exception) -> None:
    """Of a tunnel whose far end is not there, whichever Python names it."""
    assert isinstance(trust_error(error, "bob"), ConnectionLostError)
    assert isinstance(trust_error(ssl.SSLError("wrong version number"), "bob"), TrustError)


@pytest.mark.slow
def test_who_connects_tries_again_also_through_a_tunnel(tmp_path: Path) -> None:
    """First nobody listens; then a tunnel does, without a far end; then the partner is there."""
    both = faults.offices(tmp_path)
    port, there = free_port(), threading.Event()
    with processes.ended() as begin:
        b = begin(both[Side.B], *link_arguments(both[Side.B]), "--wait", 60, "--connect", f"127.0.0.1:{port}")
        first = b.event("waiting")
        assert (first["host"], first["port"], first["reason"]) == ("127.0.0.1", port, "connection refused")
        tunnel = serve_nothing(port, there)
        try:
            assert b.event("waiting")["reason"] == "the connection was closed before a card was shown"
        finally:
            there.set()
            tunnel.join()
        a = begin(both[Side.A], *link_arguments(both[Side.A]), "--listen", f"127.0.0.1:{port}")
        ends = [process.end() for process in (a, b)]
    assert [code for code, _ in ends] == [0, 0], ends
    assert [office.out.read_bytes() for office in both.values()] == [PAIRS, PAIRS]


def test_who_connects_gives_up_when_the_wait_ends_and_names_host_and_reason(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    port, there = free_port(), threading.Event()
    tunnel = serve_nothing(port, there)
    try:
        state = str(both[Side.B].state.folder)
        where = ["--wait", 2, "--connect", f"127.0.0.1:{port}"]
        done = accord(tmp_path, "--state", state, *map(str, [*link_arguments(both[Side.B]), *where]))
    finally:
        there.set()
        tunnel.join()
    assert done.returncode == 8, done.stderr
    assert f"127.0.0.1:{port} does not answer as alice (the connection was closed before" in done.stderr


@pytest.mark.slow
def test_a_wrong_card_ends_who_connects_at_once(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    make_identity(both[Side.B].state, "somebody new", datetime.now(UTC))
    with processes.ended() as begin:
        a = begin(both[Side.A], *link_arguments(both[Side.A]), "--wait", 60, "--listen", "127.0.0.1:0")
        way = f"127.0.0.1:{a.event('listening')['port']}"
        code, said = begin(both[Side.B], *link_arguments(both[Side.B]), "--wait", 60, "--connect", way).end()
        assert code == 9, said
        assert "refuses your card" in said
        assert a.event("dropped")["reason"] == "it showed a card other than that of bob"
        assert a.popen.poll() is None, "the listener went, too"


@pytest.mark.slow
def test_people_read_whom_a_listener_dropped(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    mine = both[Side.A]
    port = free_port()
    command = [
        sys.executable, "-c", "from accord.cli import main; main()", "--state", str(mine.state.folder),
        *map(str, link_arguments(mine)), "--wait", "6", "--listen", f"127.0.0.1:{port}",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(100):
            with suppress(OSError), calling(port) as (client,):
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                break
            time.sleep(0.1)
        _, said = process.communicate(timeout=processes.PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 8
    assert "Dropped a caller from 127.0.0.1: it does not speak TLS 1.3 as Accord does." in said
    assert "Still waiting for bob; 1 dropped so far." in said
    assert "1 caller was dropped, the last from 127.0.0.1" in said
