"""Every home of a table gives the same records; what a database refuses is said without its words."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

import accord
from accord.errors import DataError, UnreadableError, UsageError
from accord.fields.load import Loading, load_records
from accord.protocols.parts.slots import table_digest
from accord.spill import Scratch
from accord.table.address import Address, find_address
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, column_names, input_files, open_table, settle
from tests.postgres import Server
from tests.protocols.worlds import agreement
from tests.run import worlds
from tests.table.homes import (
    DISCLOSED,
    FIELDS,
    people,
    shuffled,
    write_csv,
    write_duckdb,
    write_parquet,
    write_postgres,
    write_sqlite,
)

Write = Callable[[pa.Table], str]
FILES = ("duckdb", "sqlite")


@pytest.fixture(params=(*FILES, "postgres"))
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Write:
    """Puts a table into a database; gives its address."""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        return lambda table: write_postgres(table, server)
    writer = {"duckdb": write_duckdb, "sqlite": write_sqlite}[request.param]
    return lambda table: writer(table, tmp_path)


def address(text: str) -> Address:
    found = find_address(text)
    assert found is not None
    return found


def asking(text: str, query: str) -> Address:
    return replace(address(text), table=None, query=query)


def digest(source: TableLike, scratch: Scratch | None = None) -> str:
    how = Loading(scratch=scratch or Scratch())
    return table_digest(load_records(source, FIELDS, "00", DISCLOSED, how=how)).hex()


def test_every_home_gives_the_same_digest(tmp_path: Path, postgres: Server) -> None:
    table = people()
    expected = digest(write_csv(table, tmp_path))
    assert digest(write_parquet(table, tmp_path)) == expected
    (tmp_path / "many").mkdir()
    for number, part in enumerate((table[:13], table[13:14], table[14:])):
        pyarrow.parquet.write_table(part, tmp_path / "many" / f"part-{number}.parquet")
    assert digest(tmp_path / "many") == expected
    assert digest(str(tmp_path / "many" / "part-*.parquet")) == expected
    for seed in (1, 2):
        mixed = shuffled(table, seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert digest(write_duckdb(mixed, folder)) == expected
        assert digest(write_sqlite(mixed, folder)) == expected
        assert digest(write_postgres(mixed, postgres)) == expected
    assert digest(shuffled(table)) != expected, "what has an order keeps it"


def test_every_home_gives_the_same_pairs(tmp_path: Path, postgres: Server) -> None:
    agreed = agreement()
    a, b = worlds.table(worlds.A_ROWS, "a"), worlds.table(worlds.B_ROWS, "b")
    expected = accord.simulate(a, b, agreed, seed=1).pairs.to_pylist()
    assert expected
    with duckdb.connect(str(tmp_path / "a.duckdb")) as database:
        database.register("given", shuffled(a))
        database.execute("CREATE TABLE points AS SELECT * FROM given")
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as sqlite:
        sqlite.execute("CREATE TABLE points (id, x, y)")
        sqlite.executemany("INSERT INTO points VALUES (:id, :x, :y)", shuffled(a).to_pylist())
        sqlite.commit()
    name = postgres.add_database()
    rows = [f"INSERT INTO points VALUES {tuple(row.values())}" for row in shuffled(a).to_pylist()]  # noqa: S608
    postgres.run("CREATE TABLE points (id text, x int, y int)", *rows, database=name)
    for home in (f"duckdb:{tmp_path}/a.duckdb", f"sqlite:{tmp_path}/a.sqlite", f"postgres:{name}"):
        found = accord.simulate(f"{home}?table=points", b, agreed, seed=1).pairs
        assert found.to_pylist() == expected, home


def test_sorting_is_the_same_where_columns_are_files(write: Write, tmp_path: Path) -> None:
    home = write(shuffled(people()))
    assert digest(home, Scratch(tmp_path, most=8)) == digest(home)


def test_a_query_is_read_as_a_table(write: Write) -> None:
    home = write(shuffled(people()))
    for query in (
        "SELECT * FROM people",
        "SELECT * FROM people;\n",
        "WITH all_of AS (SELECT * FROM people) SELECT id, name, born, height FROM all_of -- all of them",
    ):
        assert digest(asking(home, query)) == digest(home), query
    some = load_records(asking(home, "SELECT * FROM people WHERE height < 153"), FIELDS, "00")
    assert len(some) == 4


def test_columns_are_listed_for_their_owner(write: Write) -> None:
    home = address(write(people()))
    assert column_names(home, Layout()) == ["id", "name", "born", "height"]
    with pytest.raises(DataError, match=r"column 'heigth': was not found. Did you mean 'height'\?"):
        open_table(home, ["id", "heigth"], Layout())


def test_rows_have_no_made_ids(write: Write) -> None:
    with pytest.raises(UsageError, match="A query can make one"):
        load_records(write(people()), FIELDS, "00", layout=Layout(make_ids=True))


def test_faults_name_rows_in_the_order_of_ids(write: Write) -> None:
    """Whatever order the database gives: the owner finds the row by ORDER BY id."""
    table = people()
    heights = [400.0 if i in (5, 11) else h for i, h in enumerate(table["height"].to_pylist())]
    table = table.set_column(3, "height", pa.array(heights))
    with pytest.raises(DataError) as caught:
        load_records(write(shuffled(table)), FIELDS, "00")
    assert "rows 6, 12, column 'height'" in str(caught.value)


def test_ids_that_repeat_do_not_ask_for_made_ones(write: Write) -> None:
    with pytest.raises(DataError, match="repeats the id") as caught:
        load_records(write(pa.concat_tables([people(2), people(1)])), FIELDS, "00")
    assert "make_ids" not in str(caught.value)


def test_an_empty_table_is_said(write: Write) -> None:
    with pytest.raises(DataError, match="The table has no rows"):
        load_records(write(people(0)), FIELDS, "00")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM nobody", "no such table"),
        ("SELECT shoe FROM people", "does not exist"),
        ("SELEC * FROM people", "query"),
        ("DELETE FROM people", "the query would change something"),
        ("-- all\n/* of */ drop table people", "the query would change something"),
        ("WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone", "the query would change"),
        ("SELECT * FROM people) AS x; DROP TABLE people; SELECT * FROM (SELECT 1", "query"),
        ("SELECT id, name, born, height FROM people) AS asked; DELETE FROM people; --", "query"),
    ],
)
def test_what_a_database_refuses(write: Write, query: str, said: str) -> None:
    home = write(people())
    with pytest.raises(UnreadableError, match=said) as caught:
        load_records(asking(home, query), FIELDS, "00")
    assert caught.value.exit_code == 4
    assert query not in str(caught.value)
    assert len(load_records(home, FIELDS, "00")) == 40, "all rows are still there"


def test_a_table_that_is_not_there(write: Write) -> None:
    with pytest.raises(UnreadableError, match="no such table"):
        load_records(replace(address(write(people())), table="nobody"), FIELDS, "00")


def test_names_are_never_sql(write: Write) -> None:
    """A name with a quote is a name: it ends nothing."""
    home = address(write(people()))
    with pytest.raises(UnreadableError, match="no such table"):
        load_records(replace(home, table='people" WHERE 1 = 0; DROP TABLE people; --'), FIELDS, "00")
    layout = Layout(columns={"height": 'height" FROM people; DROP TABLE people; --'})
    with pytest.raises(DataError, match="was not found"):
        load_records(home, FIELDS, "00", layout=layout)
    assert len(load_records(home, FIELDS, "00")) == 40


@pytest.mark.parametrize("kind", FILES)
def test_files_that_are_no_databases(kind: str, tmp_path: Path) -> None:
    home = f"{kind}:{tmp_path}/people.db?table=people"
    with pytest.raises(UnreadableError, match="no such file"):
        load_records(home, FIELDS, "00")
    (tmp_path / "people.db").touch()
    with pytest.raises(UnreadableError, match="it is empty"):
        load_records(home, FIELDS, "00")
    (tmp_path / "people.db").write_bytes(b"id,name\n" * 1_000)
    with pytest.raises(UnreadableError, match=r"is not a .* file"):
        load_records(home, FIELDS, "00")
    with pytest.raises(UnreadableError, match=r"named `sqlite:.*\?table=NAME`"):
        load_records(tmp_path / "people.db", FIELDS, "00")


def test_places_as_a_run_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert settle("sqlite:a.db?table=t") == f"sqlite:{tmp_path}/a.db?table=t"
    assert settle("postgres:reg?table=t") == "postgres:reg?table=t"
    assert settle("a.csv") == str(tmp_path / "a.csv")
    assert settle(people()) == ""
    assert input_files("duckdb:a.db?table=t") == (tmp_path / "a.db",)
    assert input_files("postgres:reg?table=t") == input_files(people()) == ()
    (tmp_path / "many").mkdir()
    write_parquet(people(), tmp_path / "many")
    assert input_files(Path("many")) == (Path("many"), Path("many/people.parquet"), Path("many.ids.csv"))
