"""Workbooks (.xlsx) → Arrow record batches, through python-calamine, which is an extra.

Every cell becomes text by itself: numbers as they are written in a csv, days as 2026-11-15. The library
takes room for the whole rectangle that a sheet spans and gives a formula that failed as an empty cell; so the
sheet's own file is looked through before, in bounded memory, for how far it goes and for such formulas.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

import pyarrow as pa

from accord.errors import DataError, Fault, UnreadableError
from accord.table.cell_text import as_text
from accord.table.layout import Layout
from accord.table.opened import BELOW_HEADER, OpenTable, require_columns

_MOST_BYTES = 2 << 30
"""Of all that a workbook holds, unpacked."""
_MOST_CELLS = 1 << 25
_MOST_DIRECTORY = 16 << 20
_BLOCK = 1 << 22
_CHUNK = 1 << 16
_OLD = bytes.fromhex("d0cf11e0a1b11ae1")
_ROW = re.compile(rb'<(?:\w+:)?row\b[^>]*?\sr="(\d+)"')
_WIDE = re.compile(rb'\sr="([A-Z]{2,3})\d+"')
_ERROR = re.compile(rb'<(?:\w+:)?c\b(?=[^>]*?\st="e")[^>]*?\sr="([A-Z]{1,3})(\d+)"')
_NARROW = 26


@dataclass(frozen=True)
class _Sheet:
    """A sheet before it is read: its name, and the cells whose formulas ended in errors."""

    name: str
    errors: tuple[tuple[str, int], ...]


def open_xlsx(path: Path, columns: Sequence[str], layout: Layout) -> OpenTable:
    """Open a sheet of a workbook for its wanted columns."""
    found = _look_through(path, layout.sheet)
    first, rows = _rows(path, found.name, layout.header)
    header = _header(next(rows, []))
    require_columns(columns, header, path)
    errors = [(letters, row) for letters, row in found.errors if row > layout.header]
    _require_values(path, errors, [first + header.index(name) for name in columns])
    batches = _batches(rows, columns, [header.index(name) for name in columns])
    return OpenTable(str(path), batches, counting=BELOW_HEADER)


def xlsx_header(path: Path, layout: Layout) -> list[str]:
    """The names in the header of a sheet."""
    _, rows = _rows(path, _look_through(path, layout.sheet).name, layout.header)
    return [name for name in _header(next(rows, [])) if name]


def xlsx_rows(path: Path, layout: Layout, most: int) -> list[tuple[int, list[str | None]]]:
    """The first rows of a sheet that are not empty, each with its number."""
    _, rows = _numbered_rows(path, _look_through(path, layout.sheet).name)
    return list(islice(rows, most))


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook."""
    with _archive(path) as archive:
        return list(_parts(path, archive))


def _refuse(path: Path, reason: str, mend: str) -> UnreadableError:
    return UnreadableError(path=path, reason=reason, mend=mend)


def _damaged(path: Path) -> UnreadableError:
    return _refuse(path, "it is not a workbook, or damaged", "Save it again, as .xlsx or as csv.")


def _archive(path: Path) -> zipfile.ZipFile:
    with path.open("rb") as file:
        if file.read(len(_OLD)) == _OLD:
            raise _refuse(
                path, "it has a password, or is an old .xls", "Save it as .xlsx without a password."
            )
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise _damaged(path) from None
    if sum(part.file_size for part in archive.infolist()) > _MOST_BYTES:
        archive.close()
        raise _refuse(path, f"it holds more than {_MOST_BYTES >> 30} GiB", "Save the sheet as csv.")
    return archive


def _parts(path: Path, archive: zipfile.ZipFile) -> dict[str, str]:
    """By the names of the sheets, in their order, where each lies in the archive."""
    try:
        book, links = (_read(archive, f"xl/{name}") for name in ("workbook.xml", "_rels/workbook.xml.rels"))
    except (KeyError, ValueError, ElementTree.ParseError, zipfile.BadZipFile, zlib.error, RuntimeError):
        raise _damaged(path) from None
    target = {link.get("Id"): link.get("Target", "") for link in links}
    found = {}
    for sheet in (element for element in book.iter() if element.tag.endswith("}sheet")):
        (link, *_) = [value for name, value in sheet.attrib.items() if name.endswith("}id")] or [""]
        part = target.get(link, "")
        name = part[1:] if part.startswith("/") else f"xl/{part}"
        if "worksheets/" in part and name in archive.namelist():
            found[sheet.get("name", "")] = name
    if not found:
        raise _refuse(path, "it has no sheet with cells", "Save it again, as .xlsx or as csv.")
    return found


def _read(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if archive.getinfo(name).file_size > _MOST_DIRECTORY:
        raise ValueError("too long")
    return ElementTree.fromstring(archive.read(name))


def _look_through(path: Path, name: str | None) -> _Sheet:
    """The sheet of this name, or the first, if the library can be trusted with it."""
    with _archive(path) as archive:
        parts = _parts(path, archive)
        if name is not None and name not in parts:
            raise _refuse(path, f"it has no sheet '{name}'", "Fix `sheet` in the layout.")
        chosen = name if name is not None else next(iter(parts))
        try:
            with archive.open(parts[chosen]) as stream:
                height, width, errors = _extent(stream)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            raise _damaged(path) from None
    if height * width > _MOST_CELLS:
        reason = f"its sheet spans more than {_MOST_CELLS:,} cells, empty ones included"
        raise _refuse(path, reason, "Is there a cell far away from the others? Or save the sheet as csv.")
    return _Sheet(chosen, errors)


def _extent(stream: IO[bytes]) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """How many rows and columns a sheet has, at the most, and which formulas ended in errors."""
    height, width, rest = 0, _NARROW, b""
    errors: list[tuple[str, int]] = []
    while block := stream.read(_BLOCK):
        whole, _, rest = (rest + block).rpartition(b">")
        height = max(chain((height,), map(int, _ROW.findall(whole))))
        width = max(chain((width,), map(_number, set(_WIDE.findall(whole)))))
        errors += [(letters.decode(), int(row)) for letters, row in _ERROR.findall(whole)]
    return height, width, tuple(errors)


def _number(letters: bytes) -> int:
    """The number of a column, from 1."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _rows(path: Path, name: str, header: int) -> tuple[int, Iterator[list[str | None]]]:
    """The first column, and the rows of a sheet from its header on, without empty ones."""
    first, rows = _numbered_rows(path, name)
    return first, (row for number, row in rows if number >= header)


def _numbered_rows(path: Path, name: str) -> tuple[int, Iterator[tuple[int, list[str | None]]]]:
    """The first column of a sheet, from 0, and its rows as texts, without empty ones, numbered from 1."""
    try:
        import python_calamine as library
    except ImportError:
        raise _refuse(
            path, "workbooks need an extra", "Run `pip install 'accord[xlsx]'`, or save it as csv."
        ) from None
    try:
        sheet = library.CalamineWorkbook.from_path(str(path)).get_sheet_by_name(name)
        if sheet.start is None:
            raise _refuse(path, "its sheet is empty", "Name another with `sheet` in the layout.")
        rows = ([_text(cell) for cell in cells] for cells in sheet.iter_rows())
        return sheet.start[1], ((number, row) for number, row in enumerate(rows, 1) if any(row))
    except library.CalamineError:
        raise _damaged(path) from None


def _text(cell: object) -> str | None:
    """A cell as it stands in a csv that a spreadsheet saves."""
    return str(cell).upper() if isinstance(cell, bool) else as_text(cell)


def _header(row: list[str | None]) -> list[str]:
    return [name or "" for name in row]


def _require_values(path: Path, errors: Sequence[tuple[str, int]], places: Sequence[int]) -> None:
    wanted = {place + 1 for place in places}
    cells = [f"{letters}{row}" for letters, row in errors if _number(letters.encode()) in wanted]
    if cells:
        shown = ", ".join(cells[:5]) + (f" and {len(cells) - 5:,} more" if len(cells) > 5 else "")
        fault = Fault(f"cells {shown}", "hold formulas that ended in errors.", "Fix them.", len(cells))
        raise DataError(str(path), [fault])


def _batches(
    rows: Iterator[list[str | None]], columns: Sequence[str], places: Sequence[int]
) -> Iterator[pa.RecordBatch]:
    while chunk := list(islice(rows, _CHUNK)):
        arrays = [pa.array([row[place] for row in chunk], pa.large_string()) for place in places]
        yield pa.record_batch(arrays, names=list(columns))
