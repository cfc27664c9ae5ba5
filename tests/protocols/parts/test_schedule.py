"""The schedule: everything once, in order, in full batches, never a slot twice in an exclusive round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.protocols.parts.schedule import (
    BATCH,
    GROWN,
    Round,
    Schedule,
    fewest_rounds,
    most_rows,
    order_pairs,
)

sizes = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def all_pairs_of_bins(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    left, right = (grid.ravel() for grid in np.indices((len(a), len(b)), dtype=np.int64))
    return left, right


def slot_pairs(round_: Round) -> list[tuple[int, int]]:
    a_ends, b_ends = np.cumsum(round_.a_counts), np.cumsum(round_.b_counts)
    found = []
    for a_end, a_count, b_end, b_count in zip(a_ends, round_.a_counts, b_ends, round_.b_counts, strict=True):
        for i in round_.a[a_end - a_count : a_end]:
            found += [(int(i), int(j)) for j in round_.b[b_end - b_count : b_end]]
    return found


def rounds(schedule: Schedule) -> list[Round]:
    found = []
    while (round_ := schedule.next()) is not None:
        found.append(round_)
        assert len(found) < 10_000
    return found


@given(sizes, sizes, st.integers(1, 20), st.integers(1, 60), st.booleans())
def test_every_pair_of_slots_is_compared_once(
    a: list[int], b: list[int], slab: int, batch: int, exclusive: bool
) -> None:
    counts = np.array(a), np.array(b)
    schedule = Schedule(all_pairs_of_bins(*counts), counts, slab, exclusive, batch)
    made = rounds(schedule)
    pairs = [pair for round_ in made for pair in slot_pairs(round_)]
    assert sorted(pairs) == [(i, j) for i in range(sum(a)) for j in range(sum(b))]
    assert schedule.most_comparisons == len(pairs) == sum(round_.pairs for round_ in made)
    for round_ in made:
        if exclusive:
            assert len(set(round_.a.tolist())) == len(round_.a)
            assert len(set(round_.b.tolist())) == len(round_.b)
            assert (round_.a_counts <= np.maximum(slab, 16384 // round_.b_counts)).all()
        # A round is full or overfull by at most its last unit of one row.
        assert round_.pairs <= batch + max(b) or len(round_.a) == 1


@given(sizes, sizes, st.integers(1, 5), st.data())
def test_removed_slots_never_come_again(a: list[int], b: list[int], slab: int, data: st.DataObject) -> None:
    counts = np.array(a), np.array(b)
    schedule = Schedule(all_pairs_of_bins(*counts), counts, slab, True, 20)
    gone: tuple[set[int], set[int]] = (set(), set())
    seen: set[tuple[int, int]] = set()
    for _ in range(10_000):
        round_ = schedule.next()
        if round_ is None:
            break
        assert not gone[0] & set(round_.a.tolist())
        assert not gone[1] & set(round_.b.tolist())
        fresh = set(slot_pairs(round_))
        assert not fresh & seen
        seen |= fresh
        for side, slots in enumerate((round_.a, round_.b)):
            chosen = data.draw(st.lists(st.sampled_from(slots.tolist()), max_size=3))
            schedule.remove(side, np.array(chosen + chosen, np.int64))
            gone[side].update(chosen)
    left = {(i, j) for i in range(sum(a)) for j in range(sum(b)) if i not in gone[0] and j not in gone[1]}
    assert left <= seen


@given(sizes, sizes)
def test_sorting_puts_the_largest_first_and_loses_nothing(a: list[int], b: list[int]) -> None:
    counts = np.array(a), np.array(b)
    pairs = all_pairs_of_bins(*counts)
    order = order_pairs(pairs, counts, sort=True, prune=0)
    smaller = np.minimum(counts[0][pairs[0]], counts[1][pairs[1]])[order]
    assert sorted(order.tolist()) == list(range(len(pairs[0])))
    assert (np.diff(smaller) <= 0).all()
    assert order_pairs(pairs, counts, sort=False, prune=0).tolist() == list(range(len(pairs[0])))


@pytest.mark.parametrize(
    ("prune", "kept"),
    [(0, [0, 1, 2, 3, 4]), (20, [0, 1, 2, 3, 4]), (30, [1, 2, 3, 4]), (50, [2, 3, 4]), (90, [4])],
)
def test_pruning_leaves_out_what_is_below_the_percentile(prune: int, kept: list[int]) -> None:
    counts = np.array([1, 2, 3, 4, 5]), np.array([1, 2, 3, 4, 5])
    pairs = np.arange(5), np.arange(5)
    assert order_pairs(pairs, counts, False, prune).tolist() == kept


def test_percentiles_are_per_side_when_the_sides_differ_twofold() -> None:
    counts = np.array([1, 2, 3]), np.array([100, 200, 300])
    pairs = np.arange(3), np.arange(3)
    assert order_pairs(pairs, counts, False, 34).tolist() == [1, 2]
    near = np.array([2, 2, 2]), np.array([3, 3, 3])
    assert order_pairs(pairs, near, False, 60).tolist() == []
    assert order_pairs(pairs, near, False, 60, pooled=False).tolist() == [0, 1, 2]


def test_equal_bins_are_never_pruned() -> None:
    counts = np.full(100, 7), np.full(100, 7)
    assert len(order_pairs((np.arange(100), np.arange(100)), counts, True, 99)) == 100


def test_slabs_grow_from_one_row() -> None:
    counts = np.array([40]), np.array([16384])
    made = rounds(Schedule((np.array([0]), np.array([0])), counts, 8, True))
    assert [len(round_.a) for round_ in made] == [1, 2, 4, 8, 8, 8, 8, 1]


def test_few_slots_of_b_meet_long_slabs() -> None:
    counts = np.array([20_000]), np.array([16])
    made = rounds(Schedule((np.array([0]), np.array([0])), counts, 64, True))
    assert [len(round_.a) for round_ in made[:12]] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024]


@pytest.mark.parametrize("exclusive", [True, False])
def test_rounds_that_spare_nothing_double(exclusive: bool) -> None:
    """With greedy the first one has one row of each bin, and is full."""
    counts = np.full(64, 64), np.full(64, 16)
    made = rounds(Schedule((np.arange(64), np.arange(64)), counts, 64, exclusive, 1024, grown=8))
    sizes = [round_.pairs for round_ in made]
    assert sizes[:4] == [1024, 2048, 4096, 8192]
    assert max(sizes) == 8192


def walk(share: float, grown: int) -> list[int]:
    """Sizes of rounds that take such a share of all living slots with them, for each 2^15 pairs."""
    rng = np.random.default_rng(1)
    counts = np.full(400, 64), np.full(400, 64)
    schedule = Schedule((np.arange(400), np.arange(400)), counts, 64, True, 1 << 14, grown=grown)
    alive, sizes = [np.arange(400 * 64), np.arange(400 * 64)], []
    while (round_ := schedule.next()) is not None:
        sizes.append(round_.pairs)
        for side in (0, 1):
            gone = rng.random(len(alive[side])) < share * round_.pairs / 2**15
            schedule.remove(side, alive[side][gone])
            alive[side] = alive[side][~gone]
    return sizes


@pytest.mark.parametrize("share", [0.0, 0.001, 0.004, 0.02, 0.1, 0.4])
def test_larger_rounds_cost_two_in_a_hundred_at_the_most(share: float) -> None:
    """With the same matches for each comparison. Seeded, so that nothing is left to chance."""
    usual, larger = walk(share, 1), walk(share, GROWN)
    assert sum(larger) <= 1.02 * sum(usual)
    # Where little matches they are larger, and where much does they are not.
    assert (max(larger) > 2 * max(usual)) == (share <= 0.004)


def test_a_round_that_spares_much_is_followed_by_a_smaller_one() -> None:
    counts = np.full(400, 64), np.full(400, 64)
    schedule = Schedule((np.arange(400), np.arange(400)), counts, 64, True, 1 << 14, grown=4)
    while (round_ := schedule.next()) is not None and round_.pairs < 1 << 16:
        pass
    schedule.remove(0, np.arange(360 * 64, 400 * 64))
    after = [schedule.next(), schedule.next()]
    assert [round_.pairs for round_ in after if round_] == [1 << 15, 1 << 16]


def test_a_round_is_full_at_so_many_rows() -> None:
    counts = np.full(1000, 4), np.full(1000, 3)
    pairs = np.arange(1000), np.arange(1000)
    for rows, most in (((100, 10**6), (100, 75)), ((10**6, 100), (136, 102))):
        made = rounds(Schedule(pairs, counts, 64, False, rows=rows))
        assert (max(len(r.a) for r in made), max(len(r.b) for r in made)) == most
        assert sum(round_.pairs for round_ in made) == 12_000
    assert most_rows((1 << 23, 0)) == (2, 1 << 24)


def test_how_few_rounds_there_can_be() -> None:
    assert [fewest_rounds(n) for n in (0, 1, BATCH, BATCH + 1, 3 * BATCH, 7 * BATCH, 7 * BATCH + 1)] == [
        0, 1, 1, 2, 2, 3, 4
    ]  # fmt: skip
    pairs, one = (np.array([0]), np.array([0])), (np.array([11 << 10]), np.array([1 << 10]))
    assert len(rounds(Schedule(pairs, one, 64, False, grown=GROWN))) == fewest_rounds(11 << 20)


@given(sizes, sizes)
def test_the_whole_is_one_round_of_the_same_pairs(a: list[int], b: list[int]) -> None:
    counts = np.array(a), np.array(b)
    bins = all_pairs_of_bins(*counts)
    made = rounds(Schedule(bins, counts, 4, False, 7, rows=(3, 3)).whole(1 << 30, (1 << 30, 1 << 30)))
    assert len(made) <= 1
    pairs = [pair for round_ in made for pair in slot_pairs(round_)]
    assert sorted(pairs) == [(i, j) for i in range(sum(a)) for j in range(sum(b))]


@pytest.mark.parametrize("most", [(49, (10, 10)), (50, (9, 10)), (50, (10, 4))])
def test_a_whole_that_is_too_large_is_refused(most: tuple[int, tuple[int, int]]) -> None:
    counts = np.array([10]), np.array([5])
    schedule = Schedule((np.array([0]), np.array([0])), counts, 4, False)
    assert len(rounds(schedule.whole(50, (10, 5)))) == 1
    with pytest.raises(UsageError, match="these are 50 of 10 and 5"):
        schedule.whole(*most)
