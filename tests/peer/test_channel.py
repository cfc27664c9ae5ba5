"""The channel over a real TLS connection: order, sizes, pings, stops, silence, back-pressure."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.errors import ConnectionLostError, PeerError, StoppedError
from accord.peer import channel as module
from accord.peer.channel import Patience, TlsChannel
from accord.peer.encryption import ADDED, PACKET
from accord.peer.frames import HEADER, Kind, Reason, encode_header
from tests.peer.inside import Inside, meet_inside
from tests.protocols.worlds import agreement
from tests.run import worlds

QUICK = Patience(silence=60.0, message=120.0)


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[Inside, Inside]]:
    """Two ends of a connection."""
    found = meet_inside(*worlds.introduce(tmp_path, agreement()))
    yield found
    for end in found:
        end.close()


@pytest.fixture
def channels(ends: tuple[Inside, Inside]) -> Iterator[tuple[TlsChannel, TlsChannel]]:
    both = ends[0].channel("bob", QUICK), ends[1].channel("alice", QUICK)
    yield both
    worlds.in_threads(both[0].close, both[1].close)


def leave(peer: Inside, end: TlsChannel) -> None:
    """Both go. An end that closes first would wait for its peer to read what was said."""
    peer.close()
    end.close()


def test_messages_arrive_whole_and_in_order(channels: tuple[TlsChannel, TlsChannel]) -> None:
    sizes = [0, 1, 8, 16_384, 16_385, 1 << 18, (1 << 18) + 1, 5_000_000]
    messages = [os.urandom(size) for size in sizes]
    for message in messages:
        channels[0].send(message)
        channels[1].send(memoryview(message))
    for end in channels:
        for message in messages:
            assert bytes(end.receive(len(message))) == message
        assert end.sent == end.received == sum(sizes) + HEADER * len(sizes)


def test_what_is_received_can_be_written(channels: tuple[TlsChannel, TlsChannel]) -> None:
    channels[0].send(bytes(8))
    assert np.frombuffer(channels[1].receive(8), np.uint8).flags.writeable


def test_both_may_send_much_before_either_receives(channels: tuple[TlsChannel, TlsChannel]) -> None:
    """More than any buffer in between holds: sending never waits for the partner to receive."""
    body = bytes(100_000_000)
    for end in channels:
        end.send(body)
    got = worlds.in_threads(*(lambda end=end: end.receive(len(body)) for end in channels))
    assert [len(body) for body in got] == [100_000_000] * 2


def test_reading_ahead_is_bounded(channels: tuple[TlsChannel, TlsChannel]) -> None:
    channels[0].send(bytes(200_000_000))
    time.sleep(1.5)
    assert channels[1]._held <= module._AHEAD + 2 * (PACKET + ADDED)
    assert len(channels[1].receive(200_000_000)) == 200_000_000


def test_a_message_of_another_size_is_refused_unread(channels: tuple[TlsChannel, TlsChannel]) -> None:
    channels[0].send(bytes(9))
    with pytest.raises(PeerError, match="a message of 9 bytes where 8 were due"):
        channels[1].receive(8)


def attended(end: TlsChannel) -> None:
    """Attend until it raises."""
    until = time.monotonic() + worlds.PATIENCE
    while time.monotonic() < until:
        end.attend()
        time.sleep(0.01)
    raise AssertionError("nothing was raised")


def test_a_stop_is_heard_by_who_waits_for_something_else(channels: tuple[TlsChannel, TlsChannel]) -> None:
    channels[1].attend()
    channels[0].stop(Reason.WORKER)
    with pytest.raises(StoppedError, match="one of its workers ended"):
        attended(channels[1])


def test_a_partner_that_is_gone_is_noticed_by_who_waits_for_something_else(
    channels: tuple[TlsChannel, TlsChannel],
) -> None:
    channels[0].close()
    with pytest.raises(ConnectionLostError, match="was closed by the partner"):
        attended(channels[1])


def test_a_message_that_came_meanwhile_is_left_to_be_received(
    channels: tuple[TlsChannel, TlsChannel],
) -> None:
    for body in (b"first", b"second"):
        channels[0].send(body)
    until = time.monotonic() + worlds.PATIENCE
    while channels[1]._begun is None:
        assert time.monotonic() < until
        channels[1].attend()
    channels[1].attend()
    assert bytes(channels[1].receive(5)) == b"first"
    assert bytes(channels[1].receive(6)) == b"second"
    assert channels[1].received == channels[0].sent


def test_a_stop_names_the_partner_and_the_reason(channels: tuple[TlsChannel, TlsChannel]) -> None:
    channels[0].send(b"last words")
    channels[0].stop(Reason.LEDGER)
    channels[0].close()
    assert bytes(channels[1].receive(10)) == b"last words"
    with pytest.raises(StoppedError, match=r"its ledger refuses the run\. Nothing was charged"):
        channels[1].receive(1)


def test_a_cut_tells_how_to_go_on(channels: tuple[TlsChannel, TlsChannel]) -> None:
    channels[1].started("0123456789abcdef")
    channels[0].close()
    with pytest.raises(ConnectionLostError, match="accord resume 0123456789abcdef"):
        channels[1].receive(1)


def test_a_partner_at_work_keeps_the_connection_alive(ends: tuple[Inside, Inside]) -> None:
    a = ends[0].channel("bob", Patience(silence=3.0, message=60.0))
    b = ends[1].channel("alice", Patience(silence=3.0, message=60.0))
    late = threading.Timer(4.0, lambda: a.send(b"x"))
    late.start()
    assert bytes(b.receive(1)) == b"x", "four seconds of work were taken for silence"
    late.join()
    worlds.in_threads(a.close, b.close)


def test_pings_alone_end_when_patience_does(ends: tuple[Inside, Inside]) -> None:
    a = ends[0].channel("bob", Patience(silence=6.0, message=60.0))
    b = ends[1].channel("alice", Patience(silence=6.0, message=2.5))
    with pytest.raises(ConnectionLostError, match="no whole message"):
        b.receive(1)
    worlds.in_threads(a.close, b.close)


def test_a_silent_partner_is_given_up(ends: tuple[Inside, Inside]) -> None:
    b = ends[1].channel("alice", Patience(silence=0.5, message=60.0))
    with pytest.raises(ConnectionLostError, match="has gone silent"):
        b.receive(1)
    leave(ends[0], b)


def test_a_trickled_message_is_given_up(ends: tuple[Inside, Inside]) -> None:
    """One byte now and then is a sign of life, but no message."""
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=60.0, grace=1.0))
    over = threading.Event()

    def trickle() -> None:
        a.sendall(encode_header(Kind.MESSAGE, 500))
        while not over.wait(0.2):
            a.sendall(b"x")

    sender = threading.Thread(target=trickle, daemon=True)
    sender.start()
    with pytest.raises(ConnectionLostError, match="no whole message"):
        b.receive(500)
    over.set()
    sender.join()
    leave(a, b)


def test_a_long_message_may_take_its_time_but_no_trickle_does(ends: tuple[Inside, Inside]) -> None:
    """The rate counts at any moment: a message of 100 MB is not waited for as long as it might take."""
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=60.0, grace=2.0))
    over = threading.Event()
    rate = int(module._SLOWEST)

    def send() -> None:
        a.sendall(encode_header(Kind.MESSAGE, 2 * rate))
        for _ in range(10):
            a.sendall(bytes(rate // 5))
            time.sleep(0.22)
        a.sendall(encode_header(Kind.MESSAGE, 100_000_000))
        while not over.wait(0.1):
            a.sendall(bytes(rate // 100))

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    assert len(b.receive(2 * rate)) == 2 * rate, "slower than the grace alone, quicker than the rate"
    with pytest.raises(ConnectionLostError, match="no whole message"):
        b.receive(100_000_000)
    over.set()
    sender.join()
    leave(a, b)


def test_a_trickled_header_is_given_up(ends: tuple[Inside, Inside]) -> None:
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=60.0, grace=0.5))
    a.sendall(encode_header(Kind.MESSAGE, 500)[:3])
    with pytest.raises(ConnectionLostError, match="no whole message"):
        b.receive(500)
    leave(a, b)


def test_a_step_has_four_times_its_predicted_time(ends: tuple[Inside, Inside]) -> None:
    """And not more, though the partner pings: its other end does so by itself."""
    a = ends[0].channel("bob", Patience(silence=6.0))
    b = ends[1].channel("alice", Patience(silence=6.0, message=0.2))
    b.expect(1.0)
    late = threading.Timer(0.7, lambda: a.send(b"x"))
    late.start()
    assert bytes(b.receive(1)) == b"x"
    with pytest.raises(ConnectionLostError, match="no whole message"):
        b.receive(1)
    late.join()
    worlds.in_threads(a.close, b.close)


def test_what_was_not_sent_yet_is_no_silence_of_the_partner(ends: tuple[Inside, Inside]) -> None:
    """It answers when it has read everything, which takes longer than it may be silent."""
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=0.5))
    size = 40_000_000
    b.send(bytes(size))

    def work() -> None:
        left = HEADER + size
        for _ in range(4):
            time.sleep(0.5)
            for _ in range(-(-(HEADER + size) // 4 // 16_384)):
                left -= len(a.recv(min(left, 16_384))) if left else 0
        while left:
            left -= len(a.recv(min(left, 16_384)))
        a.sendall(encode_header(Kind.MESSAGE, 1) + b"x")

    thread = threading.Thread(target=work)
    thread.start()
    assert bytes(b.receive(1)) == b"x"
    thread.join()
    leave(a, b)


def test_a_partner_that_sends_and_never_reads_is_given_up_and_fills_no_memory(
    ends: tuple[Inside, Inside], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_QUEUED", 1 << 20)
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=1.0))
    size, over = 1 << 16, threading.Event()

    def flood() -> None:
        while not over.wait(0.01):
            a.sendall(encode_header(Kind.MESSAGE, 1) + b"x")

    sender = threading.Thread(target=flood, daemon=True)
    sender.start()

    def answer() -> None:
        for _ in range(10_000):
            b.send(bytes(size))
            b.receive(1)

    with pytest.raises(ConnectionLostError, match="does not take what is sent"):
        answer()
    over.set()
    sender.join()
    assert b.sent - b._written <= (1 << 20) + HEADER + size
    leave(a, b)


def test_a_full_outbox_waits_for_a_partner_that_reads(
    channels: tuple[TlsChannel, TlsChannel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both send more than fits, in messages of which each alone is more than fits, and receive in between."""
    monkeypatch.setattr(module, "_QUEUED", 1 << 20)
    body = bytes(3 << 20)

    def work(end: TlsChannel) -> None:
        for _ in range(20):
            end.send(body)
            assert len(end.receive(len(body))) == len(body)

    worlds.in_threads(*(lambda end=end: work(end) for end in channels))
    assert [end.received for end in channels] == [20 * (HEADER + len(body))] * 2


def test_a_message_is_shown_while_it_comes_and_may_be_refused(
    channels: tuple[TlsChannel, TlsChannel],
) -> None:
    seen: list[int] = []

    def look(came: Any) -> None:
        seen.append(len(came))
        if len(seen) == 3:
            raise PeerError(problem="enough")

    body = os.urandom(5 * module._PIECE // 2)
    channels[0].send(body)
    assert bytes(channels[1].receive(len(body), lambda came: seen.append(len(came)))) == body
    assert seen == [module._PIECE, 2 * module._PIECE, len(body)]
    seen.clear()
    channels[0].send(bytes(50_000_000))
    with pytest.raises(PeerError, match="enough"):
        channels[1].receive(50_000_000, look)


def test_a_flood_of_pings_is_refused(ends: tuple[Inside, Inside]) -> None:
    a, b = ends[0], ends[1].channel("alice", QUICK)
    flood = encode_header(Kind.PING, 0) * 20_000
    sender = threading.Thread(target=lambda: a.sendall(flood), daemon=True)
    sender.start()
    with pytest.raises(PeerError, match="nothing but pings"):
        b.receive(1)
    leave(a, b)
    sender.join(worlds.PATIENCE)


@pytest.mark.parametrize("garbage", [b"\xff" * 8, encode_header(Kind.STOP, 1) + b"\x63"])
def test_garbage_is_refused(ends: tuple[Inside, Inside], garbage: bytes) -> None:
    b = ends[1].channel("alice", QUICK)
    ends[0].sendall(garbage)
    with pytest.raises(PeerError):
        b.receive(8)
    leave(ends[0], b)


def test_a_reset_is_a_lost_connection(ends: tuple[Inside, Inside]) -> None:
    b = ends[1].channel("alice", QUICK)
    linger = np.array([1, 0], "<i4").tobytes()
    ends[0].connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    ends[0].close()
    with pytest.raises(ConnectionLostError):
        b.receive(8)
    b.close()


def test_nothing_is_left_behind(ends: tuple[Inside, Inside]) -> None:
    before = threading.active_count()
    both = ends[0].channel("bob", QUICK), ends[1].channel("alice", QUICK)
    both[0].send(b"1")
    both[1].receive(1)
    worlds.in_threads(both[0].close, both[1].close)
    assert threading.active_count() == before
    assert both[0]._socket.fileno() == -1
