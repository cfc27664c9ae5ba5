"""Pictures as markup: every number is there as text, too, and every length is inside the picture."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from accord.report.charts import Axis, Bar, Line, bars, columns, lines

numbers = st.floats(0, 1e12)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=9), st.booleans())
def test_bars_stay_within_the_picture(values: list[tuple[float, float]], log: bool) -> None:
    drawn = [Bar(f"<{i}>", value, more) for i, (value, more) in enumerate(values)]
    made = bars("title", "says", drawn, ("one", "two"), log)
    for x, width in re.findall(r'<rect x="([\d.e-]+)" y="[\d.]+" width="([\d.e-]+)"', made):
        assert float(x) + float(width) <= 640
    assert "<0>" not in made
    assert all(f"{bar.value:,.0f}" in made for bar in drawn)


@given(
    st.lists(st.tuples(st.floats(1e-6, 1e9), st.floats(0, 1)), min_size=1, max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_points_stay_within_the_picture(points: list[tuple[float, float]], log: bool, joined: bool) -> None:
    made = lines("t", "s", [Line("a", points)], (Axis("x", log=log), Axis("y", 1)), joined)
    for x, y in re.findall(r'<circle cx="([\d.-]+)" cy="([\d.-]+)"', made):
        assert 0 <= float(x) <= 640
        assert 0 <= float(y) <= 260


def test_a_picture_says_what_it_shows_to_those_who_cannot_see_it() -> None:
    made = columns("Slots", "Two bins.", [Bar("", 3, 1), Bar("", 0, 2)], ("records", "dummies"), "bins")
    assert 'role="img" aria-label="Slots. Two bins."' in made


def test_no_points_are_no_picture() -> None:
    assert lines("t", "s", [], (Axis("x"), Axis("y"))) == ""
