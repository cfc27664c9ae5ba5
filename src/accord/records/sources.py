"""Files and tables → Arrow record batches, a chunk at a time.

Cells of a csv arrive as text and are judged later, cell by cell, so that one bad row does not hide the next.
Anything with the Arrow C stream interface (pyarrow, polars, pandas, duckdb) is read as it is.

How a file is read follows from its name and its layout alone. Nothing is found out here: if a row could
decide how others are read, the output of a linkage could tell of that row.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet

from accord.errors import UnreadableError
from accord.records.layout import Layout
from accord.records.opened import REFUSED, OpenTable, brief, guard, require_columns
from accord.records.sources_csv import csv_header, open_csv
from accord.records.sources_xlsx import open_xlsx, xlsx_header


class ArrowTable(Protocol):
    """Anything with the Arrow C stream interface: a table of pyarrow, polars, pandas, duckdb, …"""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


TableLike = str | Path | ArrowTable
"""What may be given as a table: a file, by its path, or a table in memory."""

_CSV = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_XLSX = (".xlsx", ".xlsm")
KINDS = ", ".join((*_CSV, *_PARQUET, *_ARROW, *_XLSX))


def open_table(source: TableLike, columns: Sequence[str], layout: Layout) -> OpenTable:
    """Open a file (by its ending) or any object with the Arrow C stream interface; columns are distinct."""
    if hasattr(source, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(source)
        except REFUSED as error:
            raise UnreadableError(path="The table", reason=brief(error), mend="Mend the column.") from None
        require_columns(columns, reader.schema.names, "the table")
        return OpenTable("the table", guard(reader, "the table", columns), is_file=False)
    if not isinstance(source, str | Path):
        raise UnreadableError(
            path=f"A {type(source).__name__}", reason="it is no table", mend="Give a file or an Arrow table."
        )
    path = Path(source)
    kind = kind_of(path)
    try:
        if kind == "parquet":
            return _open_parquet(path, columns)
        if kind == "arrow":
            return _open_arrow(path, columns)
        if kind == "xlsx":
            return open_xlsx(path, columns, layout)
        return open_csv(path, columns, layout)
    except REFUSED as error:
        raise UnreadableError(path=path, reason=brief(error), mend="Is it what its name says?") from None


def column_names(path: Path, layout: Layout) -> list[str]:
    """The names of a file's columns, for its owner who asks for them."""
    kind = kind_of(path)
    try:
        if kind == "parquet":
            return list(pyarrow.parquet.ParquetFile(path).schema_arrow.names)
        if kind == "arrow":
            return list(_arrow_file(path).schema.names)
        if kind == "xlsx":
            return xlsx_header(path, layout)
        return csv_header(path, layout)
    except REFUSED as error:
        raise UnreadableError(path=path, reason=brief(error), mend="Is it what its name says?") from None


def kind_of(path: Path) -> str:
    """What a regular file that is not empty is by its ending: csv, parquet, arrow or xlsx."""
    _require_content(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = suffixes[-1] if suffixes else ""
    if ending in _CSV or (ending == ".gz" and suffixes[-2:-1] and suffixes[-2] in _CSV):
        return "csv"
    for kind, endings in (("parquet", _PARQUET), ("arrow", _ARROW), ("xlsx", _XLSX)):
        if ending in endings:
            return kind
    raise UnreadableError(path=path, reason=f"its ending '{ending}' is not known", mend=f"Known are {KINDS}.")


def _require_content(path: Path) -> None:
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise UnreadableError(path=path, reason="it is a folder", mend="Name the file inside it.")
        if not stat.S_ISREG(kind):
            # To open a pipe is to wait for its writer, perhaps for ever, and it can be read only once.
            reason = "it is a pipe or a device, not a file"
            raise UnreadableError(path=path, reason=reason, mend="Write its content to a file first.")
        with path.open("rb") as file:
            empty = not file.read(1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "it cannot be opened").lower()
        raise UnreadableError(path=path, reason=reason, mend="Check its name and its permissions.") from None
    if empty:
        raise UnreadableError(path=path, reason="it is empty (0 bytes)", mend="Was it written in full?")


def _open_parquet(path: Path, columns: Sequence[str]) -> OpenTable:
    file = pyarrow.parquet.ParquetFile(path)
    require_columns(columns, file.schema_arrow.names, path)
    return OpenTable(str(path), guard(file.iter_batches(columns=list(columns)), path, columns))


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
