"""Lines between two axes: within the picture, on either kind of axis, and with their numbers."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from accord.report.charts import HEIGHT
from accord.report.curves import Axis, CurveLine, lines

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


def test_a_long_curve_is_a_line_and_a_lone_point_is_a_mark() -> None:
    curve = CurveLine("curve", [(float(i), float(i)) for i in range(100)])
    made = lines("t", "s", [curve, CurveLine("point", [(3.0, 4.0)])], (Axis("x"), Axis("y")))
    assert made.count("<polyline") == 1
    assert made.count('width="1" height="1" overflow="visible"') == 1


def test_no_points_are_no_picture() -> None:
    assert lines("t", "s", [], (Axis("x"), Axis("y"))) == ""
    assert lines("t", "s", [CurveLine("none", [])], (Axis("x"), Axis("y"))) == ""
