"""A table of a PostgreSQL server, through ADBC: rows by `COPY`, and libpq alone knows how to connect.

Rows that are there are deleted and not truncated: whoever reads the table meanwhile sees the old ones until
the new ones are whole, and the right to delete is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa

from accord.errors import UsageError
from accord.table.address import Address, quote_name
from accord.table.sinks.transaction import (
    CONSTRAINT,
    FULL,
    LOCKED,
    NO_RIGHT,
    NO_TABLE,
    THERE,
    CellKind,
    Heading,
    Refused,
    statement,
)
from accord.table.sources.postgres import explain

MOST_NAME = 63
"""Octets of a name: PostgreSQL cuts a longer one and says nothing."""
_TYPES = {CellKind.TEXT: "TEXT", CellKind.NUMBER: "BIGINT", None: "TEXT"}
_KINDS = {"text": CellKind.TEXT, "character varying": CellKind.TEXT, "bigint": CellKind.NUMBER}
_TABLES = ("r", "p")
_PATIENCE = "60s"
_STATES = {
    "22021": "a cell holds a NUL character, which PostgreSQL does not take",
    "22P05": "the encoding of the database lacks a letter of some cell",
    "23": CONSTRAINT,
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


def table_identity(address: Address) -> tuple[object, ...] | None:
    """What a table is to its server, whatever service and schema it was named by; None if there is none."""
    asked = (
        "SELECT current_database(), (SELECT oid::bigint FROM pg_catalog.pg_database "
        "WHERE datname = current_database()), to_regclass($1)::oid::bigint"
    )
    with open_postgres(address) as transaction:
        found = transaction.ask(asked)
    return None if found[0][-1] is None else tuple(found[0])


def database_identity(address: Address) -> tuple[object, ...]:
    """What a database is to its server, whatever service it was named by."""
    asked = "SELECT datname::text, oid::bigint FROM pg_catalog.pg_database WHERE datname = current_database()"
    with open_postgres(address) as transaction:
        return transaction.ask_plain(asked)[0]


def is_alone(address: Address) -> bool:
    """Whether a table is plain, and neither a part of another nor made of parts; also if there is none."""
    asked = (
        "SELECT relkind = 'r' AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits "
        "WHERE inhrelid = c.oid OR inhparent = c.oid) "
        "FROM pg_catalog.pg_class AS c WHERE oid = to_regclass($1)"
    )
    with open_postgres(address) as transaction:
        found = transaction.ask(asked)
    return not found or bool(found[0][0])


@dataclass(frozen=True)
class Postgres:
    """See `Transaction`."""

    _connection: Any
    _cursor: Any
    _address: Address
    _driver: ModuleType

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """The answer to a query of which $1 is the table, quoted."""
        self._cursor.execute(query, (self._address.relation,))
        return list(self._cursor.fetchall())

    def ask_plain(self, query: str) -> list[tuple[Any, ...]]:
        """The answer to a query about no table."""
        self._cursor.execute(query)
        return list(self._cursor.fetchall())

    def find(self) -> list[Heading] | None:
        kinds = self.ask("SELECT relkind::text FROM pg_catalog.pg_class WHERE oid = to_regclass($1)")
        if not kinds:
            return None
        if kinds[0][0] not in _TABLES:
            raise Refused(NO_TABLE)
        columns = self.ask(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute "
            "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return [Heading(name, _KINDS.get(declared)) for name, declared in columns]

    def create(self, headings: Sequence[Heading]) -> None:
        columns = ", ".join(f"{quote_name(one.name)} {_TYPES[one.kind]}" for one in headings)
        self._do("CREATE TABLE", self._address.relation, f"({columns})")

    def require_rights(self) -> None:
        rights = (
            "has_table_privilege(to_regclass($1), 'INSERT'), has_table_privilege(to_regclass($1), 'DELETE')"
        )
        if not all(self.ask(f"SELECT {rights}")[0]):
            raise Refused(NO_RIGHT)

    def empty(self) -> None:
        self._do("SET LOCAL lock_timeout =", f"'{_PATIENCE}'")
        self._do("LOCK TABLE", self._address.relation, "IN SHARE ROW EXCLUSIVE MODE")
        self._do("DELETE FROM", self._address.relation)

    def fill(self, rows: pa.RecordBatchReader) -> None:
        schema = self._address.schema
        self._cursor.adbc_ingest(self._address.table, rows, mode="append", db_schema_name=schema)

    def commit(self) -> None:
        try:
            self._connection.commit()
        except self._driver.Error as error:
            # A server that says why has not done it; one that says nothing may have.
            raise Refused(_reason(error), unsure=not getattr(error, "sqlstate", None)) from None

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
