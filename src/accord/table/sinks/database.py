"""Pairs → a table of a database, in one transaction.

A table that is there is never replaced, whoever forces it, but for one that the same run wrote before it was
cut: that is dropped in the transaction that makes it anew, unless it has other columns by now.

A file that is not there yet is made in a folder of its own beside its place and moved there when it is whole.
One that is there has other tables, too, and is changed in place.

Columns are named by fields of the agreement, which the partner may have written: names are always quoted, and
a name that the database would change is refused.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow as pa

from accord.errors import OutputError, UnsureOutputError
from accord.table.address import Address, Database
from accord.table.pairs import PairTable
from accord.table.sinks.duckdb import open_duckdb
from accord.table.sinks.files import (
    place_anew,
    require_room,
    require_writable,
    told,
)
from accord.table.sinks.postgres import MOST_NAME, open_postgres
from accord.table.sinks.sqlite import open_sqlite
from accord.table.sinks.transaction import THERE, Refused, Transaction


def require_table(address: Address, names: Sequence[str], *, own: bool) -> None:
    """Raise before any work if a table with columns of these names could not be made: all is tried but the
    rows, and nothing stays. `own`: a table that is there is the run's own work."""
    _require_names(address, names)
    if address.file is not None:
        require_writable(address.file, endings=())
    with _worded(address), _opened(address, trial=True) as transaction:
        _make(transaction, pa.schema([(name, pa.string()) for name in names]), own)


def write_to_table(pairs: PairTable | pa.Table, address: Address, *, own: bool) -> None:
    """Write the pairs, in place of a table that is there only if that is the run's `own` work."""
    if isinstance(pairs, pa.Table):
        schema, octets, batches = pairs.schema, int(pairs.nbytes), iter(pairs.to_batches())
    else:
        schema, octets, batches = pairs.typed_schema, pairs.octets(), pairs.typed_batches()
    _require_names(address, schema.names)
    if address.database is Database.SQLITE and address.file is not None:
        # DuckDB holds a cell that is repeated once for many times; what it takes nobody knows before.
        require_room(octets, address.file)
    rows = _Rows(batches)
    with _worded(address), _opened(address, trial=False) as transaction:
        _make(transaction, schema, own)
        try:
            transaction.fill(pa.RecordBatchReader.from_batches(schema, rows))
        except Exception:
            # A driver makes its own of what is raised in the middle of its work.
            if rows.failure is not None:
                raise rows.failure from None
            raise
        transaction.commit()


def _make(transaction: Transaction, schema: pa.Schema, own: bool) -> None:
    found = transaction.find()
    if found is not None:
        if not own or found != schema.names:
            raise Refused(THERE)
        transaction.drop()
    transaction.create(schema)


class _Rows:
    """Batches that remember what ended them."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.failure: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches
        except BaseException as error:
            self.failure = error
            raise


@contextmanager
def _opened(address: Address, trial: bool) -> Iterator[Transaction]:
    """A transaction on the table; a file that is not there is made for it, and is gone after a trial."""
    assert address.table is not None
    if address.file is None:
        with open_postgres(address) as transaction:
            yield transaction
    elif address.file.exists():
        with _open_file(address, address.file) as transaction:
            yield transaction
    else:
        with told(address.file, "out"), _folder_beside(address.file) as folder:
            made = folder / "made"
            with _open_file(address, made) as transaction:
                yield transaction
            if not trial:
                _place(made, address.file)


def _open_file(address: Address, file: Path) -> AbstractContextManager[Transaction]:
    assert address.table is not None
    if address.database is Database.DUCKDB:
        return open_duckdb(file, address.table, address.schema)
    return open_sqlite(file, address.table)


@contextmanager
def _folder_beside(file: Path) -> Iterator[Path]:
    """Where a file is made, out of sight, with whatever its database puts beside it."""
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".accord-") as folder:
        yield Path(folder)


def _place(made: Path, file: Path) -> None:
    made.chmod(0o600)
    with made.open("rb") as content:
        os.fsync(content.fileno())
    place_anew(made, file)


def _require_names(address: Address, names: Sequence[str]) -> None:
    """Raise for a name that the database does not have as it stands, or takes for another one."""
    if address.database is Database.SQLITE and (address.table or "").lower().startswith("sqlite_"):
        reason = "SQLite keeps names that begin with 'sqlite_' to itself"
        raise OutputError(path=address.name, reason=reason)
    for name in (*names, address.table or "", address.schema or ""):
        if "\0" in name:
            raise OutputError(path=address.name, reason="a column has a name with a NUL character")
        if address.database is Database.POSTGRES and len(name.encode()) > MOST_NAME:
            reason = f"PostgreSQL has no names of more than {MOST_NAME} octets, such as '{_shown(name)}'"
            raise OutputError(path=address.name, reason=reason)
    if address.database is not Database.POSTGRES:
        folded = [name.encode().lower() for name in names]
        twice = next((name for name in names if folded.count(name.encode().lower()) > 1), None)
        if twice is not None:
            reason = f"it takes '{_shown(twice)}' and a column that differs only in letter case for the same"
            raise OutputError(path=address.name, reason=reason)


def _shown(name: str) -> str:
    """A name, which the partner may have chosen, without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)


@contextmanager
def _worded(address: Address) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        kind = UnsureOutputError if refused.unsure else OutputError
        raise kind(path=address.name, reason=refused.reason) from None
