"""PostgreSQL → Arrow record batches, through ADBC, by a binary COPY that is read as it comes.

All is read in one transaction that is read-only and sees one state (REPEATABLE READ). The server prepares the
statement first, and a prepared one is one: no text of a query can end the transaction and begin another.

Who connects, and where, is libpq's to find: in its service file, its password file and its environment. So no
credential passes through here but inside the driver, and what the driver says of a refusal is not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from accord.errors import UnreadableError
from accord.table.address import Address, quote_name
from accord.table.sources.database import from_clause, select

_AS_THEY_ARE = frozenset(
    (
        *("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bytea"),
        *("date", "timestamp", "timestamptz", "time"),
    )
)
"""Types that Arrow has, too. Arrays are refused where the column is judged; all others are read as text."""
_TYPE = b"POSTGRESQL:type"
_BATCH = 1 << 22
"""Octets of a batch."""
_BEGINNING = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
    # Arrow's texts are UTF-8; what is read as text is written in one way, whatever a user has set.
    "SET LOCAL client_encoding = 'UTF8'",
    "SET LOCAL datestyle = 'ISO'",
    "SET LOCAL intervalstyle = 'postgres'",
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL lc_monetary = 'C'",
    "SET LOCAL extra_float_digits = 1",
)
_TRY = "Try the query with psql, which says more."
_CONNECT = "`psql service=NAME` connects as Accord does."
_AWAY = ("the server ended the connection before the last row", "Is it still there? Then run again.")
_REFUSED = (
    "the server does not know the user, or the password is wrong or missing",
    f"They belong in libpq's service file and password file (~/.pgpass, 0600). {_CONNECT}",
)
_STATES = {
    "28": _REFUSED,
    "3D000": ("the server has no such database", f"Fix `dbname` of the service. {_CONNECT}"),
    "42P01": ("there is no such table in it", "Check its name, and `schema`."),
    "3F000": ("there is no such schema in it", "Check `schema`."),
    "42703": ("the query names a column that does not exist", _TRY),
    "42501": ("its user may not read it", "Ask for the right to SELECT."),
    "25006": ("the query would change something", "It must be one SELECT."),
    "42601": ("the query is not one that PostgreSQL understands, or is several", _TRY),
    "42": ("the query does not fit what is in the database", _TRY),
    "22": ("a cell cannot be converted as the query asks", _TRY),
    "57014": ("the server cancelled the query, perhaps because it took too long", "Raise its time limit."),
    "57": _AWAY,
    "08": _AWAY,
    "53": ("the server lacks memory, room or connections", "Try again later."),
}
"""By SQLSTATE, or by its class, what is said."""
_WORDS = (
    (r"definition of service", ("libpq knows no such service", "It belongs in ~/.pg_service.conf.")),
    (r"service file", ("libpq finds no service file", "It is ~/.pg_service.conf, or PGSERVICEFILE.")),
    (r"password authentication|no password|pg_hba|authentication failed|role .* does not exist", _REFUSED),
    (r"database .* does not exist", _STATES["3D000"]),
    (r"\bSSL\b.*(required|support)|certificate", ("TLS could not be set up", f"Fix `sslmode`. {_CONNECT}")),
    (r"terminating connection|server closed|could not receive|SSL SYSCALL|connection not open", _AWAY),
    (r"canceling statement", _STATES["57014"]),
    (r"starting up|shutting down|too many (clients|connections)", _STATES["53"]),
    (
        r"Failed to connect|could not connect|Connection refused|could not translate",
        ("the server cannot be reached", f"Check host and port of the service. {_CONNECT}"),
    ),
    (r"read-only|read-write", _STATES["25006"]),
)
"""Of refusals without a SQLSTATE, what tells them apart."""


class PostgresTable:
    """A table or a query of a PostgreSQL database."""

    def __init__(self, address: Address) -> None:
        driver = _driver(address)
        self._name, self._source = address.name, from_clause(address)
        self._connection: Any = None
        service = f"postgresql:///?service={address.place}" if address.place else "postgresql://"
        with _told(self._name):
            self._connection = driver.connect(service)
        try:
            with _told(self._name):
                self._cursor = self._connection.cursor()
                for statement in _BEGINNING:
                    self._cursor.execute(statement)
        except BaseException:
            self.close()
            raise

    def names(self) -> list[str]:
        return list(self._schema(["*"]).names)

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        found = self._schema([quote_name(column) for column in columns])
        wanted = [_as_read(field) for field in found]
        with _told(self._name):
            self._cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH)})
            self._cursor.execute(select(wanted, self._source))
            with self._cursor.fetch_record_batch() as reader:
                yield from reader

    def _schema(self, columns: Sequence[str]) -> pa.Schema:
        with _told(self._name):
            self._cursor.execute(f"{select(columns, self._source)} LIMIT 0")
            with self._cursor.fetch_record_batch() as reader:
                return reader.schema

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # A connection that is lost cannot be ended in good order.
            with suppress(Exception):
                self._cursor.close()
            with suppress(Exception):
                connection.close()


def _as_read(field: pa.Field) -> str:
    """A column as it is asked for: as text where Arrow has no such type."""
    name, kind = quote_name(field.name), (field.metadata or {}).get(_TYPE, b"").decode()
    known = kind in _AS_THEY_ARE or kind.startswith("_")
    # An older driver does not say what a column is.
    plain = known if kind else not isinstance(field.type, pa.BaseExtensionType)
    return name if plain else f"{name}::text AS {name}"


def _driver(address: Address) -> Any:
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        raise UnreadableError(
            path=address.name,
            reason="PostgreSQL needs an extra",
            mend="Run `pip install 'accord[postgres]'`.",
        ) from None
    return driver


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say a refusal in words of our own."""
    import adbc_driver_manager

    try:
        yield
    except (adbc_driver_manager.Error, pa.ArrowException, OSError) as error:
        reason, mend = explain(error)
        raise UnreadableError(path=name, reason=reason, mend=mend) from None


def explain(error: Exception) -> tuple[str, str]:
    """What was refused and what to do, without a word of the server's or the driver's."""
    state = getattr(error, "sqlstate", None) or ""
    for known in (state, state[:2]):
        if known and known in _STATES:
            return _STATES[known]
    text = str(error)
    found = (said for words, said in _WORDS if re.search(words, text, re.IGNORECASE))
    return next(found, ("the server cannot run the query to the end", _TRY))
