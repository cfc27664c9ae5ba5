"""Matches against the pairs that are known to be true, where somebody knows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from accord.matching.evaluate import Indices
from accord.ranges import contained, distinct
from accord.records.layout import Layout
from accord.records.sources import open_table


def read_truth(path: Path) -> pa.Table:
    """A file of true pairs, columns `id_a` and `id_b`."""
    table = open_table(path, ["id_a", "id_b"], Layout())
    empty = pa.table({name: pa.array([], pa.large_string()) for name in ("id_a", "id_b")})
    batches = [pa.Table.from_batches([batch]).cast(empty.schema) for batch in table.batches]
    return pa.concat_tables([empty, *batches])


@dataclass(frozen=True)
class Scores:
    """How the matches found compare with the true pairs."""

    true_pairs: int
    truth_recall: float
    truth_precision: float


def score(pairs: pa.Table, truth: pa.Table) -> Scores:
    """Compare matches with the true pairs; of none, every share is 1."""
    found, true = _codes(pairs, truth)
    both = len(np.flatnonzero(contained(found, true)))
    return Scores(
        true_pairs=len(true),
        truth_recall=both / len(true) if len(true) else 1.0,
        truth_precision=both / len(found) if len(found) else 1.0,
    )


def _codes(found: pa.Table, true: pa.Table) -> tuple[Indices, Indices]:
    """Pairs of ids as whole numbers, each pair once, so that they can be compared without a loop."""
    keys = np.zeros(len(found) + len(true), np.int64)
    for name in ("id_a", "id_b"):
        ids = pa.chunked_array([*found[name].chunks, *true[name].chunks], pa.large_string())
        coded = ids.combine_chunks().dictionary_encode()
        keys = keys * len(coded.dictionary) + np.asarray(coded.indices)
    return distinct(keys[: len(found)]), distinct(keys[len(found) :])
