"""Routing: records that share a key are brought together in shares, so that nobody learns whether any did.

One pass, between an asker and a lister [MATHS §10.4]; c and d are the caps of the two, and k and l the most
keys that one of their records has.

    placing   the records with one key get ranks, distinct and uniform on 0 … c − 1, drawn once a run. If they
              are more than c, the c with the least priority are placed, the same in every run; the others
              take no part in this pass (priorities.py)
    asker     asks for (key, i, j), i its record's rank, for each of the lister's ranks j: n·k·d queries, each
              in a bin of its own (secure/okvs/cuckoo.py), one of three that the query may be in
    lister    programs (key, i, j), j its record's rank, for each of the asker's ranks i: n·l·c points, and
              each three times, once for each bin β that such a query may be in: the record's payload less w_β
    function  asked bin by bin (prf/binned.py), and programmed (prf/programmed.py): the asker has
              the payload's share s where its query is one of the points, and something random where it is
              none; whatever it sends, one value a bin

so that for every bin the lister holds w_β, and the asker s, or noise. What has no key or no rank asks, or
lists, a random point; a bin without a query holds noise, too, and is compared like any other: which bins are
free depends on the asker's keys. Numbers of queries, points and bins follow from the sizes and caps alone.

Everything is fresh each time a pass is done: w, the seeds of stores, and for all passes of an attempt the
function's key and the seed of bins; two questions under one w would show the difference of two payloads. A
point says its pass, so that one key serves several. Only ranks and tokens are the run's, from a
key that is stored with it, and priorities are the installation's. If queries have too few bins among them the
run ends (2⁻⁴⁰): other seeds would depend on the keys. *Learns*: the asker nothing, the lister nothing
(semi-honest).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from accord.entropy import KEY, Derived, Entropy, arrangement, below, words
from accord.protocols.lines import batches, mark_items
from accord.protocols.parts.lanes import HASHES, Lane
from accord.rules.blocking.base import MOST_CAP
from accord.rules.evaluate import Indices
from accord.secure.okvs.cuckoo import place
from accord.secure.okvs.rows import RowHash
from accord.secure.party import Party
from accord.secure.payloads import add_shares
from accord.secure.prf.binned import BinnedFunction
from accord.secure.prf.programmed import fetch, program
from accord.side import Side

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_BATCH = 1 << 16
"""Points that are made at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Placing:
    """One side's records in one pass, of which each has a key and a rank. Private."""

    record: Ints
    key: Words
    rank: Ints
    over: int
    """(record, key) that found no rank: more records had the key than the cap."""

    def of(self, here: NDArray[np.bool_]) -> Placing:
        """The same of the records that are still here: the places of others stay empty."""
        kept = here[self.record]
        return Placing(self.record[kept], self.key[kept], self.rank[kept], self.over)


def placing(keys: tuple[Indices, Words], cap: int, entropy: Entropy, priority: Words) -> Placing:
    """Ranks for the records of each key: for those with the least priority where a key has more than the cap.
    Each record of the table has a priority. *Distribution* of the ranks: for the records that are placed,
    uniform among all ways to give them distinct ranks below the cap, and independent of everything else."""
    record, key = keys
    _, group = np.unique(key, return_inverse=True)
    order = arrangement(entropy.stream("order"), group)
    record, key, group = record[order], key[order], group[order]
    placed = find_placed(group, cap, priority[record])
    record, key, group = record[placed], key[placed], group[placed]
    rank = _ranks(_among(group), cap, entropy.stream("ranks"))
    return Placing(record, key, rank, len(order) - len(record))


def find_placed(group: Ints, cap: int, priority: Words) -> NDArray[np.bool_]:
    """Which entries are placed, by the number of their key. All are sorted, also where no key is full: the
    partner waits, and the time must not depend on how many are."""
    order = np.lexsort((priority, group))
    placed = np.empty(len(group), np.bool_)
    placed[order] = _among(group[order]) < cap
    return placed


def _among(group: Ints) -> Ints:
    """Of entries that stand together by key, the number of each among those of its key."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def _ranks(among: Ints, cap: int, entropy: Entropy) -> Ints:
    """Ranks below the cap for entries that stand together by key and are numbered among those of theirs.
    *Distribution*: distinct within a key, and every way as likely as any other, since each entry takes one of
    the ranks that those before it left, all as likely. So nothing is held for ranks that nobody has."""
    group = np.cumsum(among == 0) - 1
    rank = np.empty(len(among), np.int64)
    taken = np.zeros(int(group.max(initial=-1)) + 1, np.uint64)
    for number in range(int(among.max(initial=-1)) + 1):
        at = np.flatnonzero(among == number)
        used = taken[group[at]]
        skip = below(entropy, cap - number, len(at)).astype(np.int64)
        for value in range(cap):
            free = used >> np.uint64(value) & np.uint64(1) == 0
            rank[at[free & (skip == 0)]] = value
            skip -= free
        taken[group[at]] |= np.uint64(1) << rank[at].astype(np.uint64)
    return rank


def route_asked(
    function: BinnedFunction, lane: Lane, own: Placing, width: int, entropy: Entropy
) -> Party[tuple[Ints, Words]]:
    """The asker's side: for every bin its record, −1 where it has none, and its share of a payload."""
    base, entry = _points(function, lane, own, lane.asker, entropy)
    cells = _bins(function, base, lane.bins)
    number = place(cells, lane.bins)
    at = cells[np.arange(len(cells)), number]
    base[:, 0] ^= number.astype(np.uint64)
    del cells, number
    seeds = yield from function.ask(base, at, lane.bins)
    held = _draw(entropy, lane.bins, width)
    yield from fetch(function, seeds, base, lane.programmed, held, at)
    record = np.full(lane.bins, -1, np.int64)
    real = entry >= 0
    record[at[real]] = own.record[entry[real]]
    return record, held


def route_listed(
    function: BinnedFunction, lane: Lane, own: Placing, payloads: Words, tops: Words, entropy: Entropy
) -> Party[Words]:
    """The lister's side: for every bin its share, w."""
    base, entry = _points(function, lane, own, lane.asker.other, entropy)
    cells = _bins(function, base, lane.bins)
    points = np.repeat(base, HASHES, axis=0)
    points.reshape(-1, HASHES, 2)[:, :, 0] ^= np.arange(HASHES, dtype=np.uint64)
    record = np.where(entry >= 0, own.record[entry] if len(own.record) else -1, -1)
    del base, entry
    seeds = yield from function.answer(lane.bins, points, cells.reshape(-1))
    held = _draw(entropy, lane.bins, payloads.shape[1])

    def add(places: NDArray[np.int32], onto: Words) -> None:
        """The payload of each, or zeros, less the share of its bin."""
        add_shares(record.take(places // HASHES), payloads, cells.reshape(-1).take(places), held, tops, onto)

    yield from program(function, seeds, points, add, payloads.shape[1], entropy)
    return held


def _draw(entropy: Entropy, bins: int, width: int) -> Words:
    """Fresh words for all bins, from a fresh key: for as many the system's generator takes long."""
    drawn, fresh = np.empty((bins, width), np.uint64), Derived(entropy.bytes(KEY))
    for part in batches(bins, _BATCH):
        drawn[part] = words(fresh, drawn[part].size).reshape(-1, width)
    return drawn


def _points(
    function: BinnedFunction, lane: Lane, own: Placing, side: Side, entropy: Entropy
) -> tuple[Words, Ints]:
    """The points of a side: (pass, key, rank of the asker, rank of the lister), and those of nobody; and the
    entry in the placing of each, −1 of the latter."""
    filler, cap = entropy.stream("filler"), lane.caps[side.other]
    entry = np.full(lane.entries[side] * cap, -1, np.int64)
    entry[: cap * len(own.record)] = np.repeat(np.arange(len(own.record)), cap)
    other = np.tile(np.arange(cap), lane.entries[side])
    points = np.empty((len(entry), 2), np.uint64)
    for part in batches(len(entry), _BATCH):
        some, real = entry[part], entry[part] >= 0
        values = np.zeros((len(some), 2), np.uint64)
        mine, theirs = own.rank[some[real]], other[part][real]
        i, j = (mine, theirs) if side is lane.asker else (theirs, mine)
        values[real, 0] = own.key[some[real]]
        values[real, 1] = ((lane.number * MOST_CAP + i) * MOST_CAP + j).astype(np.uint64)
        points[part] = function.points(mark_items(values, real, filler))
    return points, entry


def _bins(function: BinnedFunction, points: Words, bins: int) -> NDArray[np.int32]:
    """The bins that each point may be in."""
    return RowHash(function.public_seed()).rows(points, bins, 1).cells
