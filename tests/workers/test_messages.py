"""What coordinator and worker say: all that is written is read again, and nothing else."""

from __future__ import annotations

import socket
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.secure.blocks import Table
from accord.secure.circuit import Input
from accord.workers import messages
from accord.workers.messages import Answer, Cause, Failure, Job, Kind, Meet, Message, Start

INPUTS = (Input("bits", 3, 1), Input("wide", 1, 70_000), Input("longest", 2, 1 << 40))
START = Start("A", "alice", "bob", '["And",[]]', "ot", "100/20", True, True, 60.0, 600.0, 60.0, 90.0)


def job(rows: int, blocks: int, seed: int = 0) -> Job:
    rng = np.random.default_rng(seed)
    values = {of.name: rng.integers(0, of.high + 1, (rows, of.length)) for of in INPUTS}
    counts = rng.integers(1, 99, (2, blocks))
    return Job(1.5, counts[0], counts[1], Table(values, rng.integers(0, 2, rows) == 1))


@given(st.integers(0, 20), st.integers(0, 5), st.integers(0, 99))
def test_a_job_is_read_again(rows: int, blocks: int, seed: int) -> None:
    made = job(rows, blocks, seed)
    body = bytearray(b"".join(messages.encode_job(made, INPUTS)))
    found = messages.decode_job(body, INPUTS)
    assert found.seconds == made.seconds
    assert np.array_equal(found.a_counts, made.a_counts)
    assert np.array_equal(found.b_counts, made.b_counts)
    assert np.array_equal(found.table.real, made.table.real)
    for of in INPUTS:
        assert np.array_equal(found.table.read(of), made.table.read(of))
    for wrong in (body[:-1], body + b"\0"):
        with pytest.raises(ValueError):
            messages.decode_job(wrong, INPUTS)


def test_the_size_of_a_job_says_nothing_of_its_values() -> None:
    sizes = {len(b"".join(messages.encode_job(job(17, 3, seed), INPUTS))) for seed in range(20)}
    assert len(sizes) == 1


@given(st.lists(st.integers(0, 1 << 40), max_size=9), st.integers(0, 1 << 60))
def test_an_answer_is_read_again(places: list[int], number: int) -> None:
    made = Answer(np.array(places, np.int64), number, 2, 3, 4)
    body = bytearray(b"".join(messages.encode_answer(made)))
    found = messages.decode_answer(body)
    assert found.found.tolist() == places
    assert (found.sent, found.received, found.nanoseconds, found.peak_bytes) == (number, 2, 3, 4)
    for wrong in (body[:-1], body + b"\0", body[:8]):
        with pytest.raises(ValueError):
            messages.decode_answer(wrong)


def test_facts_are_read_again_and_no_others() -> None:
    meet = Meet("00ff", "aa", "host", 7000)
    assert messages.decode_facts(Start, messages.encode_facts(START)) == START
    assert messages.decode_facts(Meet, messages.encode_facts(meet)) == meet
    assert "aa" not in repr(meet)
    for wrong in (
        b"",
        b"{}",
        b"[]",
        messages.encode_facts(meet),
        messages.encode_facts(START).replace(b"60.0", b'"a"'),
    ):
        with pytest.raises(ValueError):
            messages.decode_facts(Start, wrong)
    failure = Failure(Cause.PARTNER, "a message of 3 bytes")
    assert messages.decode_failure(bytearray(messages.encode_failure(failure))) == failure


def through(*content: bytes) -> Message | None:
    """What is heard of these bytes, each sent on its own, before the end."""
    ours, theirs = socket.socketpair()
    with ours:

        def send() -> None:
            with theirs:
                for part in content:
                    theirs.sendall(part)

        thread = threading.Thread(target=send)
        thread.start()
        try:
            return messages.receive(ours)
        finally:
            thread.join()


def written(kind: Kind, *parts: bytes) -> bytes:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            messages.send(theirs, kind, *parts)
        found = b""
        while piece := ours.recv(1 << 16):
            found += piece
        return found


def test_a_message_whole_byte_by_byte_and_cut() -> None:
    content = written(Kind.CERTIFICATE, b"abc", b"def")
    for pieces in ((content,), tuple(content[i : i + 1] for i in range(len(content)))):
        assert through(*pieces) == Message(Kind.CERTIFICATE, bytearray(b"abcdef"))
    for length in range(len(content)):
        assert through(content[:length]) is None


@given(st.binary(min_size=16, max_size=40))
def test_what_is_no_message_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        through(content)


@pytest.mark.parametrize("kind", [Kind.CERTIFICATE, Kind.READY, Kind.SOCKET])
def test_a_message_that_is_too_long_is_refused_on_both_ends(kind: Kind) -> None:
    with pytest.raises(ValueError, match="too long"):
        written(kind, bytes(2000))
    head = written(Kind.READY)
    with pytest.raises(ValueError):
        through(head[:8] + (kind << 56 | 2000).to_bytes(8, "little"))


def test_a_connection_is_handed_over() -> None:
    ours, theirs = socket.socketpair()
    left, right = socket.socketpair()
    with ours, theirs, left:
        with right:
            messages.hand_over(theirs, right)
        message: Any = messages.receive(ours)
        assert message.kind is Kind.SOCKET
        (descriptor,) = message.descriptors
        with socket.socket(fileno=descriptor) as handed:
            handed.sendall(b"here")
            assert left.recv(4) == b"here"
