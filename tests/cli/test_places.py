"""Tables as they are typed: addresses, folders, patterns, queries in files; and where their layouts are."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pytest

from accord.cli.places import find_table, layout_of, shown
from accord.errors import UnreadableError, UsageError
from accord.table.address import Address
from tests.cli.terminal import accord
from tests.postgres import Server
from tests.table.homes import people, write_parquet, write_postgres, write_sqlite

CANARY = "hunter2"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with an agreement, two tables as csv and in databases."""
    assert accord(tmp_path, "init", "--template", "products").returncode == 0
    assert accord(tmp_path, "generate", "products", "--records", "60", "--seed", "1").returncode == 0
    with duckdb.connect(str(tmp_path / "a.duckdb")) as database:
        database.register("given", pyarrow.csv.read_csv(tmp_path / "a.csv"))
        database.execute("CREATE TABLE sales AS SELECT * FROM given ORDER BY name")
    rows = pyarrow.csv.read_csv(tmp_path / "b.csv")
    with closing(sqlite3.connect(tmp_path / "b.sqlite")) as sqlite:
        sqlite.execute(f"CREATE TABLE sales ({', '.join(rows.column_names)})")
        marks = ", ".join("?" * rows.num_columns)
        texts = pa.table({name: column.cast(pa.string()) for name, column in zip(rows.column_names, rows)})  # noqa: B905
        sqlite.executemany(
            f"INSERT INTO sales VALUES ({marks})",  # noqa: S608
            [tuple(row.values()) for row in texts.to_pylist()],
        )
        sqlite.commit()
    return tmp_path


def test_simulate_finds_the_same_pairs(shop: Path) -> None:
    (shop / "b.sql").write_text("SELECT *\nFROM sales -- all of them\n")
    common = ("--agreement", "agreement.toml", "--seed", "1", "--json")
    files = accord(shop, "simulate", "a.csv", "b.csv", *common, "--out", "files.csv")
    assert files.returncode == 0, files.stderr
    databases = accord(
        shop, "simulate", "duckdb:a.duckdb?table=sales", "sqlite:b.sqlite?query=@b.sql", *common,
        "--out", "databases.csv",
    )  # fmt: skip
    assert databases.returncode == 0, databases.stderr
    assert (shop / "files.csv").read_bytes() == (shop / "databases.csv").read_bytes()
    assert json.loads(files.stdout)["matches"] == json.loads(databases.stdout)["matches"] > 0


def test_check_reads_databases_and_writes_their_layout_beside_them(shop: Path) -> None:
    home = "sqlite:b.sqlite?table=sales"
    done = accord(shop, "check", "agreement.toml", home)
    assert done.returncode == 0, done.stderr
    assert f"Data       {home} fits: 60 records" in done.stdout
    listed = accord(shop, "check", "--columns-of", home)
    assert listed.stdout.split() == (shop / "b.csv").read_text().splitlines()[0].replace('"', "").split(",")
    (shop / "renamed.sql").write_text("SELECT id AS number, name, brand, day, price FROM sales")
    asked = "sqlite:b.sqlite?query=@renamed.sql"
    done = accord(shop, "check", "agreement.toml", asked, "--id", "number")
    assert done.returncode == 0, done.stderr
    assert 'id = "number"' in (shop / "b.sqlite.layout.toml").read_text()
    done = accord(shop, "check", "agreement.toml", asked)
    assert done.returncode == 0, done.stderr
    assert "Reading sqlite:b.sqlite (query) as b.sqlite.layout.toml says." in done.stderr


def test_init_drafts_from_a_database(tmp_path: Path) -> None:
    write_sqlite(people(), tmp_path)
    home = "sqlite:people.sqlite?table=people"
    done = accord(tmp_path, "init", "--from", home, "--yes", "--records", "40", "40", "--type", "height=skip")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "people.sqlite.people.layout.toml").is_file()
    assert f"accord check agreement.toml '{home}'" in done.stderr
    (tmp_path / "q.sql").write_text("SELECT id, name, born FROM people")
    again = accord(
        tmp_path, "init", "--from", "sqlite:people.sqlite?query=@q.sql", "--yes", "--force",
        "--records", "40", "40",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "accord check agreement.toml 'sqlite:people.sqlite?query=@q.sql'" in again.stderr


def test_check_reads_a_folder(shop: Path) -> None:
    (shop / "many").mkdir()
    write_parquet(pyarrow.csv.read_csv(shop / "a.csv"), shop / "many")
    done = accord(shop, "check", "agreement.toml", "many", "--party", "A", "--json")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "typed",
    [
        ("check", "agreement.toml", f"postgresql://me:{CANARY}@host/db"),
        ("check", "--columns-of", f"postgres:me:{CANARY}@host"),
        ("simulate", f"postgres://me:{CANARY}@host/db?table=t", "b.csv", "--agreement", "agreement.toml"),
        ("link", f"host=h password={CANARY}", "--agreement", "agreement.toml", "--partner", "south-shop"),
        ("check", "agreement.toml", f"postgres:reg?table=t&password={CANARY}", "--party", "A"),
        ("init", "--from", f"postgresql://{CANARY}@host/db", "--force"),
        ("resume", "--data", f"postgresql://me:{CANARY}@host/db"),
    ],
)
def test_an_address_with_a_password_is_not_repeated(typed: tuple[str, ...], shop: Path) -> None:
    done = accord(shop, *typed)
    assert done.returncode == 2
    assert CANARY not in done.stdout + done.stderr
    assert "no user" in done.stderr


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        (("check", "agreement.toml", "duckdb:a.duckdb"), 2, "neither a table nor a query"),
        (("check", "agreement.toml", "duckdb:a.duckdb?query=@no.sql"), 4, "no such file"),
        (("check", "agreement.toml", "duckdb:a.duckdb?table=sales&query=@q.sql"), 2, "a table or a query"),
        (("check", "agreement.toml", "duckdb:a.duckdb?table=nothing"), 4, "no such table"),
        (("check", "agreement.toml", "duckdb:a.duckdb?table=sales", "--make-ids"), 2, "with --id"),
        (("check", "agreement.toml", "a.duckdb"), 4, "`duckdb:a.duckdb?table=NAME`"),
    ],
)
def test_what_cannot_be_read_is_said(typed: tuple[str, ...], code: int, said: str, shop: Path) -> None:
    (shop / "q.sql").write_text("SELECT * FROM sales")
    done = accord(shop, *typed)
    assert done.returncode == code, done.stderr
    assert said in done.stderr


def test_an_output_is_never_the_database_that_is_read(shop: Path) -> None:
    (shop / "a.duckdb").rename(shop / "a.csv")
    typed = ("simulate", "duckdb:a.csv?table=sales", "b.csv", "--agreement", "agreement.toml")
    done = accord(shop, *typed, "--out", "a.csv", "--force")
    assert done.returncode == 5
    assert "which is read" in done.stderr


@pytest.mark.slow  # a draft weighs its fields on made-up people
def test_a_table_on_a_server(tmp_path: Path, postgres: Server) -> None:
    home = write_postgres(people(), postgres)
    done = accord(tmp_path, "init", "--from", home, "--yes", "--records", "40", "40", "--type", "height=skip")
    assert done.returncode == 0, done.stderr
    service = home.removeprefix("postgres:").partition("?")[0]
    assert (tmp_path / f"{service}.people.layout.toml").is_file()
    assert accord(tmp_path, "check", "agreement.toml", home).returncode == 0


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
    for content, said in ((b"\xff", "it is not UTF-8"), (b"x" * ((1 << 20) + 1), "longer than 1 MiB")):
        file.write_bytes(content)
        with pytest.raises(UnreadableError, match=said):
            find_table(f"duckdb:a.db?query=@{file}")
    file.write_bytes(b" \n")
    with pytest.raises(UsageError, match=r"q\.sql is empty"):
        find_table(f"duckdb:a.db?query=@{file}")
