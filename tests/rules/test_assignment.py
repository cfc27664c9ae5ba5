"""One-to-one sets are the textbook's; merged levels give every pair the same weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.fields.schema import DateField, FieldSpec, NumberField
from accord.rules.assignment import alone, choose
from accord.rules.evaluate import scores
from accord.rules.merging import merge_levels
from accord.rules.rule import Level, Levels, Score
from tests.rules import worlds

Worth = dict[tuple[int, int], int]
"""What each pair (record of A, record of B) is worth."""
Kept = set[tuple[int, int]]

small: st.SearchStrategy[Worth] = st.integers(1, 3).flatmap(
    lambda most: st.dictionaries(
        st.tuples(st.integers(0, 9), st.integers(0, 9)), st.integers(1, most), max_size=40
    )
)


def textbook(worth: Worth) -> Kept:
    """The definition: the pair that is worth most, the first by id among equals; then of what is left."""
    if not worth:
        return set()
    best = min(worth, key=lambda pair: (-worth[pair], pair))
    left = {(a, b): value for (a, b), value in worth.items() if a != best[0] and b != best[1]}
    return {best} | textbook(left)


def kept(worth: Worth) -> Kept:
    pairs = list(worth)
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    found = choose(left.copy(), right.copy(), np.array(list(worth.values()), np.int64))
    return {pairs[i] for i in np.flatnonzero(found)}


@given(small)
def test_it_is_the_textbooks(worth: Worth) -> None:
    assert kept(worth) == textbook(worth)


def test_only_the_order_of_ids_counts() -> None:
    worth = {(0, 1): 2, (0, 2): 2, (3, 1): 2, (3, 2): 2, (4, 2): 2}
    spread = {(10 * a + 5, 7 * b): value for (a, b), value in worth.items()}
    assert kept(spread) == {(10 * a + 5, 7 * b) for a, b in kept(worth)}
    backwards = dict(reversed(worth.items()))
    assert kept(backwards) == kept(worth) == {(0, 1), (3, 2)}


def test_a_best_pair_may_displace_two_and_pairs_that_share_nothing_are_kept() -> None:
    path = {(0, 0): 2, (0, 1): 5, (1, 1): 4}
    assert kept(path) == {(0, 1)}
    assert kept(dict.fromkeys(path, 1)) == {(0, 0), (1, 1)}
    left, right = np.array([0, 1, 1, 2]), np.array([0, 1, 2, 3])
    assert alone(left, right).tolist() == [True, False, False, True]
    assert alone(left[:0], right[:0]).tolist() == choose(left[:0], right[:0], left[:0]).tolist() == []


# -- merging ------------------------------------------------------------------------------------------------


@given(worlds.scores, worlds.tables, worlds.tables)
def test_every_pair_weighs_the_same(score: Score, a: list[worlds.Row], b: list[worlds.Row]) -> None:
    tables, _, _ = worlds.both(a, b)
    left, right = (rows.ravel() for rows in np.indices((len(a), len(b))))
    for drawn in score.comparisons:
        # Of few weights some are the same.
        few = tuple(Level(level.when, level.weight % 2) for level in drawn.levels)
        each = Levels((*few, *few[:1]), drawn.otherwise % 2)
        merged = merge_levels(each, worlds.FIELDS)
        assert len(merged.levels) <= len(each.levels)
        weights = [scores((one,), tables, left, right).tolist() for one in (merged, each)]
        assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("f: dice >= 1 -> 4, dice >= 0.7 -> 4, missing -> 0", "f: dice >= 0.7 -> 4"),
        ("f: dice >= 1 -> 4, dice >= 0.7 -> -2, otherwise -> -2", "f: dice >= 1 -> 4, otherwise -> -2"),
        ("f: dice >= 1 -> 4, missing(f) -> 0, dice >= 0.7 -> 0", "f: dice >= 1 -> 4"),
        ("f: missing -> 4, same(g) -> 0, same -> 4", "f: missing -> 4, same(g) -> 0, same -> 4"),
        ("f: same and missing(g) -> 1, missing -> 1", "f: same and missing(g) -> 1, missing -> 1"),
    ],
)
def test_levels_that_decide_nothing_go(long: str, short: str) -> None:
    first, second = (worlds.score_of(f"score({text}) >= 1") for text in (long, short))
    assert merge_levels(first.comparisons[0], {}) == second.comparisons[0]


def test_the_same_day_is_the_same_year_month_and_day_of_the_month() -> None:
    fields: dict[str, FieldSpec] = {
        "birth": DateField.model_validate({"type": "date", "min": "1900-01-01", "max": "2029-12-31"})
    }
    for part, low, high in (("year", 1900, 2029), ("month", 1, 12), ("day", 1, 31)):
        of_birth = {"type": "number", "from": "birth", "derive": part, "min": low, "max": high, "step": 1}
        fields[part] = NumberField.model_validate(of_birth)
    days = "score(birth: same -> 4, same(year) and (same(month) or same(day)) -> 4) >= 1"
    [birth] = worlds.score_of(days).comparisons
    assert merge_levels(birth, fields).levels == birth.levels[1:]
    # A birth in 1940 has no year of this range.
    fields["year"] = fields["year"].model_copy(update={"min": 1950})
    assert merge_levels(birth, fields) == birth
