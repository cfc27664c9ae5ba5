"""Blocking by key: records meet when they have the same value, or the same bucket of it.

A key may be made of several fields, all of which a record must have: its values are hashed together into one
bucket. That is one bin a record as before, where a part for each field would multiply their buckets.

Where bins are not listed, because nobody fills them up (`protocols/routed.py`), no buckets are needed: values
of whatever kind are keys themselves, as words of 64 bits. Two that are unlike make one key with probability
2⁻⁶⁴, and then meet in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Discriminator, Field, StrictInt, Tag, model_validator

from accord.fields.columns import Bits, Column, Columns
from accord.fields.schema import Bloom, DateField, Hash, Name, Spec, TextField
from accord.ranges import mix
from accord.rules.evaluate import Indices, Mask, Tables
from accord.rules.implied import requires_same
from accord.rules.rule import Rule
from accord.rules.thresholds import Fields
from accord.side import Side

_Names = Annotated[
    Annotated[Name, Tag("one")] | Annotated[tuple[Name, ...], Tag("several")],
    Discriminator(lambda value: "several" if isinstance(value, list | tuple) else "one"),
]


class KeySpec(Spec):
    """One bin for each value of a field, or `buckets` bins into which the values are hashed; several fields
    are hashed together."""

    kind: Literal["key"]
    field: _Names
    """The field, or several."""
    buckets: StrictInt | None = Field(default=None, ge=1, le=5_000_000)
    """How many bins values are hashed into; without it each value has its own, which of texts and of several
    fields only `routed` can do."""

    @model_validator(mode="after")
    def _fits(self) -> KeySpec:
        if isinstance(self.field, str):
            return self
        if len(self.field) < 2:
            raise ValueError('a list of fields has at least two; write a single one as field = "year"')
        if len(set(self.field)) < len(self.field):
            raise ValueError("a field is named twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return (self.field,) if isinstance(self.field, str) else self.field

    def faults(self, fields: Fields, listed: bool = True) -> Iterator[str]:
        """What is wrong with this part under the agreed fields, which hold its fields; `listed` where every
        bin is filled up."""
        texts = {name: spec for name in self.names if isinstance(spec := fields[name], TextField)}
        for name, spec in texts.items():
            if not isinstance(spec.encoder, Hash):
                what = "a Bloom filter" if isinstance(spec.encoder, Bloom) else "compared letter by letter"
                yield f"'{name}' is {what}, which is not a key; name a field with encoder = \"hash\"."
            elif listed and self.buckets is None and isinstance(self.field, str):
                yield f"'{name}' is free text, whose values cannot be listed; say how many buckets."
        if not listed and self.buckets is not None:
            yield "records meet by the values themselves; remove buckets."
        if listed and self.buckets is None and not isinstance(self.field, str):
            yield "several fields are hashed together; say into how many buckets, or write a part for each."


class KeyPart:
    """`KeySpec` at work."""

    def __init__(self, spec: KeySpec, fields: Fields) -> None:
        self.spec = spec
        highs = [0 if isinstance(field := fields[name], TextField) else field.high for name in spec.names]
        texts = any(isinstance(fields[name], TextField) for name in spec.names)
        self.size: int = spec.buckets or (0 if texts or len(highs) > 1 else highs[0] + 1)
        self.values: int | None = None if texts else prod(high + 1 for high in highs)
        """How many different values there can be; None of texts."""
        self.equal = frozenset(spec.names) if spec.buckets is None else frozenset()
        self.dated = any(isinstance(fields[name], DateField) for name in spec.names)
        """Whether a table may have one value only: that of a day."""

    def per_record(self, side: Side) -> int:
        return 1

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        record = np.flatnonzero(self._present(columns))
        return record, self._codes(columns)[record]

    def keys(self, side: Side, columns: Columns) -> tuple[Indices, NDArray[np.uint64]]:
        record = np.flatnonzero(self._present(columns))
        return record, self._hashed(columns)[record]

    def pairs(self) -> tuple[Indices, Indices]:
        return np.arange(self.size), np.arange(self.size)

    def compares(self, tables: Tables, left: Indices, right: Indices) -> Mask:
        codes = self._codes if self.size else self._hashed
        met = codes(tables.a)[left] == codes(tables.b)[right]
        return met & self._present(tables.a)[left] & self._present(tables.b)[right]

    def loses(self, rule: Rule) -> str | None:
        differing = [name for name in self.spec.names if not requires_same(rule, name)]
        if not differing:
            return None
        named = " or ".join(f"'{name}'" for name in differing)
        return f"the rule accepts pairs that do not agree on {named}, which the key misses"

    def _present(self, columns: Columns) -> Mask:
        return np.logical_and.reduce([columns[name].present for name in self.spec.names])

    def _codes(self, columns: Columns) -> Indices:
        if len(self.spec.names) == 1:
            column = columns[self.spec.names[0]]
            if isinstance(column, Bits):
                return (column.words[:, 0] % np.uint64(self.size)).astype(np.int64)
            return column.values if self.spec.buckets is None else column.values % self.size
        return (self._hashed(columns) % np.uint64(self.size)).astype(np.int64)

    def _hashed(self, columns: Columns) -> NDArray[np.uint64]:
        """The values of a row, hashed together."""
        words = [_word(columns[name]) for name in self.spec.names]
        hashed = np.zeros(len(words[0]), np.uint64)
        for word in words:
            hashed = mix(hashed, word)
        return hashed


def _word(column: Column) -> NDArray[np.uint64]:
    return column.words[:, 0] if isinstance(column, Bits) else column.values.astype(np.uint64)
