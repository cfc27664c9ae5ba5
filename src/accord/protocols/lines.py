"""The lines of an intersection: what one side lists of its values, and how the other finds its own in it.

A line stands for a value v and the m-th record that has it: h(F(v), m) = tag ‖ mask, sent as tag ‖ (mask ⊕
token), with the record's random token. Who knows F(v) opens the lines of v, one record after the other; to
everybody else a line is random. F is the oblivious function of `secure/prf/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accord.entropy import Entropy, words
from accord.errors import PeerError
from accord.ranges import distinct, ranges
from accord.secure.prf.oblivious import Points, Seeds, expand
from accord.secure.transfer.permutation import Permutation

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Places = NDArray[np.int32]
"""Of values and lines, of which there are fewer than 2³¹."""

LINE = 24
HALF = LINE // 2
CHUNK = 1 << 16
"""Lines that are hashed or sent at a time."""
_SOUGHT = 1 << 20
"""Values that are looked up at a time."""
_PAD = 2


def batches(count: int, size: int) -> Iterator[slice]:
    """Consecutive stretches of 0..count−1."""
    return (slice(i, min(i + size, count)) for i in range(0, count, size))


def random_rows(entropy: Entropy, rows: int, width: int) -> Bytes:
    return np.frombuffer(entropy.bytes(rows * width), np.uint8).reshape(rows, width)


def mark_items(values: Words, real: NDArray[np.bool_], entropy: Entropy) -> Words:
    """What is hashed: the values and zeros, or for what is not real random words, never zeros."""
    pad = words(entropy, _PAD * len(values)).reshape(-1, _PAD)
    return np.concatenate([values * real[:, None], pad * ~real[:, None]], axis=1)


def hash_lines(pi: Permutation, seeds: Seeds, times: Places) -> Bytes:
    """h(F, m) of each of these values: what its line is before the token."""
    return expand(pi, seeds, times, LINE // 8).view(np.uint8)


def number_equals(seeds: Seeds, entropy: Entropy) -> Places:
    """Which one each value is among those that are like it, from 0 on, in a random order."""
    order, tied = _nearly_order(seeds[:, 0])
    rows = order[tied]
    some = seeds.take(rows, axis=0)
    together = np.lexsort((words(entropy, len(rows)), *some.T))
    rows, some = rows[together], some[together]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (some[1:] != some[:-1]).any(axis=1)
    first = np.flatnonzero(fresh)
    times = np.zeros(len(seeds), np.int32)
    times[rows] = np.arange(len(rows)) - np.repeat(first, np.diff(first, append=len(rows)))
    return times


def lines_by_tag(pi: Permutation, seeds: Seeds, times: Places, tokens: Bytes, each: int) -> Iterator[Bytes]:
    """All lines in the order of their tags, some at a time; every `each` of them are of one record.

    They are hashed twice, for their order and to be sent: that takes less than to keep and to move them.
    """
    high = np.empty(len(seeds), np.uint64)
    for part in batches(len(seeds), CHUNK):
        high[part] = _high(hash_lines(pi, seeds[part], times[part]))
    order = _order(high, lambda rows: _low(hash_lines(pi, seeds.take(rows, axis=0), times[rows])))
    del high
    for part in batches(len(seeds), CHUNK):
        rows = order[part]
        lines = hash_lines(pi, seeds.take(rows, axis=0), times.take(rows))
        lines[:, HALF:] ^= tokens.take(rows // each, axis=0)
        yield np.ascontiguousarray(lines)


def _order(keys: Words, others: Callable[[Places], NDArray[np.unsignedinteger[Any]]]) -> Places:
    """The order of random keys; those that may be alike, at such places, by the others as well."""
    order, tied = _nearly_order(keys)
    rows = order[tied]
    order[tied] = rows[np.lexsort((others(rows), keys[rows]))]
    return order


def _nearly_order(keys: Words) -> tuple[Places, NDArray[np.bool_]]:
    """The places of keys in ascending order but for some that begin alike, and which of the order those are.

    A key and its place share a word, so that words are sorted: several times faster than an `argsort`, and in
    half of the memory. Of random keys few are alike in the bits that are left.
    """
    low = max(1, len(keys) - 1).bit_length()
    place = np.uint64((1 << low) - 1)
    both = keys & ~place
    both |= np.arange(len(keys), dtype=np.uint64)
    both.sort()
    order = (both & place).astype(np.int32)
    both >>= np.uint64(low)
    tied = np.zeros(len(keys), np.bool_)
    tied[1:] = both[1:] == both[:-1]
    tied[:-1] |= tied[1:]
    return order, tied


def _high(lines: Bytes) -> Words:
    return np.ascontiguousarray(lines[:, :8]).view("<u8")[:, 0]


def _low(lines: Bytes) -> NDArray[np.uint32]:
    return np.ascontiguousarray(lines[:, 8:HALF]).view("<u4")[:, 0]


def open_lines(pi: Permutation, values: Seeds, lines: Bytes) -> tuple[Ints, Bytes]:
    """For each line that a value opens: the value's place and the token."""
    high = _high(lines)
    if (high[1:] < high[:-1]).any():
        raise PeerError(problem="lines that are not in order")
    keys, tokens = [np.zeros(0, np.int64)], [np.zeros((0, HALF), np.uint8)]
    for part in batches(len(values), _SOUGHT):
        alive, round_ = np.arange(part.start, part.stop), 0
        while len(alive):
            # As many more as were found so far, so that a value of many records takes few turns.
            step = max(1, min(round_, _SOUGHT // len(alive)))
            times = np.tile(np.arange(round_, round_ + step, dtype=np.int32), len(alive))
            sought = np.repeat(alive, step)
            wanted = hash_lines(pi, values.take(sought, axis=0), times)
            place = _locate(lines, high, wanted)
            hit = np.logical_and.accumulate(place.reshape(-1, step) >= 0, axis=1)
            alive, round_, hit = alive[hit[:, -1]], round_ + step, hit.reshape(-1)
            keys.append(sought[hit])
            tokens.append(lines[place[hit], HALF:] ^ wanted[hit, HALF:])
    return np.concatenate(keys), np.concatenate(tokens)


def _locate(ordered: Bytes, high: Words, wanted: Bytes) -> Ints:
    """Where the tag of each of the wanted stands among ordered ones, of which `high` is the beginning; −1
    where it does not."""
    mine, last = _high(wanted), len(ordered) - 1
    found = np.full(len(wanted), -1, np.int64)
    if last < 0:
        return found
    # Nearly in order: so the search walks through memory and does not jump.
    order, _ = _nearly_order(mine)
    at = np.empty(len(wanted), np.int64)
    at[order] = np.searchsorted(high, mine[order])
    # Two unlike tags of one list may begin alike; three will not.
    for place in (np.minimum(at + 1, last), np.minimum(at, last)):
        maybe = np.flatnonzero(high[place] == mine)
        there = place[maybe]
        right = _low(ordered[there]) == _low(wanted[maybe])
        found[maybe[right]] = there[right]
    return found


def rank_tokens(tokens: Bytes) -> tuple[Bytes, Ints]:
    """The distinct tokens, in an order that follows from them alone, and the rank of each."""
    first, rank = rank_rows(_high(tokens), _low(tokens))
    return tokens[first], rank


def rank_rows(*columns: NDArray[np.unsignedinteger[Any]]) -> tuple[Ints, Ints]:
    """Where a row of each kind stands, in the order of the kinds, and the rank of each row.

    As `np.unique(axis=0)`, which lets no other thread run, and so no ping out, for seconds.
    """
    order = np.lexsort(columns).astype(np.int64, copy=False)
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(fresh) - 1
    return order[fresh], rank


def rank_points(points: Points) -> tuple[Places, Places]:
    """Where a point of each kind stands, and the rank of each point; points are random, so the order is."""
    order = _order(points[:, 0], lambda rows: points[rows, 1])
    fresh = np.zeros(len(order), np.bool_)
    fresh[:1] = True
    for column in points.T:
        ordered = column.take(order)
        fresh[1:] |= ordered[1:] != ordered[:-1]
    rank = np.empty(len(order), np.int32)
    rank[order] = np.cumsum(fresh, dtype=np.int32) - 1
    return order[fresh], rank


def join_tokens(rows: Places, key_of: Places, keys: Ints, token: Ints) -> tuple[Ints, Ints]:
    """(record, token) for each record and each token that its value opened."""
    opened = np.zeros(int(max(key_of.max(initial=-1), keys.max(initial=-1))) + 1, np.bool_)
    opened[keys] = True
    some = np.flatnonzero(opened[key_of])
    own, key_of = rows[some].astype(np.int64), key_of[some]
    order = np.argsort(keys, kind="stable")
    keys, token = keys[order], token[order]
    starts, stops = np.searchsorted(keys, key_of), np.searchsorted(keys, key_of, "right")
    return np.repeat(own, stops - starts), token[ranges(starts, stops)]


def find_records(named: Bytes, tokens: Bytes) -> Ints:
    """The records that these tokens stand for."""
    order = _order(_high(tokens), lambda rows: _low(tokens[rows]))
    ordered = tokens.take(order, axis=0)
    place = _locate(ordered, _high(ordered), named)
    records = order[place].astype(np.int64)
    if (place < 0).any() or len(distinct(records)) < len(records):
        raise PeerError(problem="a match that it cannot have found")
    return records


def covers(numbers: Ints, count: int) -> bool:
    """Whether 0..count−1 all occur, and nothing else."""
    if len(numbers) and numbers.max() >= count:
        return False
    return bool(np.all(np.bincount(numbers, minlength=count) > 0))
