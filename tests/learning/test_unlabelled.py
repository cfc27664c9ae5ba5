"""Without labels: matches are told from strangers, and a household is not taken for a person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from accord.learning.patterns import Comparisons
from accord.learning.unlabelled import Unlabelled, tell_apart
from accord.rules.words import compare, same

PEOPLE = 400
DRAFT: Comparisons = (
    *(compare((same(name), 3), otherwise=-1) for name in ("given", "birth")),
    *(compare((same(name), 3), otherwise=-1) for name in ("surname", "street", "city")),
)


def world(seed: int, households: bool) -> tuple[Unlabelled, np.ndarray]:
    """All pairs of two tables of the same people, whose fields err in one of twenty; two by two they share a
    surname, a street and a city, if there are households."""
    rng = np.random.default_rng(seed)
    left, right = np.divmod(np.arange(PEOPLE**2), PEOPLE)
    true = left == right
    home = true | (households & (left // 2 == right // 2))
    own = [np.where(true, rng.random(len(left)) < 0.95, rng.random(len(left)) < 0.02) for _ in range(2)]
    shared = [np.where(home, rng.random(len(left)) < 0.95, rng.random(len(left)) < 0.02) for _ in range(3)]
    levels = 1 - np.stack([*own, *shared], axis=1).astype(np.uint8)
    patterns, which = np.unique(levels, axis=0, return_inverse=True)
    return Unlabelled(left, right, which.ravel(), patterns), true


def test_as_many_matches_as_there_are() -> None:
    """Of 400 within 40, where a fit misses it by some ten: a false alarm is out of the question (seeds are
    fixed)."""
    for households in (False, True):
        pairs, true = world(1, households)
        found = pairs.count(tell_apart(DRAFT, pairs, PEOPLE / 2))
        assert abs(found.matches.sum() - PEOPLE) < 40
        of_matches = np.bincount(pairs.which, true, len(pairs.patterns))
        likely = found.matches > found.others
        assert of_matches[likely].sum() > 0.9 * PEOPLE
        assert (found.matches + found.others)[likely].sum() < 1.1 * PEOPLE


def test_a_record_has_one_partner_at_most() -> None:
    rows = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])
    pairs = Unlabelled(*rows, np.array([0, 1, 1, 2]), np.array([[0], [1], [2]], np.uint8))
    likely = pairs.likely(np.array([20.0, 5.0, -20.0]))
    assert np.round(likely, 2).tolist() == [1, 0, 0.5, 0], "that of a0 and b0 leaves nothing for a0 and b1"
    sums = [np.bincount(side, likely).max() for side in rows]
    assert max(sums) <= 1
    twice = replace(pairs, copies=(1, 2)).likely(np.array([20.0, 5.0, -20.0]))
    assert np.round(twice, 2).tolist() == [1, 0, 0.5, 0], "b1 has one partner still"
    twice = replace(pairs, copies=(2, 2)).likely(np.array([20.0, 20.0, -20.0]))
    assert np.round(twice, 2).tolist() == [1, 1, 1, 0]
