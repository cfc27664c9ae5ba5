"""The file of the ledger: what is told when it cannot be used."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from accord.errors import LedgerError
from accord.state.ledger_file import LedgerFile


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
