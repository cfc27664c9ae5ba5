"""SQLite → Arrow record batches, through the standard library.

The file is opened to be read, and all of it is read in one transaction, which sees one state. A column of
SQLite's holds cells of any type, so each becomes text by itself, as in a workbook.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from accord.errors import UnreadableError
from accord.table.address import Address
from accord.table.cell_text import batch_rows
from accord.table.sources.database import CHUNK, from_clause, plain_columns, select

_TRY = "Try the query with the shell of SQLite, which says more."
_SAID = {
    sqlite3.SQLITE_NOTADB: ("it is not a SQLite file, or has a password", "Is it what its name says?"),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", "Was it copied in full, and not while it was written to?"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "Check its name and its permissions."),
    sqlite3.SQLITE_BUSY: ("another process writes to it", "Wait for that one, or read a copy."),
    sqlite3.SQLITE_LOCKED: ("another process writes to it", "Wait for that one, or read a copy."),
    sqlite3.SQLITE_READONLY: ("the query would change something", "It must be one SELECT."),
    sqlite3.SQLITE_TOOBIG: ("a cell is too long", "Leave its column out."),
}
_WORDS = {
    "no such table": ("there is no such table in it", "Check its name."),
    "no such column": ("the query names a column that does not exist", _TRY),
    "no such function": ("the query names a function that does not exist", _TRY),
    "Could not decode": ("it holds text that is not UTF-8", "Fix the text, or leave its column out."),
}


class SqliteFile:
    """A table or a query of a SQLite file."""

    def __init__(self, address: Address) -> None:
        self._name, self._source = address.name, from_clause(address)
        assert address.file is not None
        with _told(self._name):
            uri = f"{address.file.as_uri()}?mode=ro"
            # Whoever drops a table that was not read to the end may do so in another thread.
            self._database = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        try:
            with _told(self._name):
                # Functions that a view of somebody's file calls may do no more than compute.
                for statement in ("PRAGMA query_only = ON", "PRAGMA trusted_schema = OFF", "BEGIN"):
                    self._database.execute(statement)
        except BaseException:
            self.close()
            raise

    def names(self) -> list[str]:
        with _told(self._name):
            found = self._database.execute(f"{select(['*'], self._source)} LIMIT 0")
            return [str(column[0]) for column in found.description]

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _told(self._name):
            found = self._database.execute(select(plain_columns(columns), self._source))
            while rows := found.fetchmany(CHUNK):
                yield batch_rows(rows, columns)

    def close(self) -> None:
        self._database.close()


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say a refusal of SQLite's in words of our own."""
    try:
        yield
    except sqlite3.Error as error:
        # The low octet is the kind, and the others say more of it.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        said = (say for words, say in _WORDS.items() if str(error).startswith(words))
        reason, mend = _SAID.get(kind) or next(said, ("SQLite cannot run the query to the end", _TRY))
        raise UnreadableError(path=name, reason=reason, mend=mend) from None
