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
    Both,
    Edit,
    Equal,
    Graded,
    Hamming,
    Input,
    Node,
    Not,
    Product,
    Reaches,
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


def _dice(bits: int, v: int = 4, w: int = 10, field: str = "grams") -> AtMost:
    """Dice ≥ 2v/w as the matching layer writes it: v·(|a| + |b|) − w·|a ∧ b| ≤ 0; by default 4/5."""
    where = None if field == "grams" else _present(field)
    grams, ones = Input(f"{field} bits", bits, 1, where), Input(f"{field} ones", 1, bits)
    return AtMost(Bilinear((Product(grams, grams, -w),), ones, v, v, bits * (2 * v - w), v * bits), 0)


def _graded(field: str, *levels: tuple[Node, int], otherwise: int) -> Graded:
    """Levels of a field that may be missing, which weighs nothing."""
    present = Both(_present(field))
    where = ((And((when, present)), weight) for when, weight in levels)
    return Graded((*where, (Not(present), 0)), otherwise)


def _same(field: str, bits: int) -> Node:
    return Equal(Input(f"{field} bits", bits, 1, _present(field)))


def _present(field: str) -> Input:
    return Input(f"{field} present", 1, 1)


PEOPLE = Reaches(
    (
        _graded("given", (_dice(128, 1, 2, "given"), 6), (_dice(128, 17, 40, "given"), 4), otherwise=-4),
        _graded("surname", (_dice(128, 1, 2, "surname"), 7), (_dice(128, 4, 10, "surname"), 4), otherwise=-5),
        _graded("street", (_dice(128, 1, 2, "street"), 4), (_dice(128, 7, 20, "street"), 2), otherwise=-1),
        _graded("year", (_same("year", 8), 4), otherwise=-4),
        _graded("month", (_same("month", 4), 2), otherwise=-2),
        _graded("day", (_same("day", 5), 3), otherwise=-2),
        _graded("postcode", (_same("postcode", 80), 5), otherwise=-2),
        _graded("sex", (_same("sex", 2), 1), otherwise=-4),
        _graded("phone", (_same("phone", 80), 6), otherwise=-1),
    ),
    14,
)
"""A score of people: three names as filters, the parts of a birth date, and what else a register has."""


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
    "people": PEOPLE,
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
        if of.name.endswith(" present"):
            values = (own.random((rows, 1)) < 0.9).astype(np.int64)
        elif of.length > 2:
            # In some of the rows that are alike a few places differ, so that thresholds are met as well.
            values[::30] ^= own.random((-(-rows // 30), of.length)) < 0.05
            values = np.minimum(values, of.high)
        columns[of.name] = _texts(values) if of is _LETTERS else values
    for of in inputs(rule, side):
        if of.where is not None:
            columns[of.name] *= columns[of.where.name]
    for name in [name for name in columns if name.endswith(" ones")]:
        columns[name] = columns[name.replace(" ones", " bits")].sum(axis=1, keepdims=True)
    return Table(columns, own.random(rows) >= 0.05)


def _texts(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Texts of which the last element says where they end: no letter is behind a zero."""
    places = np.arange(values.shape[1])
    return np.where(places <= values[:, -1:] % len(places), np.maximum(values, 1), 0)
