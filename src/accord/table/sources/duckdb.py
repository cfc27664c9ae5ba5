"""A DuckDB file → Arrow record batches.

It is opened to be read, without access to other files, to the network or to extensions, and nothing that
it holds or that a query says can change that: the configuration is locked. It is read in one statement, which
sees one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from accord.errors import UnreadableError
from accord.table.address import Address
from accord.table.sources.database import CHUNK, from_clause, plain_columns, select

_SEALED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    # Rows are sorted by id: to keep an order until then would take memory.
    "preserve_insertion_order": "false",
    "lock_configuration": "true",
}
_TRY = "Try the query with DuckDB itself, which says more."
_SAID = {
    "CatalogException": ("there is no such table or function in it", "Check its name, and `schema`."),
    "BinderException": ("the query names something that does not exist", _TRY),
    "ParserException": ("the query is not one that DuckDB understands", _TRY),
    "SyntaxException": ("the query is not one that DuckDB understands", _TRY),
    "PermissionException": (
        "it would read files of other kinds, the network or extensions",
        "Accord lets DuckDB read its own file alone: copy what is needed into it, or give an Arrow table.",
    ),
    "InvalidInputException": ("the query would change something", "It must be one SELECT."),
    "ConversionException": ("a cell cannot be converted as the query asks", _TRY),
    "OutOfRangeException": ("a number is too large for the type that the query asks for", _TRY),
    "OutOfMemoryException": ("it takes more memory than DuckDB may have", "Ask for fewer rows or columns."),
    "ConnectionException": (
        "this process has it open in another way",
        "Close that connection.",
    ),
    "IOException": (
        "it is not a DuckDB file, or another process writes to it",
        "Close what has it open, or read a copy.",
    ),
}
"""By the kind of a refusal, what is said of it."""


class DuckdbFile:
    """A table or a query of a DuckDB file."""

    def __init__(self, address: Address) -> None:
        library = _library(address)
        self._name, self._source = address.name, from_clause(address)
        with _told(self._name):
            # From the root on: a name such as md:… would be a server.
            self._database = library.connect(str(address.file), read_only=True, config=_SEALED)

    def names(self) -> list[str]:
        with _told(self._name):
            return [str(name) for name in self._select(["*"]).columns]

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _told(self._name):
            chosen = self._select(plain_columns(columns))
            # The name of the method depends on DuckDB's version.
            read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
            with read(CHUNK) as reader:
                yield from reader

    def _select(self, columns: Sequence[str]) -> Any:
        return self._database.sql(select(columns, self._source))

    def close(self) -> None:
        self._database.close()


def _library(address: Address) -> Any:
    try:
        import duckdb
    except ImportError:
        raise UnreadableError(
            path=address.name, reason="DuckDB needs an extra", mend="Run `pip install 'accord[duckdb]'`."
        ) from None
    return duckdb


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say a refusal of DuckDB's in words of our own."""
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
        reason, mend = _SAID.get(_kind(error), ("DuckDB cannot read it to the end", _TRY))
        raise UnreadableError(path=name, reason=reason, mend=mend) from None


def _kind(error: Exception) -> str:
    """The name of DuckDB's refusal; one that comes in the middle of a stream has it in its text alone."""
    with suppress(StopIteration):
        return next(name for name in _SAID if type(error).__name__ == name)
    words = f"{error}".partition(" Error")[0].rpartition(": ")[2]
    return f"{words.replace(' ', '')}Exception"
