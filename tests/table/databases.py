"""Tables of databases for tests: the same questions to DuckDB, SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

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
