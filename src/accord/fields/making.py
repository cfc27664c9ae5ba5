"""From the cells of some rows to the values of their fields, before they are encoded.

`Cells` has the agreed columns of a chunk and what was made of them, so that a column is folded once and its
dates are parsed once, however many fields come from it. A value is a text, a number as it stood, or a day
since 1970; what no reading fits is noted beside it, row by row, and never stops the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.fields.cleaning import clean, derive_part, derive_text, empty_to_null, single_blanks, swap
from accord.fields.folding import fold, fold_list, trim
from accord.fields.month_names import in_english
from accord.fields.recipe import ISO_DAY
from accord.fields.schema import CategoryField, DateField, FieldSpec, NumberField, TextField
from accord.table.cell_text import to_text, without_text
from accord.table.field_source import OR

Mask = NDArray[np.bool_]

_EPOCH = date(1970, 1, 1)
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Days:
    """The days of a column, and the rows whose cells are no days, by problem."""

    days: pa.Array
    bad: Mapping[str, Mask]


@dataclass
class Made:
    """The values of a field: text, numbers or days since 1970, null where there are none; and the
    rows whose cells cannot be read, by problem."""

    values: pa.Array
    bad: dict[str, Mask] = field(default_factory=dict)
    are_days: bool = False

    def shown(self) -> pa.Array:
        """The values as people read them."""
        values = self.values.cast(pa.int32()).cast(pa.date32()) if self.are_days else self.values
        return values.cast(pa.large_string())


_ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")

Parsed = dict[tuple[str, str, date], date | None]
"""Days by text, format and last agreed day: most chunks of a table have the same ones."""
_CENTURY = 100


class Cells:
    """The agreed columns of a chunk, and what was made of each, once; `parsed` outlives the chunk."""

    def __init__(
        self,
        columns: Mapping[str, pa.Array],
        formats: Mapping[str, str | None],
        parsed: Parsed | None = None,
        dated: Mapping[str, date] | None = None,
    ) -> None:
        self._formats, self._dated = formats, dated or {}
        self._parsed: Parsed = {} if parsed is None else parsed
        self._plain: dict[str, pa.Array] = {}
        self._unread: dict[str, dict[str, Mask]] = {}
        for name, cells in columns.items():
            bad: dict[str, Mask] = {}
            self._plain[name], self._unread[name] = _readable(cells, bad), bad
        self._folded: dict[str, pa.Array] = {}
        self._days: dict[str, Days] = {}
        self._texts: dict[object, pa.Array] = {}

    def plain(self, column: str) -> pa.Array:
        return self._plain[column]

    def unread(self, columns: Iterable[str]) -> dict[str, Mask]:
        """The rows in which some cell of these columns is of no kind that can be compared."""
        return _either(self._unread[column] for column in columns)

    def folded(self, column: str) -> pa.Array:
        """The text of each cell; in a column of dates that of the day, however the column writes it."""
        if column not in self._folded:
            text = fold(self._plain[column])
            if column in self._dated:
                text = pc.coalesce(self.days(column).days.cast(pa.date32()).cast(pa.large_string()), text)
            self._folded[column] = text
        return self._folded[column]

    def days(self, column: str) -> Days:
        if column not in self._days:
            last = self._dated.get(column, date.max)
            self._days[column] = read_days(self._plain[column], self._formats.get(column), self._parsed, last)
        return self._days[column]

    def text(self, columns: tuple[str, ...], spec: FieldSpec) -> pa.Array:
        """The cleaned text of these columns; shared by all fields that are cleaned alike."""
        key = columns, spec.clean, spec.missing_values
        if key not in self._texts:
            parts = [_take_out(self.folded(column), spec.missing_values) for column in columns]
            self._texts[key] = clean(join(parts), spec.clean)
        return self._texts[key]


def make(name: str, spec: FieldSpec, cells: Cells) -> Made:
    """The values of one field."""
    columns = spec.columns(name)
    bad = cells.unread(columns)
    if spec.reads_days:
        return _make_of_days(spec, cells, columns[0], bad)
    # Logarithms are of numbers as they are read, not of their text.
    derive = None if isinstance(spec, NumberField) and spec.is_log else spec.derive
    if isinstance(spec, TextField | CategoryField) or spec.clean or derive is not None:
        text = cells.text(columns, spec)
        return Made(text if derive is None else derive_text(text, derive), bad)
    return Made(_numbers(cells, columns[0], spec.missing_values), bad)


def _make_of_days(spec: FieldSpec, cells: Cells, column: str, bad: dict[str, Mask]) -> Made:
    read = cells.days(column)
    bad, days = {**bad, **read.bad}, read.days
    if spec.missing_values:
        # Before any fault is noted: 'unknown' is no date, and need not be one.
        named = _listed(cells.folded(column), spec.missing_values)
        bad = {problem: rows & ~named for problem, rows in bad.items()}
        days = pc.if_else(pa.array(named | _is_day(days, spec.missing_values)), _none(days), days)
    if isinstance(spec, DateField):
        return Made(swap(days) if spec.derive == "swapped" else days, bad, are_days=True)
    part = derive_part(days, str(spec.derive))
    return Made(part if isinstance(spec, NumberField) else part.cast(pa.large_string()), bad)


def _numbers(cells: Cells, column: str, missing: Sequence[str]) -> pa.Array:
    """Numbers as they stand, those taken out that mean a missing one."""
    plain = cells.plain(column)
    if not missing:
        return plain
    folded = cells.folded(column)
    listed = [value for value in fold_list(missing) if value is not None and re.match(_NUMBER, value)]
    digits = pc.fill_null(pc.match_substring_regex(folded, _NUMBER), False)
    numbers = pc.if_else(digits, pc.utf8_ltrim(folded, characters="+"), _none(folded)).cast(pa.float64())
    same = pc.is_in(numbers, value_set=pa.array([float(value) for value in listed], pa.float64()))
    named = _listed(folded, missing) | np.asarray(pc.fill_null(same, False))
    return pc.if_else(pa.array(named), _none(plain), plain)


def join(parts: Sequence[pa.Array]) -> pa.Array:
    """Texts with a blank between; those that are missing are skipped."""
    if len(parts) == 1:
        return parts[0]
    # Empty texts in place of nulls: Arrow, told to skip nulls, also skips rows that have nothing else.
    filled = [pc.fill_null(part, "") for part in parts]
    joined = pc.binary_join_element_wise(*filled, pa.scalar(" ", pa.large_string()))
    return empty_to_null(single_blanks(joined))


def _take_out(folded: pa.Array, missing: Sequence[str]) -> pa.Array:
    return pc.if_else(pa.array(_listed(folded, missing)), _none(folded), folded) if missing else folded


def _listed(folded: pa.Array, missing: Sequence[str]) -> Mask:
    return np.asarray(pc.is_in(folded, value_set=pa.array(fold_list(missing), pa.large_string())))


def _is_day(days: pa.Array, missing: Sequence[str]) -> Mask:
    """Whether a day is listed, however its column writes days."""
    listed = [parse_date(value, "%Y-%m-%d") for value in missing if re.fullmatch(ISO_DAY, value)]
    numbers = [(day - _EPOCH).days for day in listed if day is not None]
    return np.asarray(pc.is_in(days, value_set=pa.array(numbers, pa.int32())))


def _none(like: pa.Array) -> pa.Scalar:
    return pa.scalar(None, like.type)


def _either(faults: Iterable[Mapping[str, Mask]]) -> dict[str, Mask]:
    found: dict[str, Mask] = {}
    for problems in faults:
        for problem, rows in problems.items():
            found[problem] = found[problem] | rows if problem in found else rows
    return found


def _readable(cells: pa.Array, bad: dict[str, Mask]) -> pa.Array:
    """Cells that can be compared; raw bytes and nested values become missing and are noted."""
    for kind, rows in without_text(cells).items():
        bad[f"holds {kind} values, which cannot be compared; store text, numbers or dates"] = rows
    return to_text(cells) if bad else cells


def _missing(cells: pa.Array) -> Mask:
    return np.asarray(pc.is_null(cells))


def read_days(cells: pa.Array, format: str | None, parsed: Parsed, last: date = date.max) -> Days:
    """Cells as days since 1970; years of two digits are never after the last agreed day."""
    bad: dict[str, Mask] = {}
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        cells = trim(cells)
        given = ~_missing(cells)
        cells = _parse_dates(cells, format or "%Y-%m-%d", parsed, last)
        how = " or ".join((format or "YYYY-MM-DD").split(OR))
        mend = "`format=` names another format, missing_values what is empty"
        bad[f"is not a date written as {how}; {mend}"] = given & _missing(cells)
    if pa.types.is_timestamp(cells.type) and cells.type.tz is not None:
        bad["is a moment in a time zone, not a day; store days"] = ~_missing(cells)
        cells = pa.nulls(len(cells), pa.date32())
    try:
        days = cells.cast(pa.date32(), safe=False).cast(pa.int32())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        bad["is not a date"] = ~_missing(cells)
        days = pa.nulls(len(cells), pa.int32())
    return Days(days, bad)


def _parse_dates(cells: pa.Array, format: str, parsed: Parsed, last: date) -> pa.Array:
    """Texts as dates, null where they are none; each distinct text is parsed once.

    By Python, because Arrow's own parser takes 30 February for 2 March.
    """
    distinct = cells.dictionary_encode()
    texts = distinct.dictionary.to_pylist()
    for text in texts:
        if (text, format, last) not in parsed:
            parsed[text, format, last] = parse_date(text, format, last)
    return pa.array([parsed[text, format, last] for text in texts], pa.date32()).take(distinct.indices)


def parse_date(value: str, format: str, last: date = date.max) -> date | None:
    """The day that a text is in the first of these formats that fits; None if it is none.

    A year of two digits that would be after the last day is of the century before.
    """
    if OR in format:
        days = (parse_date(value, one, last) for one in format.split(OR))
        return next((day for day in days if day is not None), None)
    try:
        if format == "%Y-%m-%d" and _ISO.fullmatch(value):
            # The same, more than ten times as fast.
            return date.fromisoformat(value)
        if "%b" in format or "%B" in format:
            value = in_english(value)
        day = datetime.strptime(value, format).date()
        return day.replace(year=day.year - _CENTURY) if day > last and "%y" in format else day
    except (ValueError, re.error):
        return None
