"""The slow network: when bytes are due by its own arithmetic, and that they pass unchanged."""

from __future__ import annotations

import socket
import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.network import Network
from benchmarks.shaping import Pace, Proxy

FAST = Network(megabits=8_000, milliseconds=0.2)


def test_a_network_is_written_as_rate_and_round_trip() -> None:
    assert Network.parse("100/20") == Network(100, 20)
    assert str(Network.parse("2.5/0")) == "2.5/0"
    assert Network.parse("100/20").one_way == 0.01
    assert Network.parse("100/20").bytes_per_second == 12_500_000


@pytest.mark.parametrize("text", ["", "100", "100/20/3", "x/20", "0/20", "-1/20", "100/-1", "nan/1", "1/inf"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Network.parse(text)


def test_a_byte_takes_half_the_round_trip_and_its_turn_at_the_bottleneck() -> None:
    pace = Pace(Network(megabits=8, milliseconds=20))
    assert pace.due(5.0, 1_000_000) == 5.0 + 1.0 + 0.01
    # It waits for those before it, and not for half a round trip more.
    assert pace.due(5.5, 500_000) == 5.0 + 1.5 + 0.01
    # An idle bottleneck saves up nothing.
    assert pace.due(9.0, 1_000_000) == 9.0 + 1.0 + 0.01


@given(st.lists(st.tuples(st.floats(0, 2), st.integers(1, 100_000)), min_size=1, max_size=50))
def test_no_stretch_is_faster_than_the_rate_and_none_slower_than_it_must(
    pieces: list[tuple[float, int]],
) -> None:
    network = Network(megabits=10, milliseconds=40)
    pace, now, due = Pace(network), 0.0, []
    arrived = []
    for pause, size in pieces:
        now += pause
        arrived.append(now)
        due.append(pace.due(now, size))
    sizes = [size for _, size in pieces]
    for last in range(len(pieces)):
        # A queue that serves in order: the latest start of a busy stretch decides.
        least = max(
            arrived[first] + sum(sizes[first : last + 1]) / network.bytes_per_second
            for first in range(last + 1)
        )
        assert due[last] == pytest.approx(least + network.one_way)


def test_bytes_pass_unchanged_in_both_directions_at_once() -> None:
    there, back = bytes(range(251)) * 8_000, bytes(range(241)) * 9_000
    with socket.create_server(("127.0.0.1", 0)) as server, Proxy(FAST, server.getsockname()[1]) as proxy:
        caller = socket.create_connection(("127.0.0.1", proxy.port))
        called, _ = server.accept()
        with caller, called:
            work = (caller, there), (called, back)
            senders = [threading.Thread(target=_send, args=each) for each in work]
            for sender in senders:
                sender.start()
            found: list[bytes] = []
            reader = threading.Thread(target=lambda: found.append(_all(caller)))
            reader.start()
            assert _all(called) == there
            for thread in (*senders, reader):
                thread.join()
            assert found == [back]


def test_an_end_that_closes_ends_the_other() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, Proxy(FAST, server.getsockname()[1]) as proxy:
        caller = socket.create_connection(("127.0.0.1", proxy.port))
        called, _ = server.accept()
        called.close()
        with caller:
            assert caller.recv(1) == b""


def test_both_ends_break_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, Proxy(FAST, server.getsockname()[1]) as proxy:
        caller = socket.create_connection(("127.0.0.1", proxy.port))
        called, _ = server.accept()
        for end in (caller, called):
            # Closed like this, the connection is reset, and the proxy cannot even say goodbye to it.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()


def test_a_proxy_that_nobody_called_closes() -> None:
    with Proxy(FAST, 9):
        pass


def test_a_proxy_closes_in_the_middle_of_a_message() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = Proxy(Network(megabits=0.1, milliseconds=0), server.getsockname()[1])
        caller = socket.create_connection(("127.0.0.1", proxy.port))
        called, _ = server.accept()
        with caller, called:
            caller.sendall(bytes(4_000))
            called.recv(1)
            proxy.close()
            assert len(_all(called)) < 4_000


def _send(end: socket.socket, data: bytes) -> None:
    end.sendall(data)
    end.shutdown(socket.SHUT_WR)


def _all(end: socket.socket) -> bytes:
    found = bytearray()
    while piece := end.recv(1 << 16):
        found += piece
    return bytes(found)
