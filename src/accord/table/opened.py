"""An open table, what a file of any kind becomes before its cells are judged; and the faults of its rows.

The names of the columns that a file has are shown to nobody who did not ask: without a header they would be a
record's values. A wanted name that is not there gets the nearest of them beside it, and no other.
Faults are collected while it is read: none hides another, and no value is told.
"""

from __future__ import annotations

import difflib
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import DataError, Fault, UnreadableError
from accord.table.csv_scan import MOST_COLUMNS

REFUSED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OSError)
CHECK = "`accord check` finds out how a file is written."
BELOW_HEADER = "Row 1 is the first one below the header; empty lines do not count."
_SHOWN_ROWS = 5


@dataclass
class OpenTable:
    """An open table: the batches with the wanted columns, in the order asked for."""

    name: str
    batches: Iterator[pa.RecordBatch]
    broken: dict[int, Fault] = field(default_factory=dict)
    """By number, the rows that could not be split into cells; filled while the batches are read."""
    is_file: bool = True
    counting: str = ""
    """How its rows are counted, where that must be said: below a header."""
    has_order: bool = True
    """Whether rows come in an order of their own. Those of a database do not: they are sorted by id."""
    places: NDArray[np.int64] | None = None
    """By the order in which rows without one were read, their places in the order of ids."""

    def row(self, index: int) -> int:
        """The number in the file of the record that was read as the index-th (from 0): broken rows count."""
        number = (index if self.places is None else int(self.places[index])) + 1
        for broken in sorted(self.broken):
            if broken > number:
                break
            number += 1
        return number


def require_columns(wanted: Sequence[str], found: Sequence[str], name: Path | str) -> None:
    """Raise for every wanted column that is not there, or there twice; and for more columns than any table
    has, before anybody compares names with them."""
    if len(found) > MOST_COLUMNS:
        raise too_many_columns(name)
    faults = [fault for column in wanted if (fault := _missing(column, found)) is not None]
    if faults and len(found) == 1:
        mend = f"Name the file's delimiter, such as ';', with `delimiter=`. {CHECK}"
        faults = [Fault("", "There is only one column.", mend)]
    elif len(faults) == len(wanted) and not any(_same_letters(column, found) for column in wanted):
        faults = [Fault("", "None of the expected columns was found.", "Is the first line a header?")]
    if faults:
        absent = len(found) > 1 and any(column not in found for column in wanted)
        raise DataError(str(name), faults, _tell_mapping(name) if absent else "")


def _tell_mapping(name: Path | str) -> str:
    """How wanted columns are found: by the program, or by their owner."""
    is_file = isinstance(name, Path)
    typed = shlex.quote(str(name)) if is_file else "TABLE"
    made = ", or have ids made with `make_ids=True`" if is_file else ""
    return (
        f"Let Accord find them: `accord init --from {typed} --for AGREEMENT`; or map each with `columns=`, "
        f"the id with `id=`{made}. `accord check --columns-of {typed}` lists the columns that are there."
    )


def too_many_columns(name: Path | str) -> UnreadableError:
    reason = f"it has more than {MOST_COLUMNS:,} columns"
    return UnreadableError(path=name, reason=reason, mend="Keep the agreed ones and the id.")


def _missing(column: str, found: Sequence[str]) -> Fault | None:
    if found.count(column) > 1:
        return Fault(f"column '{column}'", "appears more than once in the header.", "Rename one.")
    if column in found:
        return None
    near = nearest(column, found)
    hint = f"Did you mean '{near}'?" if near is not None else ""
    return Fault(f"column '{column}'", "was not found.", hint)


def nearest(column: str, found: Sequence[str]) -> str | None:
    """The name that is spelt most alike, whatever its letter case, blanks and dashes; None if none is."""
    spelt = {_bare(name): name for name in reversed(found)}
    close = difflib.get_close_matches(_bare(column), spelt, 1)
    return spelt[close[0]] if close and spelt[close[0]] != column else None


def _same_letters(column: str, found: Sequence[str]) -> bool:
    return any(_bare(column) == _bare(name) for name in found)


def _bare(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def guard(
    batches: Iterator[pa.RecordBatch], name: Path | str, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The wanted columns of sound batches, in plain types; what Arrow refuses becomes a sentence."""
    try:
        for batch in batches:
            chosen = batch.select(list(columns))
            chosen.validate(full=True)
            plain = [_plain(column) for column in chosen.columns]
            fields = [field.with_type(one.type) for field, one in zip(chosen.schema, plain, strict=True)]
            yield pa.record_batch(plain, schema=pa.schema(fields))
    except REFUSED as error:
        raise UnreadableError(path=name, reason=brief(error), mend="Was it written in full?") from None


def _plain(column: pa.Array) -> pa.Array:
    """A column without views, dictionaries, runs and types of others' making, which many of Arrow's functions
    do not take."""
    if isinstance(column.type, pa.BaseExtensionType):
        return _without_extension(column)
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(column.type):
        column = _plain(column.dictionary).take(column.indices)
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(column.type) else column


def _without_extension(column: pa.ExtensionArray) -> pa.Array:
    """What a type of somebody's making is stored as; a UUID becomes the text that people write."""
    if column.type.extension_name != "arrow.uuid":
        return _plain(column.storage)
    cells = column.storage.to_pylist()
    return pa.array([None if c is None else str(UUID(bytes=c)) for c in cells], pa.large_string())


def require_content(path: Path) -> None:
    """Raise unless it is a regular file that holds something."""
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


def brief(error: Exception) -> str:
    """Arrow's reason without what follows the first line: it may quote cells."""
    first = str(error).splitlines()[0] if str(error) else "it is damaged"
    reason = first.split(":", 1)[0].split("(")[0].strip().rstrip(".")[:120].lower()
    return "it holds no table of cells" if reason in ("csv parse error", "empty csv file") else reason


class Faults:
    """Faults by column and problem: each with its first rows and its number, so that none hides another."""

    def __init__(self, table: OpenTable) -> None:
        self.first = 0
        """How many records were read before the chunk at hand."""
        self._table = table
        self._rows: dict[tuple[str, str], list[int]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def note(self, bad: NDArray[np.bool_], column: str, problem: str) -> None:
        rows = np.flatnonzero(bad)
        if len(rows):
            known = self._rows.setdefault((column, problem), [])
            known += [self.first + int(i) for i in rows[: _SHOWN_ROWS - len(known)]]
            self._counts[column, problem] = self._counts.get((column, problem), 0) + len(rows)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def in_order(self) -> list[Fault]:
        """The faults, by their first rows."""
        groups = sorted(self._rows.items(), key=lambda group: group[1][0])
        return [self._fault(*group, rows) for group, rows in groups]

    def _fault(self, column: str, problem: str, rows: list[int]) -> Fault:
        count = self._counts[column, problem]
        numbers = ", ".join(f"{number:,}" for number in sorted(map(self._table.row, rows)))
        more = f" and {count - len(rows):,} more" if count > len(rows) else ""
        word = "row" if count == 1 else "rows"
        return Fault(f"{word} {numbers}{more}, column '{column}'", f"{problem}.", count=count)
