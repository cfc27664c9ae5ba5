"""A rule laid out: the points of a case are those that pairs are given in it, and every part has its line."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.rules.breakdown import Points, RuleRow, break_down, is_short, score_rows, shorten, tell_shortly
from accord.rules.rule import And, Level, Levels, Missing, Not, Or, Rule, Same, Score, Within, predicates
from accord.rules.text import parse_rule
from accord.side import Side

FAR = 50
"""Further apart than any rule here allows."""
_one = st.sampled_from(
    [
        Same("n"),
        Within("n", Fraction(1), False),
        Within("n", Fraction(3), False),
        Missing("n"),
        Missing("n", Side.A),
        Missing("n", Side.B),
    ]
)
_rules = st.recursive(
    _one,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda x, y: x & y, inner, inner),
        st.builds(lambda x, y: x | y, inner, inner),
    ),
    max_leaves=4,
)
_levels = st.builds(
    Levels,
    st.lists(st.builds(Level, _rules, st.integers(-9, 9)), min_size=1, max_size=4).map(tuple),
    st.integers(-9, 9),
)
_cells = st.sampled_from([None, 0, 1, 3, FAR])


def _holds(rule: Rule, a: int | None, b: int | None) -> bool:
    match rule:
        case And(parts):
            return all(_holds(part, a, b) for part in parts)
        case Or(parts):
            return any(_holds(part, a, b) for part in parts)
        case Not(part):
            return not _holds(part, a, b)
        case Missing(_, side):
            return (a is None and side is not Side.B) or (b is None and side is not Side.A)
        case Same():
            return a is not None and a == b
        case Within(bound=bound):
            return a is not None and b is not None and abs(a - b) <= bound
    raise TypeError(rule)


def _weight(each: Levels, a: int | None, b: int | None) -> int:
    return next((level.weight for level in each.levels if _holds(level.when, a, b)), each.otherwise)


def _case(row: RuleRow, a: int | None, b: int | None) -> tuple[Points, ...]:
    if a is None or b is None:
        return row.missing
    if a == b:
        return row.agrees
    return row.differs if abs(a - b) > 3 else (*row.close, *row.differs)


@given(_levels, _cells, _cells)
def test_a_pair_is_given_points_of_its_case(each: Levels, a: int | None, b: int | None) -> None:
    (row,) = score_rows(Score((each,), 0))
    assert _weight(each, a, b) in {points.weight for points in _case(row, a, b)}


def test_a_row_says_what_close_is_and_what_is_left_open() -> None:
    rule = parse_rule(
        "score(given: dice >= 0.9 -> 6, dice >= 0.8 -> 4, missing -> 0, otherwise -> -4;"
        "same(born) -> 8, same(year) -> 3, otherwise -> -1;"
        "same(last) and same(class) -> 9, same(last) -> 6;"
        "dice(given, last) >= 0.5 and dice(last, given) >= 0.5 -> 5) >= 12"
    )
    assert isinstance(rule, Score)
    given_row, born, last, crosswise = (row.cells for row in score_rows(rule))
    assert given_row == ("given", "+6", "+6 (dice ≥ 0.9), +4 (dice ≥ 0.8)", "-4", "0")
    assert born == ("born, year", "+8", "+3 (same(year))", "-1", "-1")
    assert last == ("last, class", "+9", "+6 (same(last))", "0", "0")
    assert crosswise[0] != "given, last"
    assert crosswise[1:] == ("+5", "+5 (dice ≥ 0.5)", "0", "0")


def test_a_level_between_is_told_where_a_comparison_reads_two_fields() -> None:
    levels = "same(street) and same(house) -> 8, same(street) -> 4, missing(street) -> 0, otherwise -> -2"
    score = parse_rule(f"score({levels}) >= 3")
    assert isinstance(score, Score)
    (row,) = score_rows(score)
    assert [one.weight for one in row.agrees] == [8]
    assert 4 in [one.weight for one in row.close]


def test_the_same_words_in_two_parts_stay() -> None:
    written = "p and q or r and s or t and q or r and u"
    assert shorten(written, []) == written


@pytest.mark.parametrize(
    ("rule", "depths"),
    [
        ("same(x)", [0]),
        ("same(x) and dice(y) >= 0.8 and within(z, 2 days)", [0, 1, 1, 1]),
        ("not (same(x) or missing(y, A)) or edit(z) <= 1", [0, 1, 2, 3, 3, 1]),
        ("same(x) and score(same(y) -> 2) >= 1", [0, 1, 1]),
    ],
)
def test_every_part_has_its_line(rule: str, depths: list[int]) -> None:
    read = parse_rule(rule)
    lines = break_down(read)
    assert [line.depth for line in lines] == depths
    told = " ".join(line.words for line in lines) + "".join(row.field for line in lines for row in line.rows)
    assert all(name in told for p in predicates(read) for name in (getattr(p, "field", ""),))


def test_a_long_rule_is_told_by_what_it_comes_to() -> None:
    short = parse_rule("same(day) and hamming(name) <= 5")
    assert is_short(short)
    assert tell_shortly(short) == str(short)
    levels = "; ".join(f"f{i}: same -> {i + 1}, missing -> 0, otherwise -> -{i}" for i in range(9))
    score = parse_rule(f"score({levels}) >= 14")
    assert tell_shortly(score) == "a score of 9 fields reaches 14"
    assert tell_shortly(score & Same("sex")) == "a score of 9 fields reaches 14, and 1 more condition holds"
    assert "18 conditions on 9 fields" in tell_shortly(Not(score))
