"""The file of the ledger: what is told when it cannot be used; noise as bytes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from accord.errors import LedgerError
from accord.state.ledger_file import LedgerFile, decode_noise, encode_noise


def test_a_full_disk_is_no_reason_for_an_old_copy(tmp_path: Path) -> None:
    """Who restores a copy forgets what was spent since."""
    found = LedgerFile(tmp_path / "ledger.sqlite")
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"
    for error in (full, OSError(28, "No space left on device")):
        with pytest.raises(LedgerError, match="Make room") as caught, found.guard():
            raise error
        assert "copy" not in str(caught.value)
    with pytest.raises(LedgerError, match="latest copy"), found.guard():
        raise sqlite3.DatabaseError("file is not a database")


@pytest.mark.parametrize("noise", [[], [0], [1, 2, 3], [2**32 - 1]])
def test_stored_noise_reads_back(noise: list[int]) -> None:
    data = encode_noise(np.array(noise, dtype=np.int64))
    assert decode_noise(data).tolist() == noise
    for wrong in (
        data + b"\0",
        data[:-1],
        b"",
        data.replace(b"v1", b"v2"),
        b"accord noise v1\0" + b"\xff" * 8,
    ):
        with pytest.raises(ValueError, match="version 1"):
            decode_noise(wrong)


def test_noise_that_does_not_fit_is_not_stored() -> None:
    for wrong in (np.array([2**32]), np.array([-1]), np.array([[1]])):
        with pytest.raises(ValueError, match="noise is"):
            encode_noise(wrong)
