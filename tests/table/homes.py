"""One table of people in every home that a table may have: files, databases, and what Python has."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from accord.fields.schema import DateField, FieldSpec, NumberField
from tests.postgres import Server

FIELDS: dict[str, FieldSpec] = {
    "born": DateField(type="date", min=date(1900, 1, 1), max=date(2100, 1, 1)),
    "height": NumberField(type="number", min=Fraction(0), max=Fraction(300), step=Fraction(1, 4)),
}
DISCLOSED = ("name", "born")


def people(count: int = 40) -> pa.Table:
    """People in the order of their ids; some have no name."""
    numbers = range(count)
    return pa.table(
        {
            "id": [f"p{i:05d}" for i in numbers],
            "name": [None if i % 7 == 3 else f"Zoë {i % 5}" for i in numbers],
            "born": pa.array(
                [date(1950, 1, 1) + timedelta(days=97 * (i % 500)) for i in numbers], pa.date32()
            ),
            "height": [150 + i * 0.75 for i in numbers],
        }
    )


def shuffled(table: pa.Table, seed: int = 1) -> pa.Table:
    """The same rows in another order, as a database may give them."""
    rows = random.Random(seed).sample(range(table.num_rows), table.num_rows)
    return table.take(pa.array(rows, pa.int64()))


def write_csv(table: pa.Table, folder: Path) -> str:
    pyarrow.csv.write_csv(table, folder / "people.csv")
    return str(folder / "people.csv")


def write_parquet(table: pa.Table, folder: Path) -> str:
    pyarrow.parquet.write_table(table, folder / "people.parquet")
    return str(folder / "people.parquet")


def write_duckdb(table: pa.Table, folder: Path) -> str:
    file = folder / "people.duckdb"
    with duckdb.connect(str(file)) as database:
        database.register("given", table)
        database.execute("CREATE TABLE people AS SELECT * FROM given")
    return f"duckdb:{file}?table=people"


def write_sqlite(table: pa.Table, folder: Path) -> str:
    file = folder / "people.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE people (id TEXT, name TEXT, born TEXT, height REAL)")
        rows = [tuple(map(_stored, row.values())) for row in table.to_pylist()]
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        database.commit()
    return f"sqlite:{file}?table=people"


def write_postgres(table: pa.Table, server: Server) -> str:
    """In a database of its own."""
    name = server.add_database()
    cells = [", ".join(map(_quoted, row.values())) for row in table.to_pylist()]
    rows = [f"INSERT INTO people VALUES {', '.join(f'({row})' for row in cells)}"] if cells else []  # noqa: S608
    server.run(
        "CREATE TABLE people (id text, name varchar(20), born date, height numeric(9, 2))",
        *rows,
        database=name,
    )
    return f"postgres:{name}?table=people"


def _stored(cell: Any) -> Any:
    return cell.isoformat() if isinstance(cell, date) else cell


def _quoted(cell: Any) -> str:
    return "NULL" if cell is None else f"'{cell}'"
