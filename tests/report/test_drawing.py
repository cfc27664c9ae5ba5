"""Bars, columns, lines and rules as markup: every number is text, too, within its picture."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.datasets.starter import starter
from accord.report.charts import HEIGHT, Bar, bars, columns, short, ticks
from accord.report.curves import Axis, CurveLine, lines
from accord.report.rule_table import describe_rule
from accord.rules.breakdown import score_rows
from accord.rules.rule import Score
from accord.rules.text import parse_rule
from tests.report.outline import rows_of

numbers = st.floats(0, 1e12)


def _boxes(made: str) -> list[tuple[float, ...]]:
    found = re.findall(r'<rect x="([\d.]+)%" y="([-\d.]+)" width="([\d.]+)%" height="([\d.]+)"', made)
    return [tuple(map(float, box)) for box in found]


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=9))
def test_bars_begin_at_zero_and_are_as_long_as_they_say(values: list[tuple[float, float]]) -> None:
    drawn = [Bar(f"<{i}>", value, more) for i, (value, more) in enumerate(values)]
    made = bars("title", "says", drawn, ("one", "two"))
    most = max(bar.total for bar in drawn) or 1
    for bar, row in zip(drawn, re.findall("<dd>.*?</dd>", made), strict=True):
        boxes = _boxes(row)
        assert len(boxes) == bool(bar.value) + bool(bar.more), "nothing is drawn of nothing"
        first = 0.0
        for (x, _, width, _), part in zip(boxes, [p for p in (bar.value, bar.more) if p], strict=True):
            assert x == pytest.approx(first, abs=0.01)
            # What would not be seen is drawn as a line.
            assert width == pytest.approx(max(100 * part / most, 0.15), abs=0.01)
            first += 100 * part / most
        assert f"<span>{bar.total:,.0f}</span>" in row
    assert "<0>" not in made


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30))
def test_columns_stay_within_the_picture(values: list[tuple[float, float]]) -> None:
    drawn = [Bar(str(i), value, more) for i, (value, more) in enumerate(values)]
    made = columns("t", "s", drawn, ("records", "dummies"), "bins")
    for x, y, width, height in _boxes(made):
        assert x + width <= 100.2
        assert y >= -0.2
        assert y + height <= HEIGHT + 0.2
    assert all(f"{bar.value:,.4g}" in made for bar in drawn)


@given(st.floats(1e-9, 1e12))
def test_ticks_are_few_round_and_within(high: float) -> None:
    found = ticks(0, high)
    assert 2 <= len(found) <= 6
    assert found[0] == 0
    assert found[-1] <= high * 1.001
    assert len({short(value) for value in found}) == len(found)


def test_a_long_curve_is_a_line_and_a_lone_point_is_a_mark() -> None:
    shown = [short(value) for value in (0, 0.25, 1200, 2.5e6, 4e9)]
    assert shown == ["0", "0.25", "1,200", "2.5 M", "4 G"]
    curve = CurveLine("curve", [(float(i), float(i)) for i in range(100)])
    made = lines("t", "s", [curve, CurveLine("point", [(3.0, 4.0)])], (Axis("x"), Axis("y")))
    assert made.count("<polyline") == 1
    assert len(re.findall(r'<svg width="1" height="1" ', made)) == 1
    assert lines("t", "s", [CurveLine("none", [])], (Axis("x"), Axis("y"))) == "", "no points"


points = st.lists(st.tuples(st.floats(1e-6, 1e9), st.floats(0, 1)), min_size=1, max_size=20)


@given(points, st.booleans(), st.booleans())
def test_points_and_labels_stay_within_the_picture(
    some: list[tuple[float, float]], log: bool, joined: bool
) -> None:
    made = lines("t", "s", [CurveLine("a", some)], (Axis("x", log=log), Axis("y", 1)), joined)
    marks = re.findall(r'<svg width="1" height="1" overflow="visible" x="([-\d.]+)%" y="([-\d.]+)"', made)
    assert len(marks) == len(some)
    labels = re.findall(r'<text x="([-\d.]+)%" y="(\d+)" text-anchor="\w+">', made)
    assert len(labels) >= 2
    for x, y in [*marks, *((x, "0") for x, _ in labels)]:
        assert -0.1 <= float(x) <= 100.1
        assert -0.1 <= float(y) <= HEIGHT + 0.1


@given(st.floats(1e-12, 1e9), st.floats(1.001, 1e9))
def test_a_logarithmic_axis_has_a_few_numbers_whatever_it_spans(low: float, factor: float) -> None:
    found = Axis("x", log=True).over([low, low * factor]).ticks
    assert 2 <= len(found) <= 6
    assert found == sorted(found)


def test_a_score_is_a_table_and_lines_are_within_each_other_as_the_rule_is() -> None:
    rule = starter("people").rule
    assert isinstance(rule, Score)
    made = describe_rule(rule)
    assert {row.cells for row in score_rows(rule)} <= rows_of(made)
    assert str(rule.least) in made
    made = describe_rule(parse_rule("same(a) and (same(b) or not (same(c) and same(d)))"))
    shape = re.sub("<(?!/?(?:ul|li))[^>]*>|[^<>]*(?=<)", "", made)
    inner = "<ul><li></li><li></li></ul>"
    assert shape == f"<ul><li></li><li><ul><li></li><li><ul><li>{inner}</li></ul></li></ul></li></ul>"
