"""Tables in databases → Arrow record batches: what DuckDB, SQLite and PostgreSQL share.

A relation is a table or a query that can be read once: from one state of the database, and without a way to
change it. Its rows have no order, so whoever loads them sorts them by id.

What a driver says when it refuses is not repeated: it may quote cells, and how it was called. Each kind of
database tells its refusals apart and says them in words of our own.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Protocol

import pyarrow as pa

from accord.errors import UnreadableError
from accord.table.address import Address, quote_name
from accord.table.opened import OpenTable, guard, require_columns

CHUNK = 1 << 16
"""Rows that are read at a time, where the driver lets one choose."""


_CHANGES = re.compile(
    r"(\s|--[^\n]*(\n|$)|/\*.*?\*/)*"
    r"((INSERT|UPDATE|DELETE|MERGE|REPLACE|TRUNCATE|CREATE|ALTER|DROP|COPY|VACUUM|GRANT|REVOKE)\b"
    r"|WITH\b.*\bAS\s*\(\s*(INSERT|UPDATE|DELETE|MERGE)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A query that asks for a change by its first word, or by that of a part that it names first. Nothing can be
changed in any case: this is so that it is told why, where a database would only say that it does not know
such a query."""


class Relation(Protocol):
    """A table or a query, open to be read."""

    def names(self) -> list[str]:
        """The names of its columns."""

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, with at least these columns."""

    def close(self) -> None:
        """Give back what was taken; a second time does nothing."""


def open_relation(relation: Relation, name: str, columns: Sequence[str]) -> OpenTable:
    """An open table of its wanted columns; it is closed with its last row, or with whoever reads it."""
    try:
        require_columns(columns, relation.names(), name)
    except BaseException:
        relation.close()
        raise
    batches = guard(_to_the_end(relation, columns), name, columns)
    # A generator that nobody began has no end, either.
    weakref.finalize(batches, relation.close)
    return OpenTable(name, batches, has_order=False)


def names_of(relation: Relation) -> list[str]:
    """The names of a relation's columns, and no more of it."""
    with closing(relation):
        return relation.names()


def _to_the_end(relation: Relation, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with closing(relation):
        yield from relation.read(columns)


def from_clause(address: Address) -> str:
    """What is read, as it stands behind FROM; a query as one table, so that it can be nothing but a query."""
    address.require_relation()
    if address.query is None:
        return address.relation
    if _CHANGES.match(address.query):
        reason = "the query would change something"
        raise UnreadableError(path=address.name, reason=reason, mend="It must be one SELECT.")
    # On lines of its own: it may end in a comment.
    return f"(\n{address.query.strip().rstrip(';')}\n) AS asked"


def select(columns: Sequence[str], source: str) -> str:
    """The query for these columns; all names are quoted."""
    return f"SELECT {', '.join(columns)} FROM {source}"  # noqa: S608


def plain_columns(columns: Sequence[str]) -> list[str]:
    """Columns as SQL names them."""
    return [quote_name(column) for column in columns]
