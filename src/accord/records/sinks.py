"""Tables → files, by their ending, whole or not at all.

What a partner disclosed stands in a csv that somebody opens in a spreadsheet, which takes some cells for
formulas. Such a cell, and one that begins with a quote, gets a quote in front, so that whoever takes one
quote away from every cell that begins with it has the true cells again. Numbers stay: a spreadsheet takes
them for what they are. Parquet and Arrow hold cells as they are, and so does a csv that is written raw.

A record that matches many has its cells in each of its pairs, so a partner with one long cell can make a file
far longer than what it sent. A file that would not fit is not begun.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from accord.errors import OutputError
from accord.records.pairing import PairTable
from accord.wording import sized

ENDINGS = (".csv", ".parquet", ".arrow")
_BLANK = r"[\s\v\x00\x{A0}\x{3000}\x{FEFF}]"
_SIGN = r"[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""With which a formula begins, also in full width."""
_FORMULA = rf"^([\t\r']|{_BLANK}*{_SIGN})"
_NUMBER = r"^ *[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_RESERVE = 1 << 30
"""What a large file leaves of its disk; a small one as much again as it takes."""

_ROWS = 1 << 16
"""Of a csv that are put into words at a time."""


def require_writable(path: Path) -> None:
    """Raise now, before any work, if the file could not be written later."""
    if path.suffix.lower() not in ENDINGS:
        reason = f"its ending must be {', '.join(ENDINGS)}"
        raise OutputError(path=path, reason=reason)
    if path.is_dir():
        raise OutputError(path=path, reason="it is a folder")
    if not path.parent.is_dir():
        raise OutputError(path=path, reason=f"there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(path=path, reason=f"the folder {path.parent} is read-only")


def require_target(path: Path, inputs: Iterable[Path], force: bool) -> None:
    """Raise before any work if the output cannot be written, or if something would be lost by writing it.

    It must not be one of the inputs, by whatever path or link; a file that is there is replaced only by
    force. Whether it can be written is tried, and not only asked for.
    """
    require_writable(path)
    for given in inputs:
        if _is_same(path, given):
            raise OutputError(path=path, reason=f"it is {given}, which is read")
    if os.path.lexists(path) and not force:
        raise OutputError(path=path, reason="there is such a file already, which only `force=True` replaces")
    try:
        with tempfile.TemporaryFile(dir=path.parent) as tried:
            tried.write(b"\0" * 4096)
            tried.flush()
    except OSError as error:
        raise OutputError(path=path, reason=(error.strerror or str(error)).lower()) from None


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.resolve() == other.resolve() or os.path.samefile(path, other)
    except OSError:
        return False


def write_table(table: pa.Table | PairTable, path: Path, *, raw: bool = False) -> None:
    """Write beside the target and rename, so that a reader never sees half a file."""
    require_writable(path)
    if isinstance(table, PairTable) and path.suffix.lower() != ".parquet":
        # Parquet holds a cell that is repeated once for many times; what it takes nobody knows before.
        _require_room(table.octets(), path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            _write(table, Path(name), path.suffix.lower(), raw)
            with open(name, "rb") as file:
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            # Not there any more if it was stopped just after the rename.
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(path=path, reason=(error.strerror or str(error)).lower()) from None


def _require_room(octets: int, path: Path) -> None:
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError as error:
        raise OutputError(path=path, reason=(error.strerror or str(error)).lower()) from None
    if octets + min(octets, _RESERVE) > free:
        reason = f"its pairs take {sized(octets)}, and of the {sized(free)} left there some must stay free"
        raise OutputError(path=path, reason=reason)


def _write(table: pa.Table | PairTable, path: Path, ending: str, raw: bool) -> None:
    if ending == ".csv":
        with path.open("wb") as file:
            for piece in csv_pieces(table, raw=raw):
                file.write(piece)
        return
    if ending == ".parquet":
        writer = pyarrow.parquet.ParquetWriter(path, table.schema)
    else:
        writer = pa.ipc.new_file(str(path), table.schema)
    with writer:
        for part in _parts(table):
            writer.write_table(part)


def csv_pieces(table: pa.Table | PairTable, *, raw: bool = False) -> Iterator[memoryview]:
    """A table as csv, piece after piece; unless raw, a spreadsheet will find no formula in it."""
    header = True
    for part in _parts(table):
        for start in range(0, max(1, part.num_rows), _ROWS):
            rows = part.slice(start, _ROWS)
            sink = pa.BufferOutputStream()
            options = pyarrow.csv.WriteOptions(include_header=header)
            pyarrow.csv.write_csv(rows if raw else _quote_formulas(rows), sink, options)
            yield memoryview(sink.getvalue())
            header = False


def _parts(table: pa.Table | PairTable) -> Iterator[pa.Table]:
    """A table that is there, or some pairs at a time."""
    if isinstance(table, PairTable):
        for batch in table.to_batches():
            yield pa.Table.from_batches([batch])
    else:
        yield table


def _quote_formulas(table: pa.Table) -> pa.Table:
    names = quote_formulas(pa.chunked_array([table.column_names], pa.large_string())).to_pylist()
    return pa.table([quote_formulas(column) for column in table.columns], names=names)


def quote_formulas(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts with a quote in front of those that a spreadsheet would take for more than texts."""
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
        return cells
    odd = pc.and_(
        pc.match_substring_regex(cells, _FORMULA), pc.invert(pc.match_substring_regex(cells, _NUMBER))
    )
    return pc.if_else(odd, pc.replace_substring_regex(cells, r"^", "'", max_replacements=1), cells)


def unquote_formulas(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The true cells of what `quote_formulas` made."""
    return pc.replace_substring_regex(cells, r"^'", "", max_replacements=1)
