"""The score of a draft is found, replaced, or made of fields; what is learnt stands in its place, and no
number more.
"""

from __future__ import annotations

import re

import pytest

from accord.agreement.document import Agreement
from accord.agreement.file import parse_agreement
from accord.datasets.starter import starter
from accord.errors import UsageError
from accord.fields.schema import Letters
from accord.learning.drafts import (
    compare_fields,
    put_weights,
    refine,
    rule_lines,
    score_of,
    with_score,
    write_into,
)
from accord.rules.text import parse_rule
from tests.learning.worlds import DRAFT, with_rule

SCORE = "score(same(a) -> 2, otherwise -> -1; same(b) -> 1, otherwise -> 0) >= 2"
RULE = (
    "score(dice(given) >= 1 -> 5, dice(given) >= 0.5 -> 2, missing(given) -> 0, otherwise -> -3; "
    "within(birth, 31 days) -> 8, otherwise -> -5; "
    "dice(surname, given) >= 0.9 -> 4, missing(surname, A) or missing(given, B) -> 0, otherwise -> -1; "
    "same(email) and not missing(phone) -> 3, otherwise -> 0) >= 7 and (same(birth) or missing(birth))"
)


def test_a_score_alone_or_in_a_conjunction() -> None:
    alone = score_of(parse_rule(SCORE))
    joined = parse_rule(f"{SCORE} and (same(c) or same(d))")
    assert score_of(joined) == alone
    changed = with_score(joined, put_weights(alone.comparisons, ((5, -5), (3, -3)), 4, {}))
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
    assert len(put_weights(alone.comparisons, ((0, 0), (3, -3)), 1, {}).comparisons) == 1


def test_fields_are_compared_in_the_usual_ways() -> None:
    fields = starter("people").fields
    made = [
        str(each).split(", otherwise")[0]
        for each in compare_fields(["given", "birth", "email"], fields).comparisons
    ]
    assert made == [
        "dice(given) >= 1 -> 6, dice(given) >= 0.8 -> 4, dice(given) >= 0.6 -> 2, missing(given) -> 0",
        "same(birth) -> 6, within(birth, 31 days) -> 4, missing(birth) -> 0",
        "same(email) -> 6, missing(email) -> 0",
    ]
    letters = fields["postcode"].model_copy(update={"encoder": Letters(kind="letters", length=2)})
    assert str(compare_fields(["zip"], {"zip": letters}).comparisons[0]) == (
        "same(zip) -> 6, edit(zip) <= 1 -> 4, missing(zip) -> 0, otherwise -> -2"
    )
    products = compare_fields(["day", "brand"], starter("products").fields)
    assert "missing" not in str(products), "no record lacks them"
    with pytest.raises(UsageError, match=r"'gven' is not a field.*'given'.*'xyz' is not a field.*Declare"):
        compare_fields(["gven", "xyz"], fields)


def learnt(draft: str = DRAFT, rule: str = RULE) -> Agreement:
    return parse_agreement(draft).model_copy(update={"rule": parse_rule(rule), "learnt_from": "A"})


def test_a_comparison_has_its_line_and_its_fields_in_front() -> None:
    assert rule_lines(parse_rule(RULE)) == (
        "score(\n"
        "    given: dice >= 1 -> 5, dice >= 0.5 -> 2, missing -> 0, otherwise -> -3;\n"
        "    birth: within 31 days -> 8, otherwise -> -5;\n"
        "    surname, given: dice >= 0.9 -> 4, missing(surname, A) or missing(given, B) -> 0, "
        "otherwise -> -1;\n"
        "    email: same and not missing(phone) -> 3, otherwise -> 0;\n"
        ") >= 7 and (same(birth) or missing(birth))"
    )
    assert parse_rule(rule_lines(parse_rule(RULE))) == parse_rule(RULE)


ONE_LINE = with_rule(DRAFT, "MARK").replace('"""MARK"""', "'same(birth)'  # by hand")


@pytest.mark.parametrize(
    "draft", [DRAFT, ONE_LINE, DRAFT.replace("\n", "\r\n"), DRAFT.replace("rule =", '"rule"=', 1)]
)
def test_every_other_line_stays(draft: str) -> None:
    agreement = learnt(draft)
    text = write_into(draft, agreement)
    assert parse_agreement(text) == agreement
    start, end = text.index("# Learned by"), text.index('\n"""', text.index('learnt_from = "A"')) + 4
    plain = draft.replace("\r\n", "\n")
    first, last = text[:start], text[end:]
    assert plain.startswith(first)
    assert plain.endswith(last)
    gone = plain[len(first) : len(plain) - len(last)].strip()
    rule = re.sub("^(#.*\n)+", "", gone)
    assert rule.startswith(("rule =", '"rule"='))
    assert rule.endswith(('"""', "'same(birth)'")), "nothing but the rule and its comment is gone"
    assert "Weights and threshold were tuned" not in text


def test_learning_again_replaces_what_was_learnt() -> None:
    once = write_into(DRAFT, learnt())
    again = learnt().model_copy(update={"learnt_from": "B linked"})
    twice = write_into(once, again)
    assert parse_agreement(twice) == again
    assert twice.replace('"B linked"', '"A"') == once
    assert twice.count("Learned by") == 1


def test_what_looks_like_a_rule_in_another_text_is_left_alone() -> None:
    odd = DRAFT.replace('salt = "00000000"', "salt = \"00000000\"\nx = '''\nrule = \"same(birth)\"\n'''")
    with pytest.raises(UsageError, match="cannot be found"):
        write_into(odd, learnt())
    with pytest.raises(UsageError, match="cannot be found"):
        write_into("version = 2\n", learnt())


def test_finer_levels_weigh_what_the_draft_gives_such_pairs() -> None:
    fields = starter("people").fields
    drafted = score_of(parse_rule("score(given: dice >= 0.75 -> 4, otherwise -> -2) >= 1"))
    levels = "dice >= 1 -> 4, dice >= 0.75 -> 4, dice >= 0.5 -> -2, missing -> -2, otherwise -> -2"
    finer = refine(drafted, fields)
    assert finer == score_of(parse_rule(f"score(given: {levels}) >= 1"))
    weights = tuple(each.weights for each in finer.comparisons)
    assert put_weights(finer.comparisons, weights, 1, fields) == drafted
    birth = "birth: same -> 4, same(birth_year) -> 1"
    assert refine(score_of(parse_rule(f"score({birth}) >= 1")), fields) == score_of(
        parse_rule(f"score({birth}, missing -> 0, otherwise -> 0) >= 1")
    )
    crossed = score_of(
        parse_rule("score(dice(given, surname) >= 0.7 and dice(surname, given) >= 0.7 -> 4) >= 1")
    )
    assert refine(crossed, fields) == crossed
