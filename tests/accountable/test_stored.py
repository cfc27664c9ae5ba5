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
    keep_certificates,
    new_attempt,
    read_certificates,
    read_opening,
)
from accord.accountable.transcript import Seal
from accord.errors import StateError
from accord.side import Side

HELLOS = {Side.A: b"a" * 256, Side.B: b"b" * 256}
SEAL = Seal(3, b"s" * 32, 2, b"r" * 32, b"x" * 64)
MESSAGES = [b"", b"one", bytes(1 << 17), b"last"]


def kept(folder: Path, connection: int = 0) -> StoredTranscript:
    with TranscriptFiles(folder, connection) as files:
        for number, message in enumerate(MESSAGES):
            files.received(memoryview(message))
            files.sent(bytes([number]) * 32)
        files.gave(SEAL)
        files.took(Seal(1, b"t" * 32, 0, b"u" * 32, b"y" * 64))
    return StoredTranscript(folder, connection)


def test_attempts_are_numbered_and_nobody_else_can_read_them(tmp_path: Path) -> None:
    found = [new_attempt(tmp_path, HELLOS) for _ in range(3)]
    assert [number for number, _ in found] == [1, 2, 3]
    assert attempts(tmp_path) == [folder for _, folder in found]
    assert read_opening(found[0][1]) == HELLOS
    kept(found[0][1], 7)
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_an_attempt_that_was_killed_at_once_is_none_and_its_number_is_not_taken_again(tmp_path: Path) -> None:
    _, first = new_attempt(tmp_path, HELLOS)
    (first / "opening").unlink()
    number, second = new_attempt(tmp_path, HELLOS)
    assert (number, attempts(tmp_path)) == (2, [second])
    record = StoredTranscript(second, 0)
    assert list(record.received()) == []
    for kind in ("received", "sent", "seals"):
        (second / f"0.{kind}").write_bytes(f"accord {kind}".encode())
    assert (list(record.received()), record.sent(), record.seals()) == ([], [], ([], []))


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    record = kept(tmp_path)
    assert record.there
    assert list(record.received()) == MESSAGES
    assert record.sent() == [bytes([n]) * 32 for n in range(4)]
    given, taken = record.seals()
    assert (given, len(taken)) == ([SEAL], 1)


@pytest.mark.parametrize("missing", [1, 4, 5, 12])
def test_a_cut_loses_the_tail_alone(missing: int, tmp_path: Path) -> None:
    record = kept(tmp_path)
    for kind in ("received", "sent", "seals"):
        path = tmp_path / f"0.{kind}"
        path.write_bytes(path.read_bytes()[:-missing])
    assert list(record.received()) == MESSAGES[:3]
    assert len(record.sent()) == 3
    assert [len(found) for found in record.seals()] == [1, 0]


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    record = kept(tmp_path)
    for kind in ("received", "sent", "seals"):
        path = tmp_path / f"0.{kind}"
        path.write_bytes(b"x" + path.read_bytes())
    for read in (record.sent, record.seals, lambda: list(record.received())):
        with pytest.raises(ValueError, match="not a record"):
            read()
    with pytest.raises(ValueError, match="not a seal"):
        decode_seal(encode_seal(SEAL) + b"\0")
    (tmp_path / "opening").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not an opening"):
        read_opening(tmp_path)


def test_certificates_of_workers(tmp_path: Path) -> None:
    assert read_certificates(tmp_path) == []
    keep_certificates(tmp_path, [b"first", b"second"])
    assert read_certificates(tmp_path) == [b"first", b"second"]
    (tmp_path / "badges").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="not badges"):
        read_certificates(tmp_path)


def test_a_full_disk_is_told_and_the_run_can_go_on(tmp_path: Path) -> None:
    with TranscriptFiles(tmp_path, 0) as files:
        handle = os.open("/dev/full", os.O_WRONLY)
        os.dup2(handle, files._received.fileno())
        os.close(handle)
        with pytest.raises(StateError, match=r"accord resume") as found:
            files.received(b"message")
    assert found.value.reason == os.strerror(errno.ENOSPC)


def test_a_connection_is_never_recorded_twice(tmp_path: Path) -> None:
    kept(tmp_path)
    with pytest.raises(StateError):
        TranscriptFiles(tmp_path, 0)


def test_a_worker_does_not_show_its_key() -> None:
    assert "5ec2e7" not in repr(WorkerSigning(1, "00", "5ec2e7", "/nowhere"))
