"""Pairs → a table of a database, in one transaction.

A table that is there is replaced only by force, and only if it has the very columns that the pairs have: its
rows are removed and new ones added, so that rights, indices and views on it stay. One with other columns is
not what Accord wrote, whoever forces it, and is never dropped.

A file that is not there yet is made in a folder of its own beside its place and moved there when it is whole.
One that is there has other tables, too, and is changed in place.

What is read is never what is emptied. A query, a view or a table of partitions may read any table of its own
database, and which ones it does not say in a way that all databases share. So with such a source no table of
that database is replaced, whoever forces it, but what the same run wrote: that was not there when it began.

Columns are named by fields of the agreement, which the partner may have written: names are always quoted, and
a name that the database would change is refused.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow as pa

from accord.errors import OutputError, UnsureOutputError
from accord.table.address import Address, Database
from accord.table.pairs import PairTable
from accord.table.sinks.duckdb import open_duckdb
from accord.table.sinks.files import (
    is_same_file,
    place_anew,
    require_no_input,
    require_room,
    require_writable,
    told,
)
from accord.table.sinks.postgres import (
    MOST_NAME,
    database_identity,
    is_alone,
    open_postgres,
    table_identity,
)
from accord.table.sinks.sqlite import open_sqlite
from accord.table.sinks.transaction import NO_TABLE, THERE, CellKind, Heading, Refused, Transaction

_VEILED = (
    "is a query, a view or one of several parts, which may read it: a table of the same database is then "
    "never replaced; name a new one"
)
_OTHER = "it has other columns than the pairs, so it is left alone"


def require_table(
    address: Address,
    inputs: Iterable[Path | Address],
    force: bool,
    headings: Sequence[Heading],
    wrote: bool = False,
) -> None:
    """Raise before any work if the table could not be written, or if something would be lost by writing it:
    all is tried but the rows, and nothing stays. `wrote`: the table is the run's own work."""
    _require_names(address, headings)
    if address.file is not None:
        require_writable(address.file, endings=())
    with _worded(address):
        read = list(inputs)
        _require_no_source(address, read)
        veiled = _find_veiled(address, read) if force and not wrote else None
        with _opened(address, trial=True) as transaction:
            if _is_there(transaction, headings, force):
                if veiled is not None:
                    raise Refused(f"it is there, and {veiled.name} {_VEILED}")
                transaction.require_rights()
            else:
                transaction.create(headings)


def write_to_table(pairs: PairTable | pa.Table, address: Address, *, replace: bool) -> None:
    """Write the pairs; unless it may replace one, only where there is no such table."""
    if isinstance(pairs, pa.Table):
        pairs = _Whole(pairs)
    _require_names(address, headings_of(pairs))
    if address.database is Database.SQLITE and address.file is not None:
        # DuckDB holds a cell that is repeated once for many times; what it takes nobody knows before.
        require_room(pairs.octets(), address.file)
    with _worded(address), _opened(address, trial=False) as transaction:
        _write(pairs, transaction, replace)


def headings_of(pairs: PairTable | _Whole) -> list[Heading]:
    """The columns that pairs take in a table."""
    return [
        Heading(one.name, CellKind.NUMBER if pa.types.is_integer(one.type) else CellKind.TEXT)
        for one in pairs.typed_schema
    ]


class _Whole:
    """A table that is there, as pairs are."""

    def __init__(self, table: pa.Table) -> None:
        self._table, self.typed_schema = table, table.schema

    def octets(self) -> int:
        return int(self._table.nbytes)

    def typed_batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self._table.to_batches())


def _write(pairs: PairTable | _Whole, transaction: Transaction, replace: bool) -> None:
    headings = headings_of(pairs)
    if _is_there(transaction, headings, replace):
        transaction.empty()
    else:
        transaction.create(headings)
    rows = _Rows(pairs.typed_batches())
    try:
        transaction.fill(pa.RecordBatchReader.from_batches(pairs.typed_schema, rows))
    except Exception:
        # A driver makes its own of what is raised in the middle of its work.
        if rows.failure is not None:
            raise rows.failure from None
        raise
    transaction.commit()


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


def _is_there(transaction: Transaction, headings: Sequence[Heading], replace: bool) -> bool:
    """Whether the table is there; raises unless it then may be replaced."""
    found = transaction.find()
    if found is None:
        return False
    if not replace:
        raise Refused(THERE)
    if len(found) != len(headings) or not all(map(_fits, found, headings)):
        raise Refused(_OTHER)
    return True


def _fits(found: Heading, wanted: Heading) -> bool:
    kinds = set(CellKind) if wanted.kind is None else {wanted.kind}
    return found.name == wanted.name and found.kind in kinds


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


def _require_names(address: Address, headings: Sequence[Heading]) -> None:
    """Raise for a name that the database does not have as it stands, or takes for another one."""
    names = [one.name for one in headings]
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


def _require_no_source(address: Address, inputs: Iterable[Path | Address]) -> None:
    """Raise if it is what is read, by whatever name."""
    for given in inputs:
        if isinstance(given, Path):
            if address.file is not None:
                require_no_input(address.file, [given])
        elif _is_same_table(address, given):
            raise Refused(f"it is {given.name}, which is read")


def _is_same_table(one: Address, other: Address) -> bool:
    if other.table is None or one.database is not other.database:
        return False
    if one.file is None or other.file is None:
        return one == other or _is_same_to_server(one, other)
    return is_same_file(one.file, other.file) and _names(one) == _names(other)


def _is_same_to_server(one: Address, other: Address) -> bool:
    try:
        read = table_identity(other)
    except Refused:
        # Whoever reads it will say so.
        return False
    return read is not None and read == table_identity(one)


def _find_veiled(address: Address, inputs: Iterable[Path | Address]) -> Address | None:
    """The source in the same database of which nobody can say which tables it reads."""
    for given in inputs:
        if isinstance(given, Address) and _is_same_database(address, given) and not _reads_itself(given):
            return given
    return None


def _is_same_database(one: Address, other: Address) -> bool:
    if one.database is not other.database:
        return False
    if one.file is not None and other.file is not None:
        return is_same_file(one.file, other.file)
    try:
        return one.place == other.place or database_identity(one) == database_identity(other)
    except Refused:
        # Whoever reads it will say so.
        return False


def _reads_itself(given: Address) -> bool:
    """Whether it is a plain table, whose rows are its own."""
    if given.table is None:
        return False
    if given.file is None:
        return is_alone(given)
    try:
        with _open_file(given, given.file) as transaction:
            transaction.find()
    except Refused as refused:
        return refused.reason != NO_TABLE
    return True


def _names(address: Address) -> tuple[str, str]:
    assert address.table is not None
    return (address.schema or "main").casefold(), address.table.casefold()


@contextmanager
def _worded(address: Address) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        kind = UnsureOutputError if refused.unsure else OutputError
        raise kind(path=address.name, reason=refused.reason) from None
