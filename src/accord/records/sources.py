"""Files and tables → Arrow record batches, a chunk at a time.

Cells of a csv arrive as text and are judged later, cell by cell, so that one bad row does not hide the next.
Anything with the Arrow C stream interface (pyarrow, polars, pandas, duckdb) is read as it is.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import io
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from accord.errors import DataError, Fault, UnreadableError
from accord.records.layout import Layout


class ArrowTable(Protocol):
    """Anything with the Arrow C stream interface: a table of pyarrow, polars, pandas, duckdb, …"""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


TableLike = str | Path | ArrowTable
"""What may be given as a table: a file, by its path, or a table in memory."""

_CSV = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
_REFUSED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OSError)
KINDS = ", ".join((*_CSV, *_PARQUET, *_ARROW))
_BLOCK = 8 << 20
_MAP = (
    "Map yours with --column FIELD=COLUMN, --id COLUMN or --person COLUMN; in simulate with --column-a, "
    "--id-a and so on."
)


@dataclass
class OpenTable:
    """An open table: the batches with the wanted columns, in the order asked for."""

    name: str
    batches: Iterator[pa.RecordBatch]
    broken: dict[int, Fault] = field(default_factory=dict)
    """By number, the rows that could not be split into cells; filled while the batches are read."""
    is_file: bool = True

    def row(self, index: int) -> int:
        """The number in the file of the record that was read as the index-th (from 0): broken rows count."""
        number = index + 1
        for broken in sorted(self.broken):
            if broken > number:
                break
            number += 1
        return number


def open_table(source: TableLike, columns: Sequence[str], layout: Layout) -> OpenTable:
    """Open a file (by its ending) or any object with the Arrow C stream interface; columns are distinct."""
    if hasattr(source, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(source)
        except _REFUSED as error:
            raise UnreadableError(path="The table", reason=_brief(error), mend="Mend the column.") from None
        _require(columns, reader.schema.names, "the table")
        return OpenTable("the table", _guard(reader, "the table", columns), is_file=False)
    if not isinstance(source, str | Path):
        raise UnreadableError(
            path=f"A {type(source).__name__}", reason="it is no table", mend="Give a file or an Arrow table."
        )
    path = Path(source)
    _require_content(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    ending = suffixes[-1] if suffixes else ""
    try:
        if ending in _PARQUET:
            return _open_parquet(path, columns)
        if ending in _ARROW:
            return _open_arrow(path, columns)
        if ending in _CSV or (ending == ".gz" and suffixes[-2:-1] and suffixes[-2] in _CSV):
            return _open_csv(path, columns, layout)
    except _REFUSED as error:
        raise UnreadableError(path=path, reason=_brief(error), mend="Is it what its name says?") from None
    raise UnreadableError(path=path, reason=f"its ending '{ending}' is not known", mend=f"Known are {KINDS}.")


def _require_content(path: Path) -> None:
    try:
        if path.is_dir():
            raise UnreadableError(path=path, reason="it is a folder", mend="Name the file inside it.")
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise UnreadableError(path=path, reason=reason, mend="Check its name and its permissions.") from None
    if empty:
        raise UnreadableError(path=path, reason="it is empty (0 bytes)", mend="Was it written in full?")


def _require(wanted: Sequence[str], found: Sequence[str], name: str) -> None:
    """Raise for every wanted column that is not there, or there twice."""
    faults = []
    for column in wanted:
        if found.count(column) > 1:
            faults.append(Fault(f"column '{column}'", "stands more than once in the header.", "Rename one."))
        elif column not in found:
            close = difflib.get_close_matches(column, found, 1)
            hint = f"Did you mean '{close[0]}'? " if close else ""
            faults.append(Fault(f"column '{column}'", "is not there.", f"{hint}{_MAP}"))
    # The names that are there are shown to nobody: without a header they would be a record's values.
    if len(faults) == len(wanted) and len(found) > 1:
        faults = [Fault("", "None of the wanted columns is there.", f"Is the first line a header? {_MAP}")]
    if faults and len(found) == 1:
        faults = [
            Fault("", "There is one column only.", "Name the file's delimiter, such as --delimiter ';'.")
        ]
    if faults:
        raise DataError(name, faults)


def _open_csv(path: Path, columns: Sequence[str], layout: Layout) -> OpenTable:
    delimiter = "\t" if layout.delimiter in ("\\t", "tab") else layout.delimiter
    if len(delimiter.encode()) != 1:
        raise UnreadableError(
            path=path, reason="a delimiter is one ASCII character", mend="Mend --delimiter."
        )
    _require_text(path, layout.encoding)
    _require_quotes(path, layout.encoding, delimiter)
    broken: dict[int, Fault] = {}

    def note(row: Any) -> str:
        problem = f"has {row.actual_columns} cells, the header {row.expected_columns}."
        number = row.number - 1  # Arrow counts the header as row 1
        broken[number] = Fault(f"row {number:,}", problem, "Quote cells that hold the delimiter.")
        return "skip"

    parse = pyarrow.csv.ParseOptions(
        delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note, ignore_empty_lines=True
    )
    read = pyarrow.csv.ReadOptions(encoding=layout.encoding, block_size=_BLOCK, use_threads=False)
    with pa.input_stream(str(path), compression="detect") as stream:
        header = pyarrow.csv.open_csv(stream, read, parse).schema.names
    broken.clear()
    _require(columns, header, str(path))
    convert = pyarrow.csv.ConvertOptions(
        include_columns=list(columns),
        column_types={name: pa.large_string() for name in columns},
        null_values=[""],
        strings_can_be_null=True,
    )
    stream = pa.input_stream(str(path), compression="detect")
    batches = pyarrow.csv.open_csv(stream, read, parse, convert)
    return OpenTable(str(path), _guard(batches, path, columns), broken)


def _require_text(path: Path, encoding: str) -> None:
    """Read the file through once as text: Arrow would say neither where nor what is wrong."""
    try:
        "".encode(encoding)
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        reason = f"'{encoding}' is no known encoding"
        raise UnreadableError(path=path, reason=reason, mend="Common ones: utf-8, latin-1, cp1252.") from None
    line = 1
    with pa.input_stream(str(path), compression="detect") as stream:
        while True:
            block = stream.read(_BLOCK)
            try:
                line += decoder.decode(block, final=not block).count("\n")
            except UnicodeError as error:
                if isinstance(error, UnicodeDecodeError):
                    line += error.object[: error.start].count(b"\n")
                reason = f"line {line:,} is not {encoding} text"
                mend = "Name the file's encoding, such as --encoding latin-1."
                raise UnreadableError(path=path, reason=reason, mend=mend) from None
            if not block:
                return


def _require_quotes(path: Path, encoding: str, delimiter: str) -> None:
    """Read the file through once as csv: Arrow would swallow all rows up to the next quote without a word."""
    with pa.input_stream(str(path), compression="detect") as stream:
        rows = csv.reader(io.TextIOWrapper(stream, encoding, newline=""), delimiter=delimiter, strict=True)
        try:
            deque(rows, maxlen=0)
        except csv.Error:
            reason = f"near line {rows.line_num:,} a quoted cell is not closed, or goes on after its quote"
            mend = 'A quote inside a quoted cell is written twice: ""'
            raise UnreadableError(path=path, reason=reason, mend=mend) from None


def _guard(
    batches: Iterator[pa.RecordBatch], name: Path | str, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The wanted columns of sound batches, in plain types; what Arrow refuses becomes a sentence."""
    try:
        for batch in batches:
            chosen = batch.select(list(columns))
            chosen.validate(full=True)
            yield pa.record_batch([_plain(column) for column in chosen.columns], names=list(columns))
    except _REFUSED as error:
        raise UnreadableError(path=name, reason=_brief(error), mend="Was it written in full?") from None


def _plain(column: pa.Array) -> pa.Array:
    """A column without views, dictionaries and runs, which many of Arrow's functions do not take."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type):
        column = _plain(column.dictionary).take(column.indices)
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(column.type) else column


def _open_parquet(path: Path, columns: Sequence[str]) -> OpenTable:
    file = pyarrow.parquet.ParquetFile(path)
    _require(columns, file.schema_arrow.names, str(path))
    return OpenTable(str(path), _guard(file.iter_batches(columns=list(columns)), path, columns))


def _open_arrow(path: Path, columns: Sequence[str]) -> OpenTable:
    source = pa.memory_map(str(path))
    try:
        file = pa.ipc.open_file(source)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
    except pa.ArrowInvalid:
        source.seek(0)
        file = pa.ipc.open_stream(source)
        batches = iter(file)
    _require(columns, file.schema.names, str(path))
    return OpenTable(str(path), _guard(batches, path, columns))


def _brief(error: Exception) -> str:
    """Arrow's reason without what follows the first line: it may quote cells."""
    first = str(error).splitlines()[0] if str(error) else "it is damaged"
    reason = first.split(":", 1)[0].split("(")[0].strip().rstrip(".")[:120].lower()
    return "it holds no table of cells" if reason in ("csv parse error", "empty csv file") else reason
