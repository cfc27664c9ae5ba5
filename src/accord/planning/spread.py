"""How many records fall into each bin, before anybody has told: three guesses, or one's own table.

From sizes alone a value's rank k is drawn with probability about k^(−s): s = 0 is even, which compares the
least, and s = 1/2 is what is expected. At the most, half of the records have one and the same value and the
others follow Zipf's law, s = 1, as names and cities do. All of them have one and the same date, as where a
table holds one day of many. Each part of a pass is drawn by itself. In a grid the crowded cells lie together,
in the middle, since neighbours are compared; a replicated record is a point, so that it falls into as many
cells as the grid says.

With a table the own side is counted, and the partner is taken to be alike: so many records drawn from the
same rows, of which a share, the overlap, are records of this table and each of them once. Of the others some
are moved to a random bin, so that they meet one's own as often as other people's records would, and not as
copies do. What follows is for the owner's eyes: it is made of the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.fields.columns import Column, Columns, Integers, Records, rows_of, slice_of
from accord.ranges import contained
from accord.rules.blocking.base import Blocking
from accord.rules.blocking.grid import GridPart
from accord.rules.blocking.key import KeyPart
from accord.rules.blocking.passes import Pass, PassPart
from accord.rules.evaluate import Indices
from accord.side import Side

Ints = NDArray[np.int64]
Placed = tuple[Ints, Ints]
"""(record, bin) of slots that are no dummies."""

EVEN, USUAL, CROWDED = 0.0, 0.5, 1.0
_MOST_DRAWN = 1 << 14
_STRETCH = 1 << 17
"""Rows of a table that are placed at a time."""


@dataclass(frozen=True)
class Spread:
    """True bin sizes of A and of B."""

    a: Ints
    b: Ints

    @property
    def counts(self) -> tuple[Ints, Ints]:
        return self.a, self.b


UNLISTED = Spread(np.zeros(0, np.int64), np.zeros(0, np.int64))
"""Where there are no bins."""


def from_sizes(blocking: Blocking, sizes: tuple[int, int], skew: float) -> Spread:
    """Made-up tables of these sizes, the same for the same sizes."""
    rng = np.random.default_rng(0)
    drawn = Blocking(
        tuple(Pass(one.name, tuple(_Drawn(part, skew, rng) for part in one.parts)) for one in blocking.passes)
    )
    found = []
    for side, size in zip(Side, sizes, strict=True):
        # Of more records the counts are those of some, as many times: the two sides are drawn independently,
        # so that what they are expected to have in common stays right.
        some = min(size, _MOST_DRAWN)
        counts = drawn.counts(side, _sized(some), some)
        if size > some:
            counts = np.floor(counts * (size / some) + rng.random(len(counts)) * (counts > 0)).astype(
                np.int64
            )
        found.append(counts)
    return Spread(found[0], found[1])


def _sized(size: int) -> Columns:
    """Columns of which only the length is looked at."""
    return {"": Integers(np.zeros(size, np.int64), np.ones(size, np.bool_))}


class _Drawn:
    """A part that places records at random, whatever they hold."""

    equal: frozenset[str] = frozenset()

    def __init__(self, part: PassPart, skew: float, rng: np.random.Generator) -> None:
        self._part, self._skew, self._rng = part, skew, rng
        self.size = part.size

    def per_record(self, side: Side) -> int:
        return self._part.per_record(side)

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        count = len(columns[""])
        if isinstance(self._part, GridPart):
            return self._part.place(side, self._points(self._part, count))
        return np.arange(count), self._codes(count)

    def keys(self, side: Side, columns: Columns) -> tuple[Indices, NDArray[np.uint64]]:
        record, code = self.place(side, columns)
        return record, code.astype(np.uint64)

    def _codes(self, count: int) -> Ints:
        if isinstance(self._part, KeyPart) and self._part.dated and self._skew >= CROWDED:
            return np.zeros(count, np.int64)
        values = self._part.values if isinstance(self._part, KeyPart) else None
        # Into more buckets than there are values nothing is spread.
        return draw_ranks(self._rng, min(self.size, values or self.size), count, self._skew)

    def _points(self, part: GridPart, count: int) -> Columns:
        """Points in cells of which the middle ones are the crowded ones."""
        cells = _from_the_middle(part.shape)[draw_ranks(self._rng, part.size, count, self._skew)]
        columns: dict[str, Integers] = {}
        for name, high, of in zip(part.spec.fields, part.shape, cells.T, strict=True):
            spec = part.fields[name]
            last = getattr(spec, "high", high * part.cell - 1)
            values = np.minimum(of * part.cell + self._rng.integers(0, part.cell, count), last)
            columns[name] = Integers(values, np.ones(count, np.bool_))
        return columns

    def pairs(self) -> tuple[Indices, Indices]:
        return self._part.pairs()

    def compares(self, tables: object, left: Indices, right: Indices) -> NDArray[np.bool_]:
        raise NotImplementedError("made-up records have no values")

    def loses(self, rule: object) -> str | None:
        raise NotImplementedError("made-up records have no values")


def draw_ranks(rng: np.random.Generator, size: int, count: int, skew: float) -> Ints:
    """Ranks below `size`. *Distribution*: about as k^(−skew), by its inverse; crowded, half of them 0."""
    uniform = rng.random(count)
    if skew < CROWDED:
        return np.minimum((size * uniform ** (1 / (1 - skew))).astype(np.int64), size - 1)
    zipf = np.exp(uniform * np.log(size + 1.0)) - 1
    return np.where(rng.random(count) < 0.5, 0, np.minimum(zipf.astype(np.int64), size - 1))


def _from_the_middle(shape: tuple[int, ...]) -> Ints:
    """All cells of a grid, the middle first, then outward."""
    cells = np.stack(np.unravel_index(np.arange(int(np.prod(shape))), shape), axis=1)
    away = ((cells - (np.array(shape) - 1) / 2) ** 2).sum(axis=1)
    return cells[np.argsort(away, kind="stable")]


@dataclass(frozen=True)
class Alike:
    """A partner's table made of one's own rows, of which the first `matching` are one's own records; those
    that would be next, if more matched, follow, and each is there once."""

    rows: Ints
    matching: int


def make_alike(own: int, partner: int, overlap: float) -> Alike:
    """As many rows of one's own table as the partner has records, a share of them each once.

    `overlap`: of the records of the smaller table.
    """
    rng = np.random.default_rng(0)
    matching = round(overlap * min(own, partner))
    once = np.argsort(rng.permutation(own), kind="stable")[: min(partner, 2 * matching)]
    rest = rng.integers(0, max(1, own), partner - len(once)) if own else np.zeros(0, np.int64)
    return Alike(np.concatenate([once, rest]), matching)


def from_table(
    blocking: Blocking, side: Side, records: Records, alike: Alike, names: tuple[str, ...]
) -> Spread:
    """The own table as it is, and a partner's like it; `names` are the fields that decide about bins.

    A stretch of rows at a time, so that a long table takes the memory of its counts.
    """
    columns = {name: records.columns[name] for name in names}
    counts = {one: np.zeros(blocking.bins, np.int64) for one in Side}
    rng, every = np.random.default_rng(1), range(len(records))

    def add(whose: Side, first: int, bins: Ints) -> None:
        counts[whose] += np.bincount(bins + first, minlength=blocking.bins)

    for one, first in zip(blocking.passes, blocking.first_bins, strict=True):
        if one.per_record(Side.A) == one.per_record(Side.B) == 1:
            # A copy lies where its row lies, on either side: to place each row once is enough.
            bins = _bins(one, side, columns, len(records))
            record = np.flatnonzero(bins >= 0)
            add(side, first, bins[record])
            own_counts = counts[side][first : first + one.bins]
            unlike = _unlike(one, side, own_counts, own_counts, len(record), len(records))
            theirs = bins[alike.rows]
            there = np.flatnonzero(theirs >= 0)
            by = _move(rng, one, len(theirs), unlike, alike.matching)
            add(side.other, first, (theirs[there] + by[there]) % one.bins)
            continue
        itself, copies = 0, np.zeros(one.bins, np.int64)
        each = zip(_place(one, side, columns, every), _place(one, side.other, columns, every), strict=True)
        for own, copy in each:
            add(side, first, own[1])
            copies += np.bincount(copy[1], minlength=one.bins)
            here, there = (record * one.bins + bins for record, bins in (own, copy))
            itself += int(contained(here, np.sort(there)).sum())
        unlike = _unlike(one, side, counts[side][first : first + one.bins], copies, itself, len(records))
        for record, bins in _place(one, side.other, columns, alike.rows):
            # A copy of a row lies where the row lies, unless it is moved as a whole.
            low, high = (int(record[0]), int(record[-1]) + 1) if len(record) else (0, 0)
            by = _move(rng, one, high - low, unlike, max(0, alike.matching - low))
            add(side.other, first, (bins + by[record - low]) % one.bins)
    return Spread(counts[Side.A], counts[Side.B])


def _move(rng: np.random.Generator, one: Pass, count: int, unlike: float, stay: int) -> Ints:
    """By how many bins each of so many rows is moved; the first ones stay."""
    away = rng.random(count) < unlike
    away[:stay] = False
    return np.where(away, rng.integers(0, one.bins, count), 0)


def _bins(one: Pass, side: Side, columns: Columns, size: int) -> Ints:
    """The bin of every row, −1 for one without."""
    found = np.full(size, -1)
    for record, bins in _place(one, side, columns, range(size)):
        found[record] = bins
    return found


def _place(one: Pass, side: Side, columns: Columns, rows: Ints | range) -> Iterator[Placed]:
    """Where these rows lie, numbered by their place in `rows`, a stretch after another."""
    for start in range(0, len(rows), _STRETCH):
        some = rows[start : start + _STRETCH]
        part = {name: _some(column, some) for name, column in columns.items()}
        record, bins = one.place(side, part, len(some))
        yield record + start, bins


def _some(column: Column, rows: Ints | range) -> Column:
    if isinstance(rows, range):
        return slice_of(column, rows.start, rows.stop)
    return rows_of(column, rows)


def _unlike(one: Pass, side: Side, own: Ints, copies: Ints, itself: int, size: int) -> float:
    """Which share of a partner's other records lies anywhere, not where one of one's own lies.

    A copy of a record meets that record, which another person's would not, `itself` in all: Σ n² pairs where
    Σ n(n − 1) are due. So many records are moved to a random place, where they meet N/bins each, that what is
    expected to meet is the unbiased Σ n(n − 1) / (N − 1), a record; but no fewer than meet if all are moved,
    since no distribution over the bins brings fewer together.
    """
    if size < 2:
        return 1.0
    left, right = one.pairs() if side is Side.A else one.pairs()[::-1]
    meet = float(np.dot(own[left].astype(float), copies[right]))
    moved = float(own[left].sum()) * float(copies.sum()) / one.bins / size
    copied, due = meet / size, (meet - itself) / (size - 1)
    return 1.0 if copied <= moved else min(1.0, max(0.0, (copied - due) / (copied - moved)))
