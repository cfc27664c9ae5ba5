"""A table of a PostgreSQL server, through ADBC: rows by `COPY`, and libpq alone knows how to connect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa

from accord.errors import UsageError
from accord.table.address import Address
from accord.table.sinks.transaction import FULL, LOCKED, NO_RIGHT, THERE, Refused, declare, statement
from accord.table.sources.postgres import explain

MOST_NAME = 63
"""Octets of a name: PostgreSQL cuts a longer one and says nothing."""
_PATIENCE = "60s"
_STATES = {
    "22021": "a cell holds a NUL character, which PostgreSQL does not take",
    "22P05": "the encoding of the database lacks a letter of some cell",
    "25006": "the server takes no writes",
    "3F": "there is no such schema",
    "40": LOCKED,
    "42501": NO_RIGHT,
    "42P07": THERE,
    "53100": FULL,
    "55P03": LOCKED,
    "57014": "the server cancelled it, perhaps because it took too long",
}
"""By SQLSTATE, or by the class that it begins with."""
_ALIKE = ("", "08", "28", "3D", "53", "57")
"""Classes of what is refused alike to those who read and to those who write. There is no state before a
connection, nor when it is lost."""


@contextmanager
def open_postgres(address: Address) -> Iterator[Postgres]:
    """A transaction on a table of the server that a service names."""
    driver = _driver()
    try:
        with closing(driver.connect(_where(address))) as connection, closing(connection.cursor()) as cursor:
            yield Postgres(connection, cursor, address, driver)
            # Closing it undoes what was not committed; a server that is gone has done so itself.
            with suppress(driver.Error):
                connection.rollback()
    except driver.Error as error:
        raise Refused(_reason(error)) from None


@dataclass(frozen=True)
class Postgres:
    """See `Transaction`."""

    _connection: Any
    _cursor: Any
    _address: Address
    _driver: ModuleType

    def find(self) -> list[str] | None:
        there = "SELECT 1 FROM pg_catalog.pg_class WHERE oid = to_regclass($1)"
        if not self._ask(there):
            return None
        columns = self._ask(
            "SELECT attname::text FROM pg_catalog.pg_attribute "
            "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return [name for (name,) in columns]

    def drop(self) -> None:
        self._do("SET LOCAL lock_timeout =", f"'{_PATIENCE}'")
        self._do("DROP TABLE", self._address.relation)

    def create(self, schema: pa.Schema) -> None:
        self._do("CREATE TABLE", self._address.relation, declare(schema, "TEXT"))

    def fill(self, rows: pa.RecordBatchReader) -> None:
        schema = self._address.schema
        self._cursor.adbc_ingest(self._address.table, rows, mode="append", db_schema_name=schema)

    def commit(self) -> None:
        try:
            self._connection.commit()
        except self._driver.Error as error:
            # A server that says why has not done it; one that says nothing may have.
            raise Refused(_reason(error), unsure=not getattr(error, "sqlstate", None)) from None

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        """The answer to a query of which $1 is the table, quoted."""
        self._cursor.execute(query, (self._address.relation,))
        return list(self._cursor.fetchall())

    def _do(self, *words: str) -> None:
        self._cursor.execute(statement(*words))


def _where(address: Address) -> str:
    named = f"service={address.place} " if address.place else ""
    return f"{named}fallback_application_name=accord"


def _driver() -> ModuleType:
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        problem = "The driver of PostgreSQL is not installed: `pip install 'accord[postgres]'`."
        raise UsageError(problem=problem) from None
    return driver


def _reason(error: Exception) -> str:
    state = getattr(error, "sqlstate", None) or ""
    told = _STATES.get(state) or _STATES.get(state[:2])
    if told is None and state[:2] in _ALIKE:
        return explain(error)[0]
    return told or f"the server refuses it (SQLSTATE {state})"
