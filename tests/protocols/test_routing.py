"""Routing: ranks that tell nothing, records that meet where keys and ranks do, sizes that are public."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from accord.entropy import Entropy, Seeded
from accord.errors import NoTableError
from accord.protocols import routing
from accord.protocols.parts.lanes import HASHES, EveryPair, Lane, sessions
from accord.protocols.parts.priorities import priorities
from accord.protocols.routing import Placing, route_asked, route_listed
from accord.rules.blocking.base import MOST_CAP
from accord.secure.okvs.cuckoo import table_bins
from accord.secure.okvs.tables import failed
from accord.secure.party import Party, Wire, run_pair
from accord.secure.prf.binned import Binned, BinnedFunction
from accord.secure.prf.oblivious import Clear, Oblivious
from accord.secure.prf.programmed import fetch
from accord.side import Side
from tests.secure.worlds import TINY, Fixed

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Keys = tuple[Ints, Words]
ALPHA = 1e-6
"""The false-alarm rate of each statistical test."""
ONES = np.iinfo(np.uint64).max


def keys_of(*keys: int | None) -> Keys:
    """A key for each record, or none."""
    record = np.flatnonzero([key is not None for key in keys])
    return record, np.array([key for key in keys if key is not None], np.uint64)


def placing(keys: Keys, cap: int, entropy: Entropy, key: bytes = bytes(32)) -> Placing:
    """Of records that are named by their numbers, in an installation with this placing key."""
    ids = pa.array(np.arange(int(keys[0].max(initial=-1)) + 1)).cast(pa.large_string())
    return routing.placing(keys, cap, entropy, priorities(key, ids))


# -- ranks -------------------------------------------------------------------------------------------------

some_keys = st.lists(st.none() | st.integers(0, 4), max_size=30)


@given(some_keys, st.integers(1, 6) | st.just(MOST_CAP), st.integers(0, 99))
def test_ranks_are_distinct_below_the_cap_and_none_is_left_free_in_vain(
    keys: list[int | None], cap: int, seed: int
) -> None:
    found = placing(keys_of(*keys), cap, Seeded(seed))
    assert len(set(zip(found.key.tolist(), found.rank.tolist(), strict=True))) == len(found.record)
    assert all(0 <= rank < cap for rank in found.rank)
    assert [keys[r] for r in found.record] == found.key.tolist()
    assert len(set(found.record.tolist())) == len(found.record)
    there = Counter(key for key in keys if key is not None)
    assert Counter(found.key.tolist()) == {key: min(cap, count) for key, count in there.items()}
    assert found.over == sum(max(0, count - cap) for count in there.values())


def test_ranks_that_nobody_has_take_no_memory() -> None:
    keys = np.arange(20_000), np.arange(20_000, dtype=np.uint64)
    held = []
    for cap in (1, MOST_CAP):
        tracemalloc.start()
        placing(keys, cap, Seeded(1))
        held.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert held[1] < 1.5 * held[0]


@pytest.mark.parametrize(("records", "cap"), [(1, 4), (2, 4), (5, 2)])
def test_every_way_to_place_them_is_as_likely(records: int, cap: int) -> None:
    """However many share the key: one, some, or more than there is room for. False alarm 1e-6.

    By χ² over all ways, of 2,000 keys with so many records each. `test_covered.py` enumerates the coins.
    """
    from scipy.stats import chi2

    keys, every = 2_000, np.arange(2_000 * records)
    found = placing((every, (every // records).astype(np.uint64)), cap, Seeded("ranks"))
    places: list[list[int]] = [[-1] * records for _ in range(keys)]
    for record, rank in zip(found.record.tolist(), found.rank.tolist(), strict=True):
        places[record // records][record % records] = rank
    free = [-1] * max(0, records - cap)
    ways = set(permutations([*range(cap), *free], records))
    seen = Counter(map(tuple, places))
    assert set(seen) <= ways
    expected = keys / len(ways)
    surprise = sum((seen[way] - expected) ** 2 for way in ways) / expected
    assert surprise < chi2.isf(ALPHA, len(ways) - 1)


# -- one pass ----------------------------------------------------------------------------------------------


def lane_of(a: int, b: int, caps: tuple[int, int] = (2, 2), asker: Side = Side.A, number: int = 0) -> Lane:
    return Lane(number, dict(zip(Side, (a, b), strict=True)), dict(zip(Side, caps, strict=True)), asker)


def payloads_of(count: int, words: int = 4) -> Words:
    return np.random.default_rng(count).integers(0, 1 << 64, (count, words), dtype=np.uint64)


def functions(clear: bool, bins: int = 0, seed: str = "") -> dict[Side, BinnedFunction]:
    if clear:
        return {side: Clear() for side in Side}
    return {side: Binned(side, Fixed(f"{seed}{side.value}"), bins, TINY) for side in Side}


def asked_of(function: BinnedFunction, *rest: Any) -> Party[tuple[Ints, Words]]:
    yield from function.meet()
    return (yield from route_asked(function, *rest))


def listed_by(function: BinnedFunction, *rest: Any) -> Party[Words]:
    yield from function.meet()
    return (yield from route_listed(function, *rest))


class Met:
    """What a pass came to: shares of both sides, and who met."""

    def __init__(
        self, lane: Lane, keys: dict[Side, Keys], clear: bool = True, seed: str = "", words: int = 4
    ) -> None:
        self.lane, self.wire = lane, Wire()
        self.placed = {s: placing(keys[s], lane.caps[s], Fixed(f"ranks {s.value}")) for s in Side}
        lister = lane.asker.other
        self.payloads, self.tops = payloads_of(512, words), np.full(words, ONES)
        end, coins = (
            functions(clear, lane.bins, seed),
            {side: Fixed(f"coins {seed}{side.value}") for side in Side},
        )
        asked = asked_of(end[lane.asker], lane, self.placed[lane.asker], words, coins[lane.asker])
        own = self.placed[lister]
        listed = listed_by(end[lister], lane, own, self.payloads, self.tops, coins[lister])
        if lane.asker is Side.A:
            (self.record, self.held), self.w = run_pair(asked, listed, wire=self.wire)
        else:
            self.w, (self.record, self.held) = run_pair(listed, asked, wire=self.wire)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(asker's record, lister's) of every bin whose two shares make a payload."""
        known = {row.tobytes(): number for number, row in enumerate(self.payloads)}
        made = [known.get(row.tobytes(), -1) for row in self.held ^ self.w]
        return sorted((int(r), m) for r, m in zip(self.record, made, strict=True) if m >= 0)

    @property
    def expected(self) -> list[tuple[int, int]]:
        """Those with a common key, as often as they have one."""
        asks, lists = self.placed[self.lane.asker], self.placed[self.lane.asker.other]
        return sorted(
            (int(r), int(m))
            for r, key in zip(asks.record, asks.key, strict=True)
            for m, other in zip(lists.record, lists.key, strict=True)
            if key == other
        )


def check(lane: Lane, a: list[int | None], b: list[int | None], clear: bool = True) -> Met:
    met = Met(lane, {Side.A: keys_of(*a), Side.B: keys_of(*b)}, clear)
    assert met.pairs == met.expected
    assert len(met.record) == len(met.held) == len(met.w) == lane.bins
    own = met.placed[lane.asker]
    times = np.bincount(met.record[met.record >= 0], minlength=lane.entries[lane.asker])
    assert times.sum() == len(own.record) * lane.caps[lane.asker.other], "one bin a query"
    return met


@given(
    some_keys.filter(len),
    some_keys.filter(len),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.sampled_from(Side),
)
def test_shares_make_a_payload_where_keys_and_ranks_meet_and_nowhere_else(
    a: list[int | None], b: list[int | None], caps: tuple[int, int], asker: Side
) -> None:
    check(lane_of(len(a), len(b), caps, asker), a, b)


def test_records_of_several_keys() -> None:
    """As of a grid, where B's records fall into several cells."""
    many = np.array([0, 0, 0, 0, 1, 1]), np.array([1, 2, 3, 4, 3, 4], np.uint64)
    lane = lane_of(3, 2 * 4)
    met = Met(lane, {Side.A: keys_of(3, 4, 9), Side.B: many})
    assert met.pairs == met.expected == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_equal_keys_of_two_passes_are_not_the_same_points() -> None:
    function, placed = Clear(), placing(keys_of(3, 3), 2, Seeded(1))
    points = [
        routing._points(function, lane_of(2, 2, number=n), placed, Side.A, Seeded(1))[0] for n in range(3)
    ]
    rows = np.concatenate(points)
    assert len(np.unique(rows, axis=0)) == len(rows) == 3 * 4


# -- what is public ----------------------------------------------------------------------------------------


def test_numbers_follow_from_sizes_and_caps() -> None:
    lane = Lane(0, {Side.A: 30, Side.B: 40}, {Side.A: 2, Side.B: 5}, Side.A)
    assert (lane.queries, lane.points, lane.programmed) == (30 * 5, 40 * 2, HASHES * 40 * 2)
    turned = replace(lane, asker=Side.B)
    assert (turned.queries, turned.points) == (40 * 2, 30 * 5)
    assert lane.bins == table_bins(150)


def test_passes_share_a_session_until_it_has_hashed_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = [lane_of(30, 30, number=n) for n in range(5)]
    assert sessions(lanes) == [lanes]
    monkeypatch.setattr("accord.protocols.parts.lanes.MOST_HASHED", 2 * lanes[0].hashed)
    assert sessions(lanes) == [lanes[:2], lanes[2:4], lanes[4:]]
    monkeypatch.setattr("accord.protocols.parts.lanes.MOST_HASHED", 1)
    assert sessions(lanes) == [[lane] for lane in lanes]
    assert sessions([EveryPair(0, dict.fromkeys(Side, 3), dict.fromkeys(Side, 3), Side.A)]) == []


TABLES: list[dict[Side, Keys]] = [
    {Side.A: keys_of(*range(6)), Side.B: keys_of(*range(6))},
    {Side.A: keys_of(*[1] * 6), Side.B: keys_of(*[1] * 6)},
    {Side.A: keys_of(*[None] * 6), Side.B: keys_of(1, 2, None, 3, None, 3)},
]


def test_messages_have_the_same_sizes_whatever_the_keys() -> None:
    met = [Met(lane_of(6, 6), keys, False, seed) for seed, keys in zip("abc", TABLES, strict=True)]
    assert met[0].wire.sizes == met[1].wire.sizes == met[2].wire.sizes
    assert {len(one.held) for one in met} == {lane_of(6, 6).bins}


# -- shares that tell nothing ------------------------------------------------------------------------------


def alike(share: Words) -> float:
    """χ² of the bytes of some words over 256 values."""
    counts = np.bincount(np.ascontiguousarray(share).view(np.uint8).ravel(), minlength=256)
    expected = counts.sum() / 256
    return float(((counts - expected) ** 2 / expected).sum())


UNIFORM = 376.4
"""χ² with 255 degrees is more with probability 1e-6."""


@pytest.mark.parametrize("side", ["asker", "lister"])
def test_what_a_side_holds_looks_uniform_whether_or_not_anything_met(side: str) -> None:
    """Payloads of zeros, where all meet, or nothing does. False alarm 1e-6 each."""
    for b in (range(400), range(1000, 1400)):
        lane = lane_of(400, 400, (1, 1))
        keys = {Side.A: keys_of(*range(400)), Side.B: keys_of(*b)}
        placed = {s: placing(keys[s], 1, Seeded(1)) for s in Side}
        zeros, tops, end = np.zeros((400, 4), np.uint64), np.full(4, ONES), functions(False, lane.bins)
        (_, held), w = run_pair(
            asked_of(end[Side.A], lane, placed[Side.A], 4, Fixed("a")),
            listed_by(end[Side.B], lane, placed[Side.B], zeros, tops, Fixed("b")),
        )
        assert alike(held if side == "asker" else w) < UNIFORM
        met = (held == w).all(axis=1).sum()
        assert met == (400 if b.start == 0 else 0)


CASES: list[tuple[list[int | None], list[int | None], Side]] = [
    ([1, 2, None, 4, 1], [1, 1, 5, None], Side.A),
    ([3] * 7, [3] * 5, Side.B),
    ([1, None, 3], [4, 5], Side.A),
    ([], [1], Side.A),
    ([], [1], Side.B),
]


@pytest.mark.parametrize(("a", "b", "asker"), CASES)
def test_the_real_function_finds_the_same(a: list[int | None], b: list[int | None], asker: Side) -> None:
    check(lane_of(len(a), len(b), (2, 3), asker, number=5), a, b, clear=False)


def test_a_table_that_fails_ends_the_pass_with_no_other_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second seed would be one that fits the keys."""
    tried: list[int] = []

    def fails(cells: NDArray[np.int32], bins: int) -> NDArray[np.int8]:
        tried.append(bins)
        raise failed("the queries have too few bins among them")

    monkeypatch.setattr(routing, "place", fails)
    lane, own = lane_of(2, 2), placing(keys_of(1, 2), 2, Seeded(1))
    listed = route_listed(Clear(), lane, own, payloads_of(2), np.full(4, ONES), Seeded(2))
    with pytest.raises(NoTableError):
        run_pair(route_asked(Clear(), lane, own, 4, Seeded(1)), listed)
    assert len(tried) == 1


# -- an asker with two questions in one bin ----------------------------------------------------------------


class Stored(Oblivious):
    """Broken: the questions stand in a store, not in bins."""

    def ask(self, points: Words, *_: Any) -> Party[Words]:
        return (yield from super().ask(points, lambda done: None))

    def answer(self, asked: int, points: Words, *_: Any) -> Party[Words]:
        return (yield from super().answer(2, points, lambda done: None))


def two_shares(asker: BinnedFunction, lister: BinnedFunction) -> tuple[Words, Words]:
    """What an asker has that asks for two of the lister's points, with one bin, and the payloads there."""
    lane, own = lane_of(1, 60, (1, 1)), placing(keys_of(*range(60)), 1, Seeded(1))
    payloads, tops, shares = payloads_of(60), np.full(4, ONES), np.zeros((2, 4), np.uint64)
    listed, of = np.zeros((0, 2), np.uint64), np.zeros(2, np.int64)

    def curious() -> Party[None]:
        nonlocal listed
        yield from asker.meet()
        base, entry = routing._points(asker, lane, own, Side.B, Seeded(0))
        cells = routing._bins(asker, base, lane.bins)
        full = int(np.argmax(np.bincount(cells.reshape(-1))))
        which, number = (found[:2] for found in np.nonzero(cells == full))
        listed, of[:] = base[which].copy(), own.record[entry[which]]
        listed[:, 0] ^= number.astype(np.uint64)
        seeds = yield from asker.ask(listed, np.full(2, full, np.int32), lane.bins)
        yield from fetch(asker, seeds, listed, lane.programmed, shares, np.arange(2, dtype=np.int32))

    run_pair(curious(), listed_by(lister, lane, own, payloads, tops, Seeded(2)))
    return shares, payloads[of]


def test_two_questions_in_one_bin_show_nothing_of_two_payloads() -> None:
    """Where a store has the questions, their shares have one mask, and their difference is that of the
    payloads."""
    stored = [Stored(side, Fixed(side.value), TINY) for side in Side]
    binned = [Binned(side, Fixed(side.value), lane_of(1, 60, (1, 1)).bins, TINY) for side in Side]
    for (asker, lister), shows in ((stored, True), (binned, False)):
        shares, payloads = two_shares(asker, lister)
        assert (payloads[0] != payloads[1]).any()
        assert np.array_equal(shares[0] ^ shares[1], payloads[0] ^ payloads[1]) is shows
