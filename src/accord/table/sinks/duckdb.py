"""A table of a DuckDB file. Nothing but the file is read or written, and no extension is loaded."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from accord.errors import UsageError
from accord.table.address import quote_name
from accord.table.sinks.transaction import FULL, LOCKED, NO_RIGHT, Refused, declare, statement

_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",
    "memory_limit": "512MiB",
}
_REASONS = {
    "no space left": FULL,
    "file too large": FULL,
    "quota exceeded": FULL,
    "could not set lock": LOCKED,
    "conflicting lock": LOCKED,
    "different configuration": "this process has the file open already; close it first",
    "permission denied": NO_RIGHT,
    "read-only": NO_RIGHT,
    "not a valid duckdb": "it is not a DuckDB file",
    "schema with name": "there is no such schema",
}
"""By what stands in a message of DuckDB, which has no codes."""


@contextmanager
def open_duckdb(file: Path, table: str, schema: str | None) -> Iterator[DuckDb]:
    """A transaction on a table of this file, which is made if it is not there."""
    driver = _driver()
    try:
        with closing(driver.connect(str(file), config=_SETTINGS)) as connection:
            connection.execute("BEGIN TRANSACTION")
            try:
                yield DuckDb(connection, table, schema or "main")
            finally:
                # It fails where there is none any more, after a commit or a fault of the disk.
                with suppress(driver.Error):
                    connection.execute("ROLLBACK")
    except driver.Error as error:
        raise Refused(_reason(error)) from None


@dataclass(frozen=True)
class DuckDb:
    """See `Transaction`."""

    _connection: Any
    _table: str
    _schema: str

    @property
    def _relation(self) -> str:
        return f"{quote_name(self._schema)}.{quote_name(self._table)}"

    def find(self) -> list[str] | None:
        asked = (
            "SELECT column_name FROM information_schema.columns WHERE table_catalog = current_database() "
            "AND lower(table_schema) = lower(?) AND lower(table_name) = lower(?) ORDER BY ordinal_position"
        )
        columns = self._connection.execute(asked, [self._schema, self._table])
        return [name for (name,) in columns.fetchall()] or None

    def drop(self) -> None:
        self._connection.execute(statement("DROP TABLE", self._relation))

    def create(self, schema: pa.Schema) -> None:
        self._connection.execute(statement("CREATE TABLE", self._relation, declare(schema, "VARCHAR")))

    def fill(self, rows: pa.RecordBatchReader) -> None:
        # A name that no table of the file has.
        incoming = f"incoming_{secrets.token_hex(8)}"
        self._connection.register(incoming, rows)
        self._connection.execute(statement("INSERT INTO", self._relation, "SELECT * FROM", incoming))

    def commit(self) -> None:
        self._connection.execute("COMMIT")


def _driver() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        problem = "DuckDB is not installed: `pip install 'accord[duckdb]'`."
        raise UsageError(problem=problem) from None
    return duckdb


def _reason(error: Exception) -> str:
    said = str(error).lower()
    told = next((reason for part, reason in _REASONS.items() if part in said), None)
    return told or f"DuckDB refuses it ({type(error).__name__})"
