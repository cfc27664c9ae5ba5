"""SQLite's files are read in one state, and their cells each by themselves."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from accord.errors import DataError, UnreadableError
from accord.fields.load import load_records
from accord.table.layout import Layout
from accord.table.sources.opening import open_table
from tests.table.homes import FIELDS, people, write_sqlite


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "people.sqlite")) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def test_one_state_is_read(tmp_path: Path) -> None:
    """Rows that are added while others are read are not among them."""
    home = write_sqlite(people(70_000), tmp_path)
    change(tmp_path, "PRAGMA journal_mode = WAL")
    opened = open_table(home, ["id"], Layout())
    first = next(opened.batches)
    change(tmp_path, "INSERT INTO people VALUES ('p99999', 'Late', '1990-01-01', 180)")
    assert first.num_rows + sum(batch.num_rows for batch in opened.batches) == 70_000


def test_cells_of_all_types_become_text(tmp_path: Path) -> None:
    home = write_sqlite(people(0), tmp_path)
    change(tmp_path, "DROP TABLE people", "CREATE TABLE people (id, name, born, height)")
    change(tmp_path, "INSERT INTO people VALUES (7, 1.5, 2, NULL), ('x', '', 2.0, 1e300)")
    (batch,) = open_table(home, ["id", "name", "born", "height"], Layout()).batches
    assert set(batch.schema.types) == {pa.large_string()}
    assert batch.to_pylist() == [
        {"id": "7", "name": "1.5", "born": "2", "height": None},
        {"id": "x", "name": "", "born": "2", "height": "1e+300"},
    ]


def test_raw_bytes_are_named_by_column_row_and_type(tmp_path: Path) -> None:
    home = write_sqlite(people(), tmp_path)
    change(tmp_path, "UPDATE people SET born = x'00ff' WHERE id IN ('p00004', 'p00009')")
    change(tmp_path, "UPDATE people SET height = 'tall' WHERE id = 'p00002'")
    with pytest.raises(DataError) as caught:
        load_records(home, FIELDS, "00")
    said = str(caught.value)
    assert "rows 5, 10, column 'born': holds large_binary values" in said
    assert "row 3, column 'height'" in said
    assert "tall" not in said


def test_text_that_is_not_utf8_is_not_quoted(tmp_path: Path) -> None:
    home = write_sqlite(people(), tmp_path)
    change(tmp_path, "UPDATE people SET name = CAST(x'63616e617279ff' AS TEXT) WHERE id = 'p00007'")
    with pytest.raises(UnreadableError, match="not UTF-8") as caught:
        load_records(home, FIELDS, "00", ["name"])
    assert "canary" not in str(caught.value)


def test_a_refusal_in_the_last_row(tmp_path: Path) -> None:
    home = write_sqlite(people(), tmp_path).partition("?")[0]
    query = "SELECT id, born, CASE id WHEN 'p00039' THEN abs(-9223372036854775808) ELSE height END AS height"
    with pytest.raises(UnreadableError, match="cannot run the query to the end"):
        load_records(f"{home}?query={query} FROM people", FIELDS, "00")


def test_a_file_that_is_damaged(tmp_path: Path) -> None:
    home = write_sqlite(people(3_000), tmp_path)
    file = tmp_path / "people.sqlite"
    whole = file.read_bytes()
    file.write_bytes(whole[:8192] + os.urandom(len(whole) - 8192))
    with pytest.raises(UnreadableError, match="it is damaged"):
        load_records(home, FIELDS, "00")


def test_nothing_is_left_beside_the_file(tmp_path: Path) -> None:
    home = write_sqlite(people(), tmp_path)
    (tmp_path / "people.sqlite").chmod(0o400)
    load_records(home, FIELDS, "00")
    assert [path.name for path in tmp_path.iterdir()] == ["people.sqlite"]
