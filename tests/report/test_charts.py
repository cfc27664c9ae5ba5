"""Bars and columns as markup: every number is there as text, too, and every length is inside the picture."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.report.charts import HEIGHT, Bar, bars, columns, short, ticks

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
