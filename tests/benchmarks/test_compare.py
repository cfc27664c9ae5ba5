"""The measurements themselves: two real processes, right answers, made-up rows, and the slow network."""

from __future__ import annotations

import socket
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.network import Network
from accord.secure.blocks import Blocks
from accord.secure.engines import BUILT_IN
from accord.secure.ideal import match
from accord.side import Side
from benchmarks.compare import describe
from benchmarks.engines import Measurement, measure
from benchmarks.shaping import Pace, Proxy
from benchmarks.workload import RULES, Work, make_up_table


@pytest.mark.whole
def test_two_processes_come_to_the_right_answers() -> None:
    measured = measure(Measurement("ot", "hamming50", 40))
    assert (measured.engine, measured.rule, measured.pairs) == ("ot", "hamming50", 1600)
    assert (measured.checked, measured.rounds) == (True, 4)
    assert (measured.width, measured.network) == (40, None)
    assert measured.bytes_per_pair > 30
    assert "1,600 pairs" in describe(measured)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BUILT_IN, "paillier", "paillier-packed"])
def test_every_engine_is_measured(name: str) -> None:
    """Over a slow network, in narrow blocks as well."""
    measured = measure(Measurement(name, "hamming50", 3, repeats=2))
    assert (measured.engine, measured.pairs, measured.checked) == (name, 9, True)
    if name == "ot":
        slow = measure(Measurement("ot", "hamming50", 40, 1, 16, Network.parse("1000/1")))
        assert (slow.pairs, slow.width, slow.network) == (6 * 16 * 16, 16, "1000/1")
        assert slow.checked


@pytest.mark.parametrize(
    ("rows", "width", "work"),
    [
        (1000, None, Work(1, 1000, 1000)),
        (1000, 32, Work(977, 32, 32)),
        (300, 7, Work.of(300, 7)),
        (3000, None, Work.of(3000, None)),
        (40, 100, Work(1, 16, 100)),
        (3, 100, Work(1, 1, 100)),
        (1, 1, Work(1, 1, 1)),
    ],
)
def test_slabs_hold_every_pair_of_as_many_blocks_as_give_the_pairs(
    rows: int, width: int | None, work: Work
) -> None:
    assert Work.of(rows, width) == work
    slabs = list(work.cut())
    assert sum(slab.pairs for slab in slabs) == work.pairs
    assert all(slab.pairs <= 1 << 22 for slab in slabs)
    assert all((slab.b_counts == work.width).all() for slab in slabs)
    assert sum(int(slab.a_counts.sum()) for slab in slabs) == work.blocks * work.a_rows
    assert all(max(slab.a_rows.max(), slab.b_rows.max()) < work.rows for slab in slabs)
    (slab,) = Work(3, 2, 4).cut()
    assert slab.a_rows.tolist() == [0, 1, 4, 5, 8, 9], "a row meets only those of its block"


@pytest.mark.parametrize("name", RULES)
def test_every_rule_has_matches_and_others(name: str) -> None:
    a, b = (make_up_table(RULES[name], side, 100) for side in Side)
    assert 0 < match(RULES[name], Blocks.whole(100, 100), a, b).sum() < 5000
    if name == "edit":
        letters = a.inputs["letters"] > 0
        assert (np.sort(letters)[:, ::-1] == letters).all(), "letters end before the first zero"


def test_a_sample_is_for_engines_that_take_milliseconds_a_pair() -> None:
    fast, slow = (Measurement(name, "hamming50", 20, repeats=2) for name in ("ot", "paillier"))
    assert fast.sample(2) == fast
    assert (slow.sample(2).rows, slow.sample(2).repeats, slow.sample(40).rows) == (2, 1, 20)
    with pytest.raises(UsageError):
        measure(Measurement("ot", "x", 10))


# -- the slow network --------------------------------------------------------------------------------------


def test_a_network_is_written_as_rate_and_round_trip() -> None:
    network = Network.parse("100/20")
    assert (network.one_way, network.bytes_per_second) == (0.01, 12_500_000)
    assert str(Network.parse("2.5/0")) == "2.5/0"
    for text in ("", "100", "100/20/3", "x/20", "0/20", "-1/20", "100/-1", "nan/1", "1/inf"):
        with pytest.raises(UsageError):
            Network.parse(text)


@given(st.lists(st.tuples(st.floats(0, 2), st.integers(1, 100_000)), min_size=1, max_size=50))
def test_no_stretch_is_faster_than_the_rate_and_none_slower_than_it_must(
    pieces: list[tuple[float, int]],
) -> None:
    network, now, due, arrived = Network(megabits=10, milliseconds=40), 0.0, [], []
    pace, sizes = Pace(network), [size for _, size in pieces]
    for pause, size in pieces:
        now += pause
        arrived.append(now)
        due.append(pace.due(now, size))
    for last in range(len(pieces)):
        # A queue that serves in order: the latest start of a busy stretch decides.
        stretches = range(last + 1)
        least = max(arrived[n] + sum(sizes[n : last + 1]) / network.bytes_per_second for n in stretches)
        assert due[last] == pytest.approx(least + network.one_way)


def _all(end: socket.socket) -> bytes:
    found = bytearray()
    while piece := end.recv(1 << 16):
        found += piece
    return bytes(found)


def _send(end: socket.socket, data: bytes) -> None:
    end.sendall(data)
    end.shutdown(socket.SHUT_WR)


def test_bytes_pass_unchanged_in_both_directions_at_once_until_an_end_closes() -> None:
    there, back, found = bytes(range(251)) * 8_000, bytes(range(241)) * 9_000, list[bytes]()
    network = Network(megabits=8_000, milliseconds=0.2)
    with socket.create_server(("127.0.0.1", 0)) as server, Proxy(network, server.getsockname()[1]) as proxy:
        caller = socket.create_connection(("127.0.0.1", proxy.port))
        called, _ = server.accept()
        with caller, called:
            threads = [
                threading.Thread(target=_send, args=each) for each in ((caller, there), (called, back))
            ]
            threads.append(threading.Thread(target=lambda: found.append(_all(caller))))
            for thread in threads:
                thread.start()
            assert _all(called) == there
            for thread in threads:
                thread.join()
    assert found == [back]


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
