"""What the measurements compare: rules, made-up rows and blocks of them, the same for both parties.

Both derive their rows from a public seed, so that whoever starts them can check what they answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.secure.blocks import Blocks, Table
from accord.secure.circuit import (
    And,
    AtMost,
    Bilinear,
    Edit,
    Equal,
    Hamming,
    Input,
    Node,
    Product,
    SquaredEuclidean,
    inputs,
)
from accord.side import Side

_SLAB = 1 << 22
_MOST_ROWS = 1 << 14

_NAME = Input("name", 50, 1)
_PLACE = Input("place", 2, (1 << 17) - 1)
_BORN = Input("born", 1, (1 << 16) - 1)
_LETTERS = Input("letters", 12, 37)


def _dice(bits: int) -> Node:
    """Dice ≥ 4/5 as the matching layer writes it: 4·(|a| + |b|) − 10·|a ∧ b| ≤ 0."""
    grams, ones = Input("grams bits", bits, 1), Input("grams ones", 1, bits)
    return AtMost(Bilinear((Product(grams, grams, -10),), ones, 4, 4, -2 * bits, 8 * bits), 0)


_HAMMING = AtMost(Hamming(_NAME), 5)
_EUCLIDEAN = AtMost(SquaredEuclidean(_PLACE), 1000**2)
_EQUAL = Equal(_BORN)

RULES: dict[str, Node] = {
    "hamming50": _HAMMING,
    "euclidean2d": _EUCLIDEAN,
    "equal16": _EQUAL,
    "dice128": _dice(128),
    "dice1024": _dice(1024),
    "edit": Edit(_LETTERS, 2),
    "conjunction": And((_HAMMING, _EUCLIDEAN, _EQUAL)),
}


@dataclass(frozen=True)
class Work:
    """What is compared: `blocks` blocks, each of `a_rows` rows of A against `width` rows of B."""

    blocks: int
    a_rows: int
    width: int

    @classmethod
    def of(cls, rows: int, width: int | None = None) -> Work:
        """About rows × rows pairs: one block of them, or square blocks with `width` rows of B.

        A width beyond `rows` leaves one block, with as many rows of A as the pairs allow.
        """
        width = width or rows
        a_rows = min(width, max(1, round(rows**2 / width)))
        return cls(max(1, round(rows**2 / (a_rows * width))), a_rows, width)

    @property
    def pairs(self) -> int:
        return self.blocks * self.a_rows * self.width

    @property
    def rows(self) -> int:
        """Rows made up for each side: one for each row of a block, as long as a party can well hold them.

        After that they come again, so late that no row is in two blocks that are compared at the same time.
        """
        return max(self.width, min(self.blocks * self.width, _MOST_ROWS))

    def cut(self) -> Iterator[Blocks]:
        """All pairs in slabs, so that the answers held at once are bounded: some blocks, or a part of one."""
        together = max(1, min(self.blocks, _SLAB // (self.a_rows * self.width)))
        a_step = min(self.a_rows, max(1, _SLAB // self.width))
        for block in range(0, self.blocks, together):
            starts = np.arange(block, min(self.blocks, block + together)) * self.width
            for first in range(0, self.a_rows, a_step):
                yield self._slab(starts, range(first, min(self.a_rows, first + a_step)))

    def _slab(self, starts: NDArray[np.int64], a_rows: range) -> Blocks:
        """Blocks whose rows begin at `starts`; of A only some rows of each."""
        sides = []
        for rows in (a_rows, range(self.width)):
            numbers = np.add.outer(starts, np.arange(rows.start, rows.stop)).ravel() % self.rows
            sides += [numbers, np.full(len(starts), len(rows))]
        return Blocks(*sides)


def make_up_table(rule: Node, side: Side, rows: int) -> Table:
    """Rows of one side; every tenth row is almost the same on both sides, one in twenty is a dummy."""
    alike = np.random.default_rng(1)
    own = np.random.default_rng([2, ord(side.value)])
    columns = {}
    for of in inputs(rule, side):
        shared = alike.integers(0, of.high, (rows, of.length), endpoint=True)
        values = own.integers(0, of.high, (rows, of.length), endpoint=True)
        values[::10] = shared[::10]
        if of is _LETTERS:
            values = _texts(values)
        columns[of.name] = values
    if "grams ones" in columns:
        columns["grams ones"] = columns["grams bits"].sum(axis=1, keepdims=True)
    return Table(columns, own.random(rows) >= 0.05)


def _texts(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Texts of which the last element says where they end: no letter is behind a zero."""
    places = np.arange(values.shape[1])
    return np.where(places <= values[:, -1:] % len(places), np.maximum(values, 1), 0)
