"""Blocking by some bits of a Bloom filter: locality-sensitive hashing, as tables of a public draw.

A table is `positions` bits of the filter; a record's code is what stands there, one of 2^positions. Filters
that differ in d of their b bits have equal codes exactly when no position is among the d, so over the draw of
the positions a pair meets in a table with probability C(b − d, m) / C(b, m), m = `positions`, and in one of λ
tables with probability

    1 − (1 − C(b − d, m) / C(b, m))^λ.

The positions are distinct within a table and follow from the agreement's salt by a hash, so both sides have
the same and nobody chose them for the data. Once drawn they are fixed: the probability is over the salt, not
over runs. Each table is a pass of its own, with a bin more a record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, StrictInt

from accord.fields.columns import Bits, Columns
from accord.fields.schema import Bloom, Name, Spec, TextField
from accord.rules.evaluate import Indices, Mask, Tables
from accord.rules.rule import And, Hamming, Or, Rule, fields_of
from accord.rules.thresholds import Fields
from accord.side import Side

_POSITIONS = b"accord lsh positions 1\n"


class LshSpec(Spec):
    """Codes of `positions` bits of a Bloom filter, in several `tables`, each a separate pass."""

    kind: Literal["lsh"]
    field: Name
    """A text with a Bloom filter."""
    positions: StrictInt = Field(ge=1, le=22)
    """How many bits of the filter make a code."""
    tables: StrictInt = Field(ge=1, le=1000)
    """How many codes a record has; two records meet if one agrees."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.field,)

    def faults(self, fields: Fields, listed: bool = True) -> Iterator[str]:
        """What is wrong with this part under the agreed fields, which hold its field."""
        spec = fields[self.field]
        if not isinstance(spec, TextField) or not isinstance(spec.encoder, Bloom):
            yield f"'{self.field}' is not a Bloom filter; lsh takes the bits of one."
        elif self.positions > spec.encoder.bits:
            yield f"'{self.field}' has {spec.encoder.bits} bits, fewer than the positions of a table."


class LshPart:
    """One table of an `LshSpec` at work."""

    equal: frozenset[str] = frozenset()

    def __init__(self, spec: LshSpec, fields: Fields, salt: str, table: int) -> None:
        self.spec = spec
        self.size = 1 << spec.positions
        field = fields[spec.field]
        self._bits = field.bits if isinstance(field, TextField) else 0
        self._salt, self._table = salt, table

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """Drawn when they are needed: who counts bins needs none."""
        return draw_positions(self._salt, self.spec.field, self._table, self._bits, self.spec.positions)

    def per_record(self, side: Side) -> int:
        return 1

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        record = np.flatnonzero(columns[self.spec.field].present)
        return record, self._codes(columns)[record]

    def keys(self, side: Side, columns: Columns) -> tuple[Indices, NDArray[np.uint64]]:
        record, code = self.place(side, columns)
        return record, code.astype(np.uint64)

    def pairs(self) -> tuple[Indices, Indices]:
        return np.arange(self.size), np.arange(self.size)

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        met = self._codes(tables.a)[left] == self._codes(tables.b)[right]
        return met & tables.a[self.spec.field].present[left] & tables.b[self.spec.field].present[right]

    def loses(self, rule: Rule) -> str | None:
        """Of all tables together, at the largest distance that the rule accepts."""
        distance = farthest(rule, self.spec.field)
        if distance == 0:
            return None
        if distance is None:
            return f"the rule sets no bound on the bits in which '{self.spec.field}' may differ"
        share = met_share(self._bits, distance, self.spec.positions, self.spec.tables)
        return (
            f"'{self.spec.field}' in filters that differ in {distance} of {self._bits} bits meets in one of "
            f"{self.spec.tables} tables with probability {_percent(share)}, over the draw of the salt"
        )

    def _codes(self, columns: Columns) -> Indices:
        column = columns[self.spec.field]
        if not isinstance(column, Bits):
            raise TypeError(f"{self.spec.field} is no field of bits")
        code = np.zeros(len(column.words), np.int64)
        for position in self.positions:
            word, place = divmod(position, 64)
            code = 2 * code + ((column.words[:, word] >> np.uint64(place)) & np.uint64(1)).astype(np.int64)
        return code


def draw_positions(salt: str, field: str, table: int, bits: int, count: int) -> tuple[int, ...]:
    """The positions of a table. *Distribution*: uniform among the sets of so many, for a random hash."""
    seed = _POSITIONS + f"{salt}\n{field}\n{table}\n".encode()
    ranks = np.frombuffer(hashlib.shake_256(seed).digest(8 * bits), "<u8")
    return tuple(sorted(np.argsort(ranks, kind="stable")[:count].tolist()))


def met_share(bits: int, distance: int, positions: int, tables: int) -> Fraction:
    """The probability that filters at this distance meet in a table, exactly."""
    apart = 1 - Fraction(comb(bits - distance, positions), comb(bits, positions))
    return 1 - apart**tables


def farthest(rule: Rule, field: str) -> int | None:
    """The most bits of a field in which a match can differ; None if the rule does not bound them."""
    if isinstance(rule, And):
        known = [bound for part in rule.parts if (bound := farthest(part, field)) is not None]
        return min(known, default=None)
    if isinstance(rule, Or):
        found = [farthest(part, field) for part in rule.parts]
        known = [bound for bound in found if bound is not None]
        return max(known) if known and len(known) == len(found) else None
    return rule.bound if isinstance(rule, Hamming) and fields_of(rule) == (field,) else None


def _percent(share: Fraction) -> str:
    """Rounded down: nothing that can be missed is called certain."""
    return f"{float(Fraction(int(share * 1000), 1000)):.1%}"
