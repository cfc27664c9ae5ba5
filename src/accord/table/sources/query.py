"""What Python has that is not read yet: a query over somebody's connection, a relation, a lazy frame.

Whoever opened a connection answers for it: for the transaction in which the query runs, and for what it may
change. What its driver says when it refuses is not repeated, since it may quote how it was called.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from accord.arguments import require_text, wrong
from accord.errors import AccordError, UnreadableError
from accord.table.address import Address, Database
from accord.table.cell_text import batch_rows
from accord.table.sources.database import CHUNK, Relation
from accord.table.sources.duckdb import DuckdbRelation


@dataclass(frozen=True, eq=False)
class Query:
    """The rows that a query returns over a connection of ADBC, SQLAlchemy, DuckDB or any other of PEP 249,
    sorted by id."""

    connection: Any
    sql: str

    def __post_init__(self) -> None:
        require_text("sql", self.sql, "SELECT id, name FROM people")
        if not any(hasattr(self.connection, name) for name in ("cursor", "exec_driver_sql")):
            raise wrong("connection", self.connection, "an open connection of ADBC, SQLAlchemy or PEP 249")

    def places(self) -> tuple[Address, ...]:
        """The files of SQLite that it may read, as far as anybody can ask a connection."""
        if not isinstance(self.connection, sqlite3.Connection):
            return ()
        with _told():
            files = [str(row[2]) for row in self.connection.execute("PRAGMA database_list") if row[2]]
        return tuple(Address(Database.SQLITE, file, query=self.sql) for file in files if "?" not in file)

    def __repr__(self) -> str:
        # A connection's own may have a password in it, and a query may quote cells.
        return "Query(…)"


def find_relation(source: object) -> Relation | None:
    """What is to be read of a query, a relation or a lazy frame; None if it is none of these."""
    if isinstance(source, Query) and _home(source.connection) == "duckdb":
        with _told():
            return DuckdbRelation(source.connection.sql(source.sql), "The query")
    if isinstance(source, Query):
        return Asked(source)
    home = _home(source)
    if home == "duckdb" and hasattr(source, "project") and hasattr(source, "columns"):
        return DuckdbRelation(source)
    if home == "polars" and hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return None if hasattr(source, "__arrow_c_stream__") else LazyFrame(source)
    return None


class Asked:
    """A query over a connection; it is asked once, and what it answers is read once."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._result: Any = None
        self._names: list[str] = []

    def names(self) -> list[str]:
        if self._result is None:
            with _told():
                self._result = self._ask()
                self._names = self._find_names()
        return self._names

    def _ask(self) -> Any:
        connection, sql = self._query.connection, self._query.sql
        if hasattr(connection, "exec_driver_sql"):
            return connection.exec_driver_sql(sql, execution_options={"stream_results": True})
        cursor = connection.cursor()
        cursor.execute(sql)
        return cursor

    def _find_names(self) -> list[str]:
        if hasattr(self._query.connection, "exec_driver_sql"):
            return list(map(str, self._result.keys()))
        return [str(column[0]) for column in self._result.description or ()]

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        names = self.names()
        with _told():
            if hasattr(self._result, "fetch_record_batch"):
                with self._result.fetch_record_batch() as reader:
                    yield from reader
            else:
                while rows := self._result.fetchmany(CHUNK):
                    yield batch_rows(rows, names)

    def close(self) -> None:
        result, self._result = self._result, None
        if result is not None:
            result.close()


class LazyFrame:
    """A lazy frame of polars, which is computed as it is read."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def names(self) -> list[str]:
        with _told():
            return [str(name) for name in self._frame.collect_schema().names()]

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _told():
            chosen = self._frame.select(list(columns))
            whole = getattr(chosen, "collect_batches", None)
            for frame in whole(chunk_size=CHUNK) if whole is not None else [chosen.collect()]:
                yield from pa.RecordBatchReader.from_stream(frame)

    def close(self) -> None:
        """There is nothing to give back."""


def _home(thing: object) -> str:
    """The library that a thing comes from."""
    return type(thing).__module__.partition(".")[0].lstrip("_")


@contextmanager
def _told() -> Iterator[None]:
    """Say a refusal of any driver's by its kind alone."""
    try:
        yield
    except (AccordError, MemoryError):
        raise
    except Exception as error:
        raise UnreadableError(
            path="The query",
            reason=f"its connection refused it ({type(error).__name__})",
            mend="Try it by itself: the driver says more.",
        ) from None
