"""Blocking: which pairs of records are compared at all, from a public, finite set of bins.

A blocking is a product of parts (keys and a grid; none gives one single bin, all pairs). Each part places a
record into codes 0..size−1 and lists the pairs of codes that are compared; a bin is one code of every part.
Nothing here depends on anyone's data but the placement itself, so the bins can be listed in the agreement
and padded by both sides, empty ones included.

A record that lacks a value of a blocking field falls into no bin: it could agree with nothing there, so it
needs neither a bin nor dummies. [HMFS17, §2.2.4; one-sided replication is ours]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from accord.matching.blocking_grid import GridPart, GridSpec
from accord.matching.blocking_key import KeyPart, KeySpec
from accord.matching.evaluate import Indices, Mask, Tables
from accord.matching.rule import Rule
from accord.matching.thresholds import Fields
from accord.ranges import ranges
from accord.records.columns import Columns
from accord.side import Side

PartSpec = Annotated[KeySpec | GridSpec, Field(discriminator="kind")]
MOST_BINS = 5_000_000


class Part(Protocol):
    """One factor of a blocking."""

    @property
    def size(self) -> int:
        """How many codes there are."""

    @property
    def equal(self) -> frozenset[str]:
        """Fields on which every compared pair is guaranteed to agree."""

    def per_record(self, side: Side) -> int:
        """The most codes that one record of this side falls into."""

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        """(record, code) for each code of each record, by ascending record."""

    def pairs(self) -> tuple[Indices, Indices]:
        """The pairs (code of A, code of B) that are compared."""

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        """Whether a pair of records meets in some compared pair of codes."""

    def loses(self, rule: Rule) -> str | None:
        """Why a match of this rule may be missed, or None if it cannot."""


@dataclass(frozen=True)
class Blocking:
    """The product of parts under the agreed fields."""

    parts: tuple[Part, ...]

    @cached_property
    def bins(self) -> int:
        """The number of bins; a bin is a number below it."""
        return prod(part.size for part in self.parts)

    @property
    def equal(self) -> frozenset[str]:
        """Fields that need no comparison: every compared pair agrees on them."""
        return frozenset().union(*(part.equal for part in self.parts))

    def per_record(self, side: Side) -> int:
        """The most bins that one record of this side falls into: k′ of the paper, whose ΔB is 2k′."""
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

    def counts(self, side: Side, columns: Columns, records: int) -> NDArray[np.int64]:
        """The true number of records in every bin, empty ones included."""
        return np.bincount(self.place(side, columns, records)[1], minlength=self.bins)

    def pairs(self) -> tuple[Indices, Indices]:
        """The pairs (bin of A, bin of B) that are compared, each once."""
        left, right = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for part in self.parts:
            a, b = part.pairs()
            left = np.add.outer(left * part.size, a).ravel()
            right = np.add.outer(right * part.size, b).ravel()
        return left, right

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        """Whether the blocking brings each pair of records together."""
        met = np.ones(len(left), np.bool_)
        for part in self.parts:
            met &= part.compares(tables, left, right)
        return met

    def losses(self, rule: Rule) -> list[str]:
        """Why matches of the rule may be missed; empty when the blocking is complete (recall 1)."""
        return [loss for part in self.parts if (loss := part.loses(rule)) is not None]


def build_blocking(specs: tuple[KeySpec | GridSpec, ...], fields: Fields) -> Blocking:
    """The blocking that the agreement describes; its faults are judged by the `faults` of each spec."""
    return Blocking(
        tuple(KeyPart(s, fields) if isinstance(s, KeySpec) else GridPart(s, fields) for s in specs)
    )
