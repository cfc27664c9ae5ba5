"""PostgreSQL: one state, read only, by libpq's own credentials, of which no word is ever said."""

from __future__ import annotations

import builtins
import os
import re
import signal
import subprocess
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from accord.errors import AccordError, DataError, UnreadableError
from accord.fields.load import load_records
from accord.table.address import Address, Database, find_address
from accord.table.layout import Layout
from accord.table.sources import postgres as sources_postgres
from accord.table.sources.opening import open_table
from accord.table.sources.postgres import explain
from benchmarks import sources as benchmark
from tests.postgres import Server
from tests.table.homes import FIELDS, people, shuffled, write_postgres

CANARY = "canary-hunter2"
MANY = 100_000


def refused(source: Address | str, server: Server) -> str:
    """What is said of a table that cannot be read, the whole of it; no credential is in it."""
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


def many(server: Server, last: str = "150") -> Address:
    """A query of more than any buffer holds; `last` is the height of the last row."""
    columns = f"date '1950-01-01' AS born, CASE WHEN i < {MANY} THEN 150 ELSE {last} END AS height"
    rows = f"generate_series(1, {MANY}) AS g(i)"
    query = f"SELECT 'p' || i || repeat('x', 500) AS id, {columns} FROM {rows}"  # noqa: S608
    return Address(Database.POSTGRES, server.service, query=query)


def test_types_are_read_as_from_parquet(postgres: Server) -> None:
    query = (
        "SELECT '7f000001-0000-4000-8000-00000000000a'::uuid AS id, 'c'::char(4) AS fixed, 1.50 AS n, "
        "'x'::name AS label, '{\"a\": 1}'::jsonb AS doc, '10.0.0.1'::inet AS net, true AS flag, 3::oid AS o, "
        "'$1.50'::money AS cash, interval '1 day' AS span, int4range(1, 5) AS span_of"
    )
    address = Address(Database.POSTGRES, postgres.service, query=query)
    names = "id fixed n label doc net flag o cash span span_of".split()  # noqa: SIM905
    (batch,) = open_table(address, names, Layout()).batches
    (row,) = batch.to_pylist()
    assert row == {
        "id": "7f000001-0000-4000-8000-00000000000a",
        "fixed": "c",
        "n": "1.50",
        "label": "x",
        "doc": '{"a": 1}',
        "net": "10.0.0.1/32",
        "flag": True,
        "o": "3",
        "cash": "$1.50",
        "span": "1 day",
        "span_of": "[1,5)",
    }


def test_what_does_not_fit_is_named_by_column_row_and_type_all_at_once(postgres: Server) -> None:
    query = "SELECT id, CASE WHEN id > 'p00037' THEN '\\x00'::bytea END AS height, now() AS born FROM people"
    address = find_address(write_postgres(shuffled(people()), postgres))
    assert address is not None
    with pytest.raises(DataError) as caught:
        load_records(replace(address, table=None, query=query), FIELDS, "00")
    said = str(caught.value)
    assert "rows 39, 40, column 'height': holds binary values" in said
    assert "column 'born': is a moment in a time zone" in said


def test_one_state_is_read(postgres: Server) -> None:
    home = write_postgres(people(), postgres)
    name = home.removeprefix("postgres:").partition("?")[0]
    opened = open_table(home, ["id"], Layout())
    postgres.run("INSERT INTO people SELECT 'late', name, born, height FROM people", database=name)
    assert sum(batch.num_rows for batch in opened.batches) == 40
    assert sum(batch.num_rows for batch in open_table(home, ["id"], Layout()).batches) == 80


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, born, height FROM drop_all()",
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
        "SELECT set_config('transaction_read_only', 'off', true) AS id, born, height FROM people",
        "SELECT nextval('numbers')::text AS id, born, height FROM people",
    ],
)
def test_nothing_can_be_changed(query: str, postgres: Server) -> None:
    home = find_address(write_postgres(people(), postgres))
    assert home is not None
    postgres.run(
        "CREATE SEQUENCE numbers",
        "CREATE FUNCTION drop_all() RETURNS SETOF people LANGUAGE sql AS "
        "$$DELETE FROM people; SELECT * FROM people$$",
        database=home.place,
    )
    with pytest.raises(UnreadableError):
        load_records(replace(home, table=None, query=query), FIELDS, "00")
    assert postgres.rows("SELECT count(*) FROM people", home.place) == [["40"]]


def test_settings_of_a_user_or_a_database_change_no_text(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"latin_{os.getpid()}"
    postgres.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")
    postgres.add_service(name, database=name)
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGDATESTYLE", "German")
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    moment = "tstzrange('2026-11-15 00:00:00+00', NULL) AS since, 1.5::text::money AS cash"
    query = f"SELECT 'Zo' || chr(235) AS id, daterange('2026-11-15', '2026-11-16') AS days, {moment}"
    address = f"postgres:{name}?query={query}"
    (batch,) = open_table(address, ["id", "days", "since", "cash"], Layout()).batches
    since = '["2026-11-15 00:00:00+00",)'
    expected = {"id": "Zoë", "days": "[2026-11-15,2026-11-16)", "since": since, "cash": "$1.50"}
    assert batch.to_pylist() == [expected]


def test_a_schema_is_named(postgres: Server) -> None:
    home = find_address(write_postgres(people(), postgres))
    assert home is not None
    postgres.run('CREATE SCHEMA "Old.one"', 'ALTER TABLE people SET SCHEMA "Old.one"', database=home.place)
    assert "no such table" in refused(home, postgres)
    assert len(load_records(replace(home, schema="Old.one"), FIELDS, "00")) == 40


def test_what_libpq_or_the_server_refuses(postgres: Server) -> None:
    write_postgres(people(), postgres)
    wrong = postgres.add_service(f"wrong{os.getpid()}", user=f"u{os.getpid()}", password=CANARY)
    assert "password is wrong or missing" in refused(f"postgres:{wrong}?table=people", postgres)
    nobody = service(postgres, "nopass", user="nobody-here")
    assert "password is wrong or missing" in refused(nobody, postgres)
    assert "libpq knows no such service" in refused("postgres:nosuch?table=people", postgres)
    assert "the server cannot be reached" in refused(service(postgres, "port", port=1), postgres)
    away = service(postgres, "away", host="no-such-host.invalid")
    assert "the server cannot be reached" in refused(away, postgres)
    tls = service(postgres, "tls", sslmode="require")
    assert "TLS could not be set up" in refused(tls, postgres)


def test_a_database_that_is_not_there(postgres: Server) -> None:
    postgres.add_service("gone", database="gone")
    assert "has no such database" in refused("postgres:gone?table=people", postgres)


def test_a_user_who_may_not_read(postgres: Server) -> None:
    home = write_postgres(people(), postgres)
    database = home.removeprefix("postgres:").partition("?")[0]
    reader = postgres.add_user(f"reader_{database}", database=database)
    assert "may not read it" in refused(f"postgres:{reader}?table=people", postgres)


def test_the_environment_alone(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write_postgres(people(), postgres)
    settings = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "owner"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PGDATABASE", home.removeprefix("postgres:").partition("?")[0])
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    assert len(load_records("postgres:?table=people", FIELDS, "00")) == 40
    monkeypatch.setenv("PGPASSWORD", CANARY)
    assert "password is wrong" in refused("postgres:?table=people", postgres)


def test_a_query_that_fails_in_its_last_row(postgres: Server) -> None:
    said = refused(many(postgres, f"('{CANARY}' || i)::int"), postgres)
    assert "a cell cannot be converted as the query asks" in said or "cannot run the query to the end" in said


def test_a_server_that_ends_the_connection_in_the_middle(postgres: Server) -> None:
    said = refused(many(postgres, "CASE WHEN pg_terminate_backend(pg_backend_pid()) THEN 1 END"), postgres)
    assert "ended the connection before the last row" in said


@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle(postgres: Server) -> None:
    opened = open_table(many(postgres), ["id"], Layout())
    next(opened.batches)
    try:
        postgres.stop(signal.SIGQUIT)
        with pytest.raises(UnreadableError, match="before the last row"):
            for _ in opened.batches:
                pass
    finally:
        postgres.start()
    assert len(load_records(write_postgres(people(), postgres), FIELDS, "00")) == 40


def test_credentials_are_in_no_process_list_and_no_log(postgres: Server, tmp_path: Path) -> None:
    """A command as it is typed: what it prints, and how `ps` shows it, have nothing of libpq's."""
    home = write_postgres(people(), postgres)
    typed = [sys.executable, "-m", "accord", "check", "--columns-of", home]
    with subprocess.Popen(typed, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        line = Path(f"/proc/{command.pid}/cmdline").read_bytes()
        out, err = command.communicate(timeout=60)
    assert out.decode().split() == ["id", "name", "born", "height"], err
    for text in (line, out, err):
        assert postgres.password.encode() not in text


def test_refusals_are_told_apart_without_their_words() -> None:
    said = (*sources_postgres._STATES.values(), *(said for _, said in sources_postgres._WORDS))
    for words in (
        f'connection to server at "{CANARY}" failed: FATAL:  password authentication failed for user "x"',
        f"could not parse {CANARY}",
        f'ERROR:  invalid input syntax for type integer: "{CANARY}"',
    ):
        reason, mend = explain(OSError(words))
        assert CANARY not in reason + mend
    assert all(not re.search(r"[{}%]", part) for pair in said for part in pair)


@pytest.mark.slow
def test_ten_million_rows_stay_under_two_gib(postgres: Server, tmp_path: Path) -> None:
    """Read, encoded and sorted, in a process of its own; `python -m benchmarks.sources` has the speeds."""
    load_records(pa.table(next(benchmark.people(10))), benchmark.FIELDS, "00")
    home = postgres.add_database()
    benchmark.write_parquet(benchmark.ROWS, tmp_path)
    benchmark.write_postgres(benchmark.ROWS, home)
    for place in (str(tmp_path), f"postgres:{home}?table={benchmark.TABLE}"):
        scanned, read = benchmark.measure("scan", place), benchmark.measure("read", place)
        assert scanned.rows == read.rows == benchmark.ROWS
        assert read.peak_mib < 2048, place


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("adbc_driver"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnreadableError, match=r"pip install 'accord\[postgres\]'"):
        open_table("postgres:reg?table=people", ["id"], Layout())
