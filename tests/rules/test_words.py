"""Either way round: the rule, or the rule for B's record with two values swapped."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.rules.rule import And, Euclidean, Missing, Or, Rule, Same, Within, predicates
from accord.rules.text import RuleSyntaxError, parse_rule
from accord.side import Side
from tests.rules import worlds

TWINS = [("name", "nick"), ("brand", "colour"), ("birth", "baptism")]


@given(worlds.rules, st.sampled_from(TWINS), worlds.rows, worlds.rows)
def test_it_accepts_a_pair_or_the_pair_with_swapped_values(
    rule: Rule, pair: tuple[str, str], a: worlds.Row, b: worlds.Row
) -> None:
    rule = rule & Missing(pair[0]) | rule & ~Missing(pair[1])
    either = accord.either_way(rule, *pair)
    tables = worlds.records([a]), worlds.records([b])
    of_a, of_b = worlds.filter_bits(tables[0], 0), worlds.filter_bits(tables[1], 0)
    swapped_row, swapped_filters = ({**of, **_swapped(of, pair)} for of in (b, of_b))
    assert worlds.matches(either, a, b, (of_a, of_b)) == (
        worlds.matches(rule, a, b, (of_a, of_b))
        or worlds.matches(rule, a, swapped_row, (of_a, swapped_filters))
    )
    text = f"either_way({rule}, {pair[0]}, {pair[1]})"
    assert str(parse_rule(text)) == str(either)
    assert str(parse_rule(str(either))) == str(either)


def _swapped(values: Mapping[str, Any], pair: tuple[str, str]) -> dict[str, Any]:
    return {name: values[other] for name, other in (pair, pair[::-1]) if other in values}


def test_swapped_names() -> None:
    rule = parse_rule("either_way(dice(given) >= 0.8 and dice(surname) >= 0.8, given, surname)")
    assert str(rule) == (
        "dice(given) >= 0.8 and dice(surname) >= 0.8"
        " or dice(given, surname) >= 0.8 and dice(surname, given) >= 0.8"
    )
    names = (accord.dice("given") >= 0.8) & (accord.dice("surname") >= 0.8)
    assert accord.either_way(names, "given", "surname") == rule


def test_inside_of_a_formula() -> None:
    rule = parse_rule("same(day) and not either_way(same(a) and same(b), a, b) or same(c)")
    assert str(rule) == ("same(day) and not (same(a) and same(b) or same(a, b) and same(b, a)) or same(c)")
    either = parse_rule("either_way(not missing(a) and same(b) or missing(b, B), a, b)")
    assert either == Or(
        (
            And((~Missing("a"), Same("b"))),
            Missing("b", Side.B),
            And((~(Missing("a", Side.A) | Missing("b", Side.B)), Same("b", field_b="a"))),
            Missing("a", Side.B),
        )
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("either_way(same(a) and same(c), a, b)", r"character 12.*does not read 'b'.*same\(a, b\)"),
        ("either_way(same(c), a, b)", "does not read 'a'"),
        ("either_way(same(a) and same(b), a, a)", "two different fields"),
        ("either_way(missing(a, A) and missing(b, A), a, b)", "changes nothing"),
        ("either_way(either_way(same(a) and same(b), a, b), b, a)", "changes nothing"),
        ("either_way(euclidean(a, b) <= 1, a, b)", r"use within\(\) for each"),
        ("either_way(same(a), a)", "',' is expected between the two fields"),
        ("either_way(same(a) and same(b))", "',' is expected after the rule"),
        ("either_way(same(a) and same(b), a, b", r"'\)' is expected after the fields"),
    ],
)
def test_slips(text: str, problem: str) -> None:
    with pytest.raises(RuleSyntaxError, match=problem):
        parse_rule(text)


def test_it_does_not_grow_without_bound() -> None:
    names = [f"f{i}" for i in range(40)]
    text = " and ".join(f"same({name})" for name in names)
    for a, b in zip(names[::2], names[1::2], strict=True):
        text = f"either_way({text}, {a}, {b})"
    with pytest.raises(RuleSyntaxError, match="more than 1,000 predicates"):
        parse_rule(text)


def test_what_is_written_out_can_be_read_again() -> None:
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
    assert 0 < read < 15, "the limit is in between"


def test_other_fields_stay_as_they_are() -> None:
    rule = Same("a") & Same("b") & Euclidean(("x", "y"), Fraction(1)) & accord.within("c", "a", 1)
    turned = accord.either_way(rule, "a", "b")
    assert isinstance(turned, Or)
    assert list(predicates(turned.parts[1])) == [
        Same("a", field_b="b"),
        Same("b", field_b="a"),
        Euclidean(("x", "y"), Fraction(1)),
        Within("c", Fraction(1), False, field_b="b"),
    ]
