"""Encoded columns: what a field of every record looks like in memory.

Two shapes serve all fields. `present` marks the cells that hold a value; where it is false the value is
zero, and no predicate holds on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from accord.table.pairs import IdOrder


@dataclass(frozen=True)
class Integers:
    """Codes 0..high of a number, category, class or date."""

    values: NDArray[np.int64]
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Bits:
    """Bit strings of a text: row i is words[i], bit j is bit j % 64 of word j // 64."""

    words: NDArray[np.uint64]
    length: int
    present: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)

    def unpack(self) -> NDArray[np.int64]:
        """The bits as an array of shape (rows, length)."""
        octets = self.words.astype("<u8").view(np.uint8)
        return np.unpackbits(octets, axis=1, bitorder="little")[:, : self.length].astype(np.int64)


Column = Integers | Bits
Columns = Mapping[str, Column]


def rows_of(column: Column, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Column:
    """Some rows of a column, by number or by mark."""
    if isinstance(column, Bits):
        return Bits(column.words[rows], column.length, column.present[rows])
    return Integers(column.values[rows], column.present[rows])


def slice_of(column: Column, start: int, stop: int) -> Column:
    """Some neighbouring rows of a column, as they lie in memory."""
    if isinstance(column, Bits):
        return Bits(column.words[start:stop], column.length, column.present[start:stop])
    return Integers(column.values[start:stop], column.present[start:stop])


Unlisted = dict[str, tuple[int, int]]
"""By field with a list of agreed values: cells that are none of them, and all that are filled."""
_MANY = 0.05


def tell_unlisted(unlisted: Unlisted) -> list[str]:
    """A word to the owner about each field of which many cells are none of the agreed values."""
    return [
        f"{others:,} of {filled:,} cells of '{name}' are none of the agreed values. If they mean one of "
        "them, say so in your layout file, such as "
        f'{name} = {{ column = "…", values = {{ w = "f" }} }}: '
        "`accord init --from TABLE --for AGREEMENT --force` proposes it."
        for name, (others, filled) in unlisted.items()
        if others > _MANY * filled
    ]


@dataclass(frozen=True)
class Records:
    """One party's table, ready to be linked."""

    ids: pa.Array
    columns: Columns
    disclosed: pa.Table
    left_out: int = 0
    """Rows that the agreement's policies (`missing` or `other` = "skip") left out: they match nothing."""
    numbered: bool = False
    """Whether ids are whole numbers of up to 64 bits in the table itself; here they are texts."""
    unlisted: Unlisted = field(default_factory=dict, repr=False)
    """For the owner's eyes."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def known(self) -> dict[str, bytes]:
        """Digests of this table that took long to make, by what they are for."""
        return {}

    @cached_property
    def by_id(self) -> IdOrder:
        return IdOrder.of(self.ids)

    @property
    def size(self) -> int:
        """What the partner is told: rows that are left out count, or the size would tell of one [MATHS §1.6].

        A protocol lets them stand wherever a record without a match stands.
        """
        return len(self.ids) + self.left_out
