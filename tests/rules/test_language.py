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

from accord.fields.schema import FieldSpec
from accord.rules import words as w
from accord.rules.breakdown import break_down, is_short, score_rows, shorten, tell_shortly
from accord.rules.check import rule_faults
from accord.rules.lowering import lower
from accord.rules.rule import Level, Levels, Missing, Rule, Same, Score, Within, fields_of, predicates
from accord.rules.text import RuleSyntaxError, parse_rule
from accord.side import Side
from tests.rules import worlds

# -- text --------------------------------------------------------------------------------------------------


@given(worlds.rules)
def test_text_of_a_rule_reads_back_and_is_stable(rule: Rule) -> None:
    once = parse_rule(str(rule))
    assert str(once) == str(rule)
    assert parse_rule(str(once)) == once


WRITTEN = [
    "euclidean(lat, lon) <= 0.001 and not (same(a) or same(b)) and (same(b) or same(c))",
    "within(birth, 2 days) or within(birth, 1 day) or within(price, cost, 0.5)",
    "score(dice(a) >= 0.9 -> 5, missing(a) -> 0, otherwise -> -3; same(b) -> 2, otherwise -> 0) >= 4",
]
"""Rules as they are written."""
OTHERWISE = {
    "same(a) & (hamming(b) <= 5 | ~same(c))": "same(a) and (hamming(b) <= 5 or not same(c))",
    "\n same(a, a)\n or (\thamming(b) <= 5e0 and not same(c))": "same(a) or hamming(b) <= 5 and not same(c)",
    "score(a: dice >= 0.9 -> 5, missing -> 0, otherwise -> -3) >= 4":
    "score(dice(a) >= 0.9 -> 5, missing(a) -> 0, otherwise -> -3) >= 4",
    "score(a: same -> 6, within 1 day -> 4, same and same(b) -> 1; ) >= 4":
    "score(same(a) -> 6, within(a, 1 day) -> 4, same(a) and same(b) -> 1, otherwise -> 0) >= 4",
    "score(a, b: jaccard >= 0.5 or missing -> 2) >= 1":
    "score(jaccard(a, b) >= 0.5 or missing(a, A) or missing(b, B) -> 2, otherwise -> 0) >= 1",
    "either_way(same(a) and same(b), a, b)": "same(a) and same(b) or same(a, b) and same(b, a)",
    "either_way(not missing(a) and same(b), a, b)":
    "not missing(a) and same(b) or not (missing(a, A) or missing(b, B)) and same(b, a)",
    "same(d) and not either_way(same(a) and missing(b, B), a, b)":
    "same(d) and not (same(a) and missing(b, B) or same(a, b) and missing(a, B))",
    "either_way(same(a, b) and euclidean(x, y) <= 1 and within(c, a, 1), a, b)":
    "same(a, b) and euclidean(x, y) <= 1 and within(c, a, 1)"
    " or same(a) and euclidean(x, y) <= 1 and within(c, b, 1)",
}  # fmt: skip
"""What may be typed, and how it is written."""


@pytest.mark.parametrize(("typed", "written"), [*zip(WRITTEN, WRITTEN, strict=True), *OTHERWISE.items()])
def test_text_is_written_in_one_way(typed: str, written: str) -> None:
    assert str(parse_rule(typed)) == written


@pytest.mark.parametrize(
    ("text", "character"),
    [
        ("", 1),
        ("same(day", 9),
        ("same(day) same(brand)", 11),
        ("hamming(name) <= -5", 18),
        ("edit(name) <= 1.5", 15),
        ("dice(a) >= 1.01", 12),
        ("dice(a) >= 0", 12),
        ("hamming(a, b, c) <= 2", 18),
        ("same(a, 5)", 9),
        ("within(a, b)", 12),
        ("score(otherwise -> 1) >= 1", 7),
        ("missing(a, b)", 12),
        ("same(day) # x", 11),
        ("hamming(name) <= 2^99999", 18),
        ("not " * 60 + "same(a)", 205),
        ("score(same(a) -> 1)", 20),
        ("score(a: same 3) >= 1", 15),
        ("score(a: same -> 1.5) >= 1", 21),
        ("score(a: same -> 10000) >= 1", 10),
        ("score(a: otherwise -> 1, same -> 2) >= 1", 24),
        ("score(same(a) or score(b: same -> 1) >= 1 -> 1) >= 1", 24),
        ("score(birth: same(phone) -> 9) >= 9", 7),
        (f"score({', '.join(['same(a) -> 1'] * 33)}) >= 1", 7),
        ("either_way(same(a) and same(c), a, b)", 12),
        ("either_way(same(a) and same(b), a, a)", 12),
        ("either_way(missing(a, A) and missing(b, A), a, b)", 12),
        ("either_way(euclidean(a, b) <= 1, a, b)", 12),
        ("either_way(same(a) and same(b), a, b", 37),
    ],
)
def test_slips_are_pointed_at(text: str, character: int) -> None:
    with pytest.raises(RuleSyntaxError, match=rf"character {character}\b"):
        parse_rule(text)
    with pytest.raises(RuleSyntaxError, match=r"character 6 of line 2\b.*'sane'.*'same'"):
        parse_rule("same(a)\n and sane(b)")


@given(st.text("same(dy)andornot<=.5,h iAB", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rule = str(parse_rule(text))
    except RuleSyntaxError:
        return
    assert str(parse_rule(rule)) == rule


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


# -- words -------------------------------------------------------------------------------------------------


def test_words_build_the_rules_of_the_text() -> None:
    rules: dict[str, Rule] = {
        "same(a) and same(b, c)": w.same("a", "a") & w.same("b", "c"),
        "euclidean(u, v) <= 0.001 or edit(w) <= 2": (w.euclidean("u", "v") <= 0.001) | (w.edit("w") <= 2),
        "cosine(a) >= 0.9 and dice(a, b) >= 0.8": (w.cosine("a") >= 0.9) & (w.dice("a", "b") >= "0.8"),
        "not within(a, 2 days) or within(a, 0.5)": ~w.within("a", days=2) | w.within("a", 0.5),
        "within(a, b, 0.5) or within(a, b, 1 day)": w.within("a", "b", "0.5") | w.within("a", "b", days=1),
        "jaccard(x) >= 1 and hamming(a, b) <= 5": (w.jaccard("x") >= 1) & (w.hamming("a", "b") <= 5),
        "missing(b, A) or mismatches(c) <= 3": w.missing("b", "A") | (w.mismatches("c") <= 3),
        "score(same(a) -> 2, otherwise -> -1) >= 1": w.score(w.compare((w.same("a"), 2), otherwise=-1)) >= 1,
    }
    for text, rule in rules.items():
        assert str(rule) == text
        assert parse_rule(text) == rule


def test_traps_are_refused() -> None:
    traps: list[Callable[[], object]] = [
        lambda: bool(w.same("a")),
        lambda: w.same("a") & True,  # type: ignore[operator]
        lambda: w.dice("a") <= 0.5,
        lambda: w.hamming("a") >= 5,
        lambda: w.within("a"),
        lambda: w.within("a", "b", 1, days=2),
        lambda: w.within("a", "b"),
        lambda: w.missing("a", "C"),  # type: ignore[arg-type]
        lambda: w.same("a", 5),  # type: ignore[arg-type]
        lambda: lower(Rule(), worlds.FIELDS),
    ]
    for trap in traps:
        with pytest.raises((TypeError, ValueError)):
            trap()


# -- either way round --------------------------------------------------------------------------------------


@given(worlds.rules, st.sampled_from([("name", "nick"), ("birth", "baptism")]), worlds.rows, worlds.rows)
def test_either_way_accepts_a_pair_or_the_pair_with_swapped_values(
    rule: Rule, pair: tuple[str, str], a: worlds.Row, b: worlds.Row
) -> None:
    def swapped(values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values} | {name: values[of] for name, of in (pair, pair[::-1]) if of in values}

    rule = rule & Missing(pair[0]) | rule & ~Missing(pair[1])
    either = w.either_way(rule, *pair)
    of_a, of_b = (worlds.filter_bits(worlds.records([row]), 0) for row in (a, b))
    assert worlds.matches(either, a, b, (of_a, of_b)) == (
        worlds.matches(rule, a, b, (of_a, of_b)) or worlds.matches(rule, a, swapped(b), (of_a, swapped(of_b)))
    )
    assert str(parse_rule(f"either_way({rule}, {pair[0]}, {pair[1]})")) == str(either)
    assert str(parse_rule(str(either))) == str(either)


def test_either_way_written_out_can_be_read_again() -> None:
    """As deep in brackets as can be read."""
    inner = "either_way(not missing(a) and same(b), a, b)"
    deepest = parse_rule("not (same(c) and " * 23 + inner + ")" * 23)
    assert parse_rule(str(deepest)) == deepest
    with pytest.raises(RuleSyntaxError):
        parse_rule("not (same(c) and " * 24 + inner + ")" * 24)


# -- faults ------------------------------------------------------------------------------------------------


def faults(text: str) -> list[str]:
    return rule_faults(parse_rule(text), worlds.FIELDS)


BEHIND = """
    name: dice >= 0.8 -> 3, dice >= 0.9 -> 5
    name: hamming <= 5 -> 3, hamming <= 5 -> 1
    birth: within 3 days -> 4, same -> 5
    x: within 3 -> 4, missing -> 0, within 2 and same(hour) -> 5
    euclidean(x, y) <= 3 -> 4, euclidean(x, y) <= 2 -> 5
    tag: edit <= 1 -> 3, same -> 5
    tag: mismatches <= 1 -> 3, same -> 5
    tag, label: edit <= 2 -> 3, mismatches <= 2 -> 5
"""
REACHED = """
    name: dice >= 1 -> 5, dice >= 0.8 -> 3, missing -> 0
    euclidean(x, y) <= 2 -> 4, euclidean(x, y) <= 3 -> 5
    x: within 2 -> 4, within 3 -> 5
    tag: mismatches <= 2 -> 3, edit <= 2 -> 5
    tag: mismatches <= 1 -> 3, mismatches <= 2 -> 5
    tag: edit <= 1 -> 3, mismatches <= 2 -> 5
    tag: edit <= 1 -> 3, mismatches(tag, label) <= 1 -> 5
    birth: within 3 days -> 3, same(birth, baptism) -> 5
"""


def test_a_level_behind_a_looser_one_never_counts() -> None:
    for table, count in ((BEHIND, 1), (REACHED, 0)):
        for levels in table.strip().splitlines():
            assert len(faults(f"score({levels}, otherwise -> -1) >= 2")) == count, levels


def test_predicates_fit_the_encoding_of_their_fields() -> None:
    for rule, fact in {
        "edit(name) <= 2": "letters",
        "mismatches(hour) <= 2": "mismatches()",
        "edit(tag) <= 4": "at most 3",
        "mismatches(tag) <= 5": "0 to 4",
        "edit(tag, code) <= 1": "[fields.code]",
        "dice(tag) >= 0.8": "dice()",
    }.items():
        [fault] = faults(rule)
        assert fact in fault
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

_one = st.sampled_from(
    [Same("n"), *(Within("n", Fraction(most), False) for most in (1, 3))]
    + [Missing("n", side) for side in (None, *Side)]
)
_level = st.builds(Level, worlds.joined(_one, 4), st.integers(-9, 9))
_levels = st.builds(Levels, st.lists(_level, min_size=1, max_size=4).map(tuple), st.integers(-9, 9))
_cells = st.sampled_from([None, 0, 1, 3, 50])


@given(_levels, _cells, _cells)
def test_a_pair_is_given_points_of_its_case(each: Levels, a: int | None, b: int | None) -> None:
    (row,) = score_rows(Score((each,), 0))
    if a is None or b is None:
        case = row.missing
    elif a == b:
        case = row.agrees
    else:
        case = row.differs if abs(a - b) > 3 else (*row.close, *row.differs)
    weight = worlds.score(Score((each,), 0), {"n": a}, {"n": b}, ({}, {}))
    assert weight in {points.weight for points in case}


def test_a_row_says_what_close_is_and_what_is_left_open() -> None:
    score = worlds.score_of(
        "score(given: dice >= 0.9 -> 6, dice >= 0.8 -> 4, missing -> 0, otherwise -> -4;"
        "same(born) -> 8, same(year) -> 3, otherwise -> -1;"
        "same(last) and same(class) -> 9, same(last) -> 6;"
        "dice(given, last) >= 0.5 and dice(last, given) >= 0.5 -> 5) >= 12"
    )
    rows = [row.cells for row in score_rows(score)]
    assert rows[0] == ("given", "+6", "+6 (dice ≥ 0.9), +4 (dice ≥ 0.8)", "-4", "0")
    assert rows[1] == ("born, year", "+8", "+3 (same(year))", "-1", "-1")
    assert rows[2] == ("last, class", "+9", "+6 (same(last))", "0", "0")
    twice = "p and q or r and s or t and q or r and u"
    assert shorten(twice, []) == twice
    assert rows[3][1:] == ("+5", "+5 (dice ≥ 0.5)", "0", "0")


def test_every_part_has_its_line() -> None:
    rule = parse_rule(
        "not (same(x) or missing(y, A)) or edit(z) <= 1 or not same(u) or mismatches(w) <= 1"
        " or euclidean(r, s) <= 3 or hamming(p) <= 2 and within(q, 2 days) or score(dice(o) >= 0.8 -> 2) >= 1"
    )
    lines = break_down(rule)
    assert (is_short(rule), re.findall(r"\d+", tell_shortly(rule))) == (False, ["9", "10"])
    assert [line.depth for line in lines] == [0, 1, 2, 3, 3, 1, 1, 1, 1, 1, 2, 2, 1]
    told = " ".join(line.words for line in lines) + lines[-1].rows[0].field
    assert all(re.search(rf"\b{name}\b", told) for name in fields_of(rule))
