"""The channel over a real TLS connection: order, sizes, pings, stops, silence, back-pressure."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
Ends = tuple[Inside, Inside]
Channels = tuple[TlsChannel, TlsChannel]


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[Ends]:
    """Two ends of a connection."""
    found = meet_inside(*worlds.introduce(tmp_path, agreement()))
    yield found
    for end in found:
        end.close()


@pytest.fixture
def channels(ends: Ends) -> Iterator[Channels]:
    both = ends[0].channel("bob", QUICK), ends[1].channel("alice", QUICK)
    yield both
    worlds.in_threads(both[0].close, both[1].close)


def leave(peer: Inside, end: TlsChannel) -> None:
    """Both go. An end that closes first would wait for its peer to read what was said."""
    peer.close()
    end.close()


@contextmanager
def meanwhile(act: Callable[[threading.Event], None]) -> Iterator[None]:
    """Something goes on in another thread, until the event is set."""
    over = threading.Event()
    thread = threading.Thread(target=act, args=(over,), daemon=True)
    thread.start()
    yield
    over.set()
    thread.join(worlds.PATIENCE)


def test_messages_arrive_whole_and_in_order_and_nothing_is_left(ends: Ends) -> None:
    before = threading.active_count()
    both = ends[0].channel("bob", QUICK), ends[1].channel("alice", QUICK)
    sizes = [0, 1, 8, 16_384, 16_385, 1 << 18, (1 << 18) + 1, 5_000_000]
    messages = [os.urandom(size) for size in sizes]
    for message in messages:
        both[0].send(message)
        both[1].send(memoryview(message))
    for end in both:
        for message in messages:
            found = end.receive(len(message))
            assert bytes(found) == message
            assert np.frombuffer(found, np.uint8).flags.writeable
        assert end.sent == end.received == sum(sizes) + HEADER * len(sizes)
    worlds.in_threads(both[0].close, both[1].close)
    assert threading.active_count() == before
    assert both[0]._socket.fileno() == -1


def test_sending_never_waits_for_the_partner_and_reading_ahead_is_bounded(
    channels: Channels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both send more than any buffer in between holds before either receives."""
    monkeypatch.setattr(module, "_AHEAD", 1 << 20)
    body = bytes(30_000_000)
    for end in channels:
        end.send(body)
    time.sleep(1.0)
    assert all(end._held <= module._AHEAD + 2 * (PACKET + ADDED) for end in channels)
    got = worlds.in_threads(*(lambda end=end: end.receive(len(body)) for end in channels))
    assert [len(found) for found in got] == [len(body)] * 2


def test_a_full_outbox_waits_for_a_partner_that_reads(
    channels: Channels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both send more than fits, in messages of which each alone is more than fits, and receive in between."""
    monkeypatch.setattr(module, "_QUEUED", 1 << 18)
    body = bytes(1 << 20)

    def work(end: TlsChannel) -> None:
        for _ in range(12):
            end.send(body)
            assert len(end.receive(len(body))) == len(body)

    worlds.in_threads(*(lambda end=end: work(end) for end in channels))
    assert [end.received for end in channels] == [12 * (HEADER + len(body))] * 2


def test_a_partner_that_sends_and_never_reads_is_given_up_and_fills_no_memory(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_QUEUED", 1 << 20)
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=1.0))
    size = 1 << 16

    def flood(over: threading.Event) -> None:
        while not over.wait(0.01):
            a.sendall(encode_header(Kind.MESSAGE, 1) + b"x")

    def answer() -> None:
        for _ in range(10_000):
            b.send(bytes(size))
            b.receive(1)

    with meanwhile(flood), pytest.raises(ConnectionLostError):
        answer()
    assert b.sent - b._written <= (1 << 20) + HEADER + size
    leave(a, b)


def test_a_message_is_shown_while_it_comes_and_may_be_refused(channels: Channels) -> None:
    """One of another size is refused unread."""
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
    channels[0].send(bytes(8 * module._PIECE))
    with pytest.raises(PeerError, match="enough"):
        channels[1].receive(8 * module._PIECE, look)
    channels[1].send(bytes(9))
    with pytest.raises(PeerError):
        channels[0].receive(8)


# -- what the partner says at its end ---------------------------------------------------------------------


def attended(end: TlsChannel) -> None:
    """Attend until it raises."""
    until = time.monotonic() + worlds.PATIENCE
    while time.monotonic() < until:
        end.attend()
        time.sleep(0.01)
    raise AssertionError("nothing was raised")


def test_a_stop_names_the_partner_and_the_reason(channels: Channels) -> None:
    """Also to who waits for something else; what was said before it is received."""
    channels[1].attend()
    channels[1].started("0123456789abcdef")
    channels[0].send(b"last words")
    channels[0].stop(Reason.BOUND)
    channels[0].close()
    assert bytes(channels[1].receive(10)) == b"last words"
    with pytest.raises(StoppedError) as caught:
        attended(channels[1])
    assert (caught.value.ends, caught.value.exit_code) == ("most_matches", 14)
    assert (caught.value.facts["partner"], caught.value.facts["reason"]) == ("alice", Reason.BOUND.words)


def test_a_cut_tells_how_to_go_on(channels: Channels) -> None:
    channels[1].started("0123456789abcdef")
    channels[0].close()
    for listen in (attended, lambda end: end.receive(1)):
        with pytest.raises(ConnectionLostError) as caught:
            listen(channels[1])
        assert "0123456789abcdef" in str(caught.value.facts["mend"])


def test_a_message_that_came_meanwhile_is_left_to_be_received(channels: Channels) -> None:
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


def test_a_flood_of_pings_is_refused(ends: Ends) -> None:
    a, b = ends[0], ends[1].channel("alice", QUICK)
    with meanwhile(lambda _: a.sendall(encode_header(Kind.PING, 0) * 20_000)):
        with pytest.raises(PeerError):
            b.receive(1)
        leave(a, b)


def test_garbage_and_a_reset_end_the_connection(ends: Ends, tmp_path: Path) -> None:
    for number, garbage in enumerate((b"\xff" * 8, encode_header(Kind.STOP, 1) + b"\x63", b"")):
        a, b = ends if not number else meet_inside(*worlds.introduce(tmp_path / str(number), agreement()))
        end = b.channel("alice", QUICK)
        if garbage:
            a.sendall(garbage)
        else:
            linger = np.array([1, 0], "<i4").tobytes()
            a.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            a.close()
        with pytest.raises(PeerError if garbage else ConnectionLostError):
            end.receive(8)
        leave(a, end)


# -- patience ---------------------------------------------------------------------------------------------


def given_up(end: TlsChannel, size: int = 1) -> None:
    with pytest.raises(ConnectionLostError):
        end.receive(size)


def test_a_silent_partner_is_given_up_and_so_is_one_that_only_pings(ends: Ends, tmp_path: Path) -> None:
    """One at work is not: it pings by itself, for longer than it may be silent."""
    b = ends[1].channel("alice", Patience(silence=0.5, message=60.0))
    given_up(b)
    leave(ends[0], b)
    other = meet_inside(*worlds.introduce(tmp_path / "other", agreement()))
    pinging = other[0].channel("bob", Patience(silence=2.0, message=60.0))
    waiting = other[1].channel("alice", Patience(silence=2.0, message=8.0))
    late = threading.Timer(2.7, lambda: pinging.send(b"x"))
    late.start()
    assert bytes(waiting.receive(1)) == b"x", "work was taken for silence"
    late.join()
    given_up(waiting)
    worlds.in_threads(pinging.close, waiting.close)


def test_a_trickled_header_is_given_up(ends: Ends) -> None:
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=60.0, grace=0.5))
    a.sendall(encode_header(Kind.MESSAGE, 500)[:3])
    given_up(b, 500)
    leave(a, b)


def test_a_long_message_may_take_its_time_but_no_trickle_does(ends: Ends) -> None:
    """The rate counts at any moment: a message of 100 MB is not waited for as long as it might take. One byte
    now and then is a sign of life, but no message."""
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=60.0, grace=2.0))
    rate = int(module._SLOWEST)

    def send(over: threading.Event) -> None:
        a.sendall(encode_header(Kind.MESSAGE, 2 * rate))
        for _ in range(10):
            a.sendall(bytes(rate // 5))
            time.sleep(0.22)
        a.sendall(encode_header(Kind.MESSAGE, 100_000_000))
        while not over.wait(0.1):
            a.sendall(bytes(rate // 100))

    with meanwhile(send):
        assert len(b.receive(2 * rate)) == 2 * rate, "slower than the grace alone, quicker than the rate"
        given_up(b, 100_000_000)
    leave(a, b)


def test_a_step_has_four_times_its_predicted_time(ends: Ends) -> None:
    """And not more, though the partner pings: its other end does so by itself."""
    a = ends[0].channel("bob", Patience(silence=6.0))
    b = ends[1].channel("alice", Patience(silence=6.0, message=0.2))
    b.expect(0.5)
    late = threading.Timer(0.7, lambda: a.send(b"x"))
    late.start()
    assert bytes(b.receive(1)) == b"x"
    given_up(b)
    late.join()
    worlds.in_threads(a.close, b.close)


def test_what_was_not_sent_yet_is_no_silence_of_the_partner(ends: Ends) -> None:
    """It answers when it has read everything, which takes longer than it may be silent."""
    a, b = ends[0], ends[1].channel("alice", Patience(silence=60.0, message=0.5))
    size = 20_000_000
    b.send(bytes(size))

    def work(_: threading.Event) -> None:
        left = HEADER + size
        for part in range(4, 0, -1):
            time.sleep(0.5)
            until = (part - 1) * (HEADER + size) // 4
            while left > until:
                left -= len(a.recv(min(left, 16_384)))
        a.sendall(encode_header(Kind.MESSAGE, 1) + b"x")

    with meanwhile(work):
        assert bytes(b.receive(1)) == b"x"
    leave(a, b)
