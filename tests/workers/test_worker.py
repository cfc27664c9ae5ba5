"""A worker by itself: its key, and the order of what it is told."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.peer.connect import make_context
from accord.secure.circuit_text import encode_circuit
from accord.workers import messages, worker
from accord.workers.messages import Cause, Failure, Kind, Meet, Message, Start
from accord.workers.worker import Service, Worker
from tests.run.faults import agreement

CIRCUIT = encode_circuit(agreement("plain").task.lowered.node)
START = Start("A", "alice", "bob", CIRCUIT, "ot", "100/20", True, True, 60.0, 60.0, 5.0, 5.0)
SECRET = b"PRIVATE KEY"


class Watched:
    """Where keys were read from, with what was there meanwhile."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[bytes] = []
        self.on_disk: list[Path] = []
        self.places: list[str] = []
        for name in ("TMPDIR", "TEMP", "TMP"):
            monkeypatch.setenv(name, str(folder))
        monkeypatch.setattr("tempfile.tempdir", None)
        monkeypatch.chdir(folder)
        self._folder = folder
        monkeypatch.setattr(worker, "make_context", self._make)

    def _make(self, kind: int, state: Any, card: Any) -> Any:
        self.read.append(state.identity.read_bytes())
        self.places.append(os.path.realpath(state.identity))
        self.on_disk += [path for path in self._folder.rglob("*") if path.is_file()]
        return make_context(kind, state, card)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    yield Watched(tmp_path, monkeypatch)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()], "a key was left"


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no files in memory")
def test_the_key_of_a_worker_is_never_on_a_disk(watched: Watched) -> None:
    """OpenSSL reads it from a file without a name, in memory, and none is left open."""
    # What others have left is closed now, and not meanwhile.
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    Worker(START)
    assert [SECRET in content for content in watched.read] == [True]
    assert all(place.startswith("/memfd:identity") for place in watched.places)
    assert not watched.on_disk
    assert len(os.listdir("/proc/self/fd")) <= before


def test_without_files_in_memory_it_is_gone_at_once(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search finds a key that is on a disk; nobody else could read it there."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    modes: list[int] = []
    make = watched._make

    def made(kind: int, state: Any, card: Any) -> Any:
        modes.append(state.identity.stat().st_mode & 0o777)
        return make(kind, state, card)

    monkeypatch.setattr(worker, "make_context", made)
    Worker(START)
    assert [SECRET in content for content in watched.read] == [True]
    assert len(watched.on_disk) == 1
    assert modes == [0o600]


def test_two_workers_have_two_keys() -> None:
    assert Worker(START).certificate != Worker(START).certificate


def tell(service: Service, kind: Kind, body: bytes = b"") -> tuple[Kind, bytes] | None:
    return service.answer(Message(kind, bytearray(body)))


def test_it_listens_to_one_thing_at_a_time() -> None:
    """Until it is ready no job is taken, and nothing is taken twice."""
    service = Service()
    for kind in Kind:
        if kind is not Kind.START:
            assert failure(tell(service, kind)) == Failure(Cause.FAULT, "ValueError")
    said = tell(service, Kind.START, messages.encode_facts(START))
    assert said
    assert said[0] is Kind.CERTIFICATE
    for kind in (Kind.START, Kind.JOB, Kind.SOCKET):
        assert failure(tell(service, kind)) == Failure(Cause.FAULT, "ValueError")
    meet = messages.encode_facts(Meet(card=said[1].hex(), token=""))
    assert tell(service, Kind.MEET, meet) is None
    for kind in (Kind.MEET, Kind.JOB):
        assert failure(tell(service, kind)) == Failure(Cause.FAULT, "ValueError")


def failure(said: tuple[Kind, bytes] | None) -> Failure:
    assert said
    assert said[0] is Kind.FAILURE
    return messages.decode_failure(bytearray(said[1]))
