"""Blocking by key: records meet when they have the same value, or the same bucket of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from pydantic import Field, StrictInt

from accord.matching.evaluate import Indices, Mask, Tables
from accord.matching.implied import requires_same
from accord.matching.rule import Rule
from accord.matching.thresholds import Fields
from accord.records.columns import Bits, Column, Columns
from accord.records.schema import Bloom, Name, Spec, TextField
from accord.side import Side


class KeySpec(Spec):
    """One bin for each value of a field, or `buckets` bins into which the values are hashed."""

    kind: Literal["key"]
    field: Name
    buckets: StrictInt | None = Field(default=None, ge=1, le=5_000_000)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.field,)

    def faults(self, fields: Fields) -> Iterator[str]:
        """What is wrong with this part under the agreed fields, which hold its field."""
        spec = fields[self.field]
        if isinstance(spec, TextField) and isinstance(spec.encoder, Bloom):
            yield f"'{self.field}' is a Bloom filter, which is no key; name a field with encoder = \"hash\"."
        elif isinstance(spec, TextField) and self.buckets is None:
            yield f"'{self.field}' is free text, whose values cannot be listed; say how many buckets."


class KeyPart:
    """`KeySpec` at work."""

    def __init__(self, spec: KeySpec, fields: Fields) -> None:
        self.spec = spec
        field = fields[spec.field]
        if spec.buckets is None and isinstance(field, TextField):
            raise ValueError("free text needs buckets")
        self.size: int = spec.buckets or (0 if isinstance(field, TextField) else field.high + 1)
        self.equal = frozenset([spec.field]) if spec.buckets is None else frozenset()

    def per_record(self, side: Side) -> int:
        return 1

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        column = columns[self.spec.field]
        record = np.flatnonzero(column.present)
        return record, self._codes(column)[record]

    def pairs(self) -> tuple[Indices, Indices]:
        return np.arange(self.size), np.arange(self.size)

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        a, b = tables.a[self.spec.field], tables.b[self.spec.field]
        met = self._codes(a)[left] == self._codes(b)[right]
        return met & a.present[left] & b.present[right]

    def loses(self, rule: Rule) -> str | None:
        if requires_same(rule, self.spec.field):
            return None
        return f"the rule accepts pairs that do not agree on '{self.spec.field}', which the key misses"

    def _codes(self, column: Column) -> Indices:
        if isinstance(column, Bits):
            return (column.words[:, 0] % np.uint64(self.size)).astype(np.int64)
        return column.values if self.spec.buckets is None else column.values % self.size
