"""The score of a draft is found, replaced, or made of fields; what is learned stands in its place."""

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
    # Comparisons that decide nothing are left out.
    assert len(put_weights(alone.comparisons, ((0, 0), (3, -3)), 1, {}).comparisons) == 1


@pytest.mark.parametrize("rule", ["same(a)", f"{SCORE} or same(c)", f"not {SCORE}", f"{SCORE} and {SCORE}"])
def test_a_rule_without_one_score_is_refused(rule: str) -> None:
    with pytest.raises(UsageError) as raised:
        score_of(parse_rule(rule))
    assert "`compare=`" in str(raised.value)


def test_fields_are_compared_in_the_usual_ways() -> None:
    fields = starter("people").fields
    made = compare_fields(["given", "birth", "email"], fields).comparisons
    assert [str(each).split(", otherwise")[0] for each in made] == [
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
    with pytest.raises(UsageError) as raised:
        compare_fields(["gven", "xyz"], fields)
    assert all(name in str(raised.value) for name in ("'gven'", "'given'", "'xyz'"))


def learnt(draft: str = DRAFT) -> Agreement:
    return parse_agreement(draft).model_copy(update={"rule": parse_rule(RULE), "learnt_from": "A"})


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
    gone = re.sub("^(#.*\n)+", "", plain[len(first) : len(plain) - len(last)].strip())
    assert gone.startswith(("rule =", '"rule"='))
    assert gone.endswith(('"""', "'same(birth)'")), "nothing but the rule and its comment is gone"


def test_learning_again_replaces_what_was_learned() -> None:
    once = write_into(DRAFT, learnt())
    again = learnt().model_copy(update={"learnt_from": "B linked"})
    twice = write_into(once, again)
    assert parse_agreement(twice) == again
    assert twice.replace('"B linked"', '"A"') == once
    assert twice.count("Learned by") == 1


def test_a_rule_in_another_text_is_left_alone() -> None:
    odd = DRAFT.replace('salt = "00000000"', "salt = \"00000000\"\nx = '''\nrule = \"same(birth)\"\n'''")
    for text in (odd, "version = 2\n"):
        with pytest.raises(UsageError):
            write_into(text, learnt())


@pytest.mark.parametrize(
    ("drafted", "finer"),
    [
        (
            "given: dice >= 0.75 -> 4, otherwise -> -2",
            "given: dice >= 1 -> 4, dice >= 0.75 -> 4, dice >= 0.5 -> -2, missing -> -2, otherwise -> -2",
        ),
        (
            "birth: same -> 4, same(birth_year) -> 1",
            "birth: same -> 4, same(birth_year) -> 1, missing -> 0, otherwise -> 0",
        ),
        *[("dice(given, surname) >= 0.7 and dice(surname, given) >= 0.7 -> 4",) * 2],
    ],
)
def test_finer_levels_weigh_what_the_draft_gives_such_pairs(drafted: str, finer: str) -> None:
    fields = starter("people").fields
    score, wanted = (score_of(parse_rule(f"score({one}) >= 1")) for one in (drafted, finer))
    assert refine(score, fields) == wanted
    if "given:" in drafted:
        weights = tuple(each.weights for each in wanted.comparisons)
        assert put_weights(wanted.comparisons, weights, 1, fields) == score
