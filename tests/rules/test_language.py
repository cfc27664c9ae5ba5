"""The language of rules: its text, its words in Python, its faults, and a rule laid out for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

import accord
from accord.fields.schema import FieldSpec
from accord.rules.breakdown import Points, RuleRow, break_down, is_short, score_rows, shorten, tell_shortly
from accord.rules.check import rule_faults
from accord.rules.lowering import lower
from accord.rules.rule import (
    Level,
    Levels,
    Missing,
    Not,
    Rule,
    Same,
    Score,
    Within,
    compared_fields,
    fields_of,
    predicates,
    read_by,
)
from accord.rules.text import RuleSyntaxError, parse_rule
from accord.side import Side
from tests.rules import worlds

# -- text --------------------------------------------------------------------------------------------------


@given(worlds.rules)
def test_text_of_a_rule_reads_back_and_is_stable(rule: Rule) -> None:
    once = parse_rule(str(rule))
    assert str(once) == str(rule)
    assert parse_rule(str(once)) == once


def test_text_stays_as_written() -> None:
    for text in (
        "same(day) and same(brand) and hamming(name) <= 5",
        "euclidean(lat, lon) <= 0.001 and same(hour)",
        "within(birth, 2 days) or within(birth, 1 day) or within(price, 0.5)",
        "not (same(a) or same(b)) and not same(c)",
        "same(a) and (same(b) or same(c))",
        "hamming(a, b) <= 5 or jaccard(a, b) >= 0.5 or cosine(b, a) >= 0.9 or dice(last) >= 0.8",
        "within(birth, swapped, 2 days) and within(price, cost, 0.5)",
        "missing(a) or not missing(b, A) and missing(A, B)",
        "score(dice(a) >= 0.9 -> 5, missing(a) -> 0, otherwise -> -3; same(b) -> 2, otherwise -> 0) >= 4",
        "same(c) and score(same(a, b) and same(b, a) -> 7, otherwise -> -1) >= -1 or same(d)",
    ):
        assert str(parse_rule(text)) == text


def test_spelling_does_not_matter() -> None:
    rule = parse_rule("same(a) and (hamming(b) <= 5 or not same(c))")
    for text in (
        "same( a )and(hamming(b, b)<=5.0 or not same(c, c))",
        "same(a) & (hamming(b) <= 5 | ~same(c))",
        "\n same(a)\n and (\thamming(b) <= 5e0 or not (same(c)))",
    ):
        assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "character"),
    [
        ("", 1),
        ("hammming(name) <= 5", 1),
        ("same(day", 9),
        ("same day", 6),
        ("same(day) same(brand)", 11),
        ("hamming(name) >= 5", 15),
        ("cosine(name) <= 0.5", 14),
        ("hamming(name) <= five", 18),
        ("hamming(name) <= -5", 18),
        ("edit(name) <= 1.5", 15),
        ("dice(a) >= 1.01", 12),
        ("dice(a) >= 0", 12),
        ("hamming(a, b, c) <= 2", 18),
        ("same(a, 5)", 9),
        ("within(a, b)", 12),
        ("missing(a, b)", 12),
        ("missing(a, A, B)", 13),
        ("within(birth)", 13),
        ("same(day) # x", 11),
        ("hamming(name) <= 2^99999", 18),
        ("not " * 60 + "same(a)", 205),
        ("(" * 60 + "same(a)" + ")" * 60, 52),
        ("score(same(a) -> 1)", 20),
        ("score(otherwise -> 1) >= 1", 7),
        ("score(a: same 3) >= 1", 15),
        ("score(a: same -> 1.5) >= 1", 21),
        ("score(a: same -> 10000) >= 1", 10),
        ("score(a: same -> 1) >= 1/3", 27),
        ("score(a: otherwise -> 1, same -> 2) >= 1", 24),
        ("score(same(a) or score(b: same -> 1) >= 1 -> 1) >= 1", 24),
        ("score(a, b, c: same -> 1) >= 1", 7),
        ("score(birth: same(phone) -> 9) >= 9", 7),
        ("score(a: euclidean <= 1 -> 1) >= 1", 20),
        (f"score(f: {', '.join(['same(a) -> 1'] * 33)}) >= 1", 7),
        ("either_way(same(a) and same(c), a, b)", 12),
        ("either_way(same(a) and same(b), a, a)", 12),
        ("either_way(missing(a, A) and missing(b, A), a, b)", 12),
        ("either_way(either_way(same(a) and same(b), a, b), b, a)", 12),
        ("either_way(euclidean(a, b) <= 1, a, b)", 12),
        ("either_way(same(a), a)", 22),
        ("either_way(same(a) and same(b))", 31),
        ("either_way(same(a) and same(b), a, b", 37),
    ],
)
def test_slips_are_pointed_at(text: str, character: int) -> None:
    with pytest.raises(RuleSyntaxError, match=rf"character {character}\b"):
        parse_rule(text)


def test_a_slip_names_its_line_and_a_word_that_is_near() -> None:
    with pytest.raises(RuleSyntaxError, match=r"character 6 of line 2\b.*'sane'.*'same'"):
        parse_rule("same(a)\n and sane(b)")


@given(st.text("same(dy)andornot<=.5,h iAB", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rule = parse_rule(text)
    except RuleSyntaxError:
        return
    assert str(parse_rule(str(rule))) == str(rule)


def test_a_rule_has_a_limited_number_of_predicates() -> None:
    """A partner may send 4 MiB of them, and either_way() doubles what is inside."""
    twice = "either_way(same(a) and same(c), a, c)"
    for most in (["same(a)"] * 1000, [twice] * 250):
        assert len(list(predicates(parse_rule(" or ".join(most))))) == 1000
    names = [f"f{i}" for i in range(40)]
    nested = " and ".join(f"same({name})" for name in names)
    for a, b in zip(names[::2], names[1::2], strict=True):
        nested = f"either_way({nested}, {a}, {b})"
    for more in ("same(a)|" * 500_000 + "same(a)", " or ".join([twice] * 251), nested):
        with pytest.raises(RuleSyntaxError, match="1,000"):
            parse_rule(more)


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


# -- words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            accord.same("a") & accord.same("b", "b") & accord.same("b", "c"),
            "same(a) and same(b) and same(b, c)",
        ),
        (
            (accord.euclidean("u", "v") <= 0.001) | (accord.edit("w") <= 2),
            "euclidean(u, v) <= 0.001 or edit(w) <= 2",
        ),
        (
            (accord.cosine("a") >= 0.9) & (accord.dice("a", "b") >= "0.8"),
            "cosine(a) >= 0.9 and dice(a, b) >= 0.8",
        ),
        (~accord.within("a", days=2) | accord.within("a", 0.5), "not within(a, 2 days) or within(a, 0.5)"),
        (
            accord.within("a", "b", "0.5") | accord.within("a", "b", days=1),
            "within(a, b, 0.5) or within(a, b, 1 day)",
        ),
        (
            (accord.jaccard("x") >= 1) & (accord.hamming("a", "b") <= 5),
            "jaccard(x) >= 1 and hamming(a, b) <= 5",
        ),
        (
            accord.missing("a") | accord.missing("b", "A") | accord.missing("c", Side.B),
            "missing(a) or missing(b, A) or missing(c, B)",
        ),
    ],
)
def test_words_build_the_rules_of_the_text(rule: Rule, text: str) -> None:
    assert str(rule) == text
    assert parse_rule(text) == rule


def test_a_rule_names_the_fields_that_it_reads() -> None:
    rule = parse_rule("same(a, b) and euclidean(x, y) <= 1 and missing(z, B)")
    across, near, lacking = predicates(rule)
    assert fields_of(rule) == ("a", "b", "x", "y", "z")
    assert [compared_fields(one) for one in (across, near)] == [(("a", "b"),), (("x", "x"), ("y", "y"))]
    assert [read_by(side, lacking) for side in Side] == [(), ("z",)]
    assert [read_by(side, Missing("z")) for side in Side] == [("z",), ("z",)]


@pytest.mark.parametrize(
    ("trap", "error"),
    [
        (lambda: bool(accord.same("a")), TypeError),
        (lambda: accord.same("a") & True, TypeError),  # type: ignore[operator]
        (lambda: accord.dice("a") <= 0.5, ValueError),
        (lambda: accord.hamming("a") >= 5, ValueError),
        (lambda: accord.hamming("a") <= 2.5, ValueError),
        (lambda: accord.within("a"), ValueError),
        (lambda: accord.within("a", "b", 1, days=2), ValueError),
        (lambda: accord.within("a", "b"), ValueError),
        (lambda: accord.within("a", 1, days=1), ValueError),
        (lambda: accord.missing("a", "C"), ValueError),  # type: ignore[arg-type]
        (lambda: accord.same("a", 5), TypeError),  # type: ignore[arg-type]
        (lambda: lower(Rule(), worlds.FIELDS), TypeError),
    ],
)
def test_traps_are_refused(trap: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        trap()


# -- either way round --------------------------------------------------------------------------------------


@given(worlds.rules, st.sampled_from([("name", "nick"), ("birth", "baptism")]), worlds.rows, worlds.rows)
def test_either_way_accepts_a_pair_or_the_pair_with_swapped_values(
    rule: Rule, pair: tuple[str, str], a: worlds.Row, b: worlds.Row
) -> None:
    def swapped(values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values} | {name: values[of] for name, of in (pair, pair[::-1]) if of in values}

    rule = rule & Missing(pair[0]) | rule & ~Missing(pair[1])
    either = accord.either_way(rule, *pair)
    of_a, of_b = (worlds.filter_bits(worlds.records([row]), 0) for row in (a, b))
    assert worlds.matches(either, a, b, (of_a, of_b)) == (
        worlds.matches(rule, a, b, (of_a, of_b)) or worlds.matches(rule, a, swapped(b), (of_a, swapped(of_b)))
    )
    assert str(parse_rule(f"either_way({rule}, {pair[0]}, {pair[1]})")) == str(either)
    assert str(parse_rule(str(either))) == str(either)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            "same(day) and not either_way(same(a) and same(b), a, b) or same(c)",
            "same(day) and not (same(a) and same(b) or same(a, b) and same(b, a)) or same(c)",
        ),
        (
            "either_way(not missing(a) and same(b) or missing(b, B), a, b)",
            "not missing(a) and same(b) or missing(b, B)"
            " or not (missing(a, A) or missing(b, B)) and same(b, a) or missing(a, B)",
        ),
        (
            "either_way(same(a) and same(b) and euclidean(x, y) <= 1 and within(c, a, 1), a, b)",
            "same(a) and same(b) and euclidean(x, y) <= 1 and within(c, a, 1)"
            " or same(a, b) and same(b, a) and euclidean(x, y) <= 1 and within(c, b, 1)",
        ),
    ],
)
def test_either_way_is_written_out(text: str, written: str) -> None:
    assert str(parse_rule(text)) == written


def test_either_way_written_out_can_be_read_again() -> None:
    """Where the text has as many nested brackets as can be read."""
    read = 0
    for depth in range(15, 30):
        text = "not (same(c) and " * depth + "either_way(not missing(a) and same(b), a, b)" + ")" * depth
        try:
            rule = parse_rule(text)
        except RuleSyntaxError:
            continue
        read += 1
        assert parse_rule(str(rule)) == rule
    assert 0 < read < 15


# -- faults ------------------------------------------------------------------------------------------------


def faults(text: str) -> list[str]:
    return rule_faults(parse_rule(text), worlds.FIELDS)


@pytest.mark.parametrize(
    ("levels", "behind"),
    [
        ("name: dice >= 0.8 -> 3, dice >= 0.9 -> 5", True),
        ("name: hamming <= 5 -> 3, hamming <= 5 -> 1", True),
        ("birth: within 3 days -> 4, within 1 day -> 5", True),
        ("birth: within 3 days -> 4, same -> 5", True),
        ("x: within 3 -> 4, missing -> 0, within 2 and same(hour) -> 5", True),
        ("euclidean(x, y) <= 3 -> 4, euclidean(x, y) <= 2 -> 5", True),
        ("tag: edit <= 2 -> 3, edit <= 1 -> 5", True),
        ("tag: edit <= 1 -> 3, same -> 5", True),
        ("tag: mismatches <= 1 -> 3, same -> 5", True),
        ("tag, label: edit <= 2 -> 3, mismatches <= 2 -> 5", True),
        ("name: dice >= 1 -> 5, dice >= 0.8 -> 3, missing -> 0", False),
        ("euclidean(x, y) <= 2 -> 4, euclidean(x, y) <= 3 -> 5", False),
        ("x: within 2 -> 4, within 3 -> 5", False),
        ("tag: mismatches <= 2 -> 3, edit <= 2 -> 5", False),
        ("tag: mismatches <= 1 -> 3, mismatches <= 2 -> 5", False),
        ("tag: edit <= 1 -> 3, mismatches <= 2 -> 5", False),
        ("tag: edit <= 1 -> 3, edit(tag, label) <= 1 -> 5", False),
        ("tag: edit <= 1 -> 3, mismatches(tag, label) <= 1 -> 5", False),
        ("birth: within 3 days -> 3, same(birth, baptism) -> 5", False),
    ],
)
def test_a_level_behind_a_looser_one_never_counts(levels: str, behind: bool) -> None:
    assert len(faults(f"score({levels}, otherwise -> -1) >= 2")) == behind


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        ("edit(name) <= 2", ["letters"]),
        ("mismatches(hour) <= 2", ["mismatches()"]),
        ("edit(tag) <= 4", ["at most 3"]),
        ("mismatches(tag) <= 5", ["0 to 4"]),
        ("edit(tag, code) <= 1", ["[fields.tag]", "[fields.code]"]),
        ("dice(tag) >= 0.8", ["dice()"]),
        ("hamming(tag) <= 1", ["hamming()"]),
        ("same(name)", ["dice(name) >= 1"]),
        ("missing(hour)", ["[fields.hour]"]),
    ],
)
def test_predicates_fit_the_encoding_of_their_fields(rule: str, facts: list[str]) -> None:
    [fault] = faults(rule)
    assert all(fact in fault for fact in facts)
    assert not faults("edit(tag) <= 3 and mismatches(label, tag) <= 4 and same(tag, label)")


def test_weights_and_thresholds_that_decide_nothing() -> None:
    score = "score(hour: same -> 4, otherwise -> -2; birth: same -> 6, missing -> 0, otherwise -> -3)"
    assert not faults(f"{score} >= 10")
    assert not faults(f"{score} >= -4")
    [high], [low] = faults(f"{score} >= 11"), faults(f"same(hour) and {score} >= -5")
    assert re.findall(r"-?\d+", high) == ["11", "10"]
    assert re.findall(r"-?\d+", low) == ["-5", "-5"]
    assert len(faults("score(birth: same -> 2, otherwise -> 2; hour: same -> 2) >= 3")) == 1


def test_edits_that_are_made_to_be_expensive() -> None:
    long = {"type": "text", "encoder": {"kind": "letters", "length": 24}}
    fields = TypeAdapter(dict[str, FieldSpec]).validate_python({f"f{i}": long for i in range(13)})
    every = [f"edit(f{i}) <= 3 or edit(f{i}) <= 1" for i in range(13)]
    assert not rule_faults(parse_rule(" or ".join(every[:12])), fields)
    [fault] = rule_faults(parse_rule(" or ".join(every)), fields)
    assert "2,184" in fault
    assert "2,048" in fault


# -- laid out for people -----------------------------------------------------------------------------------

FAR = 50
"""Further apart than any rule here allows."""
_one = st.sampled_from(
    [Same("n"), *(Within("n", Fraction(most), False) for most in (1, 3))]
    + [Missing("n", side) for side in (None, *Side)]
)
_rules = st.recursive(
    _one,
    lambda inner: (
        st.builds(Not, inner) | st.builds(Rule.__and__, inner, inner) | st.builds(Rule.__or__, inner, inner)
    ),
    max_leaves=4,
)
_levels = st.builds(
    Levels,
    st.lists(st.builds(Level, _rules, st.integers(-9, 9)), min_size=1, max_size=4).map(tuple),
    st.integers(-9, 9),
)
_cells = st.sampled_from([None, 0, 1, 3, FAR])


def _case(row: RuleRow, a: int | None, b: int | None) -> tuple[Points, ...]:
    if a is None or b is None:
        return row.missing
    if a == b:
        return row.agrees
    return row.differs if abs(a - b) > 3 else (*row.close, *row.differs)


@given(_levels, _cells, _cells)
def test_a_pair_is_given_points_of_its_case(each: Levels, a: int | None, b: int | None) -> None:
    (row,) = score_rows(Score((each,), 0))
    weight = worlds.score(Score((each,), 0), {"n": a}, {"n": b}, ({}, {}))
    assert weight in {points.weight for points in _case(row, a, b)}


def test_a_row_says_what_close_is_and_what_is_left_open() -> None:
    rule = parse_rule(
        "score(given: dice >= 0.9 -> 6, dice >= 0.8 -> 4, missing -> 0, otherwise -> -4;"
        "same(born) -> 8, same(year) -> 3, otherwise -> -1;"
        "same(last) and same(class) -> 9, same(last) -> 6;"
        "dice(given, last) >= 0.5 and dice(last, given) >= 0.5 -> 5) >= 12"
    )
    assert isinstance(rule, Score)
    rows = [row.cells for row in score_rows(rule)]
    assert rows[0] == ("given", "+6", "+6 (dice ≥ 0.9), +4 (dice ≥ 0.8)", "-4", "0")
    assert rows[1] == ("born, year", "+8", "+3 (same(year))", "-1", "-1")
    assert rows[2] == ("last, class", "+9", "+6 (same(last))", "0", "0")
    assert rows[3][1:] == ("+5", "+5 (dice ≥ 0.5)", "0", "0")
    twice = "p and q or r and s or t and q or r and u"
    assert shorten(twice, []) == twice


def test_every_part_has_its_line() -> None:
    rule = parse_rule(
        "not (same(x) or missing(y, A)) or edit(z) <= 1 or not same(u) or hamming(v) <= 2"
        " or mismatches(w) <= 1 or euclidean(r, s) <= 3 or dice(p) >= 0.8 and within(q, 2 days)"
        " or same(t) and score(same(o) -> 2) >= 1"
    )
    lines = break_down(rule)
    depths = [0, 1, 2, 3, 3, 1, 1, 1, 1, 1, 1, 2, 2, 1, 2, 2]
    assert [line.depth for line in lines] == depths
    told = " ".join(line.words for line in lines) + " ".join(row.field for line in lines for row in line.rows)
    assert all(re.search(rf"\b{name}\b", told) for name in fields_of(rule))


def test_a_long_rule_is_told_by_what_it_comes_to() -> None:
    short = parse_rule("same(day) and hamming(name) <= 5")
    assert is_short(short)
    assert tell_shortly(short) == str(short)
    levels = "; ".join(f"f{i}: same -> {i + 1}, missing -> 0, otherwise -> -{i}" for i in range(9))
    score = parse_rule(f"score({levels}) >= 14")
    told = [tell_shortly(rule) for rule in (score, score & Same("sex"), Not(score))]
    assert [re.findall(r"\d+", one) for one in told] == [["9", "14"], ["9", "14", "1"], ["18", "9"]]
