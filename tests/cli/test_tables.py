"""Tables as they are typed, to be read and to be written: addresses, folders, queries, and their layouts."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest

from accord.cli.places import find_table, layout_of, shown
from accord.errors import UnreadableError, UsageError
from accord.run.stages import Linked
from accord.state.ledger import Ledger
from accord.table.address import Address, Database
from accord.table.sinks.transaction import statement
from tests.cli.terminal import accord
from tests.protocols.worlds import agreement
from tests.run import faults, worlds
from tests.table.databases import Home, home, write_parquet

__all__ = ["home"]
CANARY = "hunter2"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with an agreement and both tables."""
    (tmp_path / "agreement.toml").write_text(agreement().to_toml())
    for name, rows in (("a", worlds.A_ROWS), ("b", worlds.B_ROWS)):
        pyarrow.csv.write_csv(worlds.table(rows, name), tmp_path / f"{name}.csv")
    return tmp_path


AGREED = ("--agreement", "agreement.toml")


def test_simulate_writes_a_table_and_replaces_none(desk: Path, home: Home) -> None:
    """Nor does a link, which tries it before it asks anything."""
    typed = ("simulate", "a.csv", "b.csv", *AGREED, "--out", str(home.address()))
    assert accord(desk, *typed).returncode == 0
    written = "SELECT id_a, id_b FROM pairs ORDER BY id_a"
    assert home.rows(written) == [("a0", "b0"), ("a1", "b1")]
    office = worlds.introduce(desk, agreement())[0]
    state = ("--state", str(office.state.folder))
    link = ("link", "a.csv", "--partner", "bob", "--listen", "127.0.0.1:0", *AGREED, "--out")
    for more in ((), ("--force",)):
        assert accord(desk, *typed, *more).returncode == 5
        assert accord(desk, *state, *link, str(home.address()), *more, answers=["y"]).returncode == 5
    assert home.rows(written) == [("a0", "b0"), ("a1", "b1")]
    assert not Ledger(office.state.store).runs()


def test_a_database_a_query_in_a_file_and_a_folder_are_read_as_files_are(desk: Path) -> None:
    own = Home(Database.DUCKDB, str(desk / "own.duckdb"))
    for name in ("a", "b"):
        words = ("CREATE TABLE", name, "AS SELECT row_number() OVER () AS id, x, y FROM")
        own.run(statement(*words, f"'{desk}/{name}.csv'"))
    (desk / "b.sql").write_text("SELECT id AS key, x, y\nFROM b -- all of them\n")
    b = "duckdb:own.duckdb?query=@b.sql"
    assert accord(desk, "check", "agreement.toml", b, "--id", "key").returncode == 0
    assert 'id = "key"' in (desk / "own.duckdb.layout.toml").read_text()
    (desk / "many").mkdir()
    write_parquet(worlds.table(worlds.A_ROWS, "a"), desk / "many")
    assert accord(desk, "check", "agreement.toml", "many", "--party", "A").returncode == 0
    (desk / "own.duckdb.layout.toml").unlink()
    done = accord(
        desk, "simulate", str(own.address("a")), str(own.address("b")), *AGREED, "--out", str(own.address())
    )
    assert done.returncode == 0, done.stderr
    assert own.rows("SELECT * FROM pairs ORDER BY 1")[0][:2] == (1, 1), "ids keep their type"
    (desk / "own.duckdb").rename(desk / "own.csv")
    typed = ("simulate", "duckdb:own.csv?table=a", "b.csv", *AGREED, "--out", "own.csv", "--force")
    assert accord(desk, *typed).returncode == 5, "the database is read"


ADDRESSES = [f"postgresql://me:{CANARY}@host/db?table=t", f"host=h password={CANARY}"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "typed",
    [
        "check agreement.toml {}",
        "check --columns-of {}",
        "simulate {} b.csv --agreement agreement.toml",
        "simulate a.csv b.csv --agreement agreement.toml --out {}",
        "link {} --agreement agreement.toml --partner bob",
        "link a.csv --agreement agreement.toml --partner bob --listen 127.0.0.1:0 --yes --out {}",
        "init --from {} --force",
        "resume --data {}",
    ],
)
def test_an_address_with_a_password_is_not_repeated(desk: Path, typed: str, address: str) -> None:
    before = {path.name for path in desk.iterdir()}
    done = accord(desk, *(address if word == "{}" else word for word in typed.split()))
    assert done.returncode in ((2, 5) if "--out" in typed else (2,))
    assert CANARY not in done.stdout + done.stderr
    assert {path.name for path in desk.iterdir()} == before


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Linked]:
    """The state folder of a side whose run is done."""
    with pytest.MonkeyPatch.context() as patch:
        faults.quicken(patch)
        a, b = worlds.introduce(tmp_path_factory.mktemp("signed"), agreement())
        linked, _ = worlds.link_both(a, b)
    assert isinstance(linked, Linked), linked
    return a.state.folder, linked


def test_a_receipt_fits_the_table_until_somebody_changes_it(
    desk: Path, home: Home, signed: tuple[Path, Linked]
) -> None:
    state, linked = signed
    columns = ", ".join(f'"{name}" text' for name in linked.pairs.column_names)
    rows = [str(tuple(map(str, row.values()))) for row in linked.pairs.to_pylist()]
    home.run(f"CREATE TABLE pairs ({columns})", *(f"INSERT INTO pairs VALUES {row}" for row in rows))  # noqa: S608
    typed = ("--state", str(state), "receipt", linked.run, "--out", str(home.address()))
    assert accord(desk, *typed).returncode == 0
    home.run("DELETE FROM pairs WHERE id_a = 'a0'")
    assert accord(desk, *typed).returncode == 9


def test_places_of_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for typed, place in (
        ("in/a.csv", "in/a.csv.layout.toml"),
        ("in/many/", "in/many.layout.toml"),
        ("in/part-*.parquet", "in/part-_.parquet.layout.toml"),
        ("in/20??/part-*.parquet", "in/20__.layout.toml"),
        ("duckdb:in/a.db?table=people", "in/a.db.people.layout.toml"),
        ("duckdb:in/a.db?table=a%2Fb&schema=s", "in/a.db.s.a_b.layout.toml"),
        ("sqlite:in/a.db?query=SELECT 1", "in/a.db.layout.toml"),
        ("postgres:reg?table=people", "reg.people.layout.toml"),
        ("postgres:?table=people", "postgres.people.layout.toml"),
    ):
        assert layout_of(find_table(typed)) == Path(place), typed


def test_files_of_queries(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_bytes(b"\xef\xbb\xbfSELECT 'caf\xc3\xa9'")
    found = find_table(f"duckdb:a.db?query=@{file}")
    assert isinstance(found, Address)
    assert found.query == "SELECT 'café'"
    assert "SELECT" not in shown(found)
    for content in (b"\xff", b"x" * ((1 << 20) + 1)):
        file.write_bytes(content)
        with pytest.raises(UnreadableError):
            find_table(f"duckdb:a.db?query=@{file}")
    file.write_bytes(b" \n")
    with pytest.raises(UsageError):
        find_table(f"duckdb:a.db?query=@{file}")
