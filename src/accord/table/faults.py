"""Faults of the rows of a table, collected while it is read: none hides another, and no value is told."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from accord.errors import Fault
from accord.table.opened import OpenTable

_SHOWN_ROWS = 5


class Faults:
    """Faults by column and problem: each with its first rows and its number, so that none hides another."""

    def __init__(self, table: OpenTable) -> None:
        self.first = 0
        """How many records were read before the chunk at hand."""
        self._table = table
        self._rows: dict[tuple[str, str], list[int]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def note(self, bad: NDArray[np.bool_], column: str, problem: str) -> None:
        rows = np.flatnonzero(bad)
        if len(rows):
            known = self._rows.setdefault((column, problem), [])
            known += [self.first + int(i) for i in rows[: _SHOWN_ROWS - len(known)]]
            self._counts[column, problem] = self._counts.get((column, problem), 0) + len(rows)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def in_order(self) -> list[Fault]:
        """The faults, by their first rows."""
        groups = sorted(self._rows.items(), key=lambda group: group[1][0])
        return [self._fault(*group, rows) for group, rows in groups]

    def _fault(self, column: str, problem: str, rows: list[int]) -> Fault:
        count = self._counts[column, problem]
        numbers = ", ".join(f"{number:,}" for number in sorted(map(self._table.row, rows)))
        more = f" and {count - len(rows):,} more" if count > len(rows) else ""
        word = "row" if count == 1 else "rows"
        return Fault(f"{word} {numbers}{more}, column '{column}'", f"{problem}.", count=count)
