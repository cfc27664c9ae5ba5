"""A table of a DuckDB file. Nothing but the file is read or written, and no extension is loaded."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from accord.errors import UsageError
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

_SETTINGS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "threads": "1",
    "memory_limit": "512MiB",
}
_TYPES = {CellKind.TEXT: "VARCHAR", CellKind.NUMBER: "BIGINT", None: "VARCHAR"}
_KINDS = {"VARCHAR": CellKind.TEXT, "BIGINT": CellKind.NUMBER}
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
    "constraint error": CONSTRAINT,
    "out of memory": "an index of the table takes more memory than is left for it",
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

    def find(self) -> list[Heading] | None:
        named = (
            "table_catalog = current_database() AND lower(table_schema) = lower(?) "
            "AND lower(table_name) = lower(?)"
        )
        where = [self._schema, self._table]
        asked = statement("SELECT table_type FROM information_schema.tables WHERE", named)
        kind = self._connection.execute(asked, where).fetchone()
        if kind is None:
            return None
        if kind[0] != "BASE TABLE":
            raise Refused(NO_TABLE)
        listed = "SELECT column_name, data_type FROM information_schema.columns WHERE"
        columns = self._connection.execute(statement(listed, named, "ORDER BY ordinal_position"), where)
        return [Heading(name, _KINDS.get(declared)) for name, declared in columns.fetchall()]

    def create(self, headings: Sequence[Heading]) -> None:
        columns = ", ".join(f"{quote_name(one.name)} {_TYPES[one.kind]}" for one in headings)
        self._connection.execute(statement("CREATE TABLE", self._relation, f"({columns})"))

    def require_rights(self) -> None:
        """Whoever may open the file may write all of it, and nobody else meanwhile."""

    def empty(self) -> None:
        self._connection.execute(statement("DELETE FROM", self._relation))

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
