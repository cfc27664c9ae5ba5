"""Shorter comparisons give every pair the same weight, and drop what can be dropped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from accord.fields.schema import DateField, FieldSpec, NumberField
from accord.rules.evaluate import Tables, scores
from accord.rules.merging import merge_levels
from accord.rules.rule import Level, Levels, Score
from accord.rules.text import parse_rule
from tests.rules import worlds


def weights(of: Levels, tables: Tables, sizes: tuple[int, int]) -> list[int]:
    """What every pair weighs."""
    left, right = (rows.ravel() for rows in np.indices(sizes))
    return scores((of,), tables, left, right).tolist()


@given(worlds.scores, worlds.tables, worlds.tables)
def test_every_pair_weighs_the_same(score: Score, a: list[worlds.Row], b: list[worlds.Row]) -> None:
    tables, _, _ = worlds.both(a, b)
    for drawn in score.comparisons:
        # Of few weights some are the same.
        few = tuple(Level(level.when, level.weight % 2) for level in drawn.levels)
        each = Levels((*few, *few[:1]), drawn.otherwise % 2)
        merged = merge_levels(each, worlds.FIELDS)
        assert len(merged.levels) <= len(each.levels)
        assert weights(merged, tables, (len(a), len(b))) == weights(each, tables, (len(a), len(b)))


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("f: dice >= 1 -> 4, dice >= 0.7 -> 4, missing -> 0, otherwise -> -2",
         "f: dice >= 0.7 -> 4, missing -> 0, otherwise -> -2"),
        ("f: dice >= 1 -> 4, dice >= 0.7 -> -2, missing -> 0, otherwise -> -2",
         "f: dice >= 1 -> 4, missing -> 0, otherwise -> -2"),
        ("f: dice >= 1 -> 4, missing(f) -> 0, dice >= 0.7 -> 0, otherwise -> 0", "f: dice >= 1 -> 4"),
        ("euclidean(f, g) <= 1 -> 4, missing(f) or missing(g) -> 0, otherwise -> 0",
         "euclidean(f, g) <= 1 -> 4"),
        ("f: missing -> 4, same(g) -> 0, same -> 4, otherwise -> 0",
         "f: missing -> 4, same(g) -> 0, same -> 4, otherwise -> 0"),
        ("f: same and missing(g) -> 1, missing -> 1, otherwise -> 0",
         "f: same and missing(g) -> 1, missing -> 1, otherwise -> 0"),
    ],
)  # fmt: skip
def test_levels_that_decide_nothing_go(long: str, short: str) -> None:
    first, second = (parse_rule(f"score({text}) >= 1") for text in (long, short))
    assert isinstance(first, Score)
    assert isinstance(second, Score)
    assert merge_levels(first.comparisons[0], {}) == second.comparisons[0]


def test_the_same_day_is_the_same_year_month_and_day_of_the_month() -> None:
    fields: dict[str, FieldSpec] = {
        "birth": DateField.model_validate({"type": "date", "min": "1900-01-01", "max": "2029-12-31"})
    }
    for part, low, high in (("year", 1900, 2029), ("month", 1, 12), ("day", 1, 31)):
        of_birth = {"type": "number", "from": "birth", "derive": part, "min": low, "max": high, "step": 1}
        fields[part] = NumberField.model_validate(of_birth)
    score = parse_rule("score(birth: same -> 4, same(year) and (same(month) or same(day)) -> 4) >= 1")
    assert isinstance(score, Score)
    (birth,) = score.comparisons
    assert merge_levels(birth, fields).levels == birth.levels[1:]
    # A birth in 1940 has no year of this range.
    fields["year"] = fields["year"].model_copy(update={"min": 1950})
    assert merge_levels(birth, fields) == birth
