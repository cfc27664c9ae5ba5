"""What stands when a run begins: alone, everything meets once; later, only what has not met."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from accord.protocols.parts.standing import ALONE, BatchMeeting, Standing
from accord.side import Side

SOME = st.tuples(st.integers(0, 3), st.integers(0, 3))


def pairs(found: tuple[np.ndarray, np.ndarray]) -> list[tuple[int, int]]:
    return list(zip(*(side.tolist() for side in found), strict=True))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_alone_the_bins_that_meet_are_those_of_the_blocking(agreed: list[tuple[int, int]]) -> None:
    both = np.array([a for a, _ in agreed], np.int64), np.array([b for _, b in agreed], np.int64)
    assert pairs(ALONE.meeting.bin_pairs(both, 5)) == agreed


@given(SOME, SOME)
def test_over_all_runs_every_pair_of_batches_meets_once(
    first: tuple[int, int], more: tuple[int, int]
) -> None:
    total = first[0] + more[0], first[1] + more[1]
    met = pairs(BatchMeeting((0, 0), first).pairs()) + pairs(BatchMeeting(first, total).pairs())
    assert sorted(met) == list(product(range(total[0]), range(total[1])))


def test_the_sizes_of_what_is_new_are_declared_or_the_whole_table() -> None:
    assert ALONE.sizes(7) == (7,)
    assert Standing(BatchMeeting((1, 1), (2, 3)), new_sizes=(4, 4)).sizes(20) == (4, 4)
    assert BatchMeeting((1, 2), (3, 4)).of(Side.B) == (2, 4)
    assert ALONE.shown is None
