"""What a match is, on a terminal: a table that fits where it goes, or one line."""

from __future__ import annotations

import pytest

from accord.cli import match
from accord.datasets.starter import starter
from accord.rules.breakdown import score_rows
from accord.rules.rule import Score


@pytest.mark.parametrize("width", [None, 120, 70, 40])
def test_a_score_is_a_table_that_fits(monkeypatch: pytest.MonkeyPatch, width: int | None) -> None:
    rule = starter("people").rule
    assert isinstance(rule, Score)
    monkeypatch.setattr(match, "width_of", lambda stream: width)
    lines = match.describe_match(rule, "Match      ")
    assert lines[0].startswith("Match      ")
    assert all(line.startswith(" " * 11) for line in lines[1:])
    if width is None:
        for row, line in zip(score_rows(rule), lines[3:], strict=True):
            assert [*filter(None, (cell.strip() for cell in line.split("  ")))] == [*row.cells]
    elif width > 60:
        assert all(len(line) <= width for line in lines[1:])


def test_what_is_short_stays_on_its_line() -> None:
    rule = starter("products").rule
    assert match.describe_match(rule, "Match  ") == [f"Match  {rule}"]
