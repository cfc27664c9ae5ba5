"""Records on disk: what was written is read again, whole, and a cut loses only its tail."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from accord.accountable.stored import (
    StoredTranscript,
    TranscriptFiles,
    WorkerSigning,
    attempts,
    decode_seal,
    encode_seal,
    new_attempt,
)
from accord.accountable.transcript import Chain, Meeting, Seal
from accord.errors import DamagedError, StateError
from accord.side import Side
from accord.state.folder import State
from accord.state.manifest import Manifest, StoredRequest
from accord.state.runs import StoredRun, begin_run
from accord.table.layout import Layout
from tests.state.damage import flip, flip_content

HELLOS = {Side.A: b"a" * 256, Side.B: b"b" * 256}
SEAL = Seal(3, b"s" * 32, 2, b"r" * 32, b"x" * 64)
MESSAGES = [b"", b"one", bytes(1 << 17), b"last"]
MEETING = Meeting(bytes(32), bytes(32))


def begun(folder: Path) -> StoredRun:
    """A run of which nothing is kept but that it began."""
    asked = StoredRequest("", Layout().to_json(), "", False, None, "", "", None)
    known = Manifest("run", "bob", "A", "table", "", 8, 9, "", "2026-11-17", asked)
    state = State(folder)
    # No run begins before there is a database.
    with state.database.reading():
        pass
    return begin_run(state, known, {})


def chain(connection: int = 0) -> Chain:
    return Chain(MEETING, connection, Side.B)


def kept(folder: Path, connection: int = 0) -> StoredTranscript:
    own = chain(connection)
    with TranscriptFiles(folder, connection) as files:
        for number, message in enumerate(MESSAGES):
            files.received(memoryview(message), own.add(message))
            files.sent(bytes([number]) * 32)
        files.gave(SEAL)
        files.took(Seal(1, b"t" * 32, 0, b"u" * 32, b"y" * 64))
    return StoredTranscript(folder, connection)


def test_attempts_are_numbered_and_nobody_else_can_read_them(tmp_path: Path) -> None:
    run = begun(tmp_path)
    found = [new_attempt(run, HELLOS) for _ in range(10)]
    assert [attempt.number for attempt in found] == list(range(1, 11))
    assert attempts(run) == found
    assert found[0].hellos() == HELLOS
    kept(found[0].folder, 7)
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_an_attempt_that_was_killed_at_once_is_none_and_its_number_is_not_taken_again(tmp_path: Path) -> None:
    run = begun(tmp_path)
    (run.path / "record" / "0001").mkdir(parents=True, mode=0o700)
    second = new_attempt(run, HELLOS)
    assert (second.number, attempts(run)) == (2, [second])
    record = StoredTranscript(second.folder, 0)
    assert list(record.received(chain())) == []
    for kind in ("received", "sent", "seals"):
        (second.folder / f"0.{kind}").write_bytes(f"accord {kind}".encode())
    assert (list(record.received(chain())), record.sent(), record.seals()) == ([], [], ([], []))


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    record = kept(tmp_path)
    assert record.there
    assert list(record.received(chain())) == MESSAGES
    assert record.sent() == [bytes([n]) * 32 for n in range(4)]
    given, taken = record.seals()
    assert (given, len(taken)) == ([SEAL], 1)


@pytest.mark.parametrize("missing", [1, 4, 5, 12])
def test_a_cut_loses_the_tail_alone(missing: int, tmp_path: Path) -> None:
    record = kept(tmp_path)
    for kind in ("received", "sent", "seals"):
        path = tmp_path / f"0.{kind}"
        path.write_bytes(path.read_bytes()[:-missing])
    assert list(record.received(chain())) == MESSAGES[:3]
    assert len(record.sent()) == 3
    assert [len(found) for found in record.seals()] == [1, 0]


@pytest.mark.parametrize(("at", "before"), [(-1, 3), (-5, 3), (18 + 8, 0), (18 + 40 + 8 + 31, 1)])
def test_what_was_received_is_told_from_anything_else(at: int, before: int, tmp_path: Path) -> None:
    """In a message or in its link; those before it are read."""
    record = kept(tmp_path)
    flip(tmp_path / "0.received", at)
    found = record.received(chain())
    assert [next(found) for _ in range(before)] == MESSAGES[:before]
    with pytest.raises(ValueError, match="not what was received"):
        next(found)


def test_what_was_received_is_of_one_connection(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not what was received"):
        next(kept(tmp_path).received(chain(1)))


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    record = kept(tmp_path)
    for kind in ("received", "sent", "seals"):
        path = tmp_path / f"0.{kind}"
        path.write_bytes(b"x" + path.read_bytes())
    for read in (record.sent, record.seals, lambda: list(record.received(chain()))):
        with pytest.raises(ValueError, match="not a record"):
            read()
    with pytest.raises(ValueError, match="not a seal"):
        decode_seal(encode_seal(SEAL) + b"\0")


@pytest.mark.parametrize("content", [b"nothing", b"accord opening 1\n", b"accord opening 1\nodd"])
def test_what_is_no_opening_is_refused(content: bytes, tmp_path: Path) -> None:
    run = begun(tmp_path)
    attempt = new_attempt(run, HELLOS)
    run.keep({"opening-1": content})
    with pytest.raises(ValueError, match="not an opening"):
        attempt.hellos()


def test_a_damaged_opening_is_told(tmp_path: Path) -> None:
    attempt = new_attempt(begun(tmp_path), HELLOS)
    flip_content(State(tmp_path), "run", "opening-1")
    with pytest.raises(DamagedError, match="the opening-1 of the run run is not what was written"):
        attempt.hellos()


def test_certificates_of_workers(tmp_path: Path) -> None:
    run = begun(tmp_path)
    attempt = new_attempt(run, HELLOS)
    assert attempt.certificates() == []
    attempt.keep_certificates([b"first", b"second"])
    assert attempt.certificates() == [b"first", b"second"]
    run.keep({"certificates-1": b"nothing"})
    with pytest.raises(ValueError, match="not certificates"):
        attempt.certificates()


def test_a_full_disk_is_told_and_the_run_can_go_on(tmp_path: Path) -> None:
    with TranscriptFiles(tmp_path, 0) as files:
        handle = os.open("/dev/full", os.O_WRONLY)
        os.dup2(handle, files._received.fileno())
        os.close(handle)
        with pytest.raises(StateError, match=r"accord resume") as found:
            files.received(b"message", bytes(32))
    assert found.value.reason == os.strerror(errno.ENOSPC)


def test_a_connection_is_never_recorded_twice(tmp_path: Path) -> None:
    kept(tmp_path)
    with pytest.raises(StateError):
        TranscriptFiles(tmp_path, 0)


def test_a_worker_does_not_show_its_key() -> None:
    assert "5ec2e7" not in repr(WorkerSigning(1, "00", "5ec2e7", "/nowhere"))
