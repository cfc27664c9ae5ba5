"""A table of a SQLite file, through the standard library."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from accord.table.address import quote_name
from accord.table.sinks.transaction import (
    CONSTRAINT,
    FULL,
    LOCKED,
    NO_RIGHT,
    NO_TABLE,
    CellKind,
    Heading,
    Refused,
    statement,
)

_PATIENCE = 60.0
"""Seconds that another writer may take."""
_TYPES = {CellKind.TEXT: "TEXT", CellKind.NUMBER: "BIGINT", None: "TEXT"}
_KINDS = {"TEXT": CellKind.TEXT, "VARCHAR": CellKind.TEXT} | dict.fromkeys(
    ("BIGINT", "INTEGER", "INT"), CellKind.NUMBER
)
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
    "SQLITE_CONSTRAINT": CONSTRAINT,
}


@contextmanager
def open_sqlite(file: Path, table: str) -> Iterator[Sqlite]:
    """A transaction on a table of this file, which is made if it is not there."""
    try:
        with closing(_connect(file)) as connection:
            # Of functions in triggers of the file only harmless ones run.
            connection.execute("PRAGMA trusted_schema = OFF")
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

    def find(self) -> list[Heading] | None:
        asked = "SELECT type FROM pragma_table_list(?) WHERE schema = 'main'"
        kind = self._connection.execute(asked, (self._table,)).fetchone()
        if kind is None:
            return None
        if kind[0] != "table":
            raise Refused(NO_TABLE)
        columns = self._connection.execute("SELECT name, type FROM pragma_table_info(?)", (self._table,))
        return [Heading(name, _KINDS.get(declared.upper())) for name, declared in columns]

    def create(self, headings: Sequence[Heading]) -> None:
        columns = ", ".join(f"{quote_name(one.name)} {_TYPES[one.kind]}" for one in headings)
        self._connection.execute(statement("CREATE TABLE", quote_name(self._table), f"({columns})"))

    def require_rights(self) -> None:
        """Whoever may begin to write the file may write all of it."""

    def empty(self) -> None:
        self._connection.execute(statement("DELETE FROM", quote_name(self._table)))

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
