"""Tables → files, by their ending, whole or not at all.

What a partner disclosed stands in a csv that somebody opens in a spreadsheet, which takes some cells for
formulas. Such a cell, and one that begins with a quote, gets a quote in front, so that whoever takes one
quote away from every cell that begins with it has the true cells again. Numbers stay: a spreadsheet takes
them for what they are. Parquet and Arrow hold cells as they are, and so does a csv that is written raw.

A record that matches many has its cells in each of its pairs, so a partner with one long cell can make a file
far longer than what it sent. A file that would not fit is not begun.
"""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from accord.errors import OutputError
from accord.table.pairs import PairTable
from accord.wording import sized

ENDINGS = (".csv", ".parquet", ".arrow")
_BLANK = r"[\s\v\x00\x{A0}\x{3000}\x{FEFF}]"
_SIGN = r"[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""With which a formula begins, also in full width."""
_FORMULA = rf"^([\t\r']|{_BLANK}*{_SIGN})"
_NUMBER = r"^ *[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_RESERVE = 1 << 30
"""What a large file leaves of its disk; a small one as much again as it takes."""

_THERE = "the file already exists; only `force=True` replaces it"

_ROWS = 1 << 16
"""Of a csv that are put into words at a time."""


def require_writable(path: Path, option: str = "out", endings: tuple[str, ...] = ENDINGS) -> None:
    """Raise now, before any work, if the file could not be written later; any ending will do if none is
    named."""
    if endings and path.suffix.lower() not in endings:
        reason = f"its ending must be {', '.join(endings)}"
        raise OutputError(path=path, reason=reason, option=option)
    if "\0" in str(path):
        raise OutputError(path=path, reason="no file can have this name", option=option)
    with told(path, option):
        if _is_folder(path):
            raise OutputError(path=path, reason="it is a folder", option=option)
        if not _is_folder(path.parent):
            raise OutputError(path=path, reason=f"there is no folder {path.parent}", option=option)
    if not os.access(path.parent, os.W_OK):
        raise OutputError(path=path, reason=f"the folder {path.parent} is read-only", option=option)


def require_target(
    path: Path,
    inputs: Iterable[Path],
    force: bool,
    option: str = "out",
    endings: tuple[str, ...] = ENDINGS,
) -> None:
    """Raise before any work if the output cannot be written, or if something would be lost by writing it.

    It must not be one of the inputs, by whatever path or link; a file that is there is replaced only by
    force. Whether it can be written is tried, and not only asked for. `option` is the argument that named it.
    """
    require_writable(path, option, endings)
    require_no_input(path, inputs, option)
    if os.path.lexists(path) and not force:
        raise OutputError(path=path, reason=_THERE, option=option)
    with told(path, option), tempfile.TemporaryFile(dir=path.parent) as tried:
        tried.write(b"\0" * 4096)
        tried.flush()


def require_no_input(path: Path, inputs: Iterable[Path], option: str = "out") -> None:
    """Raise if what would be written is one of the files that are read, by whatever path or link."""
    for given in inputs:
        if is_same_file(path, given):
            raise OutputError(path=path, reason=f"it is {given}, which is read", option=option)


def _is_folder(path: Path) -> bool:
    """Whether there is a folder; raises where nobody may know, or where no file could have the name."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_same_file(path: Path, other: Path) -> bool:
    """Whether two names are of one file, by whatever path or link."""
    try:
        return path.resolve() == other.resolve() or os.path.samefile(path, other)
    except (OSError, ValueError, RuntimeError):
        return False


def write_table(table: pa.Table | PairTable, path: Path, *, raw: bool = False, replace: bool = True) -> None:
    """Write the table, as the name's ending says; unless it may replace one, only where there is no file."""
    require_writable(path)
    if isinstance(table, PairTable) and path.suffix.lower() != ".parquet":
        # Parquet holds a cell that is repeated once for many times; what it takes nobody knows before.
        require_room(table.octets(), path)
    with _beside(path, "out", replace, 0o600) as made:
        _write(table, made, path.suffix.lower(), raw)


def write_file(
    path: Path, content: bytes, option: str = "out", *, replace: bool, private: bool = False
) -> None:
    """Write a file, which nobody but its owner may read if it is `private`; unless it may replace one, only
    where there is none."""
    require_writable(path, option, ())
    with _beside(path, option, replace, 0o600 if private else 0o666) as made:
        made.write_bytes(content)


@contextmanager
def _beside(path: Path, option: str, replace: bool, mode: int) -> Iterator[Path]:
    """A new file beside the target, which takes its place when it is whole: no reader ever sees half a
    file."""
    with told(path, option):
        _clear(path)
        made = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
        held = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        try:
            with suppress(OSError):  # Not every file system has locks.
                fcntl.flock(held, fcntl.LOCK_EX)
            if not os.fstat(held).st_nlink:
                # Another process that clears up came between the two.
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            yield made
            with open(made, "rb") as file:
                os.fsync(file.fileno())
            if replace:
                os.replace(made, path)
            else:
                place_anew(made, path)
        finally:
            # Not there any more once it was renamed.
            made.unlink(missing_ok=True)
            os.close(held)


def _clear(path: Path) -> None:
    """Remove what processes left beside the target that were killed while they wrote it: no one holds it."""
    for left in path.parent.glob(f".{glob.escape(path.name[:40])}.{'[0-9a-f]' * 16}"):
        with suppress(OSError):
            held = os.open(left, os.O_WRONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(held)


def place_anew(made: Path, path: Path) -> None:
    """Give a file its name, which nothing has: somebody may have made another since that was asked for."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links: there, the name is taken first, and then what it names replaced.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.replace(made, path)


@contextmanager
def told(path: Path, option: str) -> Iterator[None]:
    """What the system does not allow, in a sentence."""
    try:
        yield
    except FileExistsError:
        raise OutputError(path=path, reason=_THERE, option=option) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(path=path, reason=reason, option=option) from None


def require_room(octets: int, path: Path) -> None:
    """Raise if a file of so many octets would not fit there."""
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError as error:
        raise OutputError(path=path, reason=(error.strerror or str(error)).lower()) from None
    if octets + min(octets, _RESERVE) > free:
        reason = f"its pairs take {sized(octets)}; {sized(free)} are left there, and some must stay free"
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
