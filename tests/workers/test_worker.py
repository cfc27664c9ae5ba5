"""A worker by itself: its key, the order of what it is told, and messages over a socket."""

from __future__ import annotations

import gc
import os
import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accord.peer.connect import make_context
from accord.secure.blocks import Table
from accord.secure.circuit import Input
from accord.secure.circuit_text import encode_circuit
from accord.workers import messages, worker
from accord.workers.messages import Cause, Failure, Job, Kind, Meet, Message, Start
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
