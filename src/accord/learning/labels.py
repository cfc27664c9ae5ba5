"""Labels: pairs of ids that somebody looked at, and what they said.

Without a column `match` a table lists all pairs of two tables that are matches, and every other pair is none.
With it (1 or 0, yes or no, true or false) only the listed pairs are known, and what follows from them: two
records of different listed matches are strangers. Other columns are ignored; but one of yes and no under
another name is refused, since without it every pair that it calls none would be a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import DataError, Fault
from accord.fields.columns import Records
from accord.learning.patterns import Pairs
from accord.naming import fold_name
from accord.ranges import distinct
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.opened import REFUSED, OpenTable
from accord.table.sources.opening import TableLike, column_names, find_place, open_table

_IDS = ("id_a", "id_b")
_MATCH = "match"
_SAID = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}
_ALIKE = ("y", "n", "t", "f", "1.0", "0.0", "-1", "match", "non-match", "nonmatch", "no match", "unmatch")
"""Words by which others say it, in columns that are not called so."""
_MEND = "Write 1 or 0, yes or no, true or false."
_RENAME = "If it does, call it match, with 1 or 0, yes or no, true or false; if not, leave it out."


@dataclass(frozen=True)
class Labels:
    """Labelled pairs, as rows of two tables, each once."""

    matches: Pairs
    others: Pairs
    """Those that are listed as no matches."""
    all_known: bool
    """Whether every pair that is not listed is no match."""
    uncounted: int
    """Labels that are repeated, or of records that do not exist."""


def read_labels(source: TableLike, a: Records, b: Records) -> Labels:
    """The labels of these records."""
    source, names = _named(source)
    flags = [name for name in names if fold_name(name) == _MATCH]
    columns = flags or _others(names)
    opened, cells = _read(source, columns)
    if len(flags) > 1:
        raise DataError(opened.name, [Fault("column 'match'", "is there more than once.", "Keep one.")])
    said = _said(opened, cells[flags[0]]) if flags else np.ones(cells.num_rows, np.bool_)
    if flags:
        _require_one_voice(opened, cells, said)
    else:
        _require_no_flags(opened, cells.select(columns))
    matches, others = (rows_of(cells.filter(pa.array(of)), a, b) for of in (said, ~said))
    return Labels(matches, others, not flags, cells.num_rows - len(matches[0]) - len(others[0]))


def _named(source: TableLike) -> tuple[TableLike, list[str]]:
    """What can still be read, and the names of its columns."""
    place = find_place(source)
    if place is not None:
        return source, column_names(place, Layout())
    try:
        reader = pa.RecordBatchReader.from_stream(source)
    except REFUSED:
        # Whoever opens it says why it cannot be read.
        return source, []
    return reader, list(reader.schema.names)


def _others(names: Sequence[str]) -> list[str]:
    """Columns that may say it though they are not called so; none where the first line is no header."""
    return [name for name in dict.fromkeys(names) if name and name not in _IDS] if {*_IDS} <= {*names} else []


def _read(source: TableLike, columns: Sequence[str]) -> tuple[OpenTable, pa.Table]:
    """The ids and these columns as texts, read at once: rows of a database have no order that lasts."""
    try:
        opened = open_table(source, [*_IDS, *columns], Layout())
    except DataError as error:
        error.mend = "Labels are a table with the columns id_a and id_b."
        raise
    schema = pa.schema([(name, pa.large_string()) for name in (*_IDS, *columns)])
    batches = [
        pa.table([to_text(column) for column in batch.columns], schema=schema) for batch in opened.batches
    ]
    return opened, pa.concat_tables([schema.empty_table(), *batches])


def rows_of(pairs: pa.Table, a: Records, b: Records) -> Pairs:
    """The rows that pairs of ids name, each pair once, without those that are not there."""
    rows = [
        pc.index_in(pairs[name].combine_chunks().cast(ids.type), value_set=ids)
        for name, ids in (("id_a", a.ids), ("id_b", b.ids))
    ]
    known = pc.and_(*map(pc.is_valid, rows))
    left, right = (np.asarray(found.filter(known)).astype(np.int64) for found in rows)
    width = max(1, len(b))
    keys = distinct(left * width + right)
    return keys // width, keys % width


def _words(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_lower(pc.utf8_trim_whitespace(cells))


def _said(opened: OpenTable, cells: pa.ChunkedArray) -> NDArray[np.bool_]:
    which = pc.index_in(_words(cells), value_set=pa.array(list(_SAID), pa.large_string()))
    _require_none(opened, np.asarray(pc.is_null(which)), "is neither yes nor no.", _MEND)
    return np.array(list(_SAID.values()))[np.asarray(which)]


def _require_one_voice(opened: OpenTable, cells: pa.Table, said: NDArray[np.bool_]) -> None:
    """Raise for pairs that are said to be matches and not to be."""
    keys = np.zeros(len(said), np.int64)
    for name in _IDS:
        coded = cells[name].combine_chunks().dictionary_encode("encode")
        keys = keys * len(coded.dictionary) + np.asarray(coded.indices)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    problem = "says otherwise of a pair than a row above."
    _require_none(opened, said != said[first[which]], problem, "Keep what is right.")


def _require_none(opened: OpenTable, bad: NDArray[np.bool_], problem: str, mend: str) -> None:
    if bad.any():
        place = f"column 'match', from row {opened.row(int(np.argmax(bad))):,} on"
        raise DataError(opened.name, [Fault(place, problem, mend, int(bad.sum()))])


def _require_no_flags(opened: OpenTable, others: pa.Table) -> None:
    """Raise for columns of yes and no: taken for nothing, they would make matches of pairs that are none."""
    known = pa.array([*_SAID, *_ALIKE], pa.large_string())
    faults = [
        Fault(f"column '{name}'", "seems to say which pairs are matches.", _RENAME)
        for name, cells in zip(others.column_names, others.columns, strict=True)
        if cells.null_count < len(cells) and pc.all(pc.is_in(_words(cells.drop_null()), known)).as_py()
    ]
    if faults:
        raise DataError(opened.name, faults)
