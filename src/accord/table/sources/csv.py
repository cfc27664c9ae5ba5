"""csv → Arrow record batches. The layout says how the file is written; nothing is guessed here.

The file is read twice. The first pass refuses what is not the text, or not the table, that the layout says,
and names the line or the row; the second hands the cells to Arrow, as text. A first line `sep=;`, which tells
Excel the delimiter, is no row.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from accord.errors import Fault, UnreadableError
from accord.table.csv_scan import MOST_CELL, MOST_ROW, Scan, Stop, scan
from accord.table.layout import Layout
from accord.table.opened import BELOW_HEADER, CHECK, OpenTable, guard, require_columns, too_many_columns

_BLOCK = MOST_ROW
_LINE_END = re.compile(r"\r\n|\r|\n")
_STATED = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)


def open_csv(path: Path, columns: Sequence[str], layout: Layout) -> OpenTable:
    """Open a csv, gzipped or not, for its wanted columns."""
    delimiter, quote = delimiter_of(path, layout), quote_of(path, layout)
    looked = _look_over(path, layout)
    blocks = utf8_blocks(path, layout.encoding, layout.header)
    require_columns(columns, _first_row(blocks, delimiter, quote), path)
    above = _lines_above(path, layout)
    broken: dict[int, Fault] = {}

    def note(row: Any) -> str:
        problem = f"has {row.actual_columns} cells, the header {row.expected_columns}."
        number = row.number - 1 - above  # Arrow counts the header, and what stands above it
        broken[number] = Fault(f"row {number:,}", problem, "Quote cells that hold the delimiter.")
        return "skip"

    parse = pyarrow.csv.ParseOptions(
        delimiter=delimiter,
        quote_char=quote or False,
        newlines_in_values=True,
        # A thread of Arrow's lets go of it at some time; if that is while Python ends, the process aborts.
        invalid_row_handler=note if looked.ragged else None,
        ignore_empty_lines=True,
    )
    read = pyarrow.csv.ReadOptions(
        encoding=layout.encoding, block_size=_BLOCK, use_threads=False, skip_rows=above
    )
    convert = pyarrow.csv.ConvertOptions(
        include_columns=list(columns),
        column_types={name: pa.large_string() for name in columns},
        null_values=[""],
        strings_can_be_null=True,
    )
    stream = pa.input_stream(str(path), compression="detect")
    batches = pyarrow.csv.open_csv(stream, read, parse, convert)
    return OpenTable(str(path), guard(batches, path, columns), broken, counting=BELOW_HEADER)


def csv_header(path: Path, layout: Layout) -> list[str]:
    """The names in the header of what is a table to its end."""
    _look_over(path, layout)
    delimiter, quote = delimiter_of(path, layout), quote_of(path, layout)
    return _first_row(utf8_blocks(path, layout.encoding, layout.header), delimiter, quote)


def _lines_above(path: Path, layout: Layout) -> int:
    """The lines above the header: titles, or one that states the delimiter."""
    return max(layout.header - 1, 0 if stated_delimiter(path, layout.encoding) is None else 1)


def _look_over(path: Path, layout: Layout) -> Scan:
    """The first pass; raises where the file is no table."""
    delimiter, quote = delimiter_of(path, layout), quote_of(path, layout)
    found = scan(utf8_blocks(path, layout.encoding, layout.header), delimiter, quote, _BLOCK)
    _require_table(path, found, _lines_above(path, layout))
    return found


def _first_row(blocks: Iterable[bytes], delimiter: str, quote: str | None) -> list[str]:
    """The cells of the first line that is not empty, split as `csv_scan` does.

    Not by Arrow, which reads ahead in a thread of its own: one that is left in mid-file can end the process.
    """
    cells: list[str] = []
    cell, started, inside, closing = bytearray(), False, False, False
    end, mark = ord(delimiter), ord(quote) if quote else None
    for octet in (octet for block in blocks for octet in block):
        if inside and octet == mark:
            inside, closing = False, True
        elif inside or octet not in (end, 10, 13):
            if octet == mark and (closing or not started):
                # Doubled inside quotes, it is a letter; else it opens them.
                cell += bytes([octet]) if closing else b""
                inside, closing = True, False
            else:
                cell.append(octet)
            started = True
        elif octet == end or cells or started:
            cells.append(bytes(cell).decode())
            cell, closing, started = bytearray(), False, False
            if octet != end:
                return cells
    return [*cells, bytes(cell).decode()]


def delimiter_of(path: Path, layout: Layout) -> str:
    """The delimiter that a layout means."""
    delimiter = "\t" if layout.delimiter in ("\\t", "tab") else layout.delimiter
    if len(delimiter.encode()) != 1 or delimiter in "\r\n\0":
        raise UnreadableError(
            path=path, reason="a delimiter is one ASCII character", mend="Fix `delimiter=`."
        )
    return delimiter


def quote_of(path: Path, layout: Layout) -> str | None:
    """The quote that a layout means; None if a quote is a letter like others."""
    if layout.quote == "none":
        return None
    if len(layout.quote.encode()) != 1 or layout.quote in ("\r", "\n", "\0", delimiter_of(path, layout)):
        reason = "a quote is one ASCII character other than the delimiter, or none"
        raise UnreadableError(path=path, reason=reason, mend="Fix `quote` in the layout.")
    return layout.quote


def stated_delimiter(path: Path, encoding: str) -> str | None:
    """The delimiter that the first line states, if it does no more than that."""
    found = _STATED.match(next(_texts(path, encoding), ""))
    return found[1] if found else None


def filled_places(path: Path, layout: Layout) -> set[int]:
    """The columns, counted from 1, that have a name or a cell; of a file that is a table."""
    blocks = utf8_blocks(path, layout.encoding, layout.header)
    text = io.TextIOWrapper(io.BytesIO(b"".join(blocks)), "utf-8", newline="")
    mark = quote_of(path, layout)
    delimiter = delimiter_of(path, layout)
    rows = (
        csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        if mark is None
        else csv.reader(text, delimiter=delimiter, quotechar=mark)
    )
    try:
        return {place for row in rows for place, cell in enumerate(row, 1) if cell.strip()}
    except csv.Error:
        # A cell that is longer than Python's reader likes: nothing is known, so nothing is left out.
        return set(range(1, 1 + len(csv_header(path, layout))))


def utf8_blocks(path: Path, encoding: str, header: int = 1) -> Iterator[bytes]:
    """The file as UTF-8 without a byte order mark and the lines above its header, a block at a time."""
    above = header - 1
    for place, text in enumerate(_texts(path, encoding)):
        if header == 1 and not place and (stated := _STATED.match(text)):
            text = text[stated.end() :]
        while above and (end := _LINE_END.search(text)):
            text, above = text[end.end() :], above - 1
        yield b"" if above else text.encode()


def _texts(path: Path, encoding: str) -> Iterator[str]:
    """The text without a byte order mark, a block at a time; Arrow would say neither where nor what is
    wrong."""
    decoder = _decoder(path, encoding)
    line, first = 1, True
    with pa.input_stream(str(path), compression="detect") as stream:
        while True:
            block = stream.read(_BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeError as error:
                if isinstance(error, UnicodeDecodeError):
                    line += error.object[: error.start].count(b"\n")
                reason = f"line {line:,} is not {encoding} text"
                mend = f"Name the file's encoding, such as latin-1, with `encoding=`. {CHECK}"
                raise UnreadableError(path=path, reason=reason, mend=mend) from None
            line += text.count("\n")
            if text:
                yield text.removeprefix("\ufeff") if first else text
                first = False
            if not block:
                return


def _decoder(path: Path, encoding: str) -> codecs.IncrementalDecoder:
    try:
        "".encode(encoding)
        return codecs.getincrementaldecoder(encoding)()
    except LookupError:
        reason = f"'{encoding}' is not a known encoding"
        raise UnreadableError(path=path, reason=reason, mend="Common ones: utf-8, latin-1, cp1252.") from None


def _require_table(path: Path, found: Scan, above: int) -> None:
    """Raise if the pass over the file, below so many lines, did not reach its end, or found nothing."""
    if found.stop is Stop.NONE:
        if not found.rows:
            reason = "it holds no table of cells"
            raise UnreadableError(path=path, reason=reason, mend="Is it what its name says?")
        return
    if found.stop is Stop.MANY_COLUMNS:
        raise too_many_columns(path)
    line, opened = found.line + above, found.opened + above
    where = f"row {found.row:,}" if found.row else "the header"
    counting = f" {BELOW_HEADER}" if found.row else ""
    reason, mend = {
        Stop.NUL: (f"line {line:,} holds a NUL character", f"Is it UTF-16? {CHECK}"),
        Stop.AFTER_QUOTE: (
            f"near line {line:,} a quoted cell continues after its closing quote (it begins in line "
            f"{opened:,})",
            f'A quote inside a quoted cell is written twice: "". {CHECK}',
        ),
        Stop.OPEN_QUOTE: (
            f"the quoted cell that begins in line {opened:,} is not closed",
            f'A quote inside a quoted cell is written twice: "". {CHECK}',
        ),
        Stop.LONG_CELL: (
            f"{where}, the cell in column {found.column:,} is longer than {MOST_CELL >> 20} MiB",
            f"Is a quote missing? Shorten the cell, or leave the column out.{counting}",
        ),
        Stop.LONG_ROW: (
            f"{where} is longer than {_BLOCK >> 20} MiB",
            f"Is it a text file with lines?{counting}",
        ),
    }[found.stop]
    raise UnreadableError(path=path, reason=reason, mend=mend)
