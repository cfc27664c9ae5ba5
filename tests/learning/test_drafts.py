"""The score of a draft is found, replaced, or made of fields."""

from __future__ import annotations

import pytest

from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.fields.schema import Letters
from accord.learning.drafts import compare_fields, score_of, weighed, with_score
from accord.rules.text import parse_rule

SCORE = "score(same(a) -> 2, otherwise -> -1; same(b) -> 1, otherwise -> 0) >= 2"


def test_a_score_alone_or_in_a_conjunction() -> None:
    alone = score_of(parse_rule(SCORE))
    joined = parse_rule(f"{SCORE} and (same(c) or same(d))")
    assert score_of(joined) == alone
    changed = with_score(joined, weighed(alone.comparisons, ((5, -5), (3, -3)), 4))
    assert str(changed) == (
        "score(same(a) -> 5, otherwise -> -5; same(b) -> 3, otherwise -> -3) >= 4 and (same(c) or same(d))"
    )
    assert with_score(parse_rule(SCORE), alone) == alone


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("same(a)", "no score"),
        (f"{SCORE} or same(c)", "no score"),
        (f"not {SCORE}", "no score"),
        (f"{SCORE} and {SCORE}", "several scores"),
    ],
)
def test_no_score_or_several_are_refused_with_what_to_write(rule: str, found: str) -> None:
    with pytest.raises(UsageError, match=f"has {found} .*score.*`compare=`"):
        score_of(parse_rule(rule))


def test_comparisons_that_decide_nothing_are_left_out() -> None:
    alone = score_of(parse_rule(SCORE))
    assert len(weighed(alone.comparisons, ((0, 0), (3, -3)), 1).comparisons) == 1


def test_fields_are_compared_in_the_usual_ways() -> None:
    fields = starter("people").fields
    made = [
        str(each).split(", otherwise")[0]
        for each in compare_fields(["given", "birth", "email"], fields).comparisons
    ]
    assert made == [
        "dice(given) >= 1 -> 0, dice(given) >= 0.8 -> 0, dice(given) >= 0.6 -> 0, missing(given) -> 0",
        "same(birth) -> 0, within(birth, 31 days) -> 0, missing(birth) -> 0",
        "same(email) -> 0, missing(email) -> 0",
    ]
    letters = fields["postcode"].model_copy(update={"encoder": Letters(kind="letters", length=2)})
    assert str(compare_fields(["zip"], {"zip": letters}).comparisons[0]) == (
        "same(zip) -> 0, edit(zip) <= 1 -> 0, missing(zip) -> 0, otherwise -> 0"
    )
    products = compare_fields(["day", "brand"], starter("products").fields)
    assert "missing" not in str(products), "no record lacks them"
    with pytest.raises(UsageError, match=r"'gven' is not a field.*'given'.*'xyz' is not a field.*Declare"):
        compare_fields(["gven", "xyz"], fields)
