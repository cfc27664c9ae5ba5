"""Pairs to look through: the table ends at the score of the pair, and values are shown to those who may."""

from __future__ import annotations

from accord.report.pair_cards import PairCells, PairView
from accord.rules.rule import Same
from accord.rules.text import parse_rule
from accord.simulation.known import PairFacts, Weighed

RULE = parse_rule(
    "score(name: dice >= 0.8 -> 6, otherwise -> -2; city: same -> 3, missing -> 1, otherwise -> -4;"
    "born: within 1 day -> 5, otherwise -> 0) >= 9"
)
PAIR = PairFacts(
    id_a="A1",
    id_b="B<2>",
    true=True,
    found=False,
    meets=True,
    compared=True,
    accepted=False,
    differs=("name",),
    lacks=("city",),
    score=4,
    levels=(
        Weighed(("name",), "otherwise", -2),
        Weighed(("city",), "missing(city)", 1),
        Weighed(("born",), "within(born, 1 day)", 5),
    ),
)


def test_the_last_sum_is_the_score() -> None:
    assert PairView(RULE).steps(PAIR) == [
        ["name", "differs", "-2", "-2"],
        ["city", "missing", "+1", "-1"],
        ["born", "within 1 day", "+5", "4"],
    ]
    assert "the score is 4, 5 below it" in PairView(RULE).show(PAIR)


def test_values_are_shown_where_they_were_given() -> None:
    cells = PairCells(["name"], {"A1": ["<Ann>"]}, {"B<2>": [None]})
    made = PairView(RULE, cells).show(PAIR)
    assert "&lt;Ann&gt;" in made
    assert "Ann" not in PairView(RULE).show(PAIR)
    assert "B&lt;2&gt;" in made


def test_a_rule_without_a_score_has_no_points() -> None:
    made = PairView(Same("name")).show(PAIR)
    assert "points" not in made
    assert "differ in name" in made
