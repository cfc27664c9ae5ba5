"""How many records fall into each bin, before anybody has told: three guesses, or one's own table.

From sizes alone a value's rank k is drawn with probability about k^(−s): s = 0 is even, which compares the
least; s = 1/2 is what is expected; and at the most half of the records have one and the same value, as where
a table holds one day of many, and the others follow Zipf's law, s = 1, as names and cities do. Each
part of a pass is drawn by itself. In a grid the crowded cells lie together, in the middle, since neighbours
are compared; a replicated record is a point, so that it falls into as many cells as the grid says.

With a table the own side is counted, and the partner is taken to be alike: so many records drawn from the
same rows, of which a share, the overlap, are records of this table and each of them once. Of the others some
are moved to a random bin, so that they meet one's own as often as other people's records would, and not as
copies do. What follows is for the owner's eyes: it is made of the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.matching.blocking import Blocking
from accord.matching.blocking_grid import GridPart
from accord.matching.blocking_key import KeyPart
from accord.matching.blocking_lsh import LshPart
from accord.matching.blocking_pass import Part, Pass
from accord.matching.evaluate import Indices
from accord.ranges import contained, ranges
from accord.records.columns import Columns, Integers, Records
from accord.side import Side

Ints = NDArray[np.int64]

EVEN, USUAL, CROWDED = 0.0, 0.5, 1.0
_MOST_DRAWN = 1 << 14
_ONES = {EVEN: 0.5, USUAL: 0.3, CROWDED: 0.15}
"""The share of ones in a Bloom filter: half is even, short texts in long filters have few."""


@dataclass(frozen=True)
class Spread:
    """True bin sizes of A and of B; from a table also where each record lies."""

    a: Ints
    b: Ints
    placed: tuple[tuple[Ints, Ints], tuple[Ints, Ints]] | None = None
    """(record, bin) of each side."""

    @property
    def counts(self) -> tuple[Ints, Ints]:
        return self.a, self.b


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

    def __init__(self, part: Part, skew: float, rng: np.random.Generator) -> None:
        self._part, self._skew, self._rng = part, skew, rng
        self.size = part.size

    def per_record(self, side: Side) -> int:
        return self._part.per_record(side)

    def place(self, side: Side, columns: Columns) -> tuple[Indices, Indices]:
        count = len(columns[""])
        if isinstance(self._part, GridPart):
            return self._part.place(side, self._points(self._part, count))
        return np.arange(count), self._codes(count)

    def _codes(self, count: int) -> Ints:
        if isinstance(self._part, LshPart):
            positions = self._part.spec.positions
            bits = self._rng.random((count, positions)) < _ONES[self._skew]
            return bits @ (1 << np.arange(positions))
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


def make_alike(own: int, partner: int, overlap: float, together: Ints | None = None) -> Alike:
    """As many rows of one's own table as the partner has records, a share of them each once.

    `overlap`: of the records of the smaller table. `together`: the group of each record; whoever is in a
    group matches as a whole (groups.py).
    """
    rng = np.random.default_rng(0)
    matching = round(overlap * min(own, partner))
    rank = rng.permutation(own)
    order = np.argsort(rank if together is None else rank[together], kind="stable")
    once = order[: min(partner, 2 * matching)]
    rest = rng.integers(0, max(1, own), partner - len(once)) if own else np.zeros(0, np.int64)
    return Alike(np.concatenate([once, rest]), matching)


def from_table(
    blocking: Blocking, side: Side, records: Records, alike: Alike, names: tuple[str, ...]
) -> Spread:
    """The own table as it is, and a partner's like it; `names` are the fields that decide about bins."""
    sides, rng = [], np.random.default_rng(1)
    for one, first in zip(blocking.passes, blocking.first_bins, strict=True):
        own = one.place(side, records.columns, len(records))
        # Every row as the partner would place it: its copies lie where it lies.
        record, bins = one.place(side.other, {name: records.columns[name] for name in names}, len(records))
        starts, stops = (np.searchsorted(record, alike.rows, way) for way in ("left", "right"))
        theirs = np.repeat(np.arange(len(alike.rows)), stops - starts), bins[ranges(starts, stops)]
        away = rng.random(len(alike.rows)) < _unlike(one, side, own, (record, bins), len(records))
        away[: alike.matching] = False
        far = (theirs[1] + rng.integers(0, one.bins, len(alike.rows))[theirs[0]]) % one.bins
        theirs = theirs[0], np.where(away[theirs[0]], far, theirs[1])
        sides.append(((own[0], own[1] + first), (theirs[0], theirs[1] + first)))
    mine, partner = (_by_record([one[at] for one in sides]) for at in (0, 1))
    placed = (mine, partner) if side is Side.A else (partner, mine)
    a, b = (np.bincount(bins, minlength=blocking.bins) for _, bins in placed)
    return Spread(a, b, placed)


def _by_record(passes: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    record, bins = (np.concatenate(each) for each in zip(*passes, strict=True))
    order = np.argsort(record, kind="stable")
    return record[order], bins[order]


def _unlike(one: Pass, side: Side, own: tuple[Ints, Ints], theirs: tuple[Ints, Ints], size: int) -> float:
    """Which share of a partner's other records lies anywhere, not where one of one's own lies.

    A copy of a record meets that record, which another person's would not: Σ n² pairs where Σ n(n − 1) are
    due. So many records are moved to a random place, where they meet N/bins each, that what is expected to
    meet is the unbiased Σ n(n − 1) / (N − 1), a record; but no fewer than meet if all are moved, since no
    distribution over the bins brings fewer together.
    """
    if size < 2:
        return 1.0
    n, m = (np.bincount(bins, minlength=one.bins) for _, bins in (own, theirs))
    left, right = one.pairs() if side is Side.A else one.pairs()[::-1]
    meet = float(np.dot(n[left].astype(float), m[right]))
    here, there = (record * one.bins + bins for record, bins in (own, theirs))
    itself = int(contained(here, np.sort(there)).sum())
    moved = float(n[left].sum()) * len(theirs[0]) / one.bins / size
    copied, due = meet / size, (meet - itself) / (size - 1)
    return 1.0 if copied <= moved else min(1.0, max(0.0, (copied - due) / (copied - moved)))
