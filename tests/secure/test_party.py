"""Parties in one thread: order, counting, interleaving, and bugs that are reported instead of hanging."""

from __future__ import annotations

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
    run_pair,
)
from accord.side import Side


def asks(question: bytes) -> Party[bytes]:
    yield Send(question)
    return bytes((yield Receive(len(question))))


def echoes(size: int) -> Party[int]:
    got = yield Receive(size)
    yield Send(bytes(got)[::-1])
    return size


def does(*effects: Send | Receive) -> Party[None]:
    for effect in effects:  # noqa: UP028 (a tuple cannot be sent what was received)
        yield effect


def test_both_results_come_back_and_the_wire_is_recorded() -> None:
    wire, meter = Wire(), Meter()
    assert run_pair(meter_party(asks(b"abc"), meter), echoes(3), wire=wire) == (b"cba", 3)
    assert wire.sizes == {Side.A: [3], Side.B: [3]}
    assert (wire.bytes, wire.messages, wire.rounds) == (6, 2, 2)
    assert (meter.sent, meter.received, meter.messages) == (3, 3, 2)


def test_the_digest_sees_content_direction_and_cuts() -> None:
    digests = set()
    for said in ((b"ab",), (b"ax",), (b"a", b"b")):
        sends, receives = [Send(part) for part in said], [Receive(len(part)) for part in said]
        for pair in ((sends, receives), (receives, sends)):
            wire = Wire()
            run_pair(does(*pair[0]), does(*pair[1]), wire=wire)
            digests.add(wire.digest)
    assert len(digests) == 6


@pytest.mark.parametrize(("a", "b"), [([Receive(1)], [Receive(1)]), ([Receive(1)], []), ([], [Receive(1)])])
def test_waiting_for_ever_and_a_message_that_nobody_reads_are_reported(
    a: list[Receive], b: list[Receive]
) -> None:
    with pytest.raises(Deadlock) as found:
        run_pair(does(*a), does(*b))
    assert [side in str(found.value).split() for side in "AB"] == [bool(a), bool(b)]
    with pytest.raises(Deadlock):
        run_pair(does(Send(b"x")), does())


def test_a_message_of_another_size_is_refused() -> None:
    for data in (b"", b"12", b"1234"):
        with pytest.raises(PeerError):
            run_pair(does(Send(data)), receive(3))


@pytest.mark.parametrize("window", [1, 2, 4, 9])
def test_interleaved_parties_give_their_results_in_order(window: int) -> None:
    for count in (0, 1, 3, 10):
        questions = [bytes([i] * (i + 1)) + b"!" for i in range(count)]
        wire = Wire()
        a, b = run_pair(
            interleave((asks(q) for q in questions), window),
            interleave((echoes(len(q)) for q in questions), window),
            wire=wire,
        )
        assert a == [q[::-1] for q in questions]
        assert b == [len(q) for q in questions]
        assert wire.rounds == 2 * -(-count // window)
    driven = interleave(iter([asks(b"1"), asks(b"2"), asks(b"3")]), 2)
    assert [type(next(driven)) for _ in range(3)] == [Send, Send, Receive], "they overlap"
