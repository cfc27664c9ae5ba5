"""Ranges, and a plan as JSON, Arrow, pandas and HTML."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from accord.datasets.starter import starter
from accord.planning.figures import Plan, Range
from accord.planning.plan import price_agreed
from tests.planning.worlds import question


@pytest.fixture(scope="module")
def plan() -> Plan:
    return price_agreed(starter("products"), question(200, 300))


def test_a_range_holds_what_it_was_made_of() -> None:
    assert Range.of(5, 3, 9) == Range(3, 5, 9)
    assert Range(1, 2, 3).scaled(2) == Range(2, 4, 6)
    assert Range(1.4, 2.6, 3).to_json() == {"low": 1, "expected": 3, "high": 3}


def test_json_has_the_names_that_scripts_rely_on(plan: Plan) -> None:
    found = json.loads(json.dumps(plan.to_json()))
    assert {"options", "choice", "warnings"} <= set(found)
    for option in [*found["options"], found["choice"]]:
        assert {"protocol", "blocking", "greedy", "agreed", "recall"} <= set(option)
        assert set(option["epsilon"]) == set(option["delta"]) == {"A", "B"}
        for name in ("dummies", "comparisons", "bytes", "seconds", "rounds", "memory"):
            assert option[name]["low"] <= option[name]["expected"] <= option[name]["high"], name
    assert found["choice"] in found["options"]
    assert [option["agreed"] for option in found["options"]].count(True) == 1
    assert all(set(warning) == {"code", "text"} for warning in found["warnings"])


def test_a_plan_is_a_table(plan: Plan) -> None:
    import pandas

    table = pa.table(plan)
    assert table.num_rows == len(plan.options)
    assert table["chosen"].to_pylist().count(True) == 1
    frame = plan.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["comparisons_expected"].min() > 0


def test_a_notebook_shows_the_choice_and_escapes_texts(plan: Plan) -> None:
    page = plan._repr_html_()
    assert plan.choice.protocol in page
    assert page.count("<tr>") == 1 + len(plan.options)
    assert "<Plan: " in repr(plan)
