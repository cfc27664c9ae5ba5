"""What hangs together goes at once, and matches as a whole."""

from __future__ import annotations

import numpy as np

from accord.datasets.places import generate_places
from accord.datasets.starter import starter
from accord.planning.groups import _components, find_groups, hang_together
from accord.planning.spread import make_alike
from accord.side import Side
from accord.simulation.pair import load_both


def test_records_that_hang_together_are_one_group() -> None:
    agreed = starter("places")
    made = generate_places(300, 0.5, 0, False)
    a, _ = load_both(made.a, made.b, agreed, None, None)
    together = hang_together(agreed.task, a)
    alike = make_alike(len(a), 300, 0.5, together)
    mine, theirs = find_groups(Side.A, together, alike, alike.matching, guess=True)
    assert (theirs[: alike.matching] >= 0).all()
    assert np.array_equal(mine[alike.rows[: alike.matching]], theirs[: alike.matching])
    swapped = find_groups(Side.B, together, alike, alike.matching, guess=True)
    assert np.array_equal(swapped[1], mine)
    _, fewer = find_groups(Side.A, together, alike, alike.matching, guess=False)
    assert (fewer >= 0).sum() == alike.matching


def test_as_many_of_ones_own_records_match_as_the_overlap_says_and_whole_groups() -> None:
    """Groups of ten: drawn one by one, half of the records would hit nearly all of the hundred groups."""
    together = np.repeat(np.arange(0, 1000, 10), 10)
    hit = []
    for draw in (together, None):
        alike = make_alike(1000, 1000, 0.5, draw)
        mine, theirs = find_groups(Side.A, together, alike, alike.matching, guess=False)
        assert (mine >= 0).sum() == (theirs >= 0).sum() == 500
        hit.append(len(np.unique(mine[mine >= 0])))
    assert hit[0] == 50
    assert hit[1] > 90, "the test would notice"


def test_one_group_of_all_does_not_match_as_a_whole_where_few_do() -> None:
    together = np.zeros(1000, np.int64)
    alike = make_alike(1000, 1000, 0.02, together)
    for matches in (10, 20, 40):
        mine, _ = find_groups(Side.A, together, alike, matches, guess=False)
        assert (mine >= 0).sum() == matches


def test_components_are_those_of_a_search() -> None:
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 60, 45), rng.integers(0, 60, 45)
    label = _components(60, left, right)
    near: dict[int, set[int]] = {node: set() for node in range(60)}
    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        near[one].add(other)
        near[other].add(one)
    for node in range(60):
        seen, due = {node}, [node]
        while due:
            fresh = near[due.pop()] - seen
            seen |= fresh
            due += fresh
        assert label[node] == min(seen)
