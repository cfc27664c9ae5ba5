"""Balls: their sizes are the textbook's, and a value is listed exactly when the rule accepts it."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.errors import UsageError
from accord.fields.schema import NumberField, TextField
from accord.protocols.intersection import values_of
from accord.rules.rule import Euclidean, Hamming, Rule, Same, Within
from accord.rules.text import parse_rule
from accord.rules.words import same, within
from accord.side import Side
from reproduction.protocols.balls import Balls, ball_faults, expansion, names_of
from tests.rules import worlds as world

TAXI = {
    name: NumberField(type="number", min=Fraction(0), max=Fraction(1), step=Fraction(1, 10**6))
    for name in ("lat", "lon", "up")
}
PAPER = {"name": TextField.model_validate({"type": "text", "encoder": "paper"})}


def test_the_expansions_of_the_paper() -> None:
    """2,369,936 flips for AB; for Taxi the whole points of a disc of radius 1000, which π·1000² estimates."""
    assert expansion(parse_rule("hamming(name) <= 5"), PAPER) == 2_369_936
    assert expansion(parse_rule("euclidean(lat, lon) <= 0.001"), TAXI) == 3_141_549


@pytest.mark.parametrize(
    ("size", "records", "cost"),
    [(2_369_936, 5_000, 2.54e10), (2_369_936, 80_000, 4.60e11), (3_141_549, 300_000, 2.39e12)],
)
def test_the_curves_of_the_paper(size: int, records: int, cost: float) -> None:
    """MATHS §14.2: the cost of PSI+X is γ·n·ln ln n."""
    assert size * records * log(log(records)) == pytest.approx(cost, rel=0.005)


@pytest.mark.parametrize(
    ("square", "dimension", "count"),
    [(0, 2, 1), (1, 2, 5), (2, 2, 9), (4, 2, 13), (1, 3, 7), (3, 3, 27), (9, 1, 7)],
)
def test_whole_points_of_a_ball(square: int, dimension: int, count: int) -> None:
    names = ("lat", "lon", "up")[:dimension]
    step = Fraction(1, 10**6)
    # The least threshold in steps whose square is not below the one wanted.
    bound = next(Fraction(n, 1000) for n in range(4000) if Fraction(n, 1000) ** 2 >= square)
    assert expansion(Euclidean(names, bound * step), TAXI) == count


def test_a_ball_too_large_to_count_is_refused() -> None:
    with pytest.raises(UsageError, match="too many steps"):
        expansion(parse_rule("euclidean(lat, lon, up) <= 0.9"), TAXI)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("hamming(name) <= 1 or same(code)", "cannot list what"),
        ("not same(code)", "cannot list what 'not same(code)'"),
        ("dice(name) >= 0.9 and same(code)", "cannot list what 'dice(name) >= 0.9'"),
        ("within(x, 1) and euclidean(x, y) <= 1", "use each field once"),
        ("same(code) and same(code, alias)", "use each field once on a side"),
        ("missing(code)", "cannot list what 'missing(code)'"),
    ],
)
def test_rules_without_a_ball(rule: str, problem: str) -> None:
    assert [fault for fault in ball_faults(parse_rule(rule)) if problem in fault]


def test_a_rule_with_a_ball_has_no_fault() -> None:
    assert not list(ball_faults(parse_rule("same(code) and hamming(name) <= 2 and within(x, 1)")))
    assert not list(ball_faults(parse_rule("same(code, alias) and same(alias, code)")))


halves = st.fractions(0, 2, max_denominator=4)
balls: st.SearchStrategy[Rule] = st.one_of(
    st.sampled_from([same("brand"), same("code") & same("hour")]),
    st.integers(0, 2).map(lambda t: Hamming("name", t)),
    halves.map(lambda t: Within("x", t, False)),
    st.tuples(st.integers(0, 1), halves).map(lambda p: Hamming("name", p[0]) & Euclidean(("x", "y"), p[1])),
    halves.map(lambda t: Same("hour") & Euclidean(("y",), t) & Within("birth", t, True)),
    st.sampled_from([same("code", "alias") & same("alias", "code"), same("brand", "colour") & same("x")]),
    halves.map(lambda t: within("x", "z", t) & within("z", "x", 1)),
    st.integers(0, 2).map(lambda t: Hamming("nick", t, field_b="name")),
)


@given(balls, world.tables, world.tables)
def test_a_value_is_listed_exactly_when_the_rule_accepts_it(
    rule: Rule, a: list[world.Row], b: list[world.Row]
) -> None:
    left, right = world.records(a), world.records(b)
    listed = Balls(rule, world.FIELDS, Side.B)
    assert listed.size == expansion(rule, world.FIELDS)
    values, present = values_of(names_of(rule, Side.A), left.columns)
    ball, exists = listed.listed(right.columns, slice(0, len(b)))
    assert len(ball) == len(b) * listed.size
    found = []
    for i in range(len(a)):
        hits = np.flatnonzero(exists & (ball == values[i]).all(axis=1) & present[i])
        found += [(i, int(hit) // listed.size) for hit in hits]
    assert sorted(found) == world.expected(rule, a, b, left, right)
