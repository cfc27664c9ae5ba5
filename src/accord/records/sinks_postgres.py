"""A table of a PostgreSQL server, through ADBC: rows by `COPY`, and libpq alone knows how to connect.

Rows that are there are deleted and not truncated: whoever reads the table meanwhile sees the old ones until
the new ones are whole, and the right to delete is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa

from accord.errors import UsageError
from accord.records.address import Address, quote_name
from accord.records.transaction import (
    CONSTRAINT,
    FULL,
    LOCKED,
    NO_RIGHT,
    NO_TABLE,
    THERE,
    Heading,
    Kind,
    Refused,
    statement,
)

MOST_NAME = 63
"""Octets of a name: PostgreSQL cuts a longer one and says nothing."""
_TYPES = {Kind.TEXT: "TEXT", Kind.NUMBER: "BIGINT", None: "TEXT"}
_KINDS = {"text": Kind.TEXT, "character varying": Kind.TEXT, "bigint": Kind.NUMBER}
_TABLES = ("r", "p")
_PATIENCE = "60s"
_LOST = "the connection to the server was lost"
_USER = "the server refuses the user or the password that libpq's files and environment have for it"
_NUL = "a cell holds a NUL character, which PostgreSQL does not take"
_STATES = {
    "08": _LOST,
    "22021": _NUL,
    "22P05": "the encoding of the database lacks a letter of some cell",
    "23": CONSTRAINT,
    "25006": "the server takes no writes",
    "28": _USER,
    "3D": "the server has no such database",
    "3F": "there is no such schema",
    "40": LOCKED,
    "42501": NO_RIGHT,
    "42P07": THERE,
    "53100": FULL,
    "53": "the server has too little left of something, such as memory or connections",
    "55P03": LOCKED,
    "57014": "the server cancelled it, perhaps for the time that it took",
    "57": _LOST,
}
"""By SQLSTATE, or by the class that it begins with."""
_SAID = {
    r"definition of service|service file": "libpq's service file has no such service, or cannot be read",
    r"password|pg_hba|role .* does not exist|authentication": _USER,
    r"database .* does not exist": "the server has no such database",
    r"certificate|ssl|tls": "the server and libpq do not agree on TLS, or on a certificate",
    r"refused|timeout|timed out|translate host|no route|unreachable|no such file|starting up|shutting down": (
        "no server answers"
    ),
    r"closed the connection|terminat|lost|reset|broken pipe": _LOST,
}
"""By what libpq says where there is no state, as before it is connected."""


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
    state = getattr(error, "sqlstate", None)
    if state:
        told = _STATES.get(state) or _STATES.get(state[:2])
        return told or f"the server refuses it (SQLSTATE {state})"
    said = str(error).lower()
    told = next((reason for pattern, reason in _SAID.items() if re.search(pattern, said)), None)
    return told or "the server cannot be reached, or refuses the connection"
