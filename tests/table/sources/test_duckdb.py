"""DuckDB's files are sealed: nothing but their own tables is read, and nothing is changed."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from accord.errors import UnreadableError
from accord.fields.load import load_records
from accord.table.address import find_address
from accord.table.layout import Layout
from accord.table.sources.opening import open_table
from tests.table.homes import FIELDS, people, write_csv, write_duckdb


def ask(folder: Path, query: str) -> list[Any]:
    address = find_address(f"duckdb:{folder}/people.duckdb?query={query}")
    assert address is not None
    return [row for batch in open_table(address, ["id"], Layout()).batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{folder}/people.csv'",
        "SELECT * FROM read_csv('{folder}/people.csv')",
        "SELECT content AS id FROM read_text('/etc/hostname')",
        "SELECT file AS id FROM glob('/*')",
        "SELECT * FROM 'https://example.org/people.csv'",
        "SELECT * FROM beside",
    ],
)
def test_nothing_else_is_read(query: str, tmp_path: Path) -> None:
    write_csv(people(), tmp_path)
    write_duckdb(people(), tmp_path)
    with duckdb.connect(str(tmp_path / "people.duckdb")) as database:
        database.execute(f"CREATE VIEW beside AS SELECT * FROM '{tmp_path}/people.csv'")  # noqa: S608
    with pytest.raises(UnreadableError, match="files of other kinds, the network or extensions"):
        ask(tmp_path, query.format(folder=tmp_path))


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH '{folder}/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "COPY people TO '{folder}/out.csv'",
        "SET enable_external_access = true",
        "PRAGMA database_list",
        "SELECT 1 AS id) AS x; SET enable_external_access = true; SELECT * FROM (SELECT 1 AS id",
    ],
)
def test_a_query_is_a_query(query: str, tmp_path: Path) -> None:
    write_duckdb(people(), tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(UnreadableError):
        ask(tmp_path, query.format(folder=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_refusal_in_the_last_row_quotes_no_cell(tmp_path: Path) -> None:
    write_duckdb(people(), tmp_path)
    query = "SELECT CASE WHEN id = 'p00039' THEN CAST('canary' || id AS INT) ELSE 1 END AS id FROM people"
    with pytest.raises(UnreadableError, match="a cell cannot be converted as the query asks") as caught:
        ask(tmp_path, query)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_file_that_another_process_writes_to(tmp_path: Path) -> None:
    home = write_duckdb(people(), tmp_path)
    holds = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(tmp_path / "people.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ""},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline()
        with pytest.raises(UnreadableError, match="another process writes to it"):
            load_records(home, FIELDS, "00")


def test_a_file_that_this_process_has_open(tmp_path: Path) -> None:
    home = write_duckdb(people(), tmp_path)
    with (
        duckdb.connect(str(tmp_path / "people.duckdb")),
        pytest.raises(UnreadableError, match="this process has it open in another way"),
    ):
        load_records(home, FIELDS, "00")


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, real = write_duckdb(people(), tmp_path), builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "duckdb":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnreadableError, match=r"pip install 'accord\[duckdb\]'"):
        open_table(home, ["id"], Layout())
