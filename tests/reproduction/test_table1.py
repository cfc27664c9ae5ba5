"""Table 1: the shape in the fast tests, the verdicts of all seven approaches in the slow ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.lab import QUICK
from reproduction.report import table1_text
from reproduction.sweep import Point, Row, carry_out, number, one
from reproduction.table1 import METHODS, TABLE1
from tests.reproduction.worlds import lab


def test_all_pairs() -> None:
    cell: Row = {"data": "ab", "per_day": 100, "method": "all-pairs", "trials": 40}
    row = {**cell, **TABLE1.run(lab(), cell)}
    assert row["verdict"] == "no leak found"
    assert number(row, "exponent") == pytest.approx(2)
    assert number(row, "recall") == 1
    assert "cost / all pairs at 4 days" in table1_text([row])


@pytest.mark.slow
def test_all_pairs_and_plain_blocking() -> None:
    rows: dict[str, Row] = {}
    for method in ("all-pairs", "blocking"):
        point: Point = {"data": "ab", "per_day": 100, "method": method, "trials": 120}
        rows[method] = {**point, **TABLE1.run(lab(), point)}
    assert rows["all-pairs"]["verdict"] == "no leak found"
    assert number(rows["all-pairs"], "exponent") == pytest.approx(2)
    assert number(rows["all-pairs"], "recall") == 1
    assert rows["blocking"]["verdict"] == "leaky"
    assert 0.8 < number(rows["blocking"], "exponent") < 1.2
    text = table1_text(list(rows.values()))
    assert "| PRL+B (`blocking`) | 1.00 | leaky |" in text
    assert "cost / all pairs at 4 days" in text
    assert "n·(1 + γ)" in text


@pytest.mark.slow
def test_the_table_of_the_paper(tmp_path: Path) -> None:
    rows = carry_out(TABLE1, lab(size=QUICK), tmp_path, lambda *_: None)
    leaky = {str(row["method"]) for row in rows if row["verdict"] == "leaky"}
    assert leaky == {"blocking", "laplace-suppress"}
    complete = {str(row["method"]) for row in rows if number(row, "recall") == 1}
    assert complete >= {"all-pairs", "psi-expand", "blocking", "laplace"}
    assert number(one(rows, method="psi"), "recall") < 0.5
    growth = {str(row["method"]): number(row, "exponent") for row in rows}
    assert growth["all-pairs"] == pytest.approx(2, abs=0.01)
    assert growth["laplace"] == pytest.approx(1, abs=0.05)
    assert set(growth) == set(METHODS)
