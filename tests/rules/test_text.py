"""A rule's text: reading, writing, and pointing at what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.rules.rule import Rule, predicates
from accord.rules.text import RuleSyntaxError, parse_rule
from tests.rules import worlds


@given(worlds.rules)
def test_text_of_a_rule_reads_back_and_is_stable(rule: Rule) -> None:
    once = parse_rule(str(rule))
    assert str(once) == str(rule)
    assert parse_rule(str(once)) == once


@pytest.mark.parametrize(
    "text",
    [
        "same(day) and same(brand) and hamming(name) <= 5",
        "euclidean(lat, lon) <= 0.001 and same(hour)",
        "cosine(first) >= 0.9 or cosine(last) >= 0.9",
        "within(birth, 2 days)",
        "within(birth, 1 day)",
        "within(price, 0.5)",
        "not (same(a) or same(b)) and not same(c)",
        "same(a) and (same(b) or same(c))",
        "same(last, middle) and dice(last, middle) >= 0.8",
        "hamming(a, b) <= 5 or jaccard(a, b) >= 0.5 or cosine(b, a) >= 0.9",
        "within(birth, swapped, 2 days) and within(price, cost, 0.5)",
        "missing(a) or not missing(b, A) and missing(A, B)",
        "score(same(a) and same(b) -> 9, same(a) -> 6, otherwise -> -3) >= 4",
        "score(dice(a) >= 0.9 -> 5, missing(a) -> 0, otherwise -> -3; same(b) -> 2, otherwise -> 0) >= 4",
        "same(c) and score(same(a, b) and same(b, a) -> 7, otherwise -> -1) >= -1 or same(d)",
    ],
)
def test_text_stays_as_written(text: str) -> None:
    assert str(parse_rule(text)) == text


def test_a_field_against_itself_is_not_crossed() -> None:
    for crossed, plain in (
        ("same(a, a)", "same(a)"),
        ("dice(a, a) >= 0.5", "dice(a) >= 0.5"),
        ("hamming(a, a) <= 1", "hamming(a) <= 1"),
        ("within(a, a, 1 day)", "within(a, 1 day)"),
    ):
        assert parse_rule(crossed) == parse_rule(plain)
        assert str(parse_rule(crossed)) == plain


def test_spelling_does_not_matter() -> None:
    rule = parse_rule("same(a) and (hamming(b) <= 5 or not same(c))")
    for text in (
        "same( a )and(hamming(b)<=5.0 or not same(c))",
        "same(a) & (hamming(b) <= 5 | ~same(c))",
        "\n same(a)\n and (\thamming(b) <= 5e0 or not (same(c)))",
    ):
        assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "character 1.*a predicate is expected"),
        ("hammming(name) <= 5", "did you mean 'hamming'"),
        ("foo(name)", "known are same"),
        ("same(day", r"character 9.*'\)' is expected"),
        ("same day", r"'\(' is expected after 'same'"),
        ("same(day) same(brand)", "character 11.*join predicates"),
        ("hamming(name) >= 5", "'<=' is expected"),
        ("cosine(name) <= 0.5", "'>=' is expected"),
        ("hamming(name) <= five", "a number is expected"),
        ("hamming(name) <= 2.5", "whole number"),
        ("edit(name) <= 1.5", "edit.. counts edits: its threshold is a whole number"),
        ("mismatches(name) >= 1", "'<=' is expected"),
        ("hamming(a, b, c) <= 2", "takes one field, or A's and B's"),
        ("same(a, b, c)", "takes one field, or A's and B's"),
        ("same(a, 5)", "name of a field"),
        ("within(a, b)", "',' is expected after the fields"),
        ("within(a, b, c, 2)", "a number is expected"),
        ("missing(a, b)", r"a side is expected: missing\(a, A\)"),
        ("missing(a, A, B)", r"'\)' is expected after missing"),
        ("missing()", "name of a field"),
        ("within(birth)", "',' is expected"),
        ("same(day) and", "a predicate is expected"),
        ("same(day) # x", "the sign '#'"),
        ("same(5)", "name of a field"),
        ("hamming(name) <= 2^99999", "not expected|number"),
        ("not " * 60 + "same(a)", "nested brackets"),
        ("(" * 60 + "same(a)" + ")" * 60, "nested brackets"),
    ],
)
def test_slips_are_pointed_at(text: str, problem: str) -> None:
    with pytest.raises(RuleSyntaxError, match=problem):
        parse_rule(text)


@given(st.text("same(dy)andornot<=.5,h iAB", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rule = parse_rule(text)
    except RuleSyntaxError:
        return
    assert parse_rule(str(rule)) == rule or str(parse_rule(str(rule))) == str(rule)


def test_a_rule_has_a_limited_number_of_predicates() -> None:
    """A partner may send 4 MiB of them, and either_way() doubles what is inside."""
    assert len(list(predicates(parse_rule(" or ".join(["same(a)"] * 1000))))) == 1000
    with pytest.raises(RuleSyntaxError, match=r"at character 8\d\d\d of .* more than 1,000 predicates"):
        parse_rule("same(a)|" * 500_000 + "same(a)")
    twice = "either_way(same(a) and same(c), a, c)"
    assert len(list(predicates(parse_rule(" or ".join([twice] * 250))))) == 1000
    with pytest.raises(RuleSyntaxError, match="more than 1,000 predicates"):
        parse_rule(" or ".join([twice] * 251))


def test_fields_before_levels_are_those_of_their_predicates() -> None:
    short = parse_rule(
        """
        score(
          given:        dice >= 0.9 -> 5, missing -> 0, otherwise -> -3;
          birth:        same -> 6, within 1 day -> 4, same and same(city) -> 1;
          last, middle: jaccard >= 0.5 or missing -> 2;
          same(a) -> 1, otherwise -> 0;
        ) >= 4 and not same(sex)
        """
    )
    assert str(short) == (
        "score(dice(given) >= 0.9 -> 5, missing(given) -> 0, otherwise -> -3; "
        "same(birth) -> 6, within(birth, 1 day) -> 4, same(birth) and same(city) -> 1, otherwise -> 0; "
        "jaccard(last, middle) >= 0.5 or missing(last, A) or missing(middle, B) -> 2, otherwise -> 0; "
        "same(a) -> 1, otherwise -> 0) >= 4 and not same(sex)"
    )
    assert parse_rule(str(short)) == short


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("score(same(a) -> 1)", "'>=' is expected after score"),
        ("score(a: same -> 1) <= 3", "'>=' is expected after score"),
        ("score() >= 1", "a predicate is expected"),
        ("score(otherwise -> 1) >= 1", "at least one level"),
        ("score(a: same 3) >= 1", "'->' is expected before the weight"),
        ("score(a: same -> 1.5) >= 1", "a weight is a whole number"),
        ("score(a: same -> 10000) >= 1", "from -9,999 to 9,999"),
        ("score(a: same -> 1) >= 1/3", "the threshold of a score is a whole number"),
        ("score(a: otherwise -> 1, same -> 2) >= 1", "'otherwise' is the last level"),
        ("score(a: score(b: same -> 1) >= 1 -> 1) >= 1", "cannot be inside a level"),
        ("score(same(a) or score(b: same -> 1) >= 1 -> 1) >= 1", "cannot be inside a level"),
        ("score(a, b, c: same -> 1) >= 1", "',' is expected|is not a predicate|is expected"),
        ("score(birth: same(phone) -> 9) >= 9", "character 7 of the rule: no level reads 'birth'"),
        ("score(a: euclidean <= 1 -> 1) >= 1", "'(' is expected after 'euclidean'"),
        ("same(a)\n and sane(b)", "character 6 of line 2 of the rule: 'sane' is not a predicate"),
    ],
)
def test_scores_that_cannot_be_read(text: str, problem: str) -> None:
    with pytest.raises(RuleSyntaxError, match=problem.replace("(", r"\(")):
        parse_rule(text)
