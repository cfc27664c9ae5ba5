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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from accord.errors import DataError, UnreadableError
from accord.records.csv_scan import Stop, scan
from accord.records.folding import fold_list, trim
from accord.records.layout import Layout
from accord.records.making import parse_date
from accord.records.opened import REFUSED, brief
from accord.records.schema import DateField, FieldSpec, NumberField
from accord.records.sources import Place, kind_of, open_table
from accord.records.sources_csv import delimiter_of, quote_of, utf8_blocks

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DELIMITERS = (",", ";", "\t", "|")
_QUOTES = ('"', "'", None)
_SAMPLE = 50
_BROKEN = 1 << 62
_CENTURY = 100
_MIDNIGHT = ("", " 00:00:00", "T00:00:00", " 00:00")
_WITH_TIME = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
FORMATS = (
    *(f"{day}{time}" for time in _MIDNIGHT for day in _WITH_TIME),
    *("%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d%m%Y", "%m%d%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y"),
)
"""What dates are tried for. A time of the day must be midnight in all cells: a part of any other moment would
be dropped."""


@dataclass(frozen=True)
class Dates:
    """How the cells of a date field can be read: `fits` has all formats that read every cell; `best`, if
    there are none, is the one that reads the most."""

    column: str
    fits: tuple[str, ...]
    best: str | None = None


def sniff_text(path: Place, layout: Layout, named: Iterable[str], wanted: Sequence[str]) -> Layout:
    """The layout with the encoding, delimiter and quote of a csv, those that are named taken as they are."""
    if kind_of(path) != "csv" or not isinstance(path, Path):
        return layout
    try:
        return _sniff(path, layout, set(named), wanted)
    except REFUSED as error:
        raise UnreadableError(path=path, reason=brief(error), mend="Is it what its name says?") from None


def _sniff(path: Path, layout: Layout, known: set[str], wanted: Sequence[str]) -> Layout:
    if "encoding" not in known:
        layout = replace(layout, encoding=find_encoding(path))
    delimiters: Sequence[str] = _DELIMITERS
    quotes: Sequence[str | None] = _QUOTES
    if "delimiter" in known:
        delimiters = (delimiter_of(path, layout),)
    if "quote" in known:
        quotes = (quote_of(path, layout),)
    found = _find_marks(path, layout.encoding, delimiters, quotes, wanted)
    if found is None:
        return layout
    return replace(layout, delimiter=found[0], quote=found[1] or "none")


def find_encoding(path: Path) -> str:
    """By its byte order mark; else UTF-8 if all of the file is that; else UTF-16 if it is full of zeros; else
    cp1252, the most common of those that cannot be told from each other."""
    with pa.input_stream(str(path), compression="detect") as stream:
        head = stream.read(1 << 16)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    candidates = ["utf-8", "cp1252"]
    if head.count(0) > len(head) // 8:
        # Delimiters, digits and most letters have a zero, second if the small end is first. A few zeros are
        # none of that, and nearly anything could be read as UTF-16.
        small = head[1::2].count(0) >= head[0::2].count(0)
        candidates = ["utf-16-le" if small else "utf-16-be", *candidates]
    for encoding in candidates:
        try:
            for _ in utf8_blocks(path, encoding):
                pass
        except UnreadableError:
            continue
        return encoding
    reason = "its encoding cannot be found out"
    raise UnreadableError(path=path, reason=reason, mend="Name it with `encoding=`.")


def is_guess(encoding: str) -> bool:
    """Whether a file in this encoding could as well be in another."""
    return encoding == "cp1252"


def _find_marks(
    path: Path,
    encoding: str,
    delimiters: Sequence[str],
    quotes: Sequence[str | None],
    wanted: Sequence[str],
) -> tuple[str, str | None] | None:
    """Delimiter and quote under which the file is a table: with the most wanted columns, the fewest rows of
    other lengths, the most columns. None if it is a table under none of them."""
    head = b"".join(islice(utf8_blocks(path, encoding), 1)).decode()[: 1 << 16]
    ranked: list[tuple[tuple[int, int, int, int], tuple[str, str | None]]] = []
    for delimiter in (delimiter for delimiter in delimiters if delimiter in head):
        for place, quote in enumerate(quotes):
            there = len(set(wanted) & set(_header(head, delimiter, quote)))
            if place and _has_quoted_cells(path, encoding, delimiter):
                break
            found = scan(utf8_blocks(path, encoding), delimiter, quote)
            is_table = found.stop is Stop.NONE and found.columns > 1
            if is_table and there == len(set(wanted)) > 0 and not (found.ragged or place):
                return delimiter, quote
            if is_table and (found.quoted or quote != "'"):
                ranked.append(((there, -found.ragged, found.columns, -place), (delimiter, quote)))
            elif place == 0 and there:
                # So that what is wrong with the quotes is told of the right cells, if no other quote will do.
                ranked.append(((there, -_BROKEN, 0, 0), (delimiter, quote)))
    return max(ranked, key=lambda one: one[0])[1] if ranked else None


def _has_quoted_cells(path: Path, encoding: str, delimiter: str) -> bool:
    """Whether some cells have quotes around them: then a quote that is not closed is a fault, no letter."""
    mark = re.escape(delimiter.encode())
    cell = re.compile(rb'(?m)(?:^|%s)"[^"\r\n]*"(?=%s|\r|$)' % (mark, mark))
    return any(cell.search(block) for block in utf8_blocks(path, encoding))


def _header(head: str, delimiter: str, quote: str | None) -> list[str]:
    lines = io.StringIO(head, newline="")
    try:
        if quote is None:
            rows = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        else:
            rows = csv.reader(lines, delimiter=delimiter, quotechar=quote)
        return next((row for row in rows if row), [])
    except csv.Error:
        return []


def sniff_dates(path: Place, layout: Layout, fields: Mapping[str, FieldSpec]) -> dict[str, Dates]:
    """By agreed column, how the dates of a file can be read, where no format is named and the cells are
    texts."""
    readers: dict[str, list[FieldSpec]] = {}
    for name, spec in fields.items():
        (column, *_) = spec.columns(name)
        if spec.reads_days and layout.source(column).format is None:
            readers.setdefault(column, []).append(spec)
    columns = list(dict.fromkeys(layout.source(name).column for name in readers))
    if not columns:
        return {}
    try:
        texts = _distinct(path, columns, layout)
    except DataError:
        # A column is missing: whoever loads the table names all that are.
        return {}
    found = {}
    for name, specs in readers.items():
        column = layout.source(name).column
        if dates := _without_missing(sorted(texts[column]), specs):
            found[name] = _judge_dates(column, dates, specs)
    return found


def _without_missing(texts: Sequence[str], specs: Sequence[FieldSpec]) -> list[str]:
    """Texts that are not said to mean a missing value."""
    missing = {value for spec in specs for value in fold_list(spec.missing_values)}
    return [text for text, folded in zip(texts, fold_list(texts), strict=True) if folded not in missing]


def _distinct(path: Place, columns: Sequence[str], layout: Layout) -> dict[str, set[str]]:
    """By column, the texts that stand in it; of columns of other types none."""
    texts: dict[str, set[str]] = {column: set() for column in columns}
    for batch in open_table(path, columns, layout).batches:
        for column, cells in zip(columns, batch.columns, strict=True):
            if pa.types.is_large_string(cells.type):
                texts[column].update(pc.unique(trim(cells)).drop_null().to_pylist())
    return texts


def _judge_dates(column: str, texts: Sequence[str], specs: Sequence[FieldSpec]) -> Dates:
    # Spread over all, since texts that sort together look alike.
    sample = texts[:: max(1, len(texts) // _SAMPLE)]
    read = {how: [parse_date(text, how) for text in sample] for how in FORMATS}
    fits = {}
    for how in (how for how, days in read.items() if None not in days):
        days = [parse_date(text, how) for text in texts]
        if None not in days:
            fits[how] = [day for day in days if day is not None]
    if not fits:
        hits = {how: len(days) - days.count(None) for how, days in read.items()}
        best = max(hits, key=lambda how: hits[how])
        return Dates(column, (), best if hits[best] else None)
    return Dates(column, _distinct_formats(_within(fits, specs)))


def _within(fits: Mapping[str, Sequence[date]], specs: Sequence[FieldSpec]) -> list[str]:
    """Formats under which no day is a century away from the agreed range, if there are any: 20111011 is not
    of the year 1011. Nearer days are no reason: the file may be of another month than was agreed."""
    years = [agreed for spec in specs if (agreed := _agreed_years(spec)) is not None]
    if not years:
        return list(fits)
    first, last = min(low for low, _ in years) - _CENTURY, max(high for _, high in years) + _CENTURY
    near = [how for how, days in fits.items() if first <= min(days).year and max(days).year <= last]
    return near or list(fits)


def _agreed_years(spec: FieldSpec) -> tuple[int, int] | None:
    """The years that an agreement expects of a field's dates; None if it does not say."""
    if isinstance(spec, DateField):
        return spec.min.year, spec.max.year
    return (int(spec.min), int(spec.max)) if isinstance(spec, NumberField) and spec.derive == "year" else None


def _distinct_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """Without those that can never differ from another: in May, %b and %B read the same."""
    return tuple({how.replace("%B", "%b"): how for how in reversed(formats)}.values())[::-1]
