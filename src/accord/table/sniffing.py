"""How a file is written, found out once, for its owner to see and to write down; a linkage never comes here.

Every answer is one for the whole file: an encoding reads all of it, a delimiter and a quote split all of its
rows, a date format reads all cells of a column. Where several formats of dates would do, the owner is asked.
A reading under which the agreed columns are there goes before all others.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa

from accord.errors import UnreadableError
from accord.table.code_pages import EIGHT_BITS, likeliest_page
from accord.table.csv_scan import Stop, scan
from accord.table.layout import MOST_ABOVE, Layout
from accord.table.opened import REFUSED, brief
from accord.table.sources.csv import delimiter_of, quote_of, stated_delimiter, utf8_blocks
from accord.table.sources.opening import TableLike, find_place, kind_of
from accord.table.sources.xlsx import xlsx_rows

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS = (",", ";", "\t", "|")
_QUOTES = ('"', "'", None)
_LOOKED_AT = 60
"""Rows among which the header is."""
_NO_NAME = re.compile(r"[\W\d_]*|[^@\s]+@[^@\s]+")
"""Numbers, dates and mail addresses are no names of columns."""
_BROKEN = 1 << 62


def sniff_text(table: TableLike, layout: Layout, named: Iterable[str], wanted: Sequence[str]) -> Layout:
    """The layout with the encoding, delimiter and quote of a csv, and the header of a csv or a workbook;
    those that are named are taken as they are."""
    path = find_place(table)
    if not isinstance(path, Path) or (kind := kind_of(path)) not in ("csv", "xlsx"):
        return layout
    try:
        if kind == "xlsx":
            return layout if "header" in named else _sniff_sheet(path, layout, wanted)
        return _sniff(path, layout, set(named), wanted)
    except REFUSED as error:
        raise UnreadableError(path=path, reason=brief(error), mend="Is it what its name says?") from None


def _sniff_sheet(path: Path, layout: Layout, wanted: Sequence[str]) -> Layout:
    numbered = xlsx_rows(path, layout, _LOOKED_AT)
    place = find_header([row for _, row in numbered], wanted)
    return replace(layout, header=min(numbered[place][0], MOST_ABOVE + 1) if place else 1)


def find_header(rows: Sequence[Sequence[str | None]], wanted: Iterable[str] = ()) -> int:
    """Which of the first rows of a table is its header: below titles, which fill less than half of the
    columns, the first row that fills them, if all of its cells may be names."""
    filled = [[cell.strip() for cell in row if cell and cell.strip()] for row in rows]
    usual = sorted(len(cells) for cells in filled if cells)
    most = usual[len(usual) * 3 // 4] if usual else 0
    first = next((place for place, cells in enumerate(filled) if cells), 0)
    for place, cells in enumerate(filled):
        are_names = len({*cells}) == len(cells) and not any(map(_NO_NAME.fullmatch, cells))
        if 2 * len(cells) >= max(1, most) and (are_names or {*wanted} & {*cells}):
            return place
        if cells and len(cells) >= most:
            break
    return first


def _sniff(path: Path, layout: Layout, known: set[str], wanted: Sequence[str]) -> Layout:
    if "encoding" not in known:
        layout = replace(layout, encoding=find_encoding(path))
    delimiters: Sequence[str] = _DELIMITERS
    quotes: Sequence[str | None] = _QUOTES
    if "delimiter" in known:
        delimiters = (delimiter_of(path, layout),)
    elif (stated := stated_delimiter(path, layout.encoding)) is not None:
        delimiters = (stated,)
    if "quote" in known:
        quotes = (quote_of(path, layout),)
    header = layout.header if "header" in known else None
    found = _find_marks(path, layout.encoding, delimiters, quotes, wanted, header)
    if found is None:
        return layout
    return replace(layout, delimiter=found[0], quote=found[1] or "none", header=found[2])


def find_encoding(path: Path) -> str:
    """By its byte order mark; else UTF-16 if it is full of zeros; else UTF-8 if all of the file is that; else
    the code page that its letters speak for. Raises if a line is not in the encoding of all others."""
    with pa.input_stream(str(path), compression="detect") as stream:
        head = stream.read(1 << 16)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if head.count(0) > len(head) // 8:
        # Delimiters, digits and most letters have a zero, second if the small end is first. A few zeros are
        # none of that, and nearly anything could be read as UTF-16.
        small = head[1::2].count(0) >= head[0::2].count(0)
        with suppress(UnreadableError):
            return _tried(path, "utf-16-le" if small else "utf-16-be")
    try:
        return _tried(path, "utf-8")
    except UnreadableError:
        if _is_nearly_utf8(path):
            # In any other encoding all its letters would be wrong.
            raise
    if page := likeliest_page(_raw(path)):
        return _tried(path, page)
    reason = "its encoding cannot be found out: its letters are in no alphabet that is tried"
    raise UnreadableError(path=path, reason=reason, mend="Name it with `encoding=`.")


def _tried(path: Path, encoding: str) -> str:
    """The encoding, if the file can be read so to its end; raises otherwise, with the line."""
    for _ in utf8_blocks(path, encoding):
        pass
    return encoding


def _raw(path: Path) -> Iterator[bytes]:
    with pa.input_stream(str(path), compression="detect") as stream:
        yield from iter(partial(stream.read, 1 << 20), b"")


def _is_nearly_utf8(path: Path) -> bool:
    """Whether most of what is not ASCII is UTF-8: a few lines of it came from elsewhere."""
    decoder, right, wrong = codecs.getincrementaldecoder("utf-8")("replace"), 0, 0
    for text in map(decoder.decode, _raw(path)):
        bad = text.count("\ufffd")
        right, wrong = right + len(text) - len(text.encode("ascii", "ignore")) - bad, wrong + bad
    return right > wrong


def is_guess(encoding: str) -> bool:
    """Whether a file in this encoding could as well be in another."""
    return encoding in EIGHT_BITS


def _find_marks(
    path: Path,
    encoding: str,
    delimiters: Sequence[str],
    quotes: Sequence[str | None],
    wanted: Sequence[str],
    line: int | None,
) -> tuple[str, str | None, int] | None:
    """Delimiter, quote and the line of the header under which the file is a table: with the most wanted
    columns, the fewest rows of other lengths, the most columns. None if it is a table under none of them."""
    above = 0 if stated_delimiter(path, encoding) is None else 1
    head = next(utf8_blocks(path, encoding, line or 1), b"").decode()[: 1 << 16]
    ranked: list[tuple[tuple[int, int, int, int], tuple[str, str | None, int]]] = []
    for delimiter in (delimiter for delimiter in delimiters if delimiter in head):
        for place, quote in enumerate(quotes):
            found_line, names = _header(head, delimiter, quote, wanted, above)
            header, there = line or found_line, len(set(wanted) & set(names))
            if place and _has_quoted_cells(path, encoding, delimiter):
                break
            found = scan(utf8_blocks(path, encoding, header), delimiter, quote)
            is_table = found.stop is Stop.NONE and found.columns > 1
            if is_table and there == len(set(wanted)) > 0 and not (found.ragged or place):
                return delimiter, quote, header
            if is_table and (found.quoted or quote != "'"):
                ranked.append(((there, -found.ragged, found.columns, -place), (delimiter, quote, header)))
            elif place == 0 and there:
                # So that what is wrong with the quotes is told of the right cells, if no other quote will do.
                ranked.append(((there, -_BROKEN, 0, 0), (delimiter, quote, header)))
    return max(ranked, key=lambda one: one[0])[1] if ranked else None


def _has_quoted_cells(path: Path, encoding: str, delimiter: str) -> bool:
    """Whether some cells have quotes around them: then a quote that is not closed is a fault, no letter."""
    mark = re.escape(delimiter.encode())
    cell = re.compile(rb'(?m)(?:^|%s)"[^"\r\n]*"(?=%s|\r|$)' % (mark, mark))
    return any(cell.search(block) for block in utf8_blocks(path, encoding))


def _header(
    head: str, delimiter: str, quote: str | None, wanted: Sequence[str], above: int
) -> tuple[int, Sequence[str]]:
    """The line of the header below so many others, 1 if it is the first that is not empty, and its cells."""
    lines = io.StringIO(head, newline="")
    numbered: list[tuple[int, list[str]]] = []
    before = above + 1
    try:
        if quote is None:
            rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        else:
            rows = csv.reader(lines, delimiter=delimiter, quotechar=quote)
        for row in islice(rows, _LOOKED_AT):
            if row:
                numbered.append((before, row))
            before = above + rows.line_num + 1
    except csv.Error:
        numbered = numbered[:1]
    if not numbered:
        return 1, []
    place = find_header([row for _, row in numbered], wanted)
    line, names = numbered[place]
    return (line if place and line <= MOST_ABOVE else 1), names
