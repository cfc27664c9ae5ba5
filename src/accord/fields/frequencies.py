"""Public lists of values and how often each occurs, and the classes that a field makes of one.

Agreement on a rare name says more than on a common one. How rare a value is comes from a list that both
parties have and that the agreement names by its digest; never from a table, of which it would tell something.
Each side looks up its own values and nobody else's.

The digest is that of the content, however the list is written:

    SHA-256( "accord frequencies 1\n", then for each value in the order of code points: value \t count \n )

where the rest, if there is one, has the empty value. The share of a value is its count by the sum of all
counts. A field cleans the list as it cleans cells, and counts of values that become the same add up.

Two lists ship: the names of the US census of 1990, in the public domain; the first lines of `names.txt.gz`
say where they come from. A file of one's own is a table with the columns `value` and `count`. Values are
folded as cells are, and none stands twice; a row without a value counts all whose value is not listed. Nobody
goes on with another list than the agreed. `count_values` makes a list of a table that is public: of few
people who share a value it does not tell the value.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from math import ceil
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import DataError, Fault, FaultyError, UnreadableError, UsageError
from accord.fields.cleaning import clean
from accord.fields.folding import fold, trim
from accord.fields.schema import FieldSpec, FrequencyField
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.opened import Faults
from accord.table.sniffing import sniff_text
from accord.table.sources.opening import TableLike, find_place, open_table

_TAG = b"accord frequencies 1\n"
NameKind = Literal["female", "male", "surname"]
EVERYBODY = 100_000
_COLUMNS = ["value", "count"]
MOST_VALUES = 1_000_000
_LONGEST = 256
_MOST_DIGITS = 12
"""Of a count: the sum over all values fits a machine's integer."""
_WHOLE = rf"^0*[1-9][0-9]{{0,{_MOST_DIGITS - 1}}}$"
SHIPPED = ("us-surnames-1990", "us-given-names-1990")
"""Of the US census; given names as if there were as many women as men."""


@dataclass(frozen=True)
class Frequencies:
    """Folded values, each once, and how often each occurs."""

    values: pa.Array
    counts: NDArray[np.int64]
    rest: int = 0
    """How many have a value that is not listed."""

    @property
    def total(self) -> int:
        return int(self.counts.sum()) + self.rest

    @cached_property
    def digest(self) -> str:
        """What an agreement names the list by."""
        rows = sorted(zip(self.values.to_pylist(), self.counts.tolist(), strict=True))
        rest = [("", self.rest)] if self.rest else []
        body = "".join(f"{value}\t{count}\n" for value, count in rest + rows)
        return f"sha256:{hashlib.sha256(_TAG + body.encode()).hexdigest()}"


@dataclass(frozen=True)
class Classes:
    """The classes of the values of a list, under one field: 0 for common ones and `rarest` for the rarest
    and for all that are not listed."""

    values: pa.Array
    classes: NDArray[np.int64]
    rarest: int

    def of(self, texts: pa.Array) -> pa.Array:
        """The class of each cleaned text; null where there is no text."""
        places = np.asarray(pc.fill_null(pc.index_in(texts, value_set=self.values), -1))
        # The place −1 of what is not listed is the last.
        found = np.append(self.classes, self.rarest)[places]
        return pa.array(found, pa.int64(), mask=np.asarray(pc.is_null(texts)))

    def listed(self, texts: pa.Array) -> int:
        """How many of the texts the list has."""
        return int(pc.sum(pc.is_in(texts.drop_null(), value_set=self.values)).as_py() or 0)

    def sizes(self) -> list[int]:
        """How many listed values each class has."""
        return np.bincount(self.classes, minlength=self.rarest + 1).tolist()


def classes_of(spec: FrequencyField, of: Frequencies) -> Classes:
    """The classes of a list under a field; exact: a share is below s where the count is below ⌈s·total⌉."""
    cleaned = clean(of.values, spec.clean)
    table = pa.table({"value": cleaned, "count": of.counts}).filter(pc.is_valid(cleaned))
    summed = table.group_by("value").aggregate([("count", "sum")])
    counts, bounds = np.asarray(summed["count_sum"]), [ceil(share * of.total) for share in spec.shares]
    classes = sum((counts < bound).astype(np.int64) for bound in bounds)
    values = summed["value"].combine_chunks().cast(pa.large_string())
    return Classes(values, np.asarray(classes, np.int64), spec.high)


@cache
def census_names(kind: NameKind) -> dict[str, int]:
    """How many of 100,000 women, men or people had each name, the most frequent first; others had others."""
    packed = resources.files("accord.fields").joinpath("names.txt.gz").read_bytes()
    section, found = "", dict[str, int]()
    for line in gzip.decompress(packed).decode().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == kind:
            count, *names = line.split()
            found |= dict.fromkeys(names, int(count))
    return found


def find_classes(fields: Mapping[str, FieldSpec], lists: Mapping[str, str]) -> dict[str, Classes]:
    """By field, the classes of the agreed lists; `lists` says where one's own copies are.

    Raises every fault of every list: a file that is not there or malformed, and one that is not the agreed.
    """
    wanted = {name: spec for name, spec in fields.items() if isinstance(spec, FrequencyField)}
    found: dict[str, Frequencies] = {}
    faults: list[Fault] = []
    mends: dict[str, None] = {}
    for name in dict.fromkeys(spec.list for spec in wanted.values()):
        try:
            found[name] = find_list(name, lists.get(name))
        except FaultyError as error:
            faults += [replace(one, place=f"{lists[name]}, {one.place}".rstrip(", ")) for one in error.faults]
            mends |= {error.mend: None} if error.mend else {}
        except UnreadableError as error:
            faults.append(Fault(f"list '{name}'", str(error)))
    digests = {name: one.digest for name, one in found.items()}
    for name, spec in wanted.items():
        if spec.list in found and digests[spec.list] != spec.digest:
            faults.append(_differs(name, spec, digests[spec.list], lists.get(spec.list)))
    if faults:
        raise DataError("What the agreement takes frequencies from", faults, "\n".join(mends))
    return {name: classes_of(spec, found[spec.list]) for name, spec in wanted.items()}


def _differs(name: str, spec: FrequencyField, digest: str, path: str | None) -> Fault:
    whose = f"in {path}" if path else "that ships with Accord"
    return Fault(
        f"list '{spec.list}' of field '{name}'",
        f"the list {whose} has the digest {digest}, but the agreement names {spec.digest}.",
        "Name the same file as the partner with `lists=`; or, if this is the list that both mean, "
        f"write its digest under [fields.{name}] on both sides.",
    )


def find_list(name: str, path: str | None = None) -> Frequencies:
    """The list in this file; without one, the list of this name that ships."""
    if path is not None:
        return read_frequencies(Path(path))
    if name in SHIPPED:
        return _shipped(name)
    raise UnreadableError(
        path=f"The list '{name}'",
        reason=f"it does not ship with Accord, which has {' and '.join(SHIPPED)}",
        mend="Say where your copy is with `lists=`, or under [lists] in the layout file.",
    )


@cache
def _shipped(name: str) -> Frequencies:
    if name == "us-surnames-1990":
        return _listed(census_names("surname"), EVERYBODY)
    female, male = census_names("female"), census_names("male")
    both = {one: female.get(one, 0) + male.get(one, 0) for one in (*female, *male)}
    return _listed(both, 2 * EVERYBODY)


def _listed(counts: Mapping[str, int], everybody: int) -> Frequencies:
    values = pa.array(counts, pa.large_string())
    return Frequencies(values, np.array(list(counts.values()), np.int64), everybody - sum(counts.values()))


def count_values(
    source: TableLike, column: str, count_column: str | None = None, least: int = 5
) -> Frequencies:
    """How often each value of a column occurs, or the sum of another column for it; what comes to less than
    `least`, or no list can hold, is in the rest. Raises all faults of the counts."""
    columns = [column] if count_column is None else [column, count_column]
    place = find_place(source)
    layout = Layout() if place is None else sniff_text(place, Layout(), (), columns)
    try:
        table = open_table(source, columns, layout)
    except DataError as error:
        error.mend = "Name columns that are there with `column=` and `count_column=`."
        raise
    schema = pa.schema({"value": pa.large_string(), "count": pa.int64()})
    faults, tally = Faults(table), schema.empty_table()
    for batch in table.batches:
        values = fold(to_text(batch.column(column)))
        counts = pa.array(np.ones(len(values), np.int64))
        if count_column is not None:
            texts = to_text(batch.column(count_column))
            faults.note(*_not_whole(texts, count_column))
            counts = _whole(texts)
        tally = _add_up(pa.concat_tables([tally, pa.table([values, counts], schema)]))
        faults.first += batch.num_rows
    if found := [*table.broken.values(), *faults.in_order()]:
        raise DataError(table.name, found, table.counting)
    return _name_common(tally, least, count_column is not None, table.name)


def _add_up(rows: pa.Table) -> pa.Table:
    return rows.group_by("value").aggregate([("count", "sum")]).rename_columns(_COLUMNS)


def _name_common(tally: pa.Table, least: int, counted: bool, name: str) -> Frequencies:
    """The list of a tally. A row of counts without a value is of others; of a table of people, of nobody."""
    tally = tally if counted else tally.filter(pc.is_valid(tally["value"]))
    values, counts = tally["value"].combine_chunks(), np.asarray(tally["count"])
    odd = pc.or_(pc.greater(pc.utf8_length(values), _LONGEST), pc.match_substring(values, "\0"))
    named = (counts >= least) & np.asarray(pc.fill_null(pc.invert(odd), False))
    if not 0 < named.sum() <= MOST_VALUES or counts.sum() >= 10**_MOST_DIGITS:
        raise UsageError(
            problem=f"{named.sum():,} values of {name} occur at least {least:,} times, all together "
            f"{counts.sum():,} times. A list holds 1 to {MOST_VALUES:,} values, and counts of {_MOST_DIGITS} "
            "digits: see `least=`."
        )
    return Frequencies(values.filter(pa.array(named)), counts[named], int(counts[~named].sum()))


def list_table(of: Frequencies) -> pa.Table:
    """A list as `read_frequencies` reads it: the most frequent first, the rest last."""
    listed = pa.table({"value": of.values, "count": of.counts})
    listed = listed.sort_by([("count", "descending"), ("value", "ascending")])
    rest = pa.table({"value": pa.array([None], listed["value"].type), "count": pa.array([of.rest])})
    return pa.concat_tables([listed, rest]) if of.rest else listed


def read_frequencies(path: Path) -> Frequencies:
    """Read a list from a file of any kind, with the columns value and count; or raise all its faults."""
    try:
        table = open_table(path, _COLUMNS, sniff_text(path, Layout(), (), _COLUMNS))
    except DataError as error:
        error.mend = "A list of frequencies has the columns value and count."
        raise
    faults = Faults(table)
    chunks: list[tuple[pa.Array, pa.Array]] = []
    for batch in table.batches:
        values, counts = (to_text(batch.column(name)) for name in _COLUMNS)
        for column, problem, rows in _wrong(values, counts):
            faults.note(rows, column, problem)
        chunks.append((fold(values), _whole(counts)))
        faults.first += batch.num_rows
        if faults.first > MOST_VALUES:
            reason = f"it has more than {MOST_VALUES:,} rows"
            raise UnreadableError(path=path, reason=reason, mend="Leave out the rarest: they are not missed.")
    if not chunks:
        raise DataError(table.name, [Fault("", "There are no values below the header.", "Is it whole?")])
    values, counts = (pa.concat_arrays(parts) for parts in zip(*chunks, strict=True))
    faults.first = 0
    faults.note(_repeated(values), "value", "repeats that of another row, whatever its letter case")
    if found := [*table.broken.values(), *faults.in_order()]:
        raise DataError(table.name, found, table.counting)
    rest = np.asarray(pc.is_null(values))
    numbers = np.asarray(counts)
    return Frequencies(values.filter(pa.array(~rest)), numbers[~rest], int(numbers[rest].sum()))


def _wrong(values: pa.Array, counts: pa.Array) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    long = pc.greater(pc.utf8_length(values), _LONGEST)
    yield "value", f"is longer than {_LONGEST} letters", _rows(long)
    yield "value", "holds a NUL character", _rows(pc.match_substring(values, "\0"))
    rows, column, problem = _not_whole(counts, "count")
    yield column, problem, rows


def _not_whole(counts: pa.Array, column: str) -> tuple[NDArray[np.bool_], str, str]:
    """What is no count, as a fault of the column."""
    whole = pc.fill_null(pc.match_substring_regex(trim(counts), _WHOLE), False)
    problem = f"is not a whole number from 1 to {10**_MOST_DIGITS - 1:,}, in digits alone"
    return _rows(pc.invert(whole)), column, problem


def _whole(counts: pa.Array) -> pa.Array:
    """The counts, 0 in place of what is none."""
    whole = pc.fill_null(pc.match_substring_regex(trim(counts), _WHOLE), False)
    return pc.if_else(whole, trim(counts), "0").cast(pa.int64())


def _repeated(values: pa.Array) -> NDArray[np.bool_]:
    tally = pc.value_counts(values)
    twice = tally.filter(pc.greater(tally.field("counts"), 1)).field("values")
    return np.asarray(pc.is_in(values, value_set=twice))


def _rows(marks: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(marks, False))
