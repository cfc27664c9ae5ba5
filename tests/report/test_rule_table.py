"""A rule on a page: all its rows, and lines within lines."""

from __future__ import annotations

import re

from accord.datasets.starter import starter
from accord.report.rule_table import describe_rule
from accord.rules.breakdown import score_rows
from accord.rules.rule import Score
from accord.rules.text import parse_rule
from reproduction.places import places_agreement
from tests.report.outline import rows_of


def test_a_score_is_a_table_of_its_points() -> None:
    rule = starter("people").rule
    assert isinstance(rule, Score)
    made = describe_rule(rule)
    assert {row.cells for row in score_rows(rule)} <= rows_of(made)
    assert f"at least {rule.least}" in made


def test_lines_are_within_each_other_as_the_rule_is() -> None:
    made = describe_rule(parse_rule("same(a) and (same(b) or not (same(c) and same(d)))"))
    shape = re.sub("<(?!/?(?:ul|li))[^>]*>|[^<>]*(?=<)", "", made)
    inner = "<ul><li></li><li></li></ul>"
    assert shape == f"<ul><li></li><li><ul><li></li><li><ul><li>{inner}</li></ul></li></ul></li></ul>"


def test_names_of_fields_cannot_break_a_page() -> None:
    assert "<b>" not in describe_rule(places_agreement().rule & parse_rule("same(b)"))
