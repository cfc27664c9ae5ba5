"""How dates are written, found out once, for their owner to see and to write down; no linkage comes here.

A format reads all cells of a column but for slips, or several do that exclude each other. Where several ways
read the most, the owner is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from accord.errors import DataError
from accord.fields.folding import fold_list, trim
from accord.fields.making import parse_date
from accord.fields.schema import DateField, FieldSpec, NumberField
from accord.table.field_source import OR
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, open_table

_SAMPLE = 50
_CENTURY = 100
_READ = 0.75
"""So many cells must be read, for formats to be right; the others are slips."""
_RARE = 0.01
"""A format of fewer cells is none: they are slips."""
_LAYERS = 4
_MIDNIGHT = ("", " 00:00:00", "T00:00:00", " 00:00")
_WITH_TIME = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
FORMATS = (
    *(f"{day}{time}" for time in _MIDNIGHT for day in _WITH_TIME),
    *("%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d%m%Y", "%m%d%Y"),
    *("%Y.%m.%d.", "%Y. %m. %d.", "%d.%m.%Y.", "%d. %m. %Y.", "%d. %m. %Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d"),
    *("%d de %B de %Y", "%d de %b de %Y", "%d. %B %Y", "%d. %b %Y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y"),
)
"""What dates are tried for. A time of the day must be midnight in all cells: a part of any other moment would
be dropped."""


@dataclass(frozen=True)
class Dates:
    """How the cells of a date field can be read: `fits` has all ways that read the most cells, slips aside;
    `best`, if there are none, is the format that reads some."""

    column: str
    fits: tuple[str, ...]
    best: str | None = None


def sniff_dates(table: TableLike, layout: Layout, fields: Mapping[str, FieldSpec]) -> dict[str, Dates]:
    """By agreed column, how the dates of a file can be read, where no format is named and the cells are
    texts."""
    readers: dict[str, list[FieldSpec]] = {}
    for name, spec in fields.items():
        (column, *_) = spec.columns(name)
        source = layout.source(column)
        if source.format is None and source.column and (spec.reads_days or source.part == "year"):
            readers.setdefault(column, []).append(spec)
    columns = layout.own_columns(readers)
    if not columns:
        return {}
    try:
        texts = _distinct(table, columns, layout)
    except DataError:
        # A column is missing: whoever loads the table names all that are.
        return {}
    found = {}
    for name, specs in readers.items():
        missing = [value for spec in specs for value in spec.missing_values]
        column = layout.place([name])
        if dates := _without_missing(sorted(texts[column]), [*missing, *layout.source(name).missing]):
            found[name] = _judge_dates(column, dates, specs)
    return found


def _without_missing(texts: Sequence[str], listed: Sequence[str]) -> list[str]:
    """Texts that are not said to mean a missing value."""
    missing = set(fold_list(listed))
    return [text for text, folded in zip(texts, fold_list(texts), strict=True) if folded not in missing]


def _distinct(table: TableLike, columns: Sequence[str], layout: Layout) -> dict[str, set[str]]:
    """By column, the texts that stand in it; of columns of other types none."""
    texts: dict[str, set[str]] = {column: set() for column in columns}
    for batch in open_table(table, columns, layout).batches:
        for column, cells in zip(columns, batch.columns, strict=True):
            if pa.types.is_large_string(cells.type):
                texts[column].update(pc.unique(trim(cells)).drop_null().to_pylist())
    return texts


def _judge_dates(column: str, texts: Sequence[str], specs: Sequence[FieldSpec]) -> Dates:
    found = find_formats(texts, _near_years(specs))
    return Dates(column, found.ways, found.best) if found.reads_enough else Dates(column, (), found.best)


@dataclass(frozen=True)
class Formats:
    """Ways to read the dates of a column: each is a format, or several that exclude each other."""

    ways: tuple[str, ...]
    best: str | None
    """The format that reads the most; None if none reads any."""
    share: float
    """Of the texts, that a way reads."""
    all_at_midnight: bool = True

    @property
    def reads_enough(self) -> bool:
        """Whether what no way reads may be slips. A time of the day must be midnight in all cells."""
        return self.share >= _READ and self.all_at_midnight


def find_formats(texts: Sequence[str], years: range | None = None) -> Formats:
    """The formats that read the most texts, then those that read the most of the others, and so on.

    Formats go together only if no text has two days under them: else their order would decide.
    """
    left, layers = [*texts], list[tuple[str, ...]]()
    while left and len(layers) < _LAYERS:
        fits = _fitting(left, years, least=_RARE * len(texts) if layers else 0)
        joined = [*_exclusive(product(*layers, fits), texts)] if fits else []
        if not joined:
            break
        layers.append(fits)
        left = [text for text in left if parse_date(text, fits[0]) is None]
    ways = tuple(OR.join(way) for way in _exclusive(product(*layers), texts)) if layers else ()
    timed = any(":" in how for fits in layers for how in fits) and any(":" in text for text in left)
    best = layers[0][0] if layers else None
    return Formats(ways, best, 1 - len(left) / max(1, len(texts)), not timed)


def _fitting(texts: Sequence[str], years: range | None, least: float) -> tuple[str, ...]:
    """All formats that read the most texts, if these are enough."""
    # Spread over all, since texts that sort together look alike.
    sample = texts[:: max(1, len(texts) // _SAMPLE)]
    hits = {how: sum(parse_date(text, how) is not None for text in sample) for how in FORMATS}
    # Slips do not hide that a day may be a month: whatever reads as many as any is one of several.
    near = [how for how, count in hits.items() if 0 < count >= max(hits.values()) - 1]
    read = {how: [day for text in texts if (day := parse_date(text, how))] for how in near}
    most = max(map(len, read.values()), default=0)
    fits = {how: days for how, days in read.items() if len(days) == most}
    return _distinct_formats(_within(fits, years)) if most and most >= least else ()


def _exclusive(ways: Iterable[tuple[str, ...]], texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The ways under which no text has two days."""
    sample = texts[:: max(1, len(texts) // _SAMPLE)]
    for way in ways:
        days = ({parse_date(text, how) for how in way} - {None} for text in sample)
        if len(way) == 1 or (len({*way}) == len(way) and all(len(one) < 2 for one in days)):
            yield way


def _within(fits: Mapping[str, Sequence[date]], years: range | None) -> list[str]:
    """Formats under which no day is of other years, if there are any: 20111011 is not of the year 1011."""
    if years is None:
        return list(fits)
    near = [how for how, days in fits.items() if min(days).year in years and max(days).year in years]
    return near or list(fits)


def _near_years(specs: Sequence[FieldSpec]) -> range | None:
    """The agreed years and a century around them: the file may be of another month than was agreed."""
    years = [agreed for spec in specs if (agreed := _agreed_years(spec)) is not None]
    if not years:
        return None
    return range(min(low for low, _ in years) - _CENTURY, max(high for _, high in years) + _CENTURY + 1)


def _agreed_years(spec: FieldSpec) -> tuple[int, int] | None:
    """The years that an agreement expects of a field's dates; None if it does not say."""
    if isinstance(spec, DateField):
        return spec.min.year, spec.max.year
    return (int(spec.min), int(spec.max)) if isinstance(spec, NumberField) and spec.derive == "year" else None


def _distinct_formats(formats: Sequence[str]) -> tuple[str, ...]:
    """Without those that can never differ from another: in May, %b and %B read the same."""
    return tuple({how.replace("%B", "%b"): how for how in reversed(formats)}.values())[::-1]
