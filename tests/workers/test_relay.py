"""Connections that are joined: bytes, ends, errors and strangers; and nothing is left."""

from __future__ import annotations

import os
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from accord.workers.relay import Relay, call_relay
from accord.workers.routing import make_token

TOKENS = [make_token(bytes([n]) * 32, bytes(32)) for n in range(3)]
SECONDS = 20.0


@pytest.fixture
def joining() -> Iterator[Relay]:
    made = Relay("127.0.0.1", TOKENS, SECONDS)
    before = threading.active_count()
    yield made
    made.end()
    assert threading.active_count() < before
    with pytest.raises(ConnectionRefusedError):
        call_relay(made.where, TOKENS[0])


def pair(joining: Relay, stack: ExitStack, number: int) -> tuple[socket.socket, socket.socket]:
    """The partner's worker, and ours."""
    partner, ours = map(stack.enter_context, socket.socketpair())
    with ours:
        joining.bring(number, ours)
    worker = stack.enter_context(call_relay(joining.where, TOKENS[number]))
    for end in (partner, worker):
        end.settimeout(SECONDS)
    return partner, worker


def read_all(source: socket.socket) -> bytes:
    found = bytearray()
    while piece := source.recv(1 << 16):
        found += piece
    return bytes(found)


@pytest.mark.parametrize("way", ["splice", "copy"])
def test_bytes_pass_both_ways_at_once(joining: Relay, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than all buffers hold, so that each direction is held back while the other is read."""
    if way == "copy":
        monkeypatch.delattr(os, "splice", raising=False)
    chance = random.Random(3)
    with ExitStack() as stack:
        ends = [end for number in (2, 0, 1) for end in pair(joining, stack, number)]
        sent = [chance.randbytes(5 << 20) for _ in ends]

        def send(end: socket.socket, content: bytes) -> None:
            end.sendall(content)
            end.shutdown(socket.SHUT_WR)

        threads = [threading.Thread(target=send, args=both) for both in zip(ends, sent, strict=True)]
        got: dict[int, bytes] = {}
        threads += [
            threading.Thread(target=lambda n=n, end=end: got.update({n: read_all(end)}))
            for n, end in enumerate(ends)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert [got[n] for n in range(6)] == [sent[n ^ 1] for n in range(6)]


def test_an_end_is_passed_on_and_what_was_on_its_way_arrives(joining: Relay) -> None:
    """One direction may go on after the other has ended, as over one connection."""
    with ExitStack() as stack:
        partner, worker = pair(joining, stack, 1)
        partner.sendall(b"last")
        partner.shutdown(socket.SHUT_WR)
        assert read_all(worker) == b"last"
        worker.sendall(b"answer")
        worker.shutdown(socket.SHUT_WR)
        assert read_all(partner) == b"answer"


@pytest.mark.parametrize("who", [0, 1], ids=["partner", "worker"])
def test_who_is_gone_is_gone_for_the_other(joining: Relay, who: int) -> None:
    with ExitStack() as stack:
        both = pair(joining, stack, 1)
        both[who].sendall(b"x")
        assert both[1 - who].recv(1) == b"x"
        both[who].close()
        assert both[1 - who].recv(1) == b""
        with pytest.raises(OSError):
            both[1 - who].sendall(bytes(64 << 20))


def test_a_cut_ends_both_while_nobody_reads(joining: Relay) -> None:
    """The relay is held back by who does not read; its end is heard at once all the same."""
    with ExitStack() as stack:
        _, worker = pair(joining, stack, 0)
        worker.settimeout(0.5)
        with suppress(TimeoutError):
            while True:
                worker.sendall(bytes(1 << 20))
        joining.end()
        worker.settimeout(SECONDS)
        with pytest.raises(OSError):
            worker.sendall(bytes(64 << 20))


def test_strangers_and_workers_that_came_already_are_not_joined(joining: Relay) -> None:
    with ExitStack() as stack:
        partner, worker = pair(joining, stack, 1)
        partner.sendall(b"x")
        assert worker.recv(1) == b"x"
        for content in (b"GET / HTTP/1.0\r\n\r\n", bytes(48)):
            stranger = stack.enter_context(socket.create_connection((joining.where.host, joining.where.port)))
            stranger.settimeout(SECONDS)
            stranger.sendall(content)
            with suppress(ConnectionResetError):
                assert stranger.recv(1) == b""
        second = stack.enter_context(call_relay(joining.where, TOKENS[1]))
        second.settimeout(SECONDS)
        with suppress(ConnectionResetError):
            assert second.recv(1) == b""
        worker.sendall(b"y")
        assert partner.recv(1) == b"y"


def test_after_its_end_nobody_is_joined() -> None:
    made = Relay("127.0.0.1", TOKENS, SECONDS)
    made.end()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            made.bring(0, theirs)
        ours.settimeout(SECONDS)
        assert ours.recv(1) == b""
