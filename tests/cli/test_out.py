"""`--out` with the address of a table: simulate, link, receipt."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest

from accord.run.stages import Linked
from accord.state.ledger import Ledger
from accord.table.address import Database
from accord.table.sinks.transaction import statement
from tests.cli.terminal import accord
from tests.protocols.worlds import agreement
from tests.run import worlds
from tests.table.databases import Home, home

__all__ = ["home"]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with an agreement and both tables."""
    (tmp_path / "agreement.toml").write_text(agreement().to_toml())
    for name, rows in (("a", worlds.A_ROWS), ("b", worlds.B_ROWS)):
        pyarrow.csv.write_csv(worlds.table(rows, name), tmp_path / f"{name}.csv")
    return tmp_path


def test_simulate_writes_a_table_and_replaces_none(desk: Path, home: Home) -> None:
    typed = ("simulate", "a.csv", "b.csv", "--agreement", "agreement.toml", "--out", str(home.address()))
    done = accord(desk, *typed)
    assert done.returncode == 0, done.stderr
    assert f"Wrote {home.address()}." in done.stderr
    found = home.rows("SELECT id_a, id_b FROM pairs ORDER BY id_a")
    assert found == [("a0", "b0"), ("a1", "b1")]
    for more in ((), ("--force",)):
        again = accord(desk, *typed, *more)
        assert again.returncode == 5
        assert "the table already exists. Drop it first" in again.stderr
    assert home.rows("SELECT id_a, id_b FROM pairs ORDER BY id_a") == found


def test_both_ids_of_a_simulation_keep_their_type(desk: Path) -> None:
    own = Home(Database.DUCKDB, str(desk / "own.duckdb"))
    for name in ("a", "b"):
        words = ("CREATE TABLE", name, "AS SELECT row_number() OVER () AS id, x, y FROM")
        own.run(statement(*words, f"'{desk}/{name}.csv'"))
    done = accord(
        desk, "simulate", str(own.address("a")), str(own.address("b")), "--agreement", "agreement.toml",
        "--out", str(own.address()),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert own.rows("SELECT id_a, id_b FROM pairs ORDER BY 1") == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    "out",
    [
        "postgresql://guest:canary@there/db?table=pairs",
        "postgres://guest:canary@there/db?table=pairs",
        "postgres:guest:canary@there?table=pairs",
        "postgres:there?table=pairs&password=canary",
        "sqlite:own.sqlite?query=SELECT canary",
        "sqlite:own.sqlite",
    ],
)
@pytest.mark.parametrize("command", ["simulate", "link"])
def test_an_address_that_names_no_table_or_too_much(desk: Path, out: str, command: str) -> None:
    given = {
        "simulate": ("a.csv", "b.csv"),
        "link": ("a.csv", "--partner", "bob", "--listen", "127.0.0.1:0", "--yes"),
    }[command]
    done = accord(desk, command, *given, "--agreement", "agreement.toml", "--out", out)
    assert done.returncode == 2, done.stderr
    assert "canary" not in done.stdout + done.stderr
    assert {path.name for path in desk.iterdir()} == {"agreement.toml", "a.csv", "b.csv"}


def test_link_tries_the_table_before_it_asks_anything(desk: Path, home: Home) -> None:
    office = worlds.introduce(desk, agreement())[0]
    home.run("CREATE TABLE pairs (precious text)")
    typed = (
        *("--state", str(office.state.folder), "link", "a.csv", "--partner", "bob"),
        *("--listen", "127.0.0.1:0", "--agreement", "agreement.toml", "--out", str(home.address())),
    )
    for more in ((), ("--force",)):
        done = accord(desk, *typed, *more)
        assert done.returncode == 5, done.stderr
        assert "the table already exists" in done.stderr
        assert "Continue?" not in done.stdout + done.stderr
    assert not Ledger(office.state.database).runs()


def test_a_receipt_fits_the_table_until_somebody_changes_it(desk: Path, home: Home) -> None:
    a, b = worlds.introduce(desk, agreement())
    linked, _ = worlds.link_both(a, b, a_options={"out": str(home.address())})
    assert isinstance(linked, Linked), linked
    where = ("--state", str(a.state.folder))
    typed = (*where, "receipt", linked.run, "--out", str(home.address()))
    done = accord(desk, *typed)
    assert done.returncode == 0, done.stderr
    assert f"{home.address()} holds exactly the pairs that both signed" in done.stdout
    home.run("DELETE FROM pairs WHERE id_a = 'a0'")
    changed = accord(desk, *typed)
    assert changed.returncode == 9
    assert "does not hold the pairs" in changed.stderr
