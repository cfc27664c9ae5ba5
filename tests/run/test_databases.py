"""A linkage of a table in a database: its manifest, going on, and rows that have changed meanwhile."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from accord.errors import StateError, UnreadableError
from accord.notices import Notice, Reading
from accord.run.link import reopen
from accord.run.request import Output
from accord.side import Side
from tests.postgres import Server
from tests.run import faults
from tests.run.faults import Office, Wire
from tests.run.test_resume import EXPECTED

pytestmark = pytest.mark.usefixtures("quick")


def move(office: Office, server: Server | None = None) -> None:
    """The office's table, in a database from now on."""
    rows = [line.split(",") for line in office.data.read_text().splitlines()[1:]][::-1]
    if server is not None:
        name = server.add_database()
        cells = [f"INSERT INTO points VALUES ('{id}', {x}, {y})" for id, x, y in rows]  # noqa: S608
        server.run("CREATE TABLE points (id text, x int, y int)", *cells, database=name)
        office.data = Path(f"postgres:{name}?table=points")
        return
    file = office.data.with_suffix(".sqlite")
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE points (id TEXT, x INTEGER, y INTEGER)")
        database.executemany("INSERT INTO points VALUES (?, ?, ?)", rows)
        database.commit()
    office.data = Path(f"sqlite:{file}?table=points")


def change(office: Office, statement: str) -> None:
    file = str(office.data).removeprefix("sqlite:").partition("?")[0]
    with closing(sqlite3.connect(file)) as database:
        database.execute(statement)
        database.commit()


def test_the_same_pairs_and_a_run_that_goes_on(tmp_path: Path, postgres: Server) -> None:
    both = faults.offices(tmp_path)
    move(both[Side.A])
    move(both[Side.B], postgres)
    faults.link(both, Wire(frames=12))
    run = both[Side.B].run
    assert run is not None
    assert run.manifest.request.data == str(both[Side.B].data)
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert postgres.password.encode() not in everything
    ending = faults.again(both)
    faults.require_done(ending, both, EXPECTED["greedy"])


def test_rows_that_changed_are_refused_with_advice(tmp_path: Path) -> None:
    both = faults.offices(tmp_path)
    move(both[Side.A])
    faults.link(both, Wire(frames=12))
    office, run = both[Side.A], both[Side.A].run
    assert run is not None
    name = run.manifest.run
    change(office, "UPDATE points SET x = x + 1 WHERE id = 'A3'")
    spent = office.ledger.runs()
    with (
        pytest.raises(StateError, match=r"not what the run began with.*CREATE TABLE … AS SELECT") as caught,
        reopen(office.state, name),
    ):
        pass
    assert caught.value.exit_code == 6
    assert office.ledger.runs() == spent, "nothing was spent"
    change(office, "UPDATE points SET x = x - 1 WHERE id = 'A3'")
    # Other rows in another order are the same table.
    change(office, "CREATE TABLE moved AS SELECT * FROM points ORDER BY y")
    change(office, "DROP TABLE points")
    change(office, "ALTER TABLE moved RENAME TO points")
    faults.require_done(faults.again(both), both, EXPECTED["greedy"])


@pytest.mark.parametrize("service", ["nosuch", "wrong", "away"])
def test_a_server_that_does_not_answer_costs_nothing(
    service: str, tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "[{}]\nhost=127.0.0.1\nport={}\nuser=owner\ndbname=postgres\n\n"
    (tmp_path / "services").write_text(where.format("wrong", postgres.port) + where.format("away", 1))
    (tmp_path / "passwords").write_text("*:*:*:*:hunter2\n")
    (tmp_path / "passwords").chmod(0o600)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "passwords"))
    office = faults.offices(tmp_path)[Side.A]
    office.data = Path(f"postgres:{service}?table=points")
    with pytest.raises(UnreadableError) as caught:
        office.ready()
    assert "hunter2" not in str(caught.value)
    assert not office.ledger.runs()
    assert office.run is None


def test_a_long_table_tells_how_many_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accord.run import link

    office = faults.offices(tmp_path)[Side.A]
    told: list[Notice] = []
    monkeypatch.setattr(link, "_TOLD", 3)
    link.get_ready(office.request(snapshot=None, output=Output()), office.state, told.append)
    assert told == [Reading(8), Reading(8, done=True)]
