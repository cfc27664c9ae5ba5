"""The server that tests start: password and service, unprivileged, and up again after a crash."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.postgres import Server


def test_it_takes_a_service_and_a_password_and_is_not_root(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    import adbc_driver_postgresql.dbapi as driver

    name = postgres.add_schema()
    with driver.connect(f"service={name}") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()::text")
        assert cursor.fetchone() == (name,)
    assert postgres._process is not None
    assert Path(f"/proc/{postgres._process.pid}").stat().st_uid != 0
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    with pytest.raises(driver.Error, match="password"):
        driver.connect(f"service={postgres.service}")


@pytest.mark.slow
def test_what_was_committed_is_there_after_a_crash(postgres: Server) -> None:
    name = postgres.add_database()
    postgres.run("CREATE TABLE kept (x int)", "INSERT INTO kept VALUES (1)", "CHECKPOINT", database=name)
    postgres.stop(signal.SIGQUIT)
    postgres.start()
    assert postgres.rows("SELECT x FROM kept", name) == [["1"]]
