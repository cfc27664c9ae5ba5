"""What a generator gives: two tables and the pairs that truly belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.ranges import ranges


@dataclass(frozen=True)
class Generated:
    """The tables of A and B and the true pairs, with the columns `id_a` and `id_b`."""

    a: pa.Table
    b: pa.Table
    truth: pa.Table


def ids(prefix: str, count: int) -> NDArray[np.str_]:
    """prefix1 … prefixN."""
    return np.char.add(prefix, np.arange(1, count + 1).astype(str))


def pair_up(left: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of positions whose values are equal; values below 0 pair with nothing."""
    order = np.argsort(right, kind="stable")
    starts = np.searchsorted(right[order], left, "left")
    stops = np.where(left < 0, starts, np.searchsorted(right[order], left, "right"))
    return np.repeat(np.arange(len(left)), stops - starts), order[ranges(starts, stops)]
