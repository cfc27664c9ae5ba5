"""What a program reads of a side's rows: A's bits, B's factors, own parts; where a side has its rows itself.

`held.py` has the other case, in which A's rows are held in shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from accord.secure.circuit import Input
from accord.secure.forms import Reader, choice_bits, factors, own_part
from accord.secure.ot.program import NumberShare, Own, OwnBit, Program, Short
from accord.secure.ot.reading import read_rows
from accord.side import Side

Ints = NDArray[np.int64]
Seen = dict[tuple[Input, Input | None], Ints]
"""Values of inputs for some rows, those of rows without a bit being zero."""


class Rows(Protocol):
    """One side's rows in an evaluation."""

    def choice_bits(self, program: Program, number: int, rows: Ints, seen: Seen | None) -> NDArray[np.uint8]:
        """A's bits of a share for some rows, (terms, rows); what was read of these rows before is taken from
        `seen`."""

    def factors(self, program: Program, number: int, rows: Ints, seen: Seen | None) -> NDArray[Any]:
        """B's factors of a share for some rows, (terms, rows), in the share's lane."""

    def own_part(self, program: Program, number: int, rows: Ints, side: Side, seen: Seen | None) -> Ints:
        """What a side adds to its share by itself for each of some rows; B's after its factors."""

    def own_bit(self, wire: Own, rows: Ints, side: Side) -> NDArray[np.bool_]:
        """A bit that a side knows of its rows."""


class OwnRows:
    """Rows of one's own, and B's factors of those rows that it was asked for last.

    A block is often cut into many batches, which all meet the same rows of B.
    """

    def __init__(self, inputs: Mapping[str, Ints], real: NDArray[np.bool_]) -> None:
        self.inputs, self.real = inputs, real
        self._rows = np.zeros(0, dtype=np.int64)
        self._factors: dict[int, NDArray[Any]] = {}

    def there(self, share: NumberShare, rows: Ints) -> NDArray[np.bool_]:
        """Which of some rows are no dummies of a share."""
        real = self.real[rows]
        return real if share.where is None else real & (self.inputs[share.where.name][rows, 0] != 0)

    def reader(self, share: NumberShare, rows: Ints, seen: Seen | None = None) -> Reader:
        """The values of a share's inputs for some rows; those of a dummy are zero."""
        there = self.there(share, rows)
        if seen is None:
            return lambda of: read_rows(self.inputs[of.name], rows, there)

        def read(of: Input) -> Ints:
            if (of, share.where) not in seen:
                seen[of, share.where] = read_rows(self.inputs[of.name], rows, there)
            return seen[of, share.where]

        return read

    def choice_bits(
        self, program: Program, number: int, rows: Ints, seen: Seen | None = None
    ) -> NDArray[np.uint8]:
        share = program.shares[number]
        return choice_bits(share.form, self.reader(share, rows, seen))

    def factors(self, program: Program, number: int, rows: Ints, seen: Seen | None = None) -> NDArray[Any]:
        if not np.array_equal(rows, self._rows):
            self._rows, self._factors = rows, {}
        if number not in self._factors:
            self._factors[number] = self.make_factors(program.shares[number], rows, seen)
        return self._factors[number]

    def make_factors(self, share: NumberShare, rows: Ints, seen: Seen | None) -> NDArray[Any]:
        """The same, not kept."""
        made = factors(share.form, self.reader(share, rows, seen))
        return made.astype(f"u{share.lane // 8}", order="C")

    def own_part(
        self, program: Program, number: int, rows: Ints, side: Side, seen: Seen | None = None
    ) -> Ints:
        """With the penalty of dummies."""
        share = program.shares[number]
        own = own_part(share.form, side, self.reader(share, rows, seen), len(rows))
        return own + share.penalty * ~self.there(share, rows)

    def own_bit(self, wire: Own, rows: Ints, side: Side) -> NDArray[np.bool_]:
        match wire:
            case OwnBit(of):
                return self.real[rows] if of is None else self._read(of, rows)[:, 0] != 0
            case Short(of, whose, place):
                return self._read(of, rows)[:, place] == 0 if side is whose else np.ones(len(rows), np.bool_)

    def _read(self, of: Input, rows: Ints) -> Ints:
        """The values of an input for some rows; those of a dummy are zero."""
        return self.inputs[of.name][rows] * self.real[rows, None]
