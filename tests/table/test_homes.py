"""Every home of a table gives the same cells and records; no refusal has the words of a database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest

from accord.errors import AccordError, DataError, UnreadableError, UsageError
from accord.fields.columns import Bits
from accord.fields.load import Loading, load_records
from accord.fields.schema import FieldSpec, TextField
from accord.protocols.parts.slots import table_digest
from accord.spill import Scratch
from accord.table.address import Address, Database
from accord.table.cell_text import as_text, batch_rows, from_python, is_whole, to_text, without_text
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, column_names, input_files, open_table, settle
from tests.postgres import Server
from tests.table.databases import FIELDS, Home, people, shuffled, write_csv, write_parquet, write_table

CANARY = "canary-hunter2"

# -- a cell is the same text from every home --------------------------------------------------------------

CELLS: list[tuple[Any, pa.DataType, str | None]] = [
    ("", pa.string(), None),
    (" ", pa.string(), " "),
    (True, pa.bool_(), "true"),
    (False, pa.bool_(), "false"),
    (7, pa.int32(), "7"),
    (7.0, pa.float64(), "7"),
    (-0.25, pa.float64(), "-0.25"),
    (-0.0, pa.float64(), "0"),
    (1e-7, pa.float64(), "1e-7"),
    (2.0**53 - 1, pa.float64(), "9007199254740991"),
    (1e300, pa.float64(), "1e+300"),
    (0.5, pa.float32(), "0.5"),
    (Decimal("5.00"), pa.decimal128(9, 2), "5.00"),
    (Decimal("0.0000001000"), pa.decimal128(20, 10), "0.0000001000"),
    (date(2026, 1, 31), pa.date32(), "2026-01-31"),
    *((datetime(2026, 1, 31), pa.timestamp(unit), "2026-01-31") for unit in ("s", "ns")),
    *((datetime(2026, 1, 31, 10, 20), pa.timestamp(unit), "2026-01-31 10:20:00") for unit in ("s", "ns")),
    (datetime(2026, 1, 31, 0, 0, 0, 500_000), pa.timestamp("us"), "2026-01-31 00:00:00.5"),
    *(
        (datetime(2026, 1, 31, tzinfo=UTC), pa.timestamp("us", zone), "2026-01-31 00:00:00+00:00")
        for zone in ("UTC", "Europe/Berlin")
    ),
    (time(10, 20), pa.time32("s"), "10:20:00"),
    (time(10, 20, 0, 250_000), pa.time64("ns"), "10:20:00.25"),
]


@pytest.mark.parametrize(("cell", "kind", "text"), CELLS)
def test_arrow_and_python_write_the_same(cell: Any, kind: pa.DataType, text: str | None) -> None:
    assert to_text(pa.array([None, cell], kind)).to_pylist() == [None, text]
    if isinstance(cell, Decimal) or getattr(cell, "tzinfo", None) is not None:
        return
    assert as_text(cell) == text
    for beside in (None, "x", 5, b"\0"):
        assert to_text(from_python([beside, cell]))[1].as_py() == text, "whatever stands beside it"


def test_raw_bytes_and_nested_values_have_no_text() -> None:
    column = from_python(["a", b"\0", None, b"x", 2])
    assert to_text(column).to_pylist() == ["a", None, None, None, "2"]
    found = {kind: np.flatnonzero(rows).tolist() for kind, rows in without_text(column).items()}
    assert found == {"large_binary": [1, 3]}
    for cells in (pa.array([None, b"x"]), pa.array([None, b"x"], pa.binary(1)), pa.array([None, [1]])):
        assert to_text(cells).to_pylist() == [None, None]
        assert [rows.tolist() for rows in without_text(cells).values()] == [[False, True]]
    assert without_text(pa.array(["a"])) == {}


def test_whole_numbers_are_noted() -> None:
    wide, long = [2**63 - 1, -(2**63)], [2**63]
    for whole, several in ((True, ([1, -2], wide)), (False, (long, [1, None], [1, "2"], [True], [1.0, 2.0]))):
        for cells in several:
            batch = batch_rows([(cell,) for cell in cells], ["id"])
            assert batch.column("id").type == pa.large_string()
            assert is_whole(batch.schema.field("id")) == whole
    assert all(is_whole(pa.field("id", kind)) for kind in (pa.int8(), pa.int64(), pa.uint32()))
    assert not any(is_whole(pa.field("id", kind)) for kind in (pa.uint64(), pa.string(), pa.float64()))


TEXT: dict[str, FieldSpec] = {
    name: TextField(type="text", encoder={"kind": "hash"}, missing="differs")  # type: ignore[arg-type]
    for name in ("flag", "moment", "hour", "note")
}
ROWS: list[tuple[Any, ...]] = [
    ("a", True, datetime(2026, 1, 31), time(10, 20), "x", 7.0),
    ("b", False, datetime(2026, 1, 31, 10, 20), time(0), "", 0.5),
    ("c", None, None, None, None, None),
]
NAMES = ("id", "flag", "moment", "hour", "note", "n")
CSV = """id,flag,moment,hour,note,n
a,true,2026-01-31,10:20:00,x,7
b,false,2026-01-31 10:20:00,00:00:00,,0.5
c,,,,,
"""


def test_typed_columns_have_the_texts_of_the_csv(tmp_path: Path) -> None:
    def read(source: TableLike) -> list[Any]:
        found = load_records(source, TEXT, "00", [*NAMES[1:]])
        parts = [c.words.tolist() for c in found.columns.values() if isinstance(c, Bits)]
        return [found.ids.to_pylist(), found.disclosed.to_pylist(), parts]

    (tmp_path / "t.csv").write_text(CSV)
    expected = read(str(tmp_path / "t.csv"))
    assert [*expected[1][1].values()] == ["false", "2026-01-31 10:20:00", "00:00:00", None, "0.5"]
    assert read(pa.table(dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))) == expected


# -- one table in every home ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=list(Database), ids=str)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The table of people in a database, in some order. Tests do not change it."""
    place = str(tmp_path_factory.mktemp("home") / "people")
    with pytest.MonkeyPatch.context() as patch:
        if request.param is Database.POSTGRES:
            server: Server = request.getfixturevalue("postgres_server")
            server.use(patch)
            place = server.add_schema()
        database = Home(request.param, place)
        write_table(shuffled(people()), database)
        yield database


def digest(source: TableLike, scratch: Scratch | None = None) -> str:
    how = Loading(scratch=scratch or Scratch())
    return table_digest(load_records(source, FIELDS, "00", ("name", "born"), how=how)).hex()


def test_every_home_gives_the_same_digest(home: Home, tmp_path: Path) -> None:
    """Rows of a database are sorted by id, also where columns are files; what has an order keeps it."""
    table = people()
    expected = digest(write_csv(table, tmp_path))
    assert (
        digest(home.address("people"))
        == digest(home.address("people"), Scratch(tmp_path, most=8))
        == expected
    )
    if home.database is not Database.DUCKDB:
        return
    assert digest(write_parquet(table, tmp_path)) == expected
    (tmp_path / "many").mkdir()
    for number, part in enumerate((table[:13], table[13:14], table[14:])):
        pyarrow.parquet.write_table(part, tmp_path / "many" / f"part-{number}.parquet")
    assert digest(tmp_path / "many") == digest(str(tmp_path / "many" / "part-*.parquet")) == expected
    assert digest(shuffled(table)) != expected


def test_a_query_is_read_as_a_table(home: Home) -> None:
    for query in (
        "SELECT * FROM people;\n",
        "WITH all_of AS (SELECT * FROM people) SELECT id, name, born, height FROM all_of -- all of them",
    ):
        assert digest(home.query(query)) == digest(home.address("people")), query
    assert len(load_records(home.query("SELECT * FROM people WHERE height < 153"), FIELDS, "00")) == 4
    assert column_names(home.address("people"), Layout()) == ["id", "name", "born", "height"]


def test_faults_of_a_table_of_a_database(home: Home) -> None:
    """The rows have the order of the ids: the owner finds them by ORDER BY id."""
    high = "CASE id WHEN 'p00005' THEN 400 WHEN 'p00011' THEN 400 ELSE height END AS height"
    twice = "SELECT * FROM people WHERE id < 'p00002' UNION ALL SELECT * FROM people WHERE id < 'p00001'"
    for query, place in (
        (f"SELECT id, born, {high} FROM people", "rows 6, 12, column 'height'"),  # noqa: S608
        (twice, "rows 1, 2, column 'id'"),
        ("SELECT * FROM people WHERE id = ''", ""),
    ):
        with pytest.raises(DataError) as caught:
            load_records(home.query(query), FIELDS, "00")
        assert [fault.place for fault in caught.value.faults] == [place]
        assert "make_ids" not in str(caught.value), "no file has them beside it"
    with pytest.raises(DataError) as caught:
        open_table(home.address("people"), ["id", "heigth"], Layout())
    assert "'height'" in str(caught.value)
    with pytest.raises(UsageError):
        load_records(home.address("people"), FIELDS, "00", layout=Layout(make_ids=True))


DROP = 'people" WHERE 1 = 0; DROP TABLE people; --'
REFUSED = (
    "SELECT * FROM nobody",
    "SELECT shoe FROM people",
    "SELEC * FROM people",
    "DELETE FROM people",
    "-- all\n/* of */ drop table people",
    "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
    "SELECT * FROM people) AS x; DROP TABLE people; SELECT * FROM (SELECT 1",
    "SELECT id, name, born, height FROM people) AS asked; DELETE FROM people; --",
)
LAST = {
    Database.DUCKDB: "CAST('canary' || id AS INT)",
    Database.SQLITE: "abs(-9223372036854775808)",
    Database.POSTGRES: "('canary' || id)::int",
}
"""What fails where it is computed."""


def test_what_a_database_refuses_changes_nothing(home: Home) -> None:
    """No text of a query, and no name, ends the statement; a refusal repeats neither the query nor a cell."""
    height = f"CASE WHEN id = 'p00039' THEN {LAST[home.database]} ELSE 1 END AS height"
    fails = " ".join(("SELECT id, born,", height, "FROM people"))
    layout = Layout(columns={"height": DROP})
    sources = [home.query(query) for query in (*REFUSED, fails)]
    for source in (*sources, home.address("nobody"), home.address(DROP)):
        with pytest.raises(UnreadableError) as caught:
            load_records(source, FIELDS, "00")
        whole = "".join(traceback.format_exception(caught.value))
        assert "canary" not in whole
        assert source.query is None or source.query not in str(caught.value)
    with pytest.raises(DataError):
        load_records(home.address("people"), FIELDS, "00", layout=layout)
    assert len(load_records(home.address("people"), FIELDS, "00")) == 40, "all rows are still there"


def test_files_that_are_no_databases(tmp_path: Path) -> None:
    file = tmp_path / "people.db"
    for make in (lambda: None, file.touch, lambda: file.write_bytes(b"id,name\n" * 1_000)):
        make()
        for kind in (Database.DUCKDB, Database.SQLITE):
            with pytest.raises(UnreadableError):
                load_records(f"{kind}:{file}?table=people", FIELDS, "00")


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.duckdb").write_text("any")
    openpyxl.Workbook().save("people.xlsx")
    for extra, place, module in (
        ("duckdb", "duckdb:people.duckdb?table=people", "duckdb"),
        ("postgres", "postgres:reg?table=people", "adbc_driver_postgresql.dbapi"),
        ("xlsx", "people.xlsx", "python_calamine"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UnreadableError) as caught:
            open_table(place, ["id"], Layout())
        assert f"accord[{extra}]" in str(caught.value)


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


QUERIES = (
    "SELECT * FROM '{folder}/people.csv'",
    "SELECT * FROM read_csv('{folder}/people.csv')",
    "SELECT content AS id FROM read_text('/etc/hostname')",
    "SELECT file AS id FROM glob('/*')",
    "SELECT * FROM 'https://example.org/people.csv'",
    "SELECT * FROM beside",
    "ATTACH '{folder}/other.duckdb'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "COPY people TO '{folder}/out.csv'",
    "SET enable_external_access = true",
    "PRAGMA database_list",
    "SELECT 1 AS id) AS x; SET enable_external_access = true; SELECT * FROM (SELECT 1 AS id",
)


def test_duckdb_reads_its_own_file_alone_and_changes_nothing(tmp_path: Path) -> None:
    write_csv(people(), tmp_path)
    home = Home(Database.DUCKDB, str(tmp_path / "people.duckdb"))
    write_table(people(), home)
    home.run(f"CREATE VIEW beside AS SELECT * FROM '{tmp_path}/people.csv'")  # noqa: S608
    before = {path.name for path in tmp_path.iterdir()}
    for query in QUERIES:
        with pytest.raises(UnreadableError) as caught:
            list(open_table(home.query(query.format(folder=tmp_path)), ["id"], Layout()).batches)
        assert caught.value.__context__ is None or caught.value.__suppress_context__
        assert {path.name for path in tmp_path.iterdir()} == before


def test_a_duckdb_file_that_another_has_open(tmp_path: Path) -> None:
    file = str(tmp_path / "people.duckdb")
    place = write_table(people(), Home(Database.DUCKDB, file))
    with duckdb.connect(file), pytest.raises(UnreadableError):
        load_records(place, FIELDS, "00")
    holds = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    command, pipe = [sys.executable, "-c", holds, file], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONPATH": ""}) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        with pytest.raises(UnreadableError):
            load_records(place, FIELDS, "00")


# -- SQLite -----------------------------------------------------------------------------------------------


@pytest.fixture
def sqlite(tmp_path: Path) -> Home:
    """The table of people in a new file."""
    made = Home(Database.SQLITE, str(tmp_path / "people.sqlite"))
    write_table(people(), made)
    return made


def test_one_state_of_sqlite_is_read_and_nothing_is_left(
    sqlite: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are added while others are read are not among them."""
    monkeypatch.setattr("accord.table.sources.sqlite.CHUNK", 7)
    sqlite.run("PRAGMA journal_mode = WAL")
    opened = open_table(sqlite.address("people"), ["id"], Layout())
    assert next(opened.batches).num_rows == 7
    sqlite.run("INSERT INTO people VALUES ('p99999', 'Late', '1990-01-01', 180)")
    assert sum(batch.num_rows for batch in opened.batches) == 33
    sqlite.run("PRAGMA journal_mode = DELETE")
    Path(sqlite.place).chmod(0o400)
    assert len(load_records(sqlite.address("people"), FIELDS, "00")) == 41
    assert [path.name for path in tmp_path.iterdir()] == ["people.sqlite"]


def test_cells_of_sqlite_become_text_each_by_itself(sqlite: Home) -> None:
    """Raw bytes in any column are faults, and leave their neighbours: in a column that a field reads, in one
    that is only disclosed, and in that of the people."""
    names = ["id", "note", "n", "whose"]
    sqlite.run(
        "CREATE TABLE t (id, note, n, whose)",
        "INSERT INTO t VALUES (7, 1.5, 2, NULL), ('x', '', 2.0, 1e300)",
    )
    (batch,) = open_table(sqlite.address("t"), names, Layout()).batches
    assert set(batch.schema.types) == {pa.large_string()}
    assert [*batch.to_pylist()[0].values()] == ["7", "1.5", "2", None]
    assert [*batch.to_pylist()[1].values()] == ["x", "", "2", "1e+300"]
    rows = [f"('p{i}', {i}, {i}, {i})" for i in range(9)]
    bytes_ = [f"UPDATE t SET {name} = x'00ff' WHERE id = 'p{i}'" for i, name in enumerate(names[1:], 4)]  # noqa: S608
    sqlite.run("DELETE FROM t", f"INSERT INTO t VALUES {', '.join(rows)}", *bytes_)  # noqa: S608
    fields, layout = {"note": TEXT["note"]}, Layout(person="whose")
    with pytest.raises(DataError) as caught:
        load_records(sqlite.address("t"), fields, "00", ["note", "n"], layout, per_person=9)
    places = {fault.place for fault in caught.value.faults}
    assert places == {"row 5, column 'note'", "row 6, column 'n'", "row 7, column 'whose'"}


def test_a_sqlite_file_that_is_damaged_or_not_utf8(sqlite: Home) -> None:
    sqlite.run("UPDATE people SET name = CAST(x'63616e617279ff' AS TEXT) WHERE id = 'p00007'")
    with pytest.raises(UnreadableError) as caught:
        load_records(sqlite.address("people"), FIELDS, "00", ["name"])
    assert "canary" not in str(caught.value)
    file = Path(sqlite.place)
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))
    with pytest.raises(UnreadableError):
        load_records(sqlite.address("people"), FIELDS, "00")


# -- PostgreSQL -------------------------------------------------------------------------------------------


def refused(source: Address | str, server: Server) -> str:
    """What is said of a table that cannot be read; no credential is in the whole of it."""
    with pytest.raises(AccordError) as caught:
        load_records(source, FIELDS, "00")
    whole = "".join(traceback.format_exception(caught.value))
    for secret in (server.password, CANARY, str(server.port), "127.0.0.1"):
        assert secret not in whole
    assert caught.value.exit_code == 4
    return str(caught.value)


def service(server: Server, name: str, **settings: object) -> str:
    """A service with settings of its own; gives the address of its people."""
    lines = {"host": "127.0.0.1", "port": server.port, "dbname": "postgres", "user": "owner", **settings}
    with server.services.open("a") as file:
        file.write("\n".join([f"[{name}]", *(f"{key}={value}" for key, value in lines.items())]) + "\n\n")
    return f"postgres:{name}?table=people"


def many(server: Server, last: str = "150", count: int = 4_000) -> Address:
    """A query of more than the driver gives at once; `last` is the height of the last row."""
    columns = f"date '1950-01-01' AS born, CASE WHEN i < {count} THEN 150 ELSE {last} END AS height"
    rows = f"generate_series(1, {count}) AS g(i)"
    query = f"SELECT 'p' || i || repeat('x', 5000) AS id, {columns} FROM {rows}"  # noqa: S608
    return Home(Database.POSTGRES, server.service).query(query)


def test_types_of_postgres_are_read_as_from_parquet(postgres: Server) -> None:
    query = (
        "SELECT '7f000001-0000-4000-8000-00000000000a'::uuid AS id, 'c'::char(4) AS fixed, 1.50 AS n, "
        "'x'::name AS label, '{\"a\": 1}'::jsonb AS doc, '10.0.0.1'::inet AS net, true AS flag, 3::oid AS o, "
        "'$1.50'::money AS cash, interval '1 day' AS span, int4range(1, 5) AS span_of, "
        "timestamp '2026-01-31 10:20' AS moment, time '10:20' AS hour, 0.5::float8 AS half"
    )
    names = "id fixed n label doc net flag o cash span span_of moment hour half".split()  # noqa: SIM905
    home = Home(Database.POSTGRES, postgres.service)
    (batch,) = open_table(home.query(query), names, Layout()).batches
    assert [*batch.to_pylist()[0].values()] == [
        "7f000001-0000-4000-8000-00000000000a",
        *("c", "1.50", "x", '{"a": 1}', "10.0.0.1/32", True, "3", "$1.50", "1 day", "[1,5)"),
        *(datetime(2026, 1, 31, 10, 20), time(10, 20), 0.5),
    ]
    odd = "SELECT i::text AS id, CASE WHEN i > 1 THEN '\\x00'::bytea END AS height, now() AS born"
    rows = f"{odd} FROM generate_series(1, 3) AS g(i)"
    with pytest.raises(DataError) as caught:
        load_records(home.query(rows), FIELDS, "00")
    places = {fault.place for fault in caught.value.faults}
    assert places >= {"rows 2, 3, column 'height'", "rows 1, 2, 3, column 'born'"}


def test_one_state_of_postgres_is_read_and_nothing_changed(postgres: Server) -> None:
    schema = postgres.add_schema()
    home, old = Home(Database.POSTGRES, schema), f"{schema}.Old"
    write_table(people(), home)
    address = home.address("people")
    opened = open_table(address, ["id"], Layout())
    home.run(
        "INSERT INTO people SELECT 'late', name, born, height FROM people",
        "CREATE SEQUENCE numbers",
        "CREATE FUNCTION drop_all() RETURNS SETOF people LANGUAGE sql AS "
        "$$DELETE FROM people; SELECT * FROM people$$",
    )
    assert sum(batch.num_rows for batch in opened.batches) == 40
    for query in (
        "SELECT id, born, height FROM drop_all()",
        "SELECT set_config('transaction_read_only', 'off', true) AS id, born, height FROM people",
        "SELECT nextval('numbers')::text AS id, born, height FROM people",
    ):
        with pytest.raises(UnreadableError):
            load_records(home.query(query), FIELDS, "00")
    home.run(f'CREATE SCHEMA "{old}"', f'ALTER TABLE people SET SCHEMA "{old}"')
    refused(address, postgres)
    rows = open_table(replace(address, schema=old), ["id"], Layout()).batches
    assert sum(batch.num_rows for batch in rows) == 80
    reader = postgres.add_user(f"reader_{schema}")
    refused(f"postgres:{reader}?table=people&schema={old}", postgres)


def test_settings_of_a_user_or_a_database_change_no_text(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"latin_{os.getpid()}"
    postgres.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")
    postgres.add_service(name, database=name)
    for setting, value in (("CLIENTENCODING", "LATIN1"), ("DATESTYLE", "German"), ("TZ", "Asia/Tokyo")):
        monkeypatch.setenv(f"PG{setting}", value)
    moment = "tstzrange('2026-11-15 00:00:00+00', NULL) AS since, 1.5::text::money AS cash"
    query = f"SELECT 'Zo' || chr(235) AS id, daterange('2026-11-15', '2026-11-16') AS days, {moment}"
    (batch,) = open_table(f"postgres:{name}?query={query}", ["id", "days", "since", "cash"], Layout()).batches
    since = '["2026-11-15 00:00:00+00",)'
    assert [*batch.to_pylist()[0].values()] == ["Zoë", "[2026-11-15,2026-11-16)", since, "$1.50"]


def test_what_libpq_or_the_server_refuses(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in other words of our own."""
    wrong = postgres.add_service(f"wrong{os.getpid()}", user=f"u{os.getpid()}", password=CANARY)
    postgres.add_service("gone", database="gone")
    said = [
        refused(f"postgres:{wrong}?table=people", postgres),
        refused("postgres:nosuch?table=people", postgres),
        refused("postgres:gone?table=people", postgres),
        refused(service(postgres, "port", port=1), postgres),
        refused(service(postgres, "tls", sslmode="require"), postgres),
    ]
    assert len({text.partition(": ")[2] for text in said}) == len(said)
    refused(service(postgres, "nopass", user="nobody-here"), postgres)
    own = {"HOST": "127.0.0.1", "PORT": postgres.port, "USER": "owner", "DATABASE": "postgres"}
    for name, value in {**own, "PASSWORD": postgres.password}.items():
        monkeypatch.setenv(f"PG{name}", str(value))
    one = "postgres:?query=SELECT 'a' AS id, date '1990-01-01' AS born, 1 AS height"
    assert len(load_records(one, FIELDS, "00")) == 1
    monkeypatch.setenv("PGPASSWORD", CANARY)
    refused("postgres:?table=people", postgres)


def test_a_query_that_fails_in_its_last_row_and_a_server_that_goes(postgres: Server) -> None:
    refused(many(postgres, f"('{CANARY}' || i)::int"), postgres)
    refused(many(postgres, "CASE WHEN pg_terminate_backend(pg_backend_pid()) THEN 1 END"), postgres)


@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle(postgres: Server) -> None:
    more_than_any_buffer_holds = 16_000
    opened = open_table(many(postgres, count=more_than_any_buffer_holds), ["id"], Layout())
    next(opened.batches)
    try:
        postgres.stop(signal.SIGQUIT)
        with pytest.raises(UnreadableError):
            list(opened.batches)
    finally:
        postgres.start()
    place = write_table(people(), Home(Database.POSTGRES, postgres.add_schema()))
    assert len(load_records(place, FIELDS, "00")) == 40


@pytest.mark.slow
def test_credentials_are_in_no_process_list_and_no_log(postgres: Server, tmp_path: Path) -> None:
    """A command as it is typed: what it prints, and how `ps` shows it, have nothing of libpq's."""
    place = write_table(people(), Home(Database.POSTGRES, postgres.add_schema()))
    typed = [sys.executable, "-m", "accord", "check", "--columns-of", place]
    with subprocess.Popen(typed, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        line = Path(f"/proc/{command.pid}/cmdline").read_bytes()
        out, err = command.communicate(timeout=60)
    assert out.decode().split() == ["id", "name", "born", "height"], err
    for text in (line, out, err):
        assert postgres.password.encode() not in text


@pytest.mark.slow
def test_ten_million_rows_stay_under_two_gib(postgres: Server, tmp_path: Path) -> None:
    """Read, encoded and sorted, in a process of its own; `python -m benchmarks.sources` has the speeds."""
    from benchmarks import sources as benchmark

    load_records(pa.table(next(benchmark.people(10))), benchmark.FIELDS, "00")
    home = postgres.add_database()
    benchmark.write_parquet(benchmark.ROWS, tmp_path)
    benchmark.write_postgres(benchmark.ROWS, home)
    for place in (str(tmp_path), f"postgres:{home}?table={benchmark.TABLE}"):
        scanned, read = benchmark.measure("scan", place), benchmark.measure("read", place)
        assert scanned.rows == read.rows == benchmark.ROWS
        assert read.peak_mib < 2048, place
