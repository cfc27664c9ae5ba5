"""Labels: pairs of ids that somebody looked at, and what they said.

Without a column `match` a file lists all pairs of two tables that are matches, and every other pair is none.
With it (1 or 0, yes or no, true or false) only the listed pairs are known, and what follows from them: two
records of different listed matches are strangers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from accord.errors import DataError, Fault
from accord.fields.columns import Records
from accord.learning.patterns import Pairs
from accord.ranges import distinct
from accord.simulation.truth import read_truth
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, column_names, find_place, open_table

_SAID = {"1": True, "yes": True, "true": True, "0": False, "no": False, "false": False}
_MEND = "Write 1 or 0, yes or no, true or false."


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
    pairs = read_truth(source)
    place = find_place(source)
    partial = isinstance(place, Path) and "match" in column_names(place, Layout())
    said = _said(source) if partial else np.ones(pairs.num_rows, np.bool_)
    matches, others = (rows_of(pairs.filter(pa.array(of)), a, b) for of in (said, ~said))
    return Labels(matches, others, not partial, pairs.num_rows - len(matches[0]) - len(others[0]))


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


def _said(source: TableLike) -> NDArray[np.bool_]:
    opened = open_table(source, ["match"], Layout())
    cells = pa.chunked_array([to_text(batch.column("match")) for batch in opened.batches], pa.large_string())
    words = pc.utf8_lower(pc.utf8_trim_whitespace(cells))
    known = pa.array(list(_SAID), pa.large_string())
    which = pc.index_in(words, value_set=known)
    if which.null_count:
        first = pc.index(pc.is_null(which), True).as_py() + 1
        place = f"column 'match', from row {first:,} on"
        raise DataError(opened.name, [Fault(place, "is neither yes nor no.", _MEND, which.null_count)])
    return np.array(list(_SAID.values()))[np.asarray(which)]
