"""A table of a SQLite file, through the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from accord.table.address import quote_name
from accord.table.sinks.transaction import FULL, LOCKED, NO_RIGHT, Refused, declare, statement

_PATIENCE = 60.0
"""Seconds that another writer may take."""
_REASONS = {
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": "the system does not let it be written, perhaps for lack of space",
    "SQLITE_NOTADB": "it is not a SQLite file",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_READONLY": NO_RIGHT,
    "SQLITE_PERM": NO_RIGHT,
    "SQLITE_CANTOPEN": "the file cannot be opened for writing",
}


@contextmanager
def open_sqlite(file: Path, table: str) -> Iterator[Sqlite]:
    """A transaction on a table of this file, which is made if it is not there."""
    try:
        with closing(_connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Sqlite(connection, table)
            finally:
                with suppress(sqlite3.Error):
                    connection.rollback()
    except sqlite3.Error as error:
        raise Refused(_reason(error)) from None


@dataclass(frozen=True)
class Sqlite:
    """See `Transaction`."""

    _connection: sqlite3.Connection
    _table: str

    def find(self) -> list[str] | None:
        columns = self._connection.execute("SELECT name FROM pragma_table_info(?)", (self._table,))
        return [name for (name,) in columns] or None

    def drop(self) -> None:
        self._connection.execute(statement("DROP TABLE", quote_name(self._table)))

    def create(self, schema: pa.Schema) -> None:
        columns = declare(schema, "TEXT")
        self._connection.execute(statement("CREATE TABLE", quote_name(self._table), columns))

    def fill(self, rows: pa.RecordBatchReader) -> None:
        marks = ", ".join("?" * len(rows.schema))
        insert = statement("INSERT INTO", quote_name(self._table), f"VALUES ({marks})")
        for batch in rows:
            cells = (column.to_pylist() for column in batch.columns)
            self._connection.executemany(insert, zip(*cells, strict=True))

    def commit(self) -> None:
        self._connection.execute("COMMIT")


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.as_uri()}?mode=rwc", uri=True, timeout=_PATIENCE, isolation_level=None)


def _reason(error: sqlite3.Error) -> str:
    """By SQLite's code, whose first two words are its class."""
    name = getattr(error, "sqlite_errorname", None) or "an error without a name"
    return _REASONS.get("_".join(name.split("_")[:2]), f"SQLite refuses it ({name})")
