"""The picture shows the figures of the report, and nothing of any record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from accord.errors import OutputError, UsageError
from accord.simulation.picture import draw, save
from accord.simulation.report import Quality, judge
from tests.simulation.made import agree, know, people


@pytest.fixture(scope="module")
def graded() -> Quality:
    return judge(know(agree(), people()), 3)


def test_the_curve_and_the_bars_are_those_of_the_report(graded: Quality) -> None:
    curve_axes, bars = draw(graded).axes
    curve = graded.curve
    assert curve is not None
    lines = {str(line.get_label()): line for line in curve_axes.get_lines()}
    assert list(lines) == ["precision", "recall", "F1", "agreed, 9", f"best F1, {curve.best}"]
    assert np.asarray(lines["F1"].get_ydata()).tolist() == [point.f1 for point in curve.points]
    assert np.asarray(lines["recall"].get_xdata()).tolist() == [point.threshold for point in curve.points]
    # In print without colours, lines and bars must still differ.
    assert len({line.get_linestyle() for line in lines.values()}) == 4
    found, missed = bars.containers
    assert [bar.get_width() for bar in found] == [
        one.differing_found + one.lacking_found for one in graded.fields
    ]
    assert [f.get_width() + m.get_width() for f, m in zip(found, missed, strict=True)] == [
        one.differing + one.lacking for one in graded.fields
    ]
    assert {bar.get_hatch() for bar in missed} == {"////"}
    assert [label.get_text() for label in bars.get_yticklabels()] == [one.field for one in graded.fields]


def test_a_rule_without_a_score_has_bars_alone() -> None:
    (bars,) = draw(judge(know(agree("same(birth) and same(email)"), people()), 3)).axes
    assert len(bars.containers) == 2


def test_nothing_of_a_record_is_in_the_file(graded: Quality, tmp_path: Path) -> None:
    save(graded, tmp_path / "it.svg")
    save(graded, tmp_path / "it.png")
    drawn = (tmp_path / "it.svg").read_text()
    assert "<!-- surname -->" in drawn, "a picture keeps its texts in comments: this search would find one"
    made = people()
    cells = {cell for table in (made.a, made.b) for column in table.columns for cell in column.to_pylist()}
    texts = {text.strip().lower() for text in drawn.replace("-->", "<!--").split("<!--")}
    assert not {str(cell).lower() for cell in cells if cell} & texts
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")


def test_the_ending_says_how_and_no_file_is_lost(graded: Quality, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ends in one of"):
        save(graded, tmp_path / "it.gif")
    (tmp_path / "it.svg").touch()
    with pytest.raises(OutputError, match="picture"):
        save(graded, tmp_path / "it.svg", replace=False)
