"""Tables for tests: people in files and databases, pairs, and the same questions to every database."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from accord.fields.schema import DateField, FieldSpec, NumberField
from accord.spill import Scratch
from accord.table.address import Address, Database
from accord.table.pairs import Half, IdOrder, PairTable, order_pairs
from tests.postgres import Server


@dataclass(frozen=True)
class Home:
    """A database of one test, new and empty."""

    database: Database
    place: str

    def address(self, table: str = "pairs", schema: str | None = None) -> Address:
        return Address(self.database, self.place, table, schema)

    def query(self, text: str) -> Address:
        return Address(self.database, self.place, query=text)

    def run(self, *statements: str) -> None:
        """Statements of its owner, committed."""
        with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
            if self.database is not Database.DUCKDB:
                # Cursors of DuckDB are connections of their own, which commit by themselves.
                connection.commit()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self._connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchall()]

    def tables(self) -> list[str]:
        """The names of all tables, of none if there is no file."""
        if self.database is Database.POSTGRES:
            query = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
        elif not Path(self.place).exists():
            return []
        elif self.database is Database.SQLITE:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"
        else:
            query = "SELECT table_name FROM information_schema.tables ORDER BY 1"
        return [row[0] for row in self.rows(query)]

    def _connect(self) -> Any:
        if self.database is Database.POSTGRES:
            import adbc_driver_postgresql.dbapi

            return adbc_driver_postgresql.dbapi.connect(f"service={self.place}")
        if self.database is Database.SQLITE:
            return sqlite3.connect(self.place)
        return duckdb.connect(self.place, config={"threads": 1})


@pytest.fixture(params=list(Database), ids=str)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    """A new database of each kind."""
    kind: Database = request.param
    if kind is not Database.POSTGRES:
        return Home(kind, str(tmp_path / f"own.{kind}"))
    server: Server = request.getfixturevalue("postgres")
    return Home(kind, server.add_schema())


def pairs(
    a: list[str] | list[int],
    b: list[str],
    shown_a: dict[str, list[str | None]] | None = None,
    shown_b: dict[str, list[str | None]] | None = None,
) -> PairTable:
    """Record i of A matches record i of B; A is the own side, whose ids may be numbers."""
    numbered = bool(a) and isinstance(a[0], int)
    ids_a = pa.array(list(map(str, a)), pa.large_string())
    ids_b = pa.array(b, pa.large_string())
    rows = np.arange(len(a)), np.arange(len(b))
    found = order_pairs(IdOrder.of(ids_a), IdOrder.of(ids_b), [rows], Scratch())
    text: Callable[[list[str | None]], pa.Array] = lambda cells: pa.array(cells, pa.large_string())  # noqa: E731
    halves = [
        Half.of(ids, pa.table({name: text(cells) for name, cells in (shown or {}).items()}), own)
        for ids, shown, own in ((ids_a, shown_a, numbered), (ids_b, shown_b, False))
    ]
    return PairTable(halves[0], halves[1], found)


FIELDS: dict[str, FieldSpec] = {
    "born": DateField(type="date", min=date(1900, 1, 1), max=date(2100, 1, 1)),
    "height": NumberField(type="number", min=Fraction(0), max=Fraction(300), step=Fraction(1, 4)),
}


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


def write_table(table: pa.Table, home: Home) -> str:
    """As the table `people` of a database; gives its address."""
    rows = [
        f"({', '.join('NULL' if cell is None else repr(str(cell)) for cell in row.values())})"
        for row in table.to_pylist()
    ]
    home.run(
        "CREATE TABLE people (id varchar(20), name varchar(20), born date, height numeric(9, 2))",
        *([f"INSERT INTO people VALUES {', '.join(rows)}"] if rows else []),  # noqa: S608
    )
    return str(home.address("people"))
