"""One pass of a blocking: a product of parts.

Each part places a record into codes 0..size−1 and lists the pairs of codes that are compared; a bin is one
code of every part, and no part gives one single bin, all pairs. A record falls at most once into a bin, and a
pair of records meets in at most one pair of bins of a pass.

A record that lacks a value of a blocking field falls into no bin of the pass: it could agree with nothing
there, so it needs neither a bin nor dummies.

Codes that cannot be listed (`size` 0) make no bins. What a pass then has, as every other that compares equal
codes, is *keys*: words that two records share where they meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Columns
from accord.ranges import mix, ranges
from accord.rules.evaluate import Indices, Mask, Tables
from accord.rules.rule import Rule
from accord.side import Side

Words = NDArray[np.uint64]
MOST_BINS = 5_000_000
"""Of a blocking whose bins are padded. Where there are more, only records of equal codes meet."""


class PassPart(Protocol):
    """One factor of a pass."""

    @property
    def size(self) -> int:
        """How many codes there are; 0 where they are not listed."""

    @property
    def equal(self) -> frozenset[str]:
        """Fields on which every compared pair is guaranteed to agree."""

    def per_record(self, side: Side) -> int:
        """The most codes that one record of this side falls into."""

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        """(record, code) for each code of each record, by ascending record."""

    def keys(self, side: Side, columns: Columns) -> tuple[Indices, Words]:
        """(record, code) as `place` has it, whether codes are listed or not. *Requires*: equal codes meet."""

    def pairs(self) -> tuple[Indices, Indices]:
        """The pairs (code of A, code of B) that are compared."""

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        """Whether a pair of records meets in some compared pair of codes."""

    def loses(self, rule: Rule) -> str | None:
        """Why a match of this rule may be missed, or None if it cannot."""


class Placed(NamedTuple):
    """(record, bin) of A and of B, by ascending record; how many bins there are; the pairs that meet."""

    a: tuple[Indices, Indices]
    b: tuple[Indices, Indices]
    bins: int
    pairs: tuple[Indices, Indices]

    @property
    def candidates(self) -> int:
        """How many pairs of records meet, counted as often as they do."""
        of_a, of_b = (np.bincount(bins, minlength=self.bins) for _, bins in (self.a, self.b))
        return int(np.dot(of_a[self.pairs[0]], of_b[self.pairs[1]]))


@dataclass(frozen=True)
class Pass:
    """The product of parts under the agreed fields."""

    name: str
    parts: tuple[PassPart, ...]

    caps: Mapping[Side, int] | None = None
    """How many records of each side meet in a key (protocols/routed.py), where it is said of this pass."""

    @cached_property
    def bins(self) -> int:
        """The number of bins; a bin is a number below it; 0 where there are keys that are not listed."""
        return prod(part.size for part in self.parts)

    @property
    def equal(self) -> frozenset[str]:
        """Fields on which every pair that meets here agrees."""
        return frozenset().union(*(part.equal for part in self.parts))

    def per_record(self, side: Side) -> int:
        """The most bins that one record of this side falls into."""
        return prod(part.per_record(side) for part in self.parts)

    def place(self, side: Side, columns: Columns, records: int) -> tuple[Indices, Indices]:
        """(record, bin) for each bin of each record, by ascending record."""
        record, bin_ = np.arange(records), np.zeros(records, np.int64)
        for part in self.parts:
            placed, code = part.place(side, columns)
            starts, stops = np.searchsorted(placed, record), np.searchsorted(placed, record, "right")
            chosen = ranges(starts, stops)
            record, bin_ = np.repeat(record, stops - starts), np.repeat(bin_, stops - starts)
            bin_ = bin_ * part.size + code[chosen]
        return record, bin_

    def keys(self, side: Side, columns: Columns, records: int) -> tuple[Indices, Words]:
        """(record, key) for each key of each record, by ascending record."""
        if len(self.parts) == 1:
            placed, code = self.parts[0].keys(side, columns)
            return placed, mix(np.zeros(len(code), np.uint64), code)
        record, key = np.arange(records), np.zeros(records, np.uint64)
        for part in self.parts:
            placed, code = part.keys(side, columns)
            starts, stops = np.searchsorted(placed, record), np.searchsorted(placed, record, "right")
            chosen = ranges(starts, stops)
            record, key = np.repeat(record, stops - starts), np.repeat(key, stops - starts)
            # Mixed once more than the next code is: else two equal parts could change places.
            key = mix(mix(key, np.zeros(len(key), np.uint64)), code[chosen])
        return record, key

    def place_both(self, columns: tuple[Columns, Columns], sizes: tuple[int, int]) -> Placed:
        """Where the records of A and of B are, and which bins meet; keys have a bin each where they are not
        listed, or too many."""
        both = list(zip(Side, columns, sizes, strict=True))
        if 0 < self.bins <= MOST_BINS:
            a, b = (self.place(side, own, count) for side, own, count in both)
            return Placed(a, b, self.bins, self.pairs())
        (rows_a, of_a), (rows_b, of_b) = (self.keys(side, own, count) for side, own, count in both)
        found, numbers = np.unique(np.concatenate([of_a, of_b]), return_inverse=True)
        bins, every = numbers.astype(np.int64), np.arange(len(found))
        placed = (rows_a, bins[: len(rows_a)]), (rows_b, bins[len(rows_a) :])
        return Placed(*placed, len(found), (every, every))

    def pairs(self) -> tuple[Indices, Indices]:
        """The pairs (bin of A, bin of B) that are compared, each once."""
        left, right = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for part in self.parts:
            a, b = part.pairs()
            left = np.add.outer(left * part.size, a).ravel()
            right = np.add.outer(right * part.size, b).ravel()
        return left, right

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        """Whether the pass brings each pair of records together."""
        met = np.ones(len(left), np.bool_)
        for part in self.parts:
            met &= part.compares(tables, left, right)
        return met

    def losses(self, rule: Rule) -> list[str]:
        """Why matches of the rule may be missed; empty when the pass is complete (recall 1)."""
        return [loss for part in self.parts if (loss := part.loses(rule)) is not None]
