"""How a pair came to its score: bars that begin where the last one ended, on one scale with the threshold."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.report.waterfall import Step, falls, waterfall

_weights = st.lists(st.integers(-20, 20), min_size=1, max_size=12)


def _drawn(made: str) -> list[tuple[float, float]]:
    """Left and right end of each row, in per cent."""
    found = []
    for row in re.findall("<div>.*?</div>", made):
        bar = re.search(r'<rect x="([\d.]+)%" width="([\d.]+)%"', row)
        mark = re.search(r'<circle cx="([\d.]+)%"', row)
        left, width = (float(bar[1]), float(bar[2])) if bar else (float(mark[1]) if mark else 0.0, 0.0)
        found.append((left, left + width))
    return found


@given(_weights, st.integers(-30, 60))
def test_rows_lead_from_zero_to_the_score(weights: list[int], threshold: int) -> None:
    steps = [Step(f"f{i}", weight) for i, weight in enumerate(weights)]
    assert [fall.before for fall in falls(steps)] == [0, *(fall.after for fall in falls(steps))][:-1]
    assert falls(steps)[-1].after == sum(weights)
    made = waterfall("says", steps, threshold)
    zero, line = (float(re.findall(rf'x1="([\d.]+)%"[^>]*class="{kind}"', made)[0]) for kind in _LINES)
    *rows, total = _drawn(made)
    unit = (line - zero) / threshold if threshold else None
    at = zero
    for (left, right), weight in zip(rows, weights, strict=True):
        first, last = (left, right) if weight >= 0 else (right, left)
        assert first == pytest.approx(at, abs=0.01)
        if unit is not None:
            assert last - first == pytest.approx(weight * unit, abs=0.01 * len(weights))
        at = last
    assert sorted(total) == pytest.approx(sorted((zero, at)), abs=0.01)
    assert all(0 <= end <= 100 for row in (*rows, total) for end in row)


_LINES = ("zero", "threshold")


def test_numbers_and_reasons_are_there_as_text() -> None:
    made = waterfall("says", [Step("<name>", 3, "dice ≥ 0.8"), Step("city", -2, "differs")], 2)
    assert "&lt;name&gt;" in made
    assert re.findall("<span>(.*?)</span>", made) == ["+3", "-2", "1"]
    assert "dice ≥ 0.8" in made
