"""Bars and columns as markup: every number is there as text, too, and every length is inside the picture."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.report.charts import HEIGHT, Bar, bars, columns, short, ticks
from accord.wording import lasting

numbers = st.floats(0, 1e12)


def _boxes(made: str) -> list[tuple[float, ...]]:
    found = re.findall(r'<rect x="([\d.]+)%" y="([-\d.]+)" width="([\d.]+)%" height="([\d.]+)"', made)
    return [tuple(map(float, box)) for box in found]


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=9), st.booleans())
def test_bars_stay_within_the_picture(values: list[tuple[float, float]], log: bool) -> None:
    drawn = [Bar(f"<{i}>", value, more) for i, (value, more) in enumerate(values)]
    made = bars("title", "says", drawn, ("one", "two"), log)
    boxes = _boxes(made)
    assert len(boxes) == sum(1 + bool(bar.more) for bar in drawn)
    assert all(x + width <= 100.2 for x, _, width, _ in boxes), "but for what is drawn so that it is seen"
    assert "<0>" not in made
    assert all(f"{bar.total:,.0f}" in made for bar in drawn)


def test_numbers_have_their_unit() -> None:
    made = bars("Time", "says", [Bar("it", 130, 0.5, "2 min")], ("work", "waiting"), tell=lasting)
    assert ">2 min 10 s<" in made
    assert ">0.5 s<" in made


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30))
def test_columns_stay_within_the_picture(values: list[tuple[float, float]]) -> None:
    drawn = [Bar(str(i), value, more) for i, (value, more) in enumerate(values)]
    made = columns("t", "s", drawn, ("records", "dummies"), "bins")
    for x, y, width, height in _boxes(made):
        assert x + width <= 100.2
        assert y >= -0.2
        assert y + height <= HEIGHT + 0.2
    assert all(f"{bar.value:,.4g}" in made for bar in drawn)


def test_a_picture_says_what_it_shows_to_those_who_cannot_see_it() -> None:
    made = columns("Slots", "Two bins.", [Bar("1", 3, 1), Bar("2", 0, 2)], ("records", "dummies"), "bins")
    assert 'role="img" aria-label="Slots. Two bins."' in made
    assert "<title>Slots</title>" in made


@given(st.floats(1e-9, 1e12))
def test_ticks_are_few_round_and_within(high: float) -> None:
    found = ticks(0, high)
    assert 2 <= len(found) <= 6
    assert found[0] == 0
    assert found[-1] <= high * 1.001
    assert len({short(value) for value in found}) == len(found)


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (0.25, "0.25"), (1200, "1,200"), (2.5e6, "2.5 M"), (4e9, "4 G")]
)
def test_numbers_beside_an_axis(value: float, shown: str) -> None:
    assert short(value) == shown
