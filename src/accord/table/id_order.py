"""The order of ids, by their bytes: the one order of records that both sides come to.

It is found once for a table. Whatever is put in the order of ids after that sorts numbers and no texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Rows = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class IdOrder:
    """`rows` has the row at each place, `places` the place of each row."""

    rows: Rows
    places: Rows

    @classmethod
    def of(cls, ids: pa.Array) -> IdOrder:
        rows = np.asarray(pc.sort_indices(ids)).astype(np.int32)
        places = np.empty(len(rows), np.int32)
        places[rows] = np.arange(len(rows), dtype=np.int32)
        return cls(rows, places)

    def __len__(self) -> int:
        return len(self.rows)
