"""Matches against the pairs that are known to be true, where somebody knows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from accord.errors import DataError
from accord.ranges import contained, distinct
from accord.rules.evaluate import Indices
from accord.table.cell_text import to_text
from accord.table.layout import Layout
from accord.table.sources.opening import TableLike, open_table


def read_truth(source: TableLike) -> pa.Table:
    """A file or table of true pairs, columns `id_a` and `id_b`."""
    try:
        table = open_table(source, ["id_a", "id_b"], Layout())
    except DataError as error:
        error.mend = "True pairs are a table with the columns id_a and id_b."
        raise
    empty = pa.table({name: pa.array([], pa.large_string()) for name in ("id_a", "id_b")})
    batches = [
        pa.table({name: to_text(batch.column(name)) for name in empty.column_names})
        for batch in table.batches
    ]
    return pa.concat_tables([empty, *batches])


@dataclass(frozen=True)
class Scores:
    """How the matches found compare with the true pairs."""

    true_pairs: int
    truth_recall: float
    truth_precision: float
    truth_f1: float


def score(pairs: pa.Table, truth: pa.Table) -> Scores:
    """Compare matches with the true pairs; of none, every share is 1."""
    found, true = _codes(pairs, truth)
    both = len(np.flatnonzero(contained(found, true)))
    recall, precision = share(both, len(true)), share(both, len(found))
    return Scores(len(true), recall, precision, f1(precision, recall))


def share(part: int, whole: int) -> float:
    """The share of some; of none it is 1."""
    return part / whole if whole else 1.0


def f1(precision: float, recall: float) -> float:
    """The harmonic mean of both."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _codes(found: pa.Table, true: pa.Table) -> tuple[Indices, Indices]:
    """Pairs of ids as whole numbers, each pair once, so that they can be compared without a loop."""
    keys = np.zeros(len(found) + len(true), np.int64)
    for name in ("id_a", "id_b"):
        ids = pa.chunked_array([*found[name].chunks, *true[name].chunks], pa.large_string())
        coded = ids.combine_chunks().dictionary_encode()
        keys = keys * len(coded.dictionary) + np.asarray(coded.indices)
    return distinct(keys[: len(found)]), distinct(keys[len(found) :])
