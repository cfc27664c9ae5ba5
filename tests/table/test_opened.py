"""Faults of rows: the first of each kind are named, all are counted, none hides another."""

from __future__ import annotations

import numpy as np

from accord.errors import Fault
from accord.table.opened import Faults, OpenTable


def test_rows_are_numbered_over_all_chunks_and_broken_ones_count() -> None:
    faults = Faults(OpenTable("it", iter(()), {2: Fault("row 2", "has 3 cells")}))
    faults.note(np.array([False, False, True]), "b", "is odd")
    faults.first = 3
    faults.note(np.ones(6, np.bool_), "a", "is long")
    faults.note(np.zeros(6, np.bool_), "a", "is short")
    faults.note(np.array([True, False]), "b", "is odd")
    assert [str(fault) for fault in faults.in_order()] == [
        "rows 4, 5, column 'b': is odd.",
        "rows 5, 6, 7, 8, 9 and 1 more, column 'a': is long.",
    ]
    assert [fault.count for fault in faults.in_order()] == [2, 6]
