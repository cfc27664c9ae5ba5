"""Files and tables → Arrow record batches, a chunk at a time.

Cells of a csv arrive as text and are judged later, cell by cell, so that one bad row does not hide the next.
Anything with the Arrow C stream interface (pyarrow, polars, pandas, duckdb) is read as it is.
"""

from __future__ import annotations

import codecs
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from accord.errors import DataError, Fault, UnreadableError
from accord.records.layout import Layout

_CSV = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc")
KINDS = ", ".join((*_CSV, *_PARQUET, *_ARROW))
_BLOCK = 8 << 20


@dataclass
class Table:
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


def open_table(source: object, columns: Sequence[str], layout: Layout) -> Table:
    """Open a file (by its ending) or any object with the Arrow C stream interface; columns are distinct."""
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        _require(columns, reader.schema.names, "the table")
        return Table("the table", (batch.select(list(columns)) for batch in reader), is_file=False)
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
    except pa.ArrowInvalid as error:
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
            hint = f"Did you mean '{close[0]}'?" if close else f"There are: {', '.join(found) or 'none'}."
            mend = f"{hint} Map it with --column FIELD=COLUMN or --id COLUMN."
            faults.append(Fault(f"column '{column}'", "is not there.", mend))
    if faults and len(found) == 1:
        faults = [
            Fault("", "There is one column only.", "Name the file's delimiter, such as --delimiter ';'.")
        ]
    if faults:
        raise DataError(name, faults)


def _open_csv(path: Path, columns: Sequence[str], layout: Layout) -> Table:
    delimiter = "\t" if layout.delimiter in ("\\t", "tab") else layout.delimiter
    if len(delimiter) != 1:
        raise UnreadableError(path=path, reason="a delimiter is one character", mend="Mend --delimiter.")
    _require_text(path, layout.encoding)
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
    return Table(str(path), _guarded(pyarrow.csv.open_csv(stream, read, parse, convert), path), broken)


def _require_text(path: Path, encoding: str) -> None:
    """Read the file through once as text: Arrow would say neither where nor what is wrong."""
    try:
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


def _guarded(batches: Iterator[pa.RecordBatch], path: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except (pa.ArrowInvalid, OSError) as error:
        raise UnreadableError(path=path, reason=_brief(error), mend="Was it written in full?") from None


def _open_parquet(path: Path, columns: Sequence[str]) -> Table:
    file = pyarrow.parquet.ParquetFile(path)
    _require(columns, file.schema_arrow.names, str(path))
    return Table(str(path), _guarded(file.iter_batches(columns=list(columns)), path))


def _open_arrow(path: Path, columns: Sequence[str]) -> Table:
    source = pa.memory_map(str(path))
    try:
        file = pa.ipc.open_file(source)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
    except pa.ArrowInvalid:
        source.seek(0)
        file = pa.ipc.open_stream(source)
        batches = iter(file)
    _require(columns, file.schema.names, str(path))
    return Table(str(path), _guarded((batch.select(list(columns)) for batch in batches), path))


def _brief(error: Exception) -> str:
    """Arrow's reason without what follows the first line: it may quote cells."""
    first = str(error).splitlines()[0] if str(error) else "it is damaged"
    return first.split(":", 1)[0].strip().rstrip(".")[:120].lower()
