"""Files, databases and tables → Arrow record batches, a chunk at a time.

Cells of a csv arrive as text and are judged later, cell by cell, so that one bad row does not hide the next.
Anything with the Arrow C stream interface (pyarrow, polars, pandas) is read as it is.

How a file is read follows from its name and its layout alone. Nothing is found out here: if a row could
decide how others are read, the output of a linkage could tell of that row.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from accord.arguments import wrong
from accord.errors import UnreadableError
from accord.table.address import Address, Database, find_address
from accord.table.layout import Layout
from accord.table.opened import REFUSED, OpenTable, brief, guard, require_columns, require_content
from accord.table.sources.csv import csv_header, open_csv
from accord.table.sources.database import Relation, names_of, open_relation
from accord.table.sources.duckdb import DuckdbFile
from accord.table.sources.parquet import ENDINGS as _PARQUET
from accord.table.sources.parquet import is_many, open_parquet, parquet_columns, parquet_files
from accord.table.sources.postgres import PostgresTable
from accord.table.sources.sqlite import SqliteFile
from accord.table.sources.xlsx import open_xlsx, xlsx_header


class ArrowTable(Protocol):
    """Anything with the Arrow C stream interface: a table of pyarrow, polars, pandas, duckdb, …"""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Place = Path | Address
"""Where a table is that its name says: a file, a folder, or a table in a database."""
TableLike = str | Place | ArrowTable
"""What may be given as a table: its place, as a text or not; or what Python has of one."""

_CSV = (".csv", ".tsv", ".txt")
_ARROW = (".arrow", ".feather", ".ipc")
_XLSX = (".xlsx", ".xlsm")
_MIXED = re.compile(r"Conversion failed for column (.+) with type object")
"""What pandas says of a column with several kinds of values."""
_WILD = re.compile(r"[*?\[\]]")
_DATABASES = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
KINDS = ", ".join((*_CSV, *_PARQUET, *_ARROW, *_XLSX))
_RELATIONS: dict[Database, Callable[[Address], Relation]] = {
    Database.DUCKDB: DuckdbFile,
    Database.SQLITE: SqliteFile,
    Database.POSTGRES: PostgresTable,
}


def find_place(source: object) -> Place | None:
    """The place that a text, a path or an address is; None for what is none. Raises for what may hold a
    password."""
    if isinstance(source, str | Path):
        return find_address(str(source)) or Path(source)
    return source if isinstance(source, Address) else None


def require_table(argument: str, given: object) -> None:
    """Raise unless it is a place, or speaks Arrow."""
    if not hasattr(given, "__arrow_c_stream__") and not isinstance(given, str | Path | Address):
        expected = (
            "a table: a file by its path (a text or a Path), an address such as 'duckdb:FILE?table=NAME', "
            "or anything that speaks Arrow"
        )
        raise wrong(argument, given, expected)


def input_places(source: object) -> tuple[Place, ...]:
    """The files with that of their ids, or the table of a database, that are read, so that nothing is written
    over them."""
    place = find_place(source)
    if place is None:
        return ()
    if isinstance(place, Address):
        return (place,)
    if is_many(place):
        return (place, *parquet_files(place), ids_file(place))
    return (place, ids_file(place)) if place.exists() else (place,)


def input_files(source: object) -> tuple[Path, ...]:
    """The files among them, and those in which the tables are."""
    found = (place.file if isinstance(place, Address) else place for place in input_places(source))
    return tuple(file for file in found if file is not None)


def beside(table: Path, ending: str) -> Path:
    """The file of this ending that belongs to a file, a folder or a pattern: it lies next to it."""
    # Of a pattern, beside what the first part of it means.
    fixed = next((one for one in (*reversed(table.parents), table) if glob.has_magic(one.name)), table)
    chosen = table if table.exists() else fixed
    return chosen.with_name(f"{_WILD.sub('_', chosen.name)}{ending}")


def ids_file(table: Path) -> Path:
    """Where the ids of a file's rows are, if they were made; by whatever link it is read, in one place."""
    is_other = table.is_symlink() or table.name in ("", "..")
    return beside(table.resolve() if is_other else table, ".ids.csv")


def settle(source: object) -> str:
    """A place as a text that means the same in any folder; empty for what is none."""
    place = find_place(source)
    if isinstance(place, Address):
        return str(place.settle())
    return "" if place is None else str(place.resolve())


def open_table(source: TableLike, columns: Sequence[str], layout: Layout) -> OpenTable:
    """Open a place, or any object that can be read as a table; columns are distinct."""
    place = find_place(source)
    if isinstance(place, Address):
        return open_relation(_relation(place), place.name, columns)
    if place is not None:
        return _open_file(place, columns, layout)
    reader = _stream(source)
    require_columns(columns, reader.schema.names, "the table")
    return OpenTable("the table", guard(reader, "the table", columns), is_file=False)


def _stream(source: object) -> pa.RecordBatchReader:
    if not hasattr(source, "__arrow_c_stream__"):
        raise UnreadableError(
            path=f"A {type(source).__name__}",
            reason="it is not a table",
            mend="Give a file or an Arrow table.",
        )
    try:
        return pa.RecordBatchReader.from_stream(source)
    except (*REFUSED, ValueError) as error:
        raise _refused_stream(error) from None


def _refused_stream(error: Exception) -> UnreadableError:
    """What whoever made the table refuses, without the cell that it may quote."""
    if mixed := _MIXED.search(str(error)):
        reason = f"column '{mixed[1]}' holds values of several kinds"
        mend = f"Make them texts, in pandas with table['{mixed[1]}'].astype('string')."
        return UnreadableError(path="The table", reason=reason, mend=mend)
    return UnreadableError(path="The table", reason=brief(error), mend="Fix the column.")


def _relation(address: Address) -> Relation:
    if address.file is not None:
        require_content(address.file)
    return _RELATIONS[address.database](address)


def _open_file(path: Path, columns: Sequence[str], layout: Layout) -> OpenTable:
    kind = kind_of(path)
    try:
        if kind == "parquet":
            return open_parquet(path, columns)
        if kind == "arrow":
            return _open_arrow(path, columns)
        if kind == "xlsx":
            return open_xlsx(path, columns, layout)
        return open_csv(path, columns, layout)
    except REFUSED as error:
        raise UnreadableError(path=path, reason=brief(error), mend="Is it what its name says?") from None


def column_names(source: TableLike, layout: Layout) -> list[str]:
    """The names of a table's columns, for its owner who asks for them."""
    place = find_place(source)
    if place is None:
        # *Requires* that it can be read more than once.
        return list(_stream(source).schema.names)
    if isinstance(place, Address):
        return names_of(_relation(place))
    kind = kind_of(place)
    try:
        if kind == "parquet":
            return parquet_columns(place)
        if kind == "arrow":
            return list(_arrow_file(place).schema.names)
        if kind == "xlsx":
            return xlsx_header(place, layout)
        return csv_header(place, layout)
    except REFUSED as error:
        raise UnreadableError(path=place, reason=brief(error), mend="Is it what its name says?") from None


def keep_readable(source: TableLike) -> TableLike:
    """The table, so that it can be read more than once: a stream is read to its end and kept. What is a table
    already is taken as it is, without a copy."""
    if find_place(source) is not None:
        return source
    return _stream(source).read_all()


def name_of(source: TableLike) -> str:
    """A table in a message; a query is not repeated."""
    place = find_place(source)
    if isinstance(place, Address):
        return place.name
    return "the table" if place is None else str(place)


def layout_file(table: Place) -> Path:
    """Where a table's layout is written, unless its owner names another place: beside the file or the folder;
    of a table on a server, in the folder that one is in."""
    if isinstance(table, Path):
        return beside(table, ".layout.toml")
    base = Path(table.place or table.database)
    parts = (base.name, *(part.replace("/", "_") for part in (table.schema, table.table) if part))
    return base.with_name(f"{'.'.join(parts)}.layout.toml")


def kind_of(source: TableLike) -> str:
    """What a table is: a database, or by the ending of a file that is not empty csv, parquet, arrow or xlsx;
    a folder holds parquet; what Python has is a table."""
    place = find_place(source)
    if place is None:
        return "table"
    if isinstance(place, Address):
        return "database"
    if is_many(place):
        parquet_files(place)
        return "parquet"
    require_content(place)
    suffixes = [suffix.lower() for suffix in place.suffixes]
    ending = suffixes[-1] if suffixes else ""
    if ending in _CSV or (ending == ".gz" and suffixes[-2:-1] and suffixes[-2] in _CSV):
        return "csv"
    for kind, endings in (("parquet", _PARQUET), ("arrow", _ARROW), ("xlsx", _XLSX)):
        if ending in endings:
            return kind
    mend = f"Known are {KINDS}."
    if ending in _DATABASES:
        mend = f"A table in it is named `{_DATABASES[ending]}:{place}?table=NAME`."
    raise UnreadableError(path=place, reason=f"its ending '{ending}' is not known", mend=mend)


def _arrow_file(path: Path) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    source = pa.memory_map(str(path))
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source)


def _open_arrow(path: Path, columns: Sequence[str]) -> OpenTable:
    file = _arrow_file(path)
    if isinstance(file, pa.ipc.RecordBatchFileReader):
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        batches = iter(file)
    require_columns(columns, file.schema.names, path)
    return OpenTable(str(path), guard(batches, path, columns))
