"""How many records of a table share a key: what caps leave out, and which records they leave uncovered.

A record is *covered* if, in every pass, each of its keys is shared by at most as many records of its own
table as the side's cap, itself included [MATHS §10.4]. A record over the cap finds a place with probability
cap / sharers. Of one's own table both are counted. Of a table that is not there yet they are estimated on
`Sample`: synthetic tables of the stated size. A Poisson variable with the mean number of sharers would not
do: keys are crowded unevenly, and it misses nearly all records in full keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import log2

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Columns, rows_of
from accord.rules.blocking.passes import Pass
from accord.side import Side

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def count_sharers(one: Pass, side: Side, columns: Columns, records: int) -> Ints:
    """Of each record, how many of the table share the most common of its keys, itself included; 0 without a
    key."""
    record, key = one.keys(side, columns, records)
    _, which, sizes = np.unique(key, return_inverse=True, return_counts=True)
    sharers = np.zeros(records, np.int64)
    if one.per_record(side) == 1:
        sharers[record] = sizes[which]
    else:
        np.maximum.at(sharers, record, sizes[which])
    return sharers


@dataclass(frozen=True, eq=False)
class Sharers:
    """Of the records of a sample, how many share the most common of their keys in one pass."""

    counts: Ints
    """0 for a record without a key."""
    fewer: Ints | None
    """The same of a table half as long, where the sample stands for a longer one."""
    times: float
    """How many times as long that table is."""

    def over(self, cap: int) -> Flags:
        """The records that the pass leaves uncovered."""
        return self.counts > cap

    def growth(self, cap: int) -> float:
        """How many times as large the share of uncovered records is in the longer table."""
        return self._growth(cap, _share_over)

    def placed(self, cap: int) -> float:
        """The expected share of places among the records with a key."""
        left_out = _share_left_out(self._sizes[0], cap) * self._growth(cap, _share_left_out)
        return 1.0 - min(1.0, left_out)

    @cached_property
    def _sizes(self) -> list[Ints]:
        """How many records have each count, here and in the half."""
        return [np.bincount(some) for some in (self.counts, self.fewer) if some is not None]

    def _growth(self, cap: int, share: Callable[[Ints, int], float]) -> float:
        """Taken to be the power of the length by which the share grew over the second half of the sample,
        and no more than the cap allows."""
        here = share(self._sizes[0], cap)
        if self.fewer is None or not here:
            return 1.0
        before = share(self._sizes[1], cap)
        power = min(float(cap), max(0.0, log2(here / before))) if before else float(cap)
        return min(1 / here, float(self.times**power))


@dataclass(frozen=True, eq=False)
class Sample:
    """Tables of equal length that stand for a table of `size` records, which may be longer."""

    side: Side
    tables: tuple[Columns, ...]
    rows: int
    """Of each table."""
    size: int
    half: Sample | None = None
    """Half as long, where the tables are shorter than the one they stand for."""

    @classmethod
    def of(cls, side: Side, table: Columns, rows: int, size: int) -> Sample:
        """A table, or some of its rows if the table it stands for is shorter."""
        whole = cls(side, (table,), rows, rows)
        if size <= rows:
            return whole.cut(size)
        return cls(side, (table,), rows, size, whole.cut(rows // 2))

    def cut(self, rows: int) -> Sample:
        """So many rows of each table, as a sample of a table of this length."""
        if rows == self.rows:
            return Sample(self.side, self.tables, rows, rows)
        return Sample(self.side, tuple(_take(table, self.rows, rows) for table in self.tables), rows, rows)

    def sharers(self, one: Pass) -> Sharers:
        """How many records share a key in this pass, in all tables one after the other."""
        counts = [count_sharers(one, self.side, table, self.rows) for table in self.tables]
        fewer = None if self.half is None else self.half.sharers(one).counts
        return Sharers(np.concatenate(counts), fewer, self.size / max(1, self.rows))

    def covered(self, passes: Iterable[tuple[Pass, int]]) -> float:
        """The expected share of records that these passes cover, each with its cap."""
        seen, share = np.zeros(self.rows * len(self.tables), np.bool_), 0.0
        for one, cap in passes:
            sharers = self.sharers(one)
            over = sharers.over(cap)
            share += int((over & ~seen).sum()) / max(1, len(seen)) * sharers.growth(cap)
            seen |= over
        return max(0.0, 1.0 - share)


def _share_over(sizes: Ints, cap: int) -> float:
    return float(sizes[cap + 1 :].sum() / max(1, sizes.sum()))


def _share_left_out(sizes: Ints, cap: int) -> float:
    over = np.arange(cap + 1, len(sizes))
    return float((sizes[cap + 1 :] * (1 - cap / over)).sum() / max(1, sizes[1:].sum()))


def _take(table: Columns, rows: int, some: int) -> Columns:
    """Some rows of a table, at random and always the same."""
    chosen = np.sort(np.random.default_rng(0).permutation(rows)[:some])
    return {name: rows_of(column, chosen) for name, column in table.items()}
