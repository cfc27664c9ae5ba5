"""Parties in one thread: order, counting, interleaving, and bugs that are reported instead of hanging."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from accord.errors import PeerError
from accord.secure.party import (
    Deadlock,
    Meter,
    Party,
    Receive,
    Send,
    Wire,
    interleave,
    meter_party,
    receive,
    run,
    run_pair,
    send,
)
from accord.side import Side
from benchmarks.engines import SocketChannel


def asks(question: bytes) -> Party[bytes]:
    yield Send(question)
    return bytes((yield Receive(len(question))))


def echoes(size: int) -> Party[int]:
    got = yield Receive(size)
    yield Send(bytes(got)[::-1])
    return size


def waits() -> Party[None]:
    yield Receive(1)


def says(data: bytes) -> Party[None]:
    yield Send(data)


def test_both_results_come_back_and_the_wire_is_recorded() -> None:
    wire = Wire()
    assert run_pair(asks(b"abc"), echoes(3), wire) == (b"cba", 3)
    assert wire.sizes == {Side.A: [3], Side.B: [3]}
    assert (wire.bytes, wire.messages, wire.rounds) == (6, 2, 2)


def test_the_digest_sees_content_direction_and_cuts() -> None:
    def digest(a: Party[object], b: Party[object]) -> str:
        wire = Wire()
        run_pair(a, b, wire)
        return wire.digest

    def says_twice() -> Party[None]:
        yield Send(b"a")
        yield Send(b"b")

    def hears_twice() -> Party[None]:
        yield Receive(1)
        yield Receive(1)

    digests = [
        digest(says(b"ab"), echo_less(2)),
        digest(says(b"ax"), echo_less(2)),
        digest(echo_less(2), says(b"ab")),
        digest(says_twice(), hears_twice()),
    ]
    assert len(set(digests)) == len(digests)


def echo_less(size: int) -> Party[None]:
    yield Receive(size)


def silent() -> Party[None]:
    yield from ()


def test_waiting_for_ever_is_reported() -> None:
    with pytest.raises(Deadlock, match=r"^A and B waits"):
        run_pair(waits(), waits())
    with pytest.raises(Deadlock, match=r"^A waits"):
        run_pair(waits(), silent())
    with pytest.raises(Deadlock, match=r"^B waits"):
        run_pair(silent(), waits())


def test_a_message_that_nobody_reads_is_reported() -> None:
    with pytest.raises(Deadlock, match="nobody reads"):
        run_pair(says(b"x"), silent())


def test_a_message_of_another_size_is_refused() -> None:
    for data in (b"", b"12", b"1234"):
        with pytest.raises(PeerError, match="were due"):
            run_pair(says(data), receive(3))


def test_the_meter_counts_one_side() -> None:
    meter = Meter()
    assert run_pair(meter_party(asks(b"abcd"), meter), echoes(4))[0] == b"dcba"
    assert (meter.sent, meter.received, meter.messages) == (4, 4, 2)


@pytest.mark.parametrize("window", [1, 2, 4, 9])
@pytest.mark.parametrize("count", [0, 1, 3, 10])
def test_interleaved_parties_give_their_results_in_order(window: int, count: int) -> None:
    questions = [bytes([i] * (i + 1)) + b"!" for i in range(count)]
    wire = Wire()
    a, b = run_pair(
        interleave((asks(q) for q in questions), window),
        interleave((echoes(len(q)) for q in questions), window),
        wire,
    )
    assert a == [q[::-1] for q in questions]
    assert b == [len(q) for q in questions]
    assert wire.rounds == 2 * -(-count // window)


def test_interleaved_parties_overlap() -> None:
    sent: list[str] = []

    def party(name: str) -> Party[None]:
        yield Send(name.encode())
        sent.append(name)
        yield Receive(1)

    driven = interleave(iter([party("1"), party("2"), party("3")]), 2)
    assert isinstance(next(driven), Send)
    assert isinstance(next(driven), Send)
    assert isinstance(next(driven), Receive)
    assert sent == ["1", "2"]


def test_over_sockets_two_parties_that_both_send_much_do_not_block_each_other() -> None:
    import threading

    size = 1 << 23

    def party() -> Party[int]:
        yield from send(np.zeros(size, dtype=np.uint8))
        return len((yield from receive(size)))

    left, right = socket.socketpair()
    channels = [SocketChannel(left), SocketChannel(right)]
    results: list[int] = []
    threads = [threading.Thread(target=lambda c=c: results.append(run(party(), c))) for c in channels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert results == [size, size]
    for channel in channels:
        channel.close()


def test_a_socket_refuses_another_length_before_reading_it() -> None:
    left, right = socket.socketpair()
    sender, receiver = SocketChannel(left), SocketChannel(right)
    sender.send(b"12345")
    with pytest.raises(PeerError, match="5 bytes where 4"):
        receiver.receive(4)
    sender.close()
    with pytest.raises(PeerError):
        receiver.receive(100)
    receiver.close()
